//! Compaction: when a conversation is summarised, and what counts as a summary.

use crate::{
    effect::{CallResult, Message, Sending},
    history::fullness::{BYTES_A_TOKEN, Fullness, most_left},
    input::{RequestId, Time},
    model::{
        response::{FailureClass, Feature, Finish, Item, Kind, Response, Usage},
        retry::Retries,
    },
    record::NativeSummary,
    rules::{CompactionRule, Rules, ToolChoice},
};

/// Tokens that a summary may have in a context window of which nobody knows how large it is.
const MOST_OF_UNKNOWN: u64 = 50_000;
/// Bytes of a bad reply that goes along with the request for another one.
const SHORT_REPLY: u64 = 4 * 1024;

/// A compaction that is under way.
#[derive(Debug)]
pub(crate) struct Compacting {
    pub(crate) request: RequestId,
    /// Options of the request that waits for it, or of the one that would be next.
    pub(crate) sending: Sending,
    pub(crate) messages: Vec<Message>,
    /// Whether results of tools are sent with their ends alone, because the context window is full.
    pub(crate) is_shortened: bool,
    /// Whether the provider is asked for a summary in its own form, without the messages.
    pub(crate) is_native: bool,
    pub(crate) response: Response,
    pub(crate) retries: Retries,
    /// Time of the retry, if the request failed.
    pub(crate) backoff: Option<Time>,
    pub(crate) is_repair: bool,
    /// Why it is made.
    pub(crate) occasion: Occasion,
    /// Tokens of all its requests.
    pub(crate) spent: Usage,
}

/// Reason for a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// The next request, which waits for it, would be too large.
    Due,
    /// The user asks for it.
    Asked,
    /// Nobody writes, and the provider's cache is about to forget the conversation.
    Idle,
}

impl Occasion {
    /// Whether the turn is there for the summary alone, so that it ends with it, and no request waits.
    pub(crate) fn is_the_turn(self) -> bool {
        self != Self::Due
    }
}

/// A summary that can stand for the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MadeSummary {
    /// The text; empty if nobody but the provider can read it.
    pub(crate) text: String,
    /// The same in the provider's own form.
    pub(crate) native: Option<NativeSummary>,
    /// Tokens of it.
    pub(crate) tokens: u64,
}

/// Fault of a reply that was to be a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SummaryFault {
    Call,
    Empty,
    Cut,
    Long,
}

/// Whether the context window has no room for what was sent of a conversation, as far as is known: the last request failed.
pub(crate) fn is_over(fullness: &Fullness, rules: &Rules) -> bool {
    let tokens = fullness
        .tokens()
        .saturating_add(fullness.sent() / BYTES_A_TOKEN);
    rules
        .model
        .context_window
        .is_some_and(|window| tokens > window)
}

/// Whether a conversation has to be summarised before the next request.
pub(crate) fn is_due(fullness: &Fullness, rules: &Rules) -> bool {
    let model = &rules.model;
    let tokens = fullness.with_waiting();
    let is_over = model.compacts_at.is_some_and(|most| tokens > most);
    let is_on = rules.compaction != CompactionRule::Off && !fullness.is_given_up(&model.id);
    is_on && is_over
}

/// Whether a response of `after` tokens fills a conversation so far that it would be summarised, if that were not switched
/// off or given up.
pub(crate) fn fills(fullness: &Fullness, after: u64, rules: &Rules) -> bool {
    let (before, most) = (fullness.tokens(), rules.model.compacts_at);
    let is_off = rules.compaction == CompactionRule::Off || fullness.is_given_up(&rules.model.id);
    is_off && most.is_some_and(|most| before <= most && after > most)
}

/// Options of a request for a summary: those of the next request, but no tool is forced.
pub(crate) fn options(sending: &Sending) -> (ToolChoice, bool) {
    let choice = match &sending.tool_choice {
        ToolChoice::Required | ToolChoice::Name(_) => ToolChoice::Auto,
        free => free.clone(),
    };
    (choice, sending.reasoning)
}

/// Whether the provider of this model is asked for a summary in its own form. Words of the user would take the place of
/// its outline there, and not add to it.
pub(crate) fn is_native(fullness: &Fullness, rules: &Rules, words: Option<&str>) -> bool {
    let model = &rules.model;
    let refused = rules.refused_by(&model.id);
    let does_without = [Feature::Compaction, Feature::History];
    let takes = does_without
        .iter()
        .all(|feature| !refused.contains(feature));
    model.compacts_natively && takes && fullness.reads_native(&model.id) && words.is_none()
}

/// Whether a request failed for a reason that says nothing of the conversation or its model.
pub(crate) fn is_passing(class: &FailureClass) -> bool {
    matches!(
        class,
        FailureClass::Rate
            | FailureClass::Overload
            | FailureClass::Transient
            | FailureClass::Broken
    )
}

/// The summary in the provider's own form that a response of `model` has, of at most `most` tokens; none unless it is the
/// only one, whole and short enough.
pub(crate) fn native_summary(response: &Response, model: &str, most: u64) -> Option<MadeSummary> {
    let is_summary = |item: &&Item| item.kind == Kind::Compaction;
    let mut summaries = response.items.iter().filter(is_summary);
    let (only, None) = (summaries.next()?, summaries.next()) else {
        return None;
    };
    let opaque = only.opaque.clone().filter(|_| only.complete)?;
    let tokens = only.text.len() as u64 / BYTES_A_TOKEN;
    (tokens <= most).then(|| MadeSummary {
        text: only.text.trim().to_owned(),
        native: Some(NativeSummary {
            model: model.to_owned(),
            opaque,
        }),
        tokens: response.usage.output,
    })
}

/// Tokens that a summary may have.
pub(crate) fn most_of_summary(fullness: &Fullness, rules: &Rules) -> u64 {
    let window = rules.model.context_window;
    let fits = window.map_or(MOST_OF_UNKNOWN, |window| window / 2);
    most_left(fullness.tokens()).min(fits)
}

/// Whether what still arrives in place of a summary has more than `most` tokens. Reasoning is no part of it.
pub(crate) fn is_long(response: &Response, most: u64) -> bool {
    bytes(response) / BYTES_A_TOKEN > most
}

/// Whether a bad reply is short enough to go along with the request for another one.
pub(crate) fn is_short(response: &Response) -> bool {
    bytes(response) <= SHORT_REPLY
}

fn bytes(response: &Response) -> u64 {
    let items = response.items.iter();
    let own = items.filter(|item| item.kind != Kind::Reasoning);
    own.map(|item| item.text.len() as u64).sum()
}

/// The summary in a response, of at most `most` tokens.
pub(crate) fn summary(
    response: &Response,
    finish: &Finish,
    most: u64,
) -> Result<MadeSummary, SummaryFault> {
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
    let tokens = text.len() as u64 / BYTES_A_TOKEN;
    if tokens > most {
        return Err(SummaryFault::Long);
    }
    Ok(MadeSummary {
        text: text.to_owned(),
        native: None,
        tokens,
    })
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
