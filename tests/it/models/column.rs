//! The five APIs: how the program is told of each.

use aside_model_server::{
    ServedApi,
    play::{ChatServer, ModelReply},
};

/// The key that every provider is given. It may be seen in no output and no log.
pub(super) const KEY: &str = "sk-test-0123456789abcdef0123456789abcdef";

/// The model that stands for an API, as a user writes it.
pub(super) fn model(api: ServedApi) -> &'static str {
    match api {
        ServedApi::Anthropic => "anthropic/claude-opus-5-5",
        ServedApi::OpenaiResponses => "openai/gpt-6.1-sol",
        ServedApi::OpenaiChat => "local/qwen3.5:local",
        ServedApi::Gemini => "google/gemini-4-argon",
        ServedApi::Ollama => "ollama/qwen3.5:9b",
    }
}

/// The variable that holds an API's key.
pub(super) fn key_variable(api: ServedApi) -> &'static str {
    match api {
        ServedApi::Anthropic => "ANTHROPIC_API_KEY",
        ServedApi::OpenaiResponses => "OPENAI_API_KEY",
        ServedApi::OpenaiChat => "LOCAL_API_KEY",
        ServedApi::Gemini => "GEMINI_API_KEY",
        ServedApi::Ollama => "OLLAMA_API_KEY",
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
    all.extend(ServedApi::ALL.map(|api| (key_variable(api), KEY.to_owned())));
    all
}

/// The user's own configuration: a server of theirs that speaks Chat Completions.
pub(super) fn configuration(address: &str) -> String {
    format!(
        "[providers.local]\napi = 'openai-chat'\nbase_url = 'http://{address}/v1'\napi_key_env = 'LOCAL_API_KEY'\n"
    )
}

/// A reply as the column's server gives it: the one of Chat Completions shows its reasoning.
pub(super) fn dressed(play: ModelReply, number: usize) -> ModelReply {
    play.number(number).chat_server(ChatServer::LlamaCpp)
}
