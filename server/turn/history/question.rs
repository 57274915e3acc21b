//! What became of a tool's question.

use serde_json::Value;

use crate::{
    history::FailedQuestion,
    question::{Question, Source},
    record::{Backend, By, CallKey, InquiryResponse, PromptId, Reason, Word},
};

/// A question of the turn and what became of it.
#[derive(Clone, Debug)]
pub struct QuestionHistory {
    pub(super) call: CallKey,
    pub(super) source: Source,
    pub(super) question: Question,
    pub(super) live: bool,
    pub(super) before: Option<FailedQuestion>,
    pub(super) prompt: Option<PromptId>,
    pub(super) state: QuestionState,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionState {
    /// It has no response, and no prompt asks it.
    Open,
    /// This prompt asks it, and it has no response.
    Prompted(PromptId),
    /// It was answered.
    Answered {
        /// The answer as it stands on record.
        answer: Value,
        /// Who or what answered.
        by: By,
        /// The person said: for the rest of this turn.
        remember: bool,
    },
    /// A person typed a secret, which is not on record.
    Secret,
    /// It has no answer and will have none.
    Unanswered {
        /// Why it has no answer.
        reason: Reason,
        /// What failed, where the reason is that something did.
        backend: Option<Word<Backend>>,
        /// Why it failed or what was invalid, in words.
        why: Option<String>,
        /// What the person left for the model.
        note: Option<String>,
    },
}

impl QuestionHistory {
    /// The call that asked.
    #[must_use]
    pub fn call(&self) -> CallKey {
        self.call
    }

    /// Whose question it is.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What was asked.
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Whether it was asked while the tool ran on, so that no resume can answer it.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// How the same question failed before this one was asked in the turn; none where it did not.
    #[must_use]
    pub fn before(&self) -> Option<&FailedQuestion> {
        self.before.as_ref()
    }

    /// The prompt that asked it last; none where no person was asked.
    #[must_use]
    pub fn prompt(&self) -> Option<&PromptId> {
        self.prompt.as_ref()
    }

    /// What became of it.
    #[must_use]
    pub fn state(&self) -> &QuestionState {
        &self.state
    }

    /// Whether it has no response yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.state, QuestionState::Open | QuestionState::Prompted(_))
    }
}

impl From<&InquiryResponse> for QuestionState {
    fn from(response: &InquiryResponse) -> Self {
        match response {
            InquiryResponse::Answered {
                answer,
                by,
                remember,
                ..
            } => Self::Answered {
                answer: answer.clone(),
                by: *by,
                remember: *remember,
            },
            InquiryResponse::Redacted { .. } => Self::Secret,
            InquiryResponse::Cancelled {
                reason,
                backend,
                note,
                why,
                ..
            } => Self::Unanswered {
                reason: reason.clone(),
                backend: backend.clone(),
                why: why.clone(),
                note: note.clone(),
            },
        }
    }
}
