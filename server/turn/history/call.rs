//! What became of a call.

use serde_json::Value;

use crate::{
    question::Question,
    record::{CallEnd, CallKey, Closed, Permission, PromptId, Reason, ResultReason},
};

/// A call of the turn and what became of it.
#[derive(Clone, Debug)]
pub struct CallHistory {
    pub(super) key: CallKey,
    pub(super) id: Box<str>,
    pub(super) tool: Box<str>,
    pub(super) title: Box<str>,
    pub(super) runs: u32,
    pub(super) first: u32,
    pub(super) state: CallState,
    /// Dropped when the call's step is over.
    pub(super) details: Option<Box<CallDetails>>,
}

/// What only the step of a call needs to know of it.
#[derive(Clone, Debug, Default)]
pub struct CallDetails {
    /// The raw arguments, as received.
    pub arguments: String,
    /// The latest answer to each question, by question id.
    pub answers: Vec<(String, RecordedAnswer)>,
    /// How often each question was answered.
    pub answered: Vec<(Question, u32)>,
    /// How many questions it asked.
    pub asked: u32,
    /// The hash that a person permitted for this call.
    pub permitted: Option<String>,
    /// The text to run with instead, where a person changed it.
    pub new_text: Option<String>,
    /// Its result, or the one that is held back.
    pub result: Option<RecordedResult>,
}

/// A result, as far as it is on record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedResult {
    /// What the model is sent, or would be.
    pub content: String,
    /// What else goes on record, while the result is held back.
    pub details: Option<Value>,
}

/// An answer, as far as it is on record.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedAnswer {
    /// The answer as it stands on record.
    Value(Value),
    /// A secret: it has to be asked for again.
    Gone(Question),
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// The response that makes it has no end on record, so it counts as not there.
    Proposed,
    /// It was made, and nothing happened yet.
    Made,
    /// It is to be prepared, with the answers so far.
    Due,
    /// This prompt asks whether it may run.
    Permission(PromptId),
    /// It runs, or ran when the process ended.
    Running {
        /// The ids of its open questions.
        live: Vec<String>,
    },
    /// It waits for the answer to the question with this id.
    Asking(String),
    /// It has a result, which the model may not have seen.
    Held {
        /// How the call ended.
        end: CallEnd,
        /// What is known of whether the model may see it.
        delivery: DeliveryState,
    },
    /// How it ends is decided, and its result is not on record.
    Ending(PendingEnd),
    /// It has its result. This is final.
    Done(CallEnd),
}

/// What is known of whether the model may see a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// Nobody was asked.
    Unasked,
    /// This prompt asks.
    Asked(PromptId),
    /// A person allowed it.
    Allowed,
}

/// How a call ends whose result is not on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingEnd {
    /// The question with this id has no answer; why stands with the question.
    Unanswered(String),
    /// A person said that it may not run.
    Declined {
        /// What the person left for the model.
        note: Option<String>,
    },
    /// A person withheld its result.
    Withheld {
        /// What the person left for the model.
        note: Option<String>,
    },
    /// Its prompt could not be shown.
    PromptFailed {
        /// Why, in words.
        why: String,
    },
    /// It was cancelled.
    Cancelled,
}

impl CallHistory {
    /// Its place in the turn.
    #[must_use]
    pub fn key(&self) -> CallKey {
        self.key
    }

