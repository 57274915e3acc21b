//! State of a prompt, folded from events.

use crate::record::{CallKey, Closed, InquiryResponse, Permission, PromptSubject};

/// A prompt of the turn and its state.
#[derive(Clone, Debug)]
pub struct PromptHistory {
    pub(super) call: CallKey,
    pub(super) subject: PromptSubject,
    pub(super) state: PromptState,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// State of a prompt. [`super::Standing`] decides whether it still waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptState {
    /// Nobody has answered.
    Open,
    /// A `runTool` prompt was answered.
    Permitted(Permission),
    /// A `deliverResult` prompt was answered: whether the model may see the result.
    Delivered(bool),
    /// A question prompt was answered.
    Answered,
    /// A question prompt got no answer and will not get one.
    Unanswered,
    /// A person declined to answer.
    Declined,
    /// The prompt was withdrawn.
    Withdrawn,
    /// The prompt could not be shown.
    Failed,
    /// The prompt was settled with an answer that this version does not know. Nothing is permitted or delivered.
    Unknown,
}

impl PromptHistory {
    /// The call that the prompt belongs to.
    #[must_use]
    pub fn call(&self) -> CallKey {
        self.call
    }

    /// Subject of the prompt.
    #[must_use]
    pub fn subject(&self) -> &PromptSubject {
        &self.subject
    }

    /// State of the prompt.
    #[must_use]
    pub fn state(&self) -> &PromptState {
        &self.state
    }

    /// Place of the event that first opened it, among the events of the turn.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Place of the last event about it, among the events of the turn: the one that settled it, if any.
    #[must_use]
    pub fn last(&self) -> u32 {
        self.last
    }
}

impl PromptState {
    /// State of a settled prompt with this subject. An answer to a prompt of another kind is unknown.
    pub(super) fn of(subject: &PromptSubject, closed: &Closed) -> Self {
        match (subject, closed) {
            (PromptSubject::RunTool { .. }, Closed::Permitted { permission, .. }) => {
                permission.known().map_or(Self::Unknown, Self::Permitted)
            }
            (PromptSubject::RunTool { .. }, Closed::Configured) => {
                Self::Permitted(Permission::Once)
            }
            (PromptSubject::DeliverResult, Closed::Delivered { deliver, .. }) => {
                Self::Delivered(*deliver)
            }
            (_, Closed::Declined { .. }) => Self::Declined,
            (_, Closed::Withdrawn) => Self::Withdrawn,
            (_, Closed::Failed { .. }) => Self::Failed,
            (_, Closed::Permitted { .. } | Closed::Configured | Closed::Delivered { .. }) => {
                Self::Unknown
            }
        }
    }

    /// State of the prompt of a question that has this response.
    pub(super) fn of_question(response: &InquiryResponse) -> Self {
        match response {
            InquiryResponse::Answered { .. } | InquiryResponse::Redacted { .. } => Self::Answered,
            InquiryResponse::Cancelled { .. } => Self::Unanswered,
        }
    }
}
