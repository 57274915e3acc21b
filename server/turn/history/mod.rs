//! State of a turn with its calls, questions and prompts, folded once from its events.
//!
//! Invariant: no other code derives the state of a call, a question or a prompt from events. Events about an unknown
//! call, question or prompt change nothing.
//!
//! | module | state of |
//! |---|---|
//! | `fold` | nothing of its own: applies the events |
//! | [`call`] | a call |
//! | [`question`] | a question that a tool asked |
//! | [`prompt`] | a prompt that waited for a person |
//! | [`fullness`] | a conversation, as far as it fills its model |
//! | [`ledger`] | a conversation, as far as a summary must not lose it |
//! | [`outputs`] | outputs of calls that could be left out of requests |
//! | [`passage`] | its passages, with who said them |
//! | [`memory`] | answers, refusals and approvals that the turn remembers |
//! | [`progress`] | the last request |
//! | [`repetition`] | calls that were made again and ended as before |
//! | [`standing`] | the turn, as the list of conversations shows it |
//! | [`transcript`] | the messages that providers are sent |

use std::collections::{BTreeMap, HashMap};

use crate::{
    model::response::Usage,
    record::{CallKey, Event, PromptId, Refused},
};

pub mod call;
mod fold;
pub mod fullness;
pub mod ledger;
pub mod memory;
pub mod outputs;
pub mod passage;
pub mod progress;
pub mod prompt;
pub mod question;
pub mod repetition;
pub mod standing;
pub mod transcript;

pub(crate) use call::parse_arguments;
pub use call::{
    CallDetails, CallHistory, CallState, DeliveryState, PendingEnd, RecordedAnswer, RecordedResult,
};
pub use memory::{FailedQuestion, RefusedCall, TurnMemory};
pub use progress::{ForceHistory, Progress};
pub use prompt::{PromptHistory, PromptState};
pub use question::{QuestionHistory, QuestionState};
pub use repetition::Repetition;
pub use standing::{OpenPrompt, Standing};

/// State of one turn, folded from its events.
#[derive(Clone, Debug, Default)]
pub struct TurnHistory {
    standing: Standing,
    progress: Progress,
    step: u32,
    /// Text of the step's response.
    text: String,
    /// Whether a message of the user's waits for the next request.
    steered: bool,
    calls: BTreeMap<CallKey, CallHistory>,
    /// Calls of this step, in the order of the response.
    step_calls: Vec<CallKey>,
    questions: HashMap<String, QuestionHistory>,
    prompts: HashMap<PromptId, PromptHistory>,
    memory: TurnMemory,
    force: ForceHistory,
    cuts: u8,
    empty: bool,
    repetition: Repetition,
    schema_repair: bool,
    usage: Usage,
    context: Option<u64>,
    learned: Vec<(String, Refused)>,
    last_prompt: u32,
    applied: u32,
}

impl TurnHistory {
    /// Folds the events of a turn.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut history = Self::default();
        for event in events {
            history.apply(event);
        }
        history
    }

    /// State of the turn for the list of conversations.
    #[must_use]
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Progress of the last request.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The number of the step, counted from 1; 0 before the first.
    #[must_use]
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Text of the step's response so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a message of the user's waits for the next request.
    #[must_use]
    pub fn is_steered(&self) -> bool {
        self.steered
    }

    /// A call by its key.
    #[must_use]
    pub fn call(&self, key: CallKey) -> Option<&CallHistory> {
        self.calls.get(&key)
    }

    /// All calls of the turn in call order, ignored ones included.
    pub fn calls(&self) -> impl Iterator<Item = &CallHistory> {
        self.calls.values()
    }

    /// Calls of this step, in the order of the response; none before that is complete.
    pub fn step_calls(&self) -> impl Iterator<Item = &CallHistory> {
        let calls = self.step_calls.iter().filter_map(|key| self.calls.get(key));
        calls.filter(|call| call.state != CallState::Proposed)
    }

    /// The calls of this step that have no result.
    pub fn open_calls(&self) -> impl Iterator<Item = &CallHistory> {
        self.step_calls().filter(|call| call.is_open())
    }

    /// Open calls that wait for permission, or were permitted and have not run since.
    pub fn permission_calls(&self) -> impl Iterator<Item = &CallHistory> {
        self.open_calls().filter(|call| match call.state() {
            CallState::Permission(_) => true,
            CallState::Due => call
                .details()
                .is_some_and(|details| details.permitted.is_some()),
            _ => false,
        })
    }

    /// The key for the next call.
    #[must_use]
    pub fn next_call(&self) -> CallKey {
        let made = |(_, call): &(&CallKey, &CallHistory)| call.state != CallState::Proposed;
        let last = self.calls.iter().rev().find(made);
        CallKey(last.map_or(0, |(key, _)| key.0.saturating_add(1)))
    }

    /// A question by the id of its pair.
    #[must_use]
    pub fn question(&self, pair: &str) -> Option<&QuestionHistory> {
        self.questions.get(pair)
    }

    /// All questions of the turn, in no order.
    pub fn questions(&self) -> impl Iterator<Item = &QuestionHistory> {
        self.questions.values()
    }

    /// A prompt by its id.
    #[must_use]
    pub fn prompt(&self, id: &PromptId) -> Option<&PromptHistory> {
        self.prompts.get(id)
    }

    /// The prompt that a call waits for and that a resume can answer.
    #[must_use]
    pub fn waits_on<'a>(&'a self, call: &'a CallHistory) -> Option<&'a PromptId> {
        match &call.state {
            CallState::Permission(prompt)
            | CallState::Held {
                delivery: DeliveryState::Asked(prompt),
                ..
            } => Some(prompt),
            CallState::Asking(pair) => match &self.questions.get(pair)?.state {
                QuestionState::Prompted(prompt) => Some(prompt),
                _ => None,
            },
            _ => None,
        }
    }

    /// The turn's memory.
    #[must_use]
    pub fn memory(&self) -> &TurnMemory {
        &self.memory
    }

    /// Directives about a tool that the model must call.
    #[must_use]
    pub fn force(&self) -> &ForceHistory {
        &self.force
    }

    /// Number of successive responses that were cut off before anything was complete, as far as the model was told.
    #[must_use]
    pub fn cuts(&self) -> u8 {
        self.cuts
    }

    /// Whether the model was asked once more because its last response was empty.
    #[must_use]
    pub fn is_empty_again(&self) -> bool {
        self.empty
    }

    /// Whether the last steps brought anything new.
    #[must_use]
    pub fn repetition(&self) -> &Repetition {
        &self.repetition
    }

    /// Whether the model was asked to repair the final answer.
    #[must_use]
    pub fn schema_repair(&self) -> bool {
        self.schema_repair
    }

    /// Tokens on record, those of inquiries included.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Tokens that the conversation has, as of its last response; 0 right after a summary. None where no response of the turn
    /// counted them.
    #[must_use]
    pub fn context(&self) -> Option<u64> {
        self.context
    }

    /// Features and parts that models refused in this turn, in order.
    #[must_use]
    pub fn learned(&self) -> &[(String, Refused)] {
        &self.learned
    }

    /// The highest prompt number of the turn; 0 for none.
    #[must_use]
    pub fn last_prompt(&self) -> u32 {
        self.last_prompt
    }

    /// Number of applied events, which is the place of the next one.
    #[must_use]
    pub fn applied(&self) -> u32 {
        self.applied
    }
}
