//! Differences between servers of the Chat Completions API: one table, by address.

use reqwest::Url;

/// Properties of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerTraits {
    /// Host of the server; empty for any host.
    host: &'static str,
    /// Port of the server, if it identifies the server.
    port: Option<u16>,
    /// Role of the system text.
    pub(super) system: &'static str,
    /// Whether the server knows `max_completion_tokens`, which some of its models require.
    pub(super) newer_limit: bool,
    /// Whether usage at the end of a stream must be requested.
    pub(super) stream_usage: bool,
    /// The way in which a request controls reasoning.
    pub(super) reasoning: ReasoningStyle,
    /// Whether every assistant message needs `reasoning_content`, if only a space.
    pub(super) wants_reasoning: bool,
    /// Content of an assistant message without text, as JSON.
    pub(super) no_content: &'static str,
    /// Prefixes of models for which cache breakpoints are marked.
    pub(super) marked: &'static [&'static str],
    /// Tool choice that forces any tool; `None` if the server accepts no tool choice.
    pub(super) required: Option<&'static str>,
    /// Required format of call ids.
    pub(super) ids: Ids,
    /// Whether the server accepts a key that keeps a conversation's requests on one prompt cache.
    pub(super) cache_key: bool,
    /// Whether an assistant message must stand between a result and a user's message.
    pub(super) bridge: bool,
    /// Whether the text may contain reasoning between tags.
    pub(super) tags: bool,
}

/// The way in which a request controls reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasoningStyle {
    /// The member `reasoning_effort`, or an argument of the chat template if reasoning is a switch.
    Effort,
    /// The member `reasoning`, an object.
    Object,
}

/// Required format of call ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// Any text of at most 40 characters.
    Short,
    /// Nine letters and digits.
    Nine,
}

/// An unknown server: the plain API, with the members that most servers know.
const UNKNOWN: ServerTraits = ServerTraits {
    host: "",
    port: None,
    system: "system",
    newer_limit: false,
    stream_usage: true,
    reasoning: ReasoningStyle::Effort,
    wants_reasoning: false,
    no_content: "null",
    marked: &[],
    required: Some("required"),
    ids: Ids::Short,
    cache_key: false,
    bridge: false,
    tags: true,
};

const KNOWN: [ServerTraits; 5] = [
    ServerTraits {
        host: "api.openai.com",
        system: "developer",
        newer_limit: true,
        cache_key: true,
        tags: false,
        ..UNKNOWN
    },
    ServerTraits {
        host: "openrouter.ai",
        reasoning: ReasoningStyle::Object,
        marked: &["anthropic/"],
        ..UNKNOWN
    },
    ServerTraits {
        host: "api.deepseek.com",
        wants_reasoning: true,
        no_content: "\"\"",
        ..UNKNOWN
    },
    ServerTraits {
        // Mistral refuses unknown members, and sends usage without a request.
        host: "api.mistral.ai",
        stream_usage: false,
        no_content: "\"\"",
        required: Some("any"),
        ids: Ids::Nine,
        bridge: true,
        ..UNKNOWN
    },
    ServerTraits {
        // Ollama's shim.
        port: Some(11434),
        required: None,
        ..UNKNOWN
    },
];

impl ServerTraits {
    /// Properties of the server at this address.
    pub(super) fn at(base: &Url) -> Self {
        let host = base.host_str().unwrap_or_default();
        let fits = |server: &&Self| {
            (server.host.is_empty() || server.host == host)
                && (server.port.is_none() || server.port == base.port())
        };
        KNOWN.iter().find(fits).unwrap_or(&UNKNOWN).clone()
    }
}
