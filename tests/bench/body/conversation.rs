//! A conversation that grows, and the models that it is led with.

use std::{net::SocketAddr, sync::Arc};

use aside_base::api::ApiKind;
use aside_model_server::{ServedApi, play::ModelReply};
use aside_provider::{
    FindKey, Head, ModelRequest, Provider, SharedBody, ToolDeclaration,
    client::HttpClient,
    key::Key,
    models,
    options::{CacheRetention, ModelOptions},
};
use aside_turn::{
    Event,
    inquiry::{CallResult, Message},
    record::{CallEnd, CallKey},
    response::{Finish, Usage},
    rules::ToolChoice,
    transcript::{Fork, Transcript},
};
use serde_json::json;

use super::REQUESTS;

/// Bytes that a request adds, about: 1,000 of them are 400,000 tokens of four bytes.
const SHARE: usize = 1_380;

/// A conversation of so many turns.
pub(crate) struct BenchConversation {
    transcript: Transcript,
    head: Arc<Head>,
    shared: Arc<SharedBody>,
    /// Requests of a turn.
    steps: usize,
    requests: usize,
}

impl BenchConversation {
    pub(crate) fn new(turns: usize) -> Self {
        Self {
            transcript: Transcript::default(),
            head: Arc::new(head()),
            shared: Arc::new(SharedBody::new("conversation")),
            steps: REQUESTS.div_ceil(turns),
            requests: 0,
        }
    }

    /// With so many requests, of which none was built; the last has no response.
    pub(crate) fn grown(turns: usize, requests: usize) -> Self {
        let mut conversation = Self::new(turns);
        for at in 0..requests {
            if at > 0 {
                conversation.reply();
            }
            conversation.ask();
        }
        conversation
    }

    /// What comes from the user's side: a message where a turn begins, else the result of the last call.
    pub(crate) fn ask(&mut self) {
        let step = self.requests % self.steps;
        let text = "let answer = ask(\"which one?\");\n".repeat(SHARE / 33);
        if step == 0 {
            self.push(Event::TurnStart);
            self.push(Event::UserMessage {
                text,
                attachments: Vec::new(),
            });
        } else {
            self.push(Event::ToolResult {
                call: self.call(),
                end: CallEnd::Success,
                content: text,
                held: false,
                details: None,
                media: Vec::new(),
                summary: None,
            });
        }
        self.requests += 1;
        self.push(Event::RequestSent { step: 1 });
    }

    /// What the model says: a call, or words where the turn ends.
    pub(crate) fn reply(&mut self) {
        if self.requests.is_multiple_of(self.steps) {
            let text = "That was the one. ".repeat(6);
            self.push(Event::Text { text, opaque: None });
        } else {
            self.push(Event::ToolCall {
                call: self.call(),
                id: format!("call_{}", self.requests),
                name: "read_file".to_owned(),
                arguments: json!({"path": format!("folder/file_{}.rs", self.requests)}).to_string(),
                opaque: None,
            });
        }
        self.push(Event::ResponseEnd {
            finish: Some(Finish::Stop),
            usage: Usage::default(),
        });
    }

    pub(crate) fn fork(&self) -> Fork {
        self.transcript.fork()
    }

    /// The turn's next request, as the engine makes it.
    pub(crate) fn request(&self) -> ModelRequest {
        ModelRequest {
            head: self.head.clone(),
            transcript: self.fork(),
            shared: self.shared.clone(),
            messages: Vec::new(),
            compacts: false,
            inquiry: None,
            tool_choice: ToolChoice::Auto,
            reasoning: true,
            schema: None,
            without: Default::default(),
            left_out: Default::default(),
        }
    }

    fn call(&self) -> CallKey {
        CallKey(u32::try_from(self.requests).unwrap_or(u32::MAX))
    }

    fn push(&mut self, event: Event) {
        self.transcript.push(&event);
    }
}

fn head() -> Head {
    let tool = |number: usize| ToolDeclaration {
        name: if number == 0 {
            "read_file".to_owned()
        } else {
            format!("tool_{number}")
        },
        description: "Does what its name says. ".repeat(20),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}),
        strict: false,
    };
    Head {
        system: "Keep to the habits of the code. ".repeat(1_500),
        tools: (0..20).map(tool).collect(),
    }
}

/// What an inquiry adds.
pub(crate) fn question() -> Message {
    Message::User {
        results: vec![CallResult {
            id: "call_1005".to_owned(),
            name: "read_file".to_owned(),
            content: "Tool paused: Which one is meant?".to_owned(),
            is_error: false,
        }],
        text: "Which one is meant?".to_owned(),
    }
}

/// The model, at this address.
pub(crate) fn provider(kind: ApiKind, model: &str, address: SocketAddr) -> Arc<dyn Provider> {
    let options = ModelOptions {
        provider: "bench".to_owned(),
        model: model.to_owned(),
        base: format!("http://{address}").parse().expect("an address"),
        key_source: "nowhere".to_owned(),
        bearer: false,
        abilities: models::built_in(kind, model),
        reasoning: None,
        max_output: None,
        cache: CacheRetention::Short,
        headers: Vec::new(),
    };
    let key: FindKey = Arc::new(|| Box::pin(async { Ok(Some(Key::new("key"))) }));
    aside_provider::open(kind, options, HttpClient::default(), key).expect("a model")
}

/// A response of the API that the reader is measured with.
pub(crate) fn reply(kind: ApiKind) -> Vec<u8> {
    let api = match kind {
        ApiKind::Anthropic => ServedApi::Anthropic,
        ApiKind::OpenaiResponses => ServedApi::OpenaiResponses,
        ApiKind::OpenaiChat => ServedApi::OpenaiChat,
        ApiKind::Google => ServedApi::Gemini,
        ApiKind::Ollama => ServedApi::Ollama,
        other => panic!("no response of {other:?} is known here"),
    };
    let play = ModelReply::new("").text("Done.");
    play.stream(api).to_vec()
}
