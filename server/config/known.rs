//! Providers that Aside knows by name.

use super::settings::ApiSetting;

/// A provider that Aside knows by name: where it is and where its key usually is. Settings say otherwise.
#[derive(Debug)]
pub struct KnownProvider {
    /// The provider's name in settings and in `provider/model`.
    pub name: &'static str,
    /// What it speaks.
    pub api: ApiSetting,
    /// Where it is.
    pub base_url: &'static str,
    /// The environment variable with another place, which other programs read too.
    pub base_env: Option<&'static str>,
    /// The environment variable with headers for every request, a line each, which other programs read too.
    pub headers_env: Option<&'static str>,
    /// The environment variables with its key; the first that is set counts.
    pub key_env: &'static [&'static str],
    /// It runs on this computer, as a rule: it takes no key, and is not asked unless somebody names it.
    pub local: bool,
}

/// The one whose value goes after `Bearer`, whatever the API does with keys.
pub const BEARER: &str = "ANTHROPIC_AUTH_TOKEN";

/// All of them. A default model is looked for in this order.
pub const KNOWN: &[KnownProvider] = &[
    KnownProvider {
        base_env: Some("ANTHROPIC_BASE_URL"),
        headers_env: Some("ANTHROPIC_CUSTOM_HEADERS"),
        ..remote(
            "anthropic",
            ApiSetting::Anthropic,
            "https://api.anthropic.com",
            &["ANTHROPIC_API_KEY", BEARER],
        )
    },
    KnownProvider {
        base_env: Some("OPENAI_BASE_URL"),
        ..remote(
            "openai",
            ApiSetting::OpenaiResponses,
            "https://api.openai.com/v1",
            &["OPENAI_API_KEY"],
        )
    },
    KnownProvider {
        base_env: Some("GOOGLE_GEMINI_BASE_URL"),
        ..remote(
            "google",
            ApiSetting::Google,
            "https://generativelanguage.googleapis.com",
            &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        )
    },
    KnownProvider {
        base_env: Some("OLLAMA_HOST"),
        key_env: &["OLLAMA_API_KEY"],
        ..local("ollama", ApiSetting::Ollama, "http://127.0.0.1:11434")
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
    local(
        "llamacpp",
        ApiSetting::OpenaiChat,
        "http://localhost:8080/v1",
    ),
    local("vllm", ApiSetting::OpenaiChat, "http://localhost:8000/v1"),
    local(
        "lmstudio",
        ApiSetting::OpenaiChat,
        "http://localhost:1234/v1",
    ),
    local("rehearsal", ApiSetting::Rehearsal, ""),
];

/// The provider that Aside knows by this name.
#[must_use]
pub fn known(name: &str) -> Option<&'static KnownProvider> {
    KNOWN.iter().find(|known| known.name == name)
}

const fn remote(
    name: &'static str,
    api: ApiSetting,
    base_url: &'static str,
    key_env: &'static [&'static str],
) -> KnownProvider {
    KnownProvider {
        name,
        api,
        base_url,
        base_env: None,
        headers_env: None,
        key_env,
        local: false,
    }
}

const fn chat(
    name: &'static str,
    base_url: &'static str,
    key_env: &'static [&'static str],
) -> KnownProvider {
    remote(name, ApiSetting::OpenaiChat, base_url, key_env)
}

const fn local(name: &'static str, api: ApiSetting, base_url: &'static str) -> KnownProvider {
    KnownProvider {
        local: true,
        ..remote(name, api, base_url, &[])
    }
}