    /// The provider's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tool, as the model wrote it.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// What it does, in one line, as people were told last; empty where that is not on record.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// How often it was run.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// The place of its [`crate::Event::ToolCall`] among the events of the turn. A response that was cut off by the
    /// end of the process may have made another call with the same key before.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> &CallState {
        &self.state
    }

    /// What its step needs to know of it; none once that is over.
    #[must_use]
    pub fn details(&self) -> Option<&CallDetails> {
        self.details.as_deref()
    }

    /// What the model is sent as its result, and whether that is an error; none before it has one, and none once its
    /// step is over.
    #[must_use]
    pub fn result(&self) -> Option<(&str, bool)> {
        let CallState::Done(end) = &self.state else {
            return None;
        };
        let result = self.details.as_ref()?.result.as_ref()?;
        Some((&result.content, *end != CallEnd::Success))
    }

    /// Whether it was made and has no result.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self.state, CallState::Proposed | CallState::Done(_))
    }

    /// It begins to run.
    pub(super) fn start(&mut self, run: u32, title: &str) {
        self.runs = run;
        self.name(title);
        if matches!(
            self.state,
            CallState::Made
                | CallState::Due
                | CallState::Permission(_)
                | CallState::Running { .. }
                | CallState::Asking(_)
        ) {
            self.state = CallState::Running { live: Vec::new() };
        }
    }

    /// People are told what it does.
    pub(super) fn name(&mut self, title: &str) {
        if !title.is_empty() {
            self.title = title.into();
        }
    }

    /// The call asks the question of this pair; `live`: while its tool runs on.
    pub(super) fn ask(&mut self, pair: &str, live: bool) {
        if !self.is_open() {
            return;
        }
        self.details_mut().asked += 1;
        match &mut self.state {
            CallState::Running { live: open } if live => open.push(pair.to_owned()),
            CallState::Held { .. } | CallState::Ending(_) => {}
            _ if live => {}
            state => *state = CallState::Asking(pair.to_owned()),
        }
    }

    /// Its question was answered with this, if that is on record.
    pub(super) fn answered(&mut self, pair: &str, question: &Question, answer: RecordedAnswer) {
        if !self.is_open() {
            return;
        }
        let details = self.details_mut();
        let mut counts = details.answered.iter_mut();
        match counts.find(|(known, _)| known.is_same(question)) {
            Some((_, times)) => *times += 1,
            None => details.answered.push((question.clone(), 1)),
        }
        self.end_live(pair);
        if self.asks(pair) {
            let answers = &mut self.details_mut().answers;
            answers.retain(|(id, _)| *id != question.id);
            answers.push((question.id.clone(), answer));
            self.state = CallState::Due;
        }
    }

    /// Its question has no answer and will have none.
    pub(super) fn unanswered(&mut self, pair: &str, reason: &Reason) {
        self.end_live(pair);
        if self.asks(pair) {
            self.state = CallState::Ending(match reason {
                Reason::Withdrawn => PendingEnd::Cancelled,
                _ => PendingEnd::Unanswered(pair.to_owned()),
            });
        }
    }

    /// A prompt asks whether it may run.
    pub(super) fn ask_permission(&mut self, prompt: &PromptId) {
        if matches!(
            self.state,
            CallState::Made | CallState::Due | CallState::Permission(_)
        ) {
            self.state = CallState::Permission(prompt.clone());
        }
    }

    /// The prompt that asked whether it may run was settled.
    pub(super) fn permission_closed(&mut self, prompt: &PromptId, hash: &str, closed: &Closed) {
        if self.state != CallState::Permission(prompt.clone()) {
            return;
        }
        self.state = match closed {
            Closed::Permitted {
                permission,
                new_text,
                ..
            } if *permission != Permission::No => {
                let details = self.details_mut();
                details.permitted = Some(hash.to_owned());
                details.new_text.clone_from(new_text);
                CallState::Due
            }
            Closed::Permitted { .. } => CallState::Ending(PendingEnd::Declined { note: None }),
            Closed::Declined { note, .. } => {
                CallState::Ending(PendingEnd::Declined { note: note.clone() })
            }
            Closed::Failed { why } => {
                CallState::Ending(PendingEnd::PromptFailed { why: why.clone() })
            }
            Closed::Withdrawn | Closed::Delivered { .. } | Closed::Unknown { .. } => CallState::Due,
        };
    }

    /// A prompt asks whether the model may see its result.
    pub(super) fn ask_delivery(&mut self, prompt: &PromptId) {
        if let CallState::Held { delivery, .. } = &mut self.state {
            *delivery = DeliveryState::Asked(prompt.clone());
        }
    }

    /// The prompt that asked whether the model may see its result was settled.
    pub(super) fn delivery_closed(&mut self, prompt: &PromptId, closed: &Closed) {
        let CallState::Held { delivery, .. } = &mut self.state else {
            return;
        };
        if *delivery != DeliveryState::Asked(prompt.clone()) {
            return;
        }
        let end = match closed {
            Closed::Delivered { deliver: true, .. } => {
                *delivery = DeliveryState::Allowed;
                return;
            }
            Closed::Permitted { .. } | Closed::Unknown { .. } => {
                *delivery = DeliveryState::Unasked;
                return;
            }
            Closed::Delivered { .. } => PendingEnd::Withheld { note: None },
            Closed::Declined { note, .. } => PendingEnd::Withheld { note: note.clone() },
            Closed::Failed { why } => PendingEnd::PromptFailed { why: why.clone() },
            Closed::Withdrawn => PendingEnd::Cancelled,
        };
        self.state = CallState::Ending(end);
    }

    /// Its result is on record and held back.
    pub(super) fn hold(&mut self, end: &CallEnd, content: &str, details: Option<&Value>) {
        if !matches!(self.state, CallState::Ending(_)) {
            self.details_mut().result = Some(RecordedResult {
                content: content.to_owned(),
                details: details.cloned(),
            });
            self.state = CallState::Held {
                end: end.clone(),
                delivery: DeliveryState::Unasked,
            };
        }
    }

    /// It has its result. Gives its arguments; null where they could not be read.
    pub(super) fn finish(&mut self, end: &CallEnd, content: &str) -> Value {
        self.state = CallState::Done(end.clone());
        let details = self.details_mut();
        details.result = Some(RecordedResult {
            content: content.to_owned(),
            details: None,
        });
        self.arguments()
    }

    /// Its arguments; null where they could not be read, or its step is over.
    pub(super) fn arguments(&self) -> Value {
        let details = self.details();
        details.map_or(Value::Null, |details| {
            parse_arguments(&details.arguments).unwrap_or_default()
        })
    }

    pub(super) fn details_mut(&mut self) -> &mut CallDetails {
        self.details.get_or_insert_default()
    }

    /// Whether it waits for the answer to this question.
    fn asks(&self, pair: &str) -> bool {
        matches!(&self.state, CallState::Asking(open) if open == pair)
    }

    /// A question of its run was settled.
    fn end_live(&mut self, pair: &str) {
        if let CallState::Running { live } = &mut self.state {
            live.retain(|open| open != pair);
        }
    }
}

impl PendingEnd {
    /// Why Aside ends the call.
    #[must_use]
    pub fn reason(&self) -> ResultReason {
        match self {
            Self::Unanswered(_) => ResultReason::Unanswered,
            // Older programs put blank notes on record.
            Self::Declined { note } => ResultReason::Declined {
                noted: note.as_ref().is_some_and(|note| !note.trim().is_empty()),
            },
            Self::Withheld { .. } => ResultReason::Withheld,
            Self::PromptFailed { .. } => ResultReason::PromptFailed,
            Self::Cancelled => ResultReason::Cancelled,
        }
    }
}

/// The arguments of a call; nothing at all is an empty object.
pub(crate) fn parse_arguments(raw: &str) -> Result<Value, String> {
    if raw.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match serde_json::from_str(raw) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("they are not a JSON object".into()),
        Err(error) => Err(format!("they are not valid JSON: {error}")),
    }
}
