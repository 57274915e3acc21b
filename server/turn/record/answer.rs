//! Outcomes of questions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{by::By, end::RefusalReason, json::is_false, prompt::Showing};
use crate::{
    model::response::Usage,
    rules::Strategy,
    word::{Vocabulary, Word},
};

/// Outcome of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum InquiryResponse {
    /// With an answer.
    Answered {
        /// The answer, as its type wants it.
        answer: Value,
        /// The author of the answer.
        by: By,
        /// The person said: for the rest of this turn.
        #[serde(default, skip_serializing_if = "is_false")]
        remember: bool,
        /// The client that showed the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
        /// Cost of a model's answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<Effort>,
    },
    /// With a secret that a person typed.
    Redacted {
        /// The client that showed the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
    },
    /// Without an answer.
    Cancelled {
        /// Reason why there is no answer.
        reason: Reason,
        /// Of a [`Reason::BackendError`]: what failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        backend: Option<Word<Backend>>,
        /// The person's note for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The failure in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// The client that showed the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
        /// Cost of the model's tries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<Effort>,
    },
}

impl InquiryResponse {
    /// The cost of a model's answer, or of its tries to answer.
    #[must_use]
    pub fn effort(&self) -> Option<&Effort> {
        match self {
            Self::Answered { effort, .. } | Self::Cancelled { effort, .. } => effort.as_ref(),
            Self::Redacted { .. } => None,
        }
    }
}

/// Reason why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A person declined or dismissed it.
    User,
    /// The turn or call was cancelled while it was open.
    Withdrawn,
    /// The inquiry or the client failed.
    BackendError,
    /// Only a person may answer, and nobody was there.
    NoPromptBackend,
    /// Only a person may answer, but the question was routed to the assistant.
    AssistantRoutingDenied,
    /// The configured answer does not fit.
    InvalidStaticAnswer,
    /// Policy refuses it.
    DetachedPolicy,
    /// The question is broken.
    InvalidQuestion,
    /// Too many, or the same again.
    LimitReached,
    /// One that this version does not know, kept as it is.
    #[serde(untagged)]
    Other(String),
}

/// Cost of a model's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effort {
    /// The model that answered or failed to.
    pub model: String,
    /// The strategy of its last try.
    pub strategy: Word<Strategy>,
    /// Requests, repairs included.
    pub tries: u32,
    /// Tokens of these requests. Those of a batch are counted with its first answer, so that sums are right.
    pub usage: Usage,
    /// Milliseconds from the first request to the answer.
    pub milliseconds: u64,
}

/// The part that failed, for a question that ended with [`Reason::BackendError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// A client that was to show it to a person.
    Client,
    /// A model that was asked in an inquiry.
    Inquiry,
}

impl Vocabulary for Backend {
    const ALL: &'static [Self] = &[Self::Client, Self::Inquiry];

    fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Inquiry => "inquiry",
        }
    }
}

impl InquiryResponse {
    /// Whether neither a person nor a model was asked: the configuration, a default or an earlier answer decided.
    #[must_use]
    pub fn is_by_configuration(&self) -> bool {
        match self {
            Self::Answered { by, .. } => matches!(by, By::Config | By::Remembered | By::Default),
            Self::Redacted { .. } => false,
            Self::Cancelled { reason, .. } => reason.is_by_configuration(),
        }
    }
}

impl Reason {
    /// Whether nobody was asked, because the configuration has it so.
    #[must_use]
    pub fn is_by_configuration(&self) -> bool {
        self.refusal().is_some()
    }

    /// The refusal that this reason is; none where the question was asked.
    #[must_use]
    pub fn refusal(&self) -> Option<RefusalReason> {
        match self {
            Self::NoPromptBackend => Some(RefusalReason::NoPromptBackend),
            Self::DetachedPolicy => Some(RefusalReason::DetachedPolicy),
            Self::InvalidStaticAnswer => Some(RefusalReason::InvalidStaticAnswer),
            Self::AssistantRoutingDenied => Some(RefusalReason::AssistantRoutingDenied),
            Self::User
            | Self::Withdrawn
            | Self::BackendError
            | Self::InvalidQuestion
            | Self::LimitReached
            | Self::Other(_) => None,
        }
    }

    /// The key of the configuration that refused this question of a tool, if one did.
    #[must_use]
    pub fn refusing_key(&self, tool: &str, question: &str) -> Option<String> {
        (*self == Self::InvalidStaticAnswer)
            .then(|| format!("conversation.tools.{tool}.questions.{question}.answer"))
    }

    /// The reason in words for a person who is told that a question was not answered. The failure of an inquiry is
    /// told to the model alone.
    #[must_use]
    pub fn of_no_answer(&self, backend: Option<&Word<Backend>>, why: Option<&str>) -> String {
        let is_inquiry = backend.and_then(Word::known) == Some(Backend::Inquiry);
        let words = match self {
            Self::User => "the user declined",
            other => other.in_words(),
        };
        match why.filter(|_| !is_inquiry) {
            Some(why) => format!("{words}: {why}"),
            None => words.to_owned(),
        }
    }

    /// The word on record.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Withdrawn => "withdrawn",
            Self::BackendError => "backend_error",
            Self::NoPromptBackend => "no_prompt_backend",
            Self::AssistantRoutingDenied => "assistant_routing_denied",
            Self::InvalidStaticAnswer => "invalid_static_answer",
            Self::DetachedPolicy => "detached_policy",
            Self::InvalidQuestion => "invalid_question",
            Self::LimitReached => "limit_reached",
            Self::Other(name) => name,
        }
    }

    /// The reason in words for a person.
    #[must_use]
    pub fn in_words(&self) -> &str {
        if let Some(refusal) = self.refusal() {
            return refusal.in_words();
        }
        match self {
            Self::User => "you",
            Self::Withdrawn => "withdrawn",
            Self::InvalidQuestion => "the question is broken",
            Self::LimitReached => "too many questions",
            Self::Other(name) => name,
            _ => "it could not be asked",
        }
    }
}
