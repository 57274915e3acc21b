//! How questions ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{json::is_false, prompt::Showing};
use crate::{
    model::response::Usage,
    rules::Strategy,
    word::{Vocabulary, Word},
};

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum InquiryResponse {
    /// With an answer.
    Answered {
        /// The answer, as its type wants it.
        answer: Value,
        /// Who or what answered.
        by: By,
        /// The person said: for the rest of this turn.
        #[serde(default, skip_serializing_if = "is_false")]
        remember: bool,
        /// What a person saw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
        /// What a model's answer took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<Effort>,
    },
    /// With a secret that a person typed.
    Redacted {
        /// What the person saw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
    },
    /// Without an answer.
    Cancelled {
        /// Why there is none.
        reason: Reason,
        /// Of a [`Reason::BackendError`]: what failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        backend: Option<Word<Backend>>,
        /// What the person left for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// Why the backend failed or what was invalid, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// What the person saw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
        /// What a model's tries took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<Effort>,
    },
}

/// Who or what answered a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A person, at the prompt.
    User,
    /// A model, in an inquiry.
    Assistant,
    /// The answer that is configured for the question.
    Config,
    /// A person, earlier in this turn.
    Remembered,
    /// The question's default.
    Default,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A person declined or dismissed it.
    User,
    /// The turn or call was cancelled while it was open.
    Withdrawn,
    /// The inquiry or the client failed.
    BackendError,
    /// It is exclusive and nobody was there.
    NoPromptBackend,
    /// It is exclusive and was routed to the assistant.
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

/// What a model's answer took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effort {
    /// The model that answered or failed to.
    pub model: String,
    /// The strategy of its last try.
    pub strategy: Word<Strategy>,
    /// Requests, repairs included.
    pub tries: u32,
    /// Their tokens; those of a batch stand with the first of its answers, so that sums are true.
    pub usage: Usage,
    /// Milliseconds from the first request to the answer.
    pub milliseconds: u64,
}

/// What failed to answer a question that ended with [`Reason::BackendError`].
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

impl Reason {
    /// The question was put to nobody, as the configuration has it.
    #[must_use]
    pub fn is_by_configuration(&self) -> bool {
        matches!(
            self,
            Self::NoPromptBackend
                | Self::AssistantRoutingDenied
                | Self::InvalidStaticAnswer
                | Self::DetachedPolicy
        )
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

    /// The same for a person.
    #[must_use]
    pub fn in_words(&self) -> &str {
        match self {
            Self::User => "you",
            Self::Withdrawn => "withdrawn",
            Self::BackendError => "it could not be asked",
            Self::NoPromptBackend => "nobody was there to answer",
            Self::AssistantRoutingDenied => "only a person may answer",
            Self::InvalidStaticAnswer => "the configured answer does not fit",
            Self::DetachedPolicy => "the policy did not allow an answer",
            Self::InvalidQuestion => "the question is broken",
            Self::LimitReached => "too many questions",
            Self::Other(name) => name,
        }
    }
}
