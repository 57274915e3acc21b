//! Compaction: when a conversation is summarised, and what counts as a summary.

use crate::{
    effect::{CallResult, Message, Sending},
    history::fullness::{BYTES_A_TOKEN, Fullness},
    input::{RequestId, Time},
    model::{
        response::{Finish, Item, Kind, Response, Usage},
        retry::Retries,
    },
    rules::{CompactionRule, Rules, ToolChoice},
};

/// A compaction that is under way.
#[derive(Debug)]
pub(crate) struct Compacting {
    pub(crate) request: RequestId,
    /// Options of the request that waits for it, or of the one that would be next.
    pub(crate) sending: Sending,
    pub(crate) messages: Vec<Message>,
    pub(crate) response: Response,
    pub(crate) retries: Retries,
    /// Time of the retry, if the request failed.
    pub(crate) backoff: Option<Time>,
    pub(crate) is_repair: bool,
    /// Whether the user asked for it. The turn then ends with it, and no request waits.
    pub(crate) by_hand: bool,
    /// Tokens of all its requests.
    pub(crate) spent: Usage,
}

/// Fault of a reply that was to be a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SummaryFault {
    Call,
    Empty,
    Cut,
    Long,
}

/// Whether a conversation has to be summarised before the next request, which adds `waiting` bytes.
pub(crate) fn is_due(fullness: &Fullness, waiting: u64, rules: &Rules) -> bool {
    let model = &rules.model;
    let tokens = fullness.tokens().saturating_add(waiting / BYTES_A_TOKEN);
    let is_over = model.compacts_at.is_some_and(|most| tokens > most);
    let is_on = rules.compaction == CompactionRule::Auto && !fullness.is_given_up(&model.id);
    is_on && is_over && fullness.tokens() > 0
}

/// Whether a response of `after` tokens fills a conversation so far that it would be summarised, if that were not switched
/// off.
pub(crate) fn fills(before: u64, after: u64, rules: &Rules) -> bool {
    let most = rules.model.compacts_at;
    rules.compaction == CompactionRule::Off
        && most.is_some_and(|most| before <= most && after > most)
}

/// Options of a request for a summary: those of the next request, but no tool is forced.
pub(crate) fn options(sending: &Sending) -> (ToolChoice, bool) {
    let choice = match &sending.tool_choice {
        ToolChoice::Required | ToolChoice::Name(_) => ToolChoice::Auto,
        free => free.clone(),
    };
    (choice, sending.reasoning)
}

/// The summary in a response, of at most `most` tokens.
pub(crate) fn summary(
    response: &Response,
    finish: &Finish,
    most: u64,
) -> Result<String, SummaryFault> {
    let is_call = |kind: &Kind| matches!(kind, Kind::ToolCall { .. });
    if response.items.iter().any(|item| is_call(&item.kind)) {
        return Err(SummaryFault::Call);
    }
    if matches!(finish, Finish::MaxTokens | Finish::MalformedCall) {
        return Err(SummaryFault::Cut);
    }
    let text = response.text();
    let text = text.trim();
    if text.is_empty() {
        return Err(SummaryFault::Empty);
    }
    if text.len() as u64 / BYTES_A_TOKEN > most {
        return Err(SummaryFault::Long);
    }
    Ok(text.to_owned())
}

/// A result for every complete call of a reply, none of which was run.
pub(crate) fn calls_not_run(response: &Response, content: String) -> Vec<CallResult> {
    let result = |item: &Item| match &item.kind {
        Kind::ToolCall { id, name } => Some(CallResult {
            id: id.clone(),
            name: name.clone(),
            content: content.clone(),
            is_error: true,
        }),
        _ => None,
    };
    response.complete_calls().filter_map(result).collect()
}

impl SummaryFault {
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Call => "the model called a tool instead, which was not run",
            Self::Empty => "the model answered nothing",
            Self::Cut => "the summary was cut off",
            Self::Long => "the summary is hardly shorter than the conversation",
        }
    }
}
