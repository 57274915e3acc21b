//! The five APIs, as a test needs them: a model of each, what it is configured by, and what its responses hold.

use aside_model_server::{
    ServedApi,
    play::{ChatServer, ModelReply, ReplyItem},
    server::{Received, ServedReply},
};
use serde_json::{Value, json};

/// A model behind an API.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) api: ServedApi,
    /// The model's full name, `provider/model`.
    pub(super) model: &'static str,
}

/// One model of each API.
pub(super) const SIDES: [Side; 5] = [
    side(ServedApi::Anthropic, "anthropic/claude-opus-5-5"),
    side(ServedApi::OpenaiResponses, "openai/gpt-6.1-sol"),
    side(ServedApi::OpenaiChat, "local/devstral"),
    side(ServedApi::Gemini, "google/gemini-4-argon"),
    side(ServedApi::Ollama, "ollama/qwen3.5:9b"),
];

pub(super) const fn side(api: ServedApi, model: &'static str) -> Side {
    Side { api, model }
}

impl Side {
    /// The model as the API calls it.
    pub(super) fn wire(self) -> &'static str {
        self.model.split_once('/').unwrap().1
    }

    /// A reply that nobody has said before.
    pub(super) fn play(self, number: usize) -> ModelReply {
        ModelReply::new(&format!("conversation {number}"))
            .number(number)
            .model(self.wire())
            .chat_server(ChatServer::Vllm)
    }

    /// A reply of text alone.
    pub(super) fn says(self, number: usize, text: &str) -> ServedReply {
        let play = self.play(number).reasoning("I see.");
        play.text(text).reply(self.api)
    }

    /// A reply that calls a tool once.
    pub(super) fn calls(self, number: usize, tool: &str, arguments: &Value) -> ServedReply {
        let call = ReplyItem::call(&format!("call_{number}"), tool, arguments.to_string());
        let play = self.play(number).reasoning("A tool.");
        play.say(call).reply(self.api)
    }

    /// A request that is not taken, for this reason.
    pub(super) fn refuses(self, message: &str) -> ServedReply {
        let error = match self.api {
            ServedApi::Anthropic => json!({
                "type": "error", "error": {"type": "invalid_request_error", "message": message},
            }),
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => json!({
                "error": {"message": message, "type": "invalid_request_error", "param": null, "code": null},
            }),
            ServedApi::Gemini => json!({
                "error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"},
            }),
            ServedApi::Ollama => json!({ "error": message }),
        };
        ServedReply::json(400, error)
    }
}

/// The user's configuration: each provider is the server.
pub(super) fn providers(address: std::net::SocketAddr) -> String {
    [
        ("anthropic", "anthropic", ""),
        ("openai", "openai-responses", "/v1"),
        ("local", "openai-chat", "/v1"),
        ("google", "google", ""),
        ("ollama", "ollama", ""),
    ]
    .map(|(name, api, path)| {
        format!(
            "[providers.{name}]\napi = \"{api}\"\nbase_url = \"http://{address}{path}\"\napi_key_env = \"THE_KEY\"\n"
        )
    })
    .concat()
}

/// The ids of the questions that a request asks; none where it is the turn's own.
pub(super) fn inquiries(request: &Received) -> Vec<String> {
    let body = String::from_utf8_lossy(&request.body);
    let asked = body.rsplit("\\nInquiry ").collect::<Vec<_>>();
    let ids = asked.iter().rev().skip(1);
    ids.map(|rest| rest.split("\\n").next().unwrap_or_default().to_owned())
        .collect()
}

/// What a response leaves in the history: content blocks, output items or parts. Where an API signs nothing nobody
/// looks at them.
pub(super) fn items(api: ServedApi, stream: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(stream);
    let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut events = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
    match api {
        ServedApi::Anthropic => blocks(events),
        ServedApi::OpenaiResponses => {
            let last = events.next_back().unwrap_or_default();
            last["response"]["output"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        }
        ServedApi::Gemini => {
            let parts = events.flat_map(|mut event| {
                let parts = event["candidates"][0]["content"]["parts"].take();
                parts.as_array().cloned().unwrap_or_default()
            });
            // Thoughts that are shown are not part of a history; text is one part, however it came.
            let kept =
                |part: &Value| part.get("text").is_none() || part.get("thoughtSignature").is_some();
            parts.filter(kept).collect()
        }
        ServedApi::OpenaiChat | ServedApi::Ollama => Vec::new(),
    }
}

/// Anthropic's content blocks, put together from their pieces.
fn blocks(events: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    let mut input = String::new();
    for event in events {
        let delta = &event["delta"];
        let piece = |member: &str| delta[member].as_str().unwrap_or_default();
        match (event["type"].as_str(), blocks.last_mut()) {
            (Some("content_block_start"), _) => {
                blocks.push(event["content_block"].clone());
                input.clear();
            }
            (Some("content_block_delta"), Some(block)) => match delta["type"].as_str() {
                Some("input_json_delta") => input += piece("partial_json"),
                Some("signature_delta") => block["signature"] = delta["signature"].clone(),
                Some("thinking_delta") => extend(&mut block["thinking"], piece("thinking")),
                _ => extend(&mut block["text"], piece("text")),
            },
            (Some("content_block_stop"), Some(block)) if block["type"] == "tool_use" => {
                block["input"] = serde_json::from_str(&input).unwrap();
            }
            _ => {}
        }
    }
    blocks
}

fn extend(text: &mut Value, piece: &str) {
    *text = Value::from(text.as_str().unwrap_or_default().to_owned() + piece);
}
