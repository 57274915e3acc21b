//! What the servers that speak Chat Completions do differently: one table, by where they are.

use reqwest::Url;

/// What is known of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerTraits {
    /// Its host; empty is any.
    host: &'static str,
    /// Its port, where that tells it apart.
    port: Option<u16>,
    /// The role of system text.
    pub(super) system: &'static str,
    /// It knows `max_completion_tokens`, and some of its models know nothing else.
    pub(super) newer_limit: bool,
    /// It has to be asked for usage at the end of a stream.
    pub(super) stream_usage: bool,
    /// How it is told to reason.
    pub(super) reasoning: ReasoningStyle,
    /// Every assistant message needs `reasoning_content`, be it a space.
    pub(super) wants_reasoning: bool,
    /// What an assistant message without words has as its content.
    pub(super) no_content: &'static str,
    /// The beginnings of the models for which cache breakpoints are marked.
    pub(super) marked: &'static [&'static str],
    /// Its word for a choice of any tool; `None`: it takes no tool choice.
    pub(super) required: Option<&'static str>,
    /// What ids of calls must look like.
    pub(super) ids: Ids,
    /// It takes a key that keeps a conversation's requests on one prompt cache.
    pub(super) cache_key: bool,
    /// A user's message may not follow a result: an assistant's has to stand between.
    pub(super) bridge: bool,
    /// Reasoning may come in the text, between tags.
    pub(super) tags: bool,
}

/// How a server is told to reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasoningStyle {
    /// By `reasoning_effort`; where it is a switch, by an argument of the chat template.
    Effort,
    /// By `reasoning`, an object.
    Object,
}

/// What ids of calls must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// Anything of at most 40 characters.
    Short,
    /// Nine letters and digits.
    Nine,
}

/// A server that nobody knows: the plain API, in the words that most servers know.
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
        // It refuses members that it does not know, and tells usage without being asked.
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
    /// The server at this address.
    pub(super) fn at(base: &Url) -> Self {
        let host = base.host_str().unwrap_or_default();
        let fits = |server: &&Self| {
            (server.host.is_empty() || server.host == host)
                && (server.port.is_none() || server.port == base.port())
        };
        KNOWN.iter().find(fits).unwrap_or(&UNKNOWN).clone()
    }
}
