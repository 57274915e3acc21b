//! State of a tool's question, folded from events.

use serde_json::Value;

use crate::{
    history::FailedQuestion,
    question::{Question, Source},
    record::{Backend, By, CallKey, InquiryResponse, PromptId, Reason, Word},
};

/// A question of the turn and its state.
#[derive(Clone, Debug)]
pub struct QuestionHistory {
    pub(super) call: CallKey,
    pub(super) source: Source,
    pub(super) question: Question,
    pub(super) label: Option<String>,
    pub(super) live: bool,
    pub(super) before: Option<FailedQuestion>,
    pub(super) prompt: Option<PromptId>,
    pub(super) state: QuestionState,
}

/// State of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionState {
    /// No response, and no prompt.
    Open,
    /// No response; this prompt asks the question.
    Prompted(PromptId),
    /// The question was answered.
    Answered {
        /// The recorded answer.
        answer: Value,
        /// The author of the answer.
        by: By,
        /// Whether the person answered for the rest of this turn.
        remember: bool,
    },
    /// A person typed a secret, which is not on record.
    Secret,
    /// The question has no answer and will not get one.
    Unanswered {
        /// Reason why there is no answer.
        reason: Reason,
        /// The part that failed, if the reason is a failure.
        backend: Option<Word<Backend>>,
        /// The failure in words.
        why: Option<String>,
        /// The person's note for the model.
        note: Option<String>,
    },
}

impl QuestionHistory {
    /// The call that asked.
    #[must_use]
    pub fn call(&self) -> CallKey {
        self.call
    }

    /// Origin of the question.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The question as the tool asked it.
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The label that is configured for the question.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Whether the tool ran on while it asked, so that a resume cannot answer.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Earlier failure of the same question in the turn.
    #[must_use]
    pub fn before(&self) -> Option<&FailedQuestion> {
        self.before.as_ref()
    }

    /// The latest prompt that asked the question; `None` if no person was asked.
    #[must_use]
    pub fn prompt(&self) -> Option<&PromptId> {
        self.prompt.as_ref()
    }

    /// State of the question.
    #[must_use]
    pub fn state(&self) -> &QuestionState {
        &self.state
    }

    /// Whether the question has no response yet.
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
