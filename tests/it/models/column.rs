//! The five APIs: how the program is told of each.

use aside_model_server::{
    Api,
    play::{ChatServer, Play},
};

/// The key that every provider is given. It may be seen in no output and no log.
pub(super) const KEY: &str = "sk-test-0123456789abcdef0123456789abcdef";

/// The model that stands for an API, as a user writes it.
pub(super) fn model(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "anthropic/claude-opus-5-5",
        Api::OpenaiResponses => "openai/gpt-6.1-sol",
        Api::OpenaiChat => "local/qwen3.5:local",
        Api::Gemini => "google/gemini-4-argon",
        Api::Ollama => "ollama/qwen3.5:9b",
    }
}

/// The variable that holds an API's key.
pub(super) fn key_variable(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "ANTHROPIC_API_KEY",
        Api::OpenaiResponses => "OPENAI_API_KEY",
        Api::OpenaiChat => "LOCAL_API_KEY",
        Api::Gemini => "GEMINI_API_KEY",
        Api::Ollama => "OLLAMA_API_KEY",
    }
}

/// What the environment says of the providers, all of them at this address.
pub(super) fn environment(address: &str) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("ANTHROPIC_BASE_URL", format!("http://{address}")),
        ("OPENAI_BASE_URL", format!("http://{address}/v1")),
        ("GOOGLE_GEMINI_BASE_URL", format!("http://{address}")),
        ("OLLAMA_HOST", format!("http://{address}")),
    ];
    all.extend(Api::ALL.map(|api| (key_variable(api), KEY.to_owned())));
    all
}

/// The user's own configuration: a server of theirs that speaks Chat Completions.
pub(super) fn configuration(address: &str) -> String {
    format!(
        "[providers.local]\napi = 'openai-chat'\nbase_url = 'http://{address}/v1'\napi_key_env = 'LOCAL_API_KEY'\n"
    )
}

/// A reply as the column's server gives it: the one of Chat Completions shows its reasoning.
pub(super) fn dressed(play: Play, number: usize) -> Play {
    play.number(number).chat_server(ChatServer::LlamaCpp)
}
