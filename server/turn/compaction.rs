//! Compaction: when a conversation is summarised, and what counts as a summary.

use crate::{
    effect::{CallResult, Message, Sending},
    input::{RequestId, Time},
    model::{
        response::{Finish, Item, Kind, Response, Usage},
        retry::Retries,
    },
    rules::ToolChoice,
};

/// Compactions that may fail in a turn, or save too little, before no more are tried.
pub(crate) const FAILURES: u8 = 3;
/// Bytes of text that count as one token, where no provider has counted it. Code has about this many.
pub(crate) const BYTES_A_TOKEN: u64 = 3;
/// Share of the conversation, in per cent, that may be left after a compaction. One that saves less is dropped.
pub(crate) const MOST_LEFT: u64 = 70;

/// Compactions of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compactions {
    /// Compactions that failed or saved too little.
    pub(crate) failures: u8,
    /// Tokens before the last compaction, until a response shows how many are left.
    before: Option<u64>,
    /// Tokens of the conversation as of the last response; 0 if that is not known.
    pub(crate) context: u64,
    /// Whether the next request is sent as it is, because a compaction was just made or tried.
    settled: bool,
}

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

impl Compactions {
    pub(crate) fn of(context: u64) -> Self {
        Self {
            context,
            ..Self::default()
        }
    }

    /// Whether the conversation has to be summarised before the next request, which adds `waiting` bytes and may hold
    /// `most` tokens.
    pub(crate) fn is_due(&self, waiting: u64, most: Option<u64>) -> bool {
        let tokens = self.context.saturating_add(waiting / BYTES_A_TOKEN);
        let is_over = most.is_some_and(|most| tokens > most);
        is_over && self.context > 0 && !self.settled && self.failures < FAILURES
    }

    /// Notes what the provider counted for a response of the turn.
    pub(crate) fn counted(&mut self, usage: &Usage) {
        self.settled = false;
        let Some(context) = usage.context() else {
            return;
        };
        if let Some(before) = self.before.take()
            && !saves_enough(context, before)
        {
            self.failures += 1;
        }
        self.context = context;
    }

    /// Tokens that a summary may have; of a conversation whose tokens nobody counted, any number.
    pub(crate) fn most(&self) -> u64 {
        match self.context {
            0 => u64::MAX,
            tokens => tokens * MOST_LEFT / 100,
        }
    }

    pub(crate) fn failed(&mut self) {
        self.failures += 1;
        self.settled = true;
    }

    pub(crate) fn succeeded(&mut self) {
        self.before = Some(self.context);
        self.context = 0;
        self.settled = true;
    }
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

fn saves_enough(after: u64, before: u64) -> bool {
    after <= before * MOST_LEFT / 100
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
