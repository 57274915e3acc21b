//! Providers that Aside knows by name.

use aside_base::api::ApiKind;

/// A provider that Aside knows by name: where it is and where its key usually is. Settings say otherwise.
#[derive(Debug)]
pub struct KnownProvider {
    /// The provider's name in settings and in `provider/model`.
    pub name: &'static str,
    /// API of the provider.
    pub api: ApiKind,
    /// Another API that it speaks at the same place, if it is told to.
    pub other_api: Option<ApiKind>,
    /// Base URL of the provider.
    pub base_url: &'static str,
    /// The environment variable with another place, which other programs read too.
    pub base_env: Option<&'static str>,
    /// The environment variable with headers for every request, a line each, which other programs read too.
    pub headers_env: Option<&'static str>,
    /// The environment variables with its key; the first that is set counts.
    pub key_env: &'static [&'static str],
    /// Whether the provider usually runs on this computer: it needs no key, and is not asked unless somebody names it.
    pub local: bool,
}

/// The one whose value goes after `Bearer`, whatever the API does with keys.
pub const BEARER: &str = "ANTHROPIC_AUTH_TOKEN";

/// All of them. A default model is looked for in this order.
pub const KNOWN: &[KnownProvider] = &[
    KnownProvider {
        base_env: Some("ANTHROPIC_BASE_URL"),
        headers_env: Some("ANTHROPIC_CUSTOM_HEADERS"),
        ..maker(
            "anthropic",
            ApiKind::Anthropic,
            &["ANTHROPIC_API_KEY", BEARER],
        )
    },
    KnownProvider {
        base_env: Some("OPENAI_BASE_URL"),
        other_api: Some(ApiKind::OpenaiChat),
        ..maker("openai", ApiKind::OpenaiResponses, &["OPENAI_API_KEY"])
    },
    KnownProvider {
        base_env: Some("GOOGLE_GEMINI_BASE_URL"),
        ..maker(
            "google",
            ApiKind::Google,
            &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        )
    },
    KnownProvider {
        base_env: Some("OLLAMA_HOST"),
        local: true,
        ..maker("ollama", ApiKind::Ollama, &["OLLAMA_API_KEY"])
    },
    chat(
        "openrouter",
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
    ),
    chat(
        "deepseek",
        "https://api.deepseek.com",
        &["DEEPSEEK_API_KEY"],
    ),
    chat("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    chat(
        "cerebras",
        "https://api.cerebras.ai/v1",
        &["CEREBRAS_API_KEY"],
    ),
    local("llamacpp", "http://localhost:8080/v1"),
    local("vllm", "http://localhost:8000/v1"),
    local("lmstudio", "http://localhost:1234/v1"),
    KnownProvider {
        local: true,
        ..maker("rehearsal", ApiKind::Rehearsal, &[])
    },
];

/// The provider that Aside knows by this name.
#[must_use]
pub fn known(name: &str) -> Option<&'static KnownProvider> {
    KNOWN.iter().find(|known| known.name == name)
}

/// The variables in which known providers' keys are, and other secrets of their requests.
pub fn secret_variables() -> impl Iterator<Item = &'static str> {
    let of = |known: &'static KnownProvider| known.key_env.iter().copied().chain(known.headers_env);
    KNOWN.iter().flat_map(of)
}

const fn remote(
    name: &'static str,
    api: ApiKind,
    base_url: &'static str,
    key_env: &'static [&'static str],
) -> KnownProvider {
    KnownProvider {
        name,
        api,
        other_api: None,
        base_url,
        base_env: None,
        headers_env: None,
        key_env,
        local: false,
    }
}

/// The maker of an API, who is where the API is for those who do not say.
const fn maker(
    name: &'static str,
    api: ApiKind,
    key_env: &'static [&'static str],
) -> KnownProvider {
    let base_url = match api.base_url() {
        Some(base_url) => base_url,
        None => "",
    };
    remote(name, api, base_url, key_env)
}

const fn chat(
    name: &'static str,
    base_url: &'static str,
    key_env: &'static [&'static str],
) -> KnownProvider {
    remote(name, ApiKind::OpenaiChat, base_url, key_env)
}

const fn local(name: &'static str, base_url: &'static str) -> KnownProvider {
    KnownProvider {
        local: true,
        ..chat(name, base_url, &[])
    }
}
