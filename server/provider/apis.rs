//! The APIs that providers speak: a row each, and nothing else names them all.
//!
//! Configuration takes its words for `api` from here, the known providers their addresses, and the JSON schema of
//! `aside.toml` what can be chosen.

use std::sync::Arc;

use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    anthropic::Anthropic, api::WireApi, google::Google, ollama::Ollama, openai_chat::OpenaiChat,
    openai_responses::OpenaiResponses,
};

/// What has to be known of an API before a request is made.
#[derive(Debug)]
pub struct ApiTraits {
    /// Where it is for a provider that does not say. Without one a provider has to.
    pub base_url: Option<&'static str>,
    /// The section of `models.toml` with its models.
    pub(super) models: &'static str,
    /// It has a way to send PDFs.
    pub(super) documents: bool,
    /// Tokens of context that it is asked for at the most where the user does not say: its server holds them in memory.
    pub(super) context: Option<u64>,
    /// How a model behind it is opened.
    pub(super) opens: Opens,
}

/// How a model is opened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opens {
    /// Over HTTP, at this address.
    Http(fn(&Url) -> Arc<dyn WireApi>),
    /// As a script, which the model's name is.
    Script,
}

/// Most APIs: PDFs can be sent, and nothing bounds the context but the model.
const REMOTE: ApiTraits = ApiTraits {
    base_url: None,
    models: "",
    documents: true,
    context: None,
    opens: Opens::Script,
};

/// Makes [`ApiKind`] of the rows: what the API is, its name here, its word in `aside.toml`, its traits.
macro_rules! apis {
    ($($(#[$doc:meta])+ $Api:ident = $word:literal: $traits:expr;)+) => {
        /// An API that a provider speaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum ApiKind {
            $($(#[$doc])+ #[serde(rename = $word)] $Api,)+
        }

        impl ApiKind {
            /// The row of this API.
            #[must_use]
            pub const fn traits(self) -> &'static ApiTraits {
                match self {
                    $(Self::$Api => {
                        const TRAITS: ApiTraits = $traits;
                        &TRAITS
                    })+
                }
            }
        }
    };
}

apis! {
    /// Anthropic's Messages API.
    Anthropic = "anthropic": ApiTraits {
        base_url: Some("https://api.anthropic.com"),
        models: "anthropic",
        opens: Opens::Http(|_| Arc::new(Anthropic)),
        ..REMOTE
    };
    /// OpenAI's Responses API.
    OpenaiResponses = "openai-responses": ApiTraits {
        base_url: Some("https://api.openai.com/v1"),
        models: "openai",
        opens: Opens::Http(|_| Arc::new(OpenaiResponses)),
        ..REMOTE
    };
    /// OpenAI's Chat Completions API, which many servers offer.
    OpenaiChat = "openai-chat": ApiTraits {
        models: "openai_chat",
        opens: Opens::Http(|base| Arc::new(OpenaiChat::new(base))),
        ..REMOTE
    };
    /// Google's Generative Language API.
    Google = "google": ApiTraits {
        base_url: Some("https://generativelanguage.googleapis.com"),
        models: "google",
        opens: Opens::Http(|_| Arc::new(Google)),
        ..REMOTE
    };
    /// The API of Ollama itself.
    Ollama = "ollama": ApiTraits {
        base_url: Some("http://127.0.0.1:11434"),
        models: "ollama",
        documents: false,
        context: Some(32_768),
        opens: Opens::Http(|_| Arc::new(Ollama)),
    };
    /// A script instead of a model.
    Rehearsal = "rehearsal": ApiTraits {
        opens: Opens::Script,
        ..REMOTE
    };
}

impl ApiKind {
    /// Whether it is no API at all, but plays a script.
    #[must_use]
    pub fn is_script(self) -> bool {
        matches!(self.traits().opens, Opens::Script)
    }
}
