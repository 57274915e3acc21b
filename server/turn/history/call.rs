//! State of a call, folded from events.

use serde_json::Value;

use crate::{
    model::attachment::Attachment,
    question::Question,
    record::{CallEnd, CallKey, Closed, Permission, PromptId, Reason, ResultReason},
};

/// A call of the turn and its state.
#[derive(Clone, Debug)]
pub struct CallHistory {
    pub(super) key: CallKey,
    pub(super) id: Box<str>,
    pub(super) tool: Box<str>,
    pub(super) title: Box<str>,
    pub(super) runs: u32,
    pub(super) first: u32,
    pub(super) state: CallState,
    /// `None` once the call's step is over.
    pub(super) details: Option<Box<CallDetails>>,
}

/// Details of a call that only its own step needs.
#[derive(Clone, Debug, Default)]
pub struct CallDetails {
    /// The raw arguments, as received.
    pub arguments: String,
    /// The latest answer to each question, by question id.
    pub answers: Vec<(String, RecordedAnswer)>,
    /// Number of answers to each question.
    pub answered: Vec<(Question, u32)>,
    /// Number of questions that the call asked.
    pub asked: u32,
    /// The hash that a person permitted for this call.
    pub permitted: Option<String>,
    /// The text that replaces the prepared one, if a person changed it.
    pub new_text: Option<String>,
    /// The result, held or delivered.
    pub result: Option<RecordedResult>,
}

/// A result on record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedResult {
    /// Text for the model.
    pub content: String,
    /// The line for people of a held result, where it is not the first one of the text.
    pub summary: Option<String>,
    /// Other data of a held result, for its final record.
    pub details: Option<Value>,
    /// Images and documents of a held result, for its final record.
    pub media: Vec<Attachment>,
}

/// An answer on record.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedAnswer {
    /// The recorded answer.
    Value(Value),
    /// A secret, which is not on record and has to be asked for again.
    Gone(Question),
}

/// State of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// Ignored, because its response has no end on record.
    Proposed,
    /// The model made the call, and nothing happened yet.
    Made,
    /// The call has to be prepared, with the answers so far.
    Due,
    /// Waiting for permission to run, by this prompt.
    Permission(PromptId),
    /// The call runs, or ran when the process ended.
    Running {
        /// Ids of its open live questions.
        live: Vec<String>,
    },
    /// The call waits for the answer to the question with this id.
    Asking(String),
    /// The call has a result that the model may not see yet.
    Held {
        /// End of the call.
        end: CallEnd,
        /// Decision about the delivery to the model.
        delivery: DeliveryState,
    },
    /// The end is decided, but the result is not on record.
    Ending(PendingEnd),
    /// The call has its result. This state is final.
    Done(CallEnd),
}

/// Delivery of a result to the model: not asked, waiting for a prompt, or allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// Nobody was asked.
    Unasked,
    /// Waiting for the answer to this prompt.
    Asked(PromptId),
    /// A person allowed it.
    Allowed,
}

/// Decided end of a call whose result is not on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingEnd {
    /// The question with this id has no answer. The reason is recorded with the question.
    Unanswered(String),
    /// A person refused to let the call run.
    Declined {
        /// The person's note for the model.
        note: Option<String>,
    },
    /// A person withheld the result.
    Withheld {
        /// The person's note for the model.
        note: Option<String>,
    },
    /// The prompt could not be shown.
    PromptFailed {
        /// The failure in words.
        why: String,
    },
    /// The call was cancelled.
    Cancelled,
}

impl CallHistory {
    /// Place of the call in the turn.
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

    /// One line that describes the call, as it was last shown; empty if that is not on record.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Number of runs.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// Place of its [`crate::Event::ToolCall`] among the events of the turn. A response that the end of the process cut
    /// off may have made another call with the same key before.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// State of the call.
    #[must_use]
    pub fn state(&self) -> &CallState {
        &self.state
    }

    /// Details for the call's own step; `None` once that is over.
    #[must_use]
    pub fn details(&self) -> Option<&CallDetails> {
        self.details.as_deref()
    }

    /// The result as the model receives it, and whether it is an error. `None` before there is one, and once the step is
    /// over.
    #[must_use]
    pub fn result(&self) -> Option<(&str, bool)> {
        let CallState::Done(end) = &self.state else {
            return None;
        };
        let result = self.details.as_ref()?.result.as_ref()?;
        Some((&result.content, *end != CallEnd::Success))
    }

