//! The wire APIs: one row for each kind of API, with the traits of its models and the way to open one.

use std::sync::Arc;

use aside_base::api::ApiKind;
use reqwest::Url;

use super::{
    anthropic::Anthropic, api::WireApi, google::Google, ollama::Ollama, openai_chat::OpenaiChat,
    openai_responses::OpenaiResponses,
};

/// Traits of an API that are known before a request is made.
#[derive(Debug)]
pub(super) struct ApiTraits {
    /// The section of `models.toml` with its models.
    pub(super) models: &'static str,
    /// Whether PDFs can be sent.
    pub(super) documents: bool,
    /// The largest context, in tokens, that is requested unless the user configures one: its server holds it in memory.
    pub(super) context: Option<u64>,
    /// The way to open one of its models.
    pub(super) opens: Opens,
}

/// The way to open a model.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opens {
    /// Over HTTP, at this base URL.
    Http(fn(&Url) -> Arc<dyn WireApi>),
    /// A rehearsal script, which the model's name refers to.
    Script,
}

/// The row of an API.
pub(super) fn traits(kind: ApiKind) -> ApiTraits {
    // Defaults of most APIs: PDFs can be sent, and only the model limits the context.
    let remote = |models, opens| ApiTraits {
        models,
        documents: true,
        context: None,
        opens: Opens::Http(opens),
    };
    match kind {
        ApiKind::Anthropic => remote("anthropic", |_| Arc::new(Anthropic)),
        ApiKind::OpenaiResponses => remote("openai", |_| Arc::new(OpenaiResponses)),
        ApiKind::OpenaiChat => remote("openai_chat", |base| Arc::new(OpenaiChat::new(base))),
        ApiKind::Google => remote("google", |_| Arc::new(Google)),
        ApiKind::Ollama => ApiTraits {
            documents: false,
            context: Some(32_768),
            ..remote("ollama", |_| Arc::new(Ollama))
        },
        ApiKind::Rehearsal => ApiTraits {
            models: "",
            documents: true,
            context: None,
            opens: Opens::Script,
        },
    }
}
