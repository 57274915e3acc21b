//! What became of a prompt.

use crate::record::{CallKey, Closed, Permission, PromptSubject};

/// A prompt of the turn and what became of it.
#[derive(Clone, Debug)]
pub struct PromptHistory {
    pub(super) call: CallKey,
    pub(super) subject: PromptSubject,
    pub(super) state: PromptState,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// What became of a prompt. Whether it still waits for a person is decided by [`super::Standing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptState {
    /// Nobody answered it.
    Open,
    /// A `runTool` prompt was answered.
    Permitted(Permission),
    /// A `deliverResult` prompt was answered: whether the model may see the result.
    Delivered(bool),
    /// It asked a question, which has its response.
    Answered,
    /// A person would not answer.
    Declined,
    /// It was withdrawn.
    Withdrawn,
    /// It could not be shown.
    Failed,
    /// It was settled with an answer that this version does not know, which permits and delivers nothing.
    Unknown,
}

impl PromptHistory {
    /// The call it belongs to.
    #[must_use]
    pub fn call(&self) -> CallKey {
        self.call
    }

    /// What it asks.
    #[must_use]
    pub fn subject(&self) -> &PromptSubject {
        &self.subject
    }

    /// What became of it.
    #[must_use]
    pub fn state(&self) -> &PromptState {
        &self.state
    }

    /// The place, among the events of the turn, of the one that first opened it.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The place, among the events of the turn, of the last one about it: the one that settled it, if it was.
    #[must_use]
    pub fn last(&self) -> u32 {
        self.last
    }
}

impl PromptState {
    /// How a prompt with this subject was settled. An answer to a prompt of another kind is unknown.
    pub(super) fn of(subject: &PromptSubject, closed: &Closed) -> Self {
        match (subject, closed) {
            (PromptSubject::RunTool { .. }, Closed::Permitted { permission, .. }) => {
                Self::Permitted(*permission)
            }
            (PromptSubject::DeliverResult, Closed::Delivered { deliver, .. }) => {
                Self::Delivered(*deliver)
            }
            (_, Closed::Declined { .. }) => Self::Declined,
            (_, Closed::Withdrawn) => Self::Withdrawn,
            (_, Closed::Failed { .. }) => Self::Failed,
            (_, Closed::Permitted { .. } | Closed::Delivered { .. } | Closed::Unknown { .. }) => {
                Self::Unknown
            }
        }
    }
}