    /// Whether the model made the call and it has no result yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self.state, CallState::Proposed | CallState::Done(_))
    }

    /// Marks the call as running.
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

    /// Sets the line that was shown for the call.
    pub(super) fn name(&mut self, title: &str) {
        if !title.is_empty() {
            self.title = title.into();
        }
    }

    /// Marks the question of this pair as asked; `live` if the tool runs on meanwhile.
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

    /// Takes the answer to the call's question.
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

    /// Marks the call's question as ended without an answer.
    pub(super) fn unanswered(&mut self, pair: &str, reason: &Reason) {
        self.end_live(pair);
        if self.asks(pair) {
            self.state = CallState::Ending(match reason {
                Reason::Withdrawn => PendingEnd::Cancelled,
                _ => PendingEnd::Unanswered(pair.to_owned()),
            });
        }
    }

    /// Marks the call as waiting for permission.
    pub(super) fn ask_permission(&mut self, prompt: &PromptId) {
        if matches!(
            self.state,
            CallState::Made | CallState::Due | CallState::Permission(_) | CallState::Running { .. }
        ) {
            self.state = CallState::Permission(prompt.clone());
        }
    }

    /// Takes the outcome of the permission prompt.
    pub(super) fn permission_closed(&mut self, prompt: &PromptId, hash: &str, closed: &Closed) {
        if self.state != CallState::Permission(prompt.clone()) {
            return;
        }
        self.state = match closed {
            Closed::Permitted {
                permission,
                new_text,
                ..
            } => match permission.known() {
                Some(Permission::No) => CallState::Ending(PendingEnd::Declined { note: None }),
                Some(Permission::Once | Permission::Turn | Permission::Always) => {
                    let details = self.details_mut();
                    details.permitted = Some(hash.to_owned());
                    details.new_text.clone_from(new_text);
                    CallState::Due
                }
                None => CallState::Due,
            },
            Closed::Configured => {
                self.details_mut().permitted = Some(hash.to_owned());
                CallState::Due
            }
            Closed::Declined { note, .. } => {
                CallState::Ending(PendingEnd::Declined { note: note.clone() })
            }
            Closed::Failed { why } => {
                CallState::Ending(PendingEnd::PromptFailed { why: why.clone() })
            }
            Closed::Withdrawn | Closed::Delivered { .. } => CallState::Due,
        };
    }

    /// Marks the result as waiting for its delivery prompt.
    pub(super) fn ask_delivery(&mut self, prompt: &PromptId) {
        if let CallState::Held { delivery, .. } = &mut self.state {
            *delivery = DeliveryState::Asked(prompt.clone());
        }
    }

    /// Takes the outcome of the delivery prompt.
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
            Closed::Permitted { .. } | Closed::Configured => {
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

    /// Stores a result that is held back.
    pub(super) fn hold(&mut self, end: &CallEnd, result: RecordedResult) {
        if !matches!(self.state, CallState::Ending(_)) {
            self.details_mut().result = Some(result);
            self.state = CallState::Held {
                end: end.clone(),
                delivery: DeliveryState::Unasked,
            };
        }
    }

    /// Marks the call as finished. Returns its arguments, or null if they were not valid JSON.
    pub(super) fn finish(&mut self, end: &CallEnd, content: &str) -> Value {
        self.state = CallState::Done(end.clone());
        let details = self.details_mut();
        details.result = Some(RecordedResult {
            content: content.to_owned(),
            ..RecordedResult::default()
        });
        self.arguments()
    }

    /// The arguments; null if they were not valid JSON or the step is over.
    pub(super) fn arguments(&self) -> Value {
        let details = self.details();
        details.map_or(Value::Null, |details| {
            parse_arguments(&details.arguments).unwrap_or_default()
        })
    }

    pub(super) fn details_mut(&mut self) -> &mut CallDetails {
        self.details.get_or_insert_default()
    }

    /// Whether the call waits for the answer to this question.
    fn asks(&self, pair: &str) -> bool {
        matches!(&self.state, CallState::Asking(open) if open == pair)
    }

    /// Removes a live question that was settled.
    fn end_live(&mut self, pair: &str) {
        if let CallState::Running { live } = &mut self.state {
            live.retain(|open| open != pair);
        }
    }
}

impl PendingEnd {
    /// Reason with which Aside ends the call.
    #[must_use]
    pub fn reason(&self) -> ResultReason {
        match self {
            Self::Unanswered(_) => ResultReason::Unanswered { why: String::new() },
            // A note may be blank on record.
            Self::Declined { note } => ResultReason::Declined {
                noted: note.as_ref().is_some_and(|note| !note.trim().is_empty()),
            },
            Self::Withheld { .. } => ResultReason::Withheld,
            Self::PromptFailed { why } => ResultReason::PromptFailed { why: why.clone() },
            Self::Cancelled => ResultReason::Cancelled,
        }
    }
}

/// Parses the arguments of a call. An empty text is an empty object.
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
