//! A conversation with an API, without a network: encodes its requests and decodes responses. Samples of every API are
//! in `tests/model_server/wire`.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use aside_turn::{
    inquiry::Message,
    record::{CallEnd, CallKey, DirectiveKind, Event, Vocabulary as _},
    response::{Feature, Finish, Item, Kind, Piece, Response, Usage},
    rules::{LeftOut, ToolChoice},
    transcript::{Fork, Transcript},
};
use serde_json::{Value, json};

use super::{
    Head, SharedBody, ToolDeclaration,
    abilities::Abilities,
    api::{RequestContents, WireApi},
    options::{CacheRetention, ModelOptions},
    retry::ApiError,
    sse::{SseEvent, SseParser},
};

/// A sample of the API.
pub(super) fn sample(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/model_server/wire");
    fs::read_to_string(root.join(path)).unwrap()
}

/// A sample as JSON.
pub(super) fn json_sample(path: &str) -> Value {
    serde_json::from_str(&sample(path)).unwrap()
}

/// A model with these abilities and nothing else configured.
pub(super) fn options(id: &str, abilities: Abilities) -> ModelOptions {
    let (provider, model) = id.split_once('/').unwrap();
    ModelOptions {
        provider: provider.into(),
        model: model.into(),
        base: "http://127.0.0.1:9/".parse().unwrap(),
        key_source: "THE_KEY".into(),
        bearer: false,
        headers: Vec::new(),
        abilities,
        reasoning: None,
        max_output: Some(16_000),
        cache: CacheRetention::Short,
    }
}

/// A conversation, and the other contents of its next request.
pub(super) struct ProviderTrial {
    pub(super) options: ModelOptions,
    pub(super) head: Arc<Head>,
    pub(super) tool_choice: ToolChoice,
    pub(super) reasoning: bool,
    pub(super) schema: Option<Value>,
    pub(super) without: BTreeSet<Feature>,
    pub(super) left_out: BTreeSet<LeftOut>,
    pub(super) messages: Vec<Message>,
    pub(super) compacts: bool,
    pub(super) transcript: Transcript,
    pub(super) shared: SharedBody,
    calls: u32,
}

impl ProviderTrial {
    pub(super) fn new(options: ModelOptions, system: &str, tools: Vec<ToolDeclaration>) -> Self {
        let mut transcript = Transcript::default();
        transcript.push(&Event::TurnStart);
        Self {
            reasoning: options.reasons(),
            options,
            head: Arc::new(Head {
                system: system.into(),
                tools,
            }),
            tool_choice: ToolChoice::Auto,
            schema: None,
            without: BTreeSet::new(),
            left_out: BTreeSet::new(),
            messages: Vec::new(),
            compacts: false,
            transcript,
            shared: SharedBody::new("conv-5f1c"),
            calls: 0,
        }
    }

    /// Adds a user message and records that the request was sent.
    pub(super) fn user(&mut self, text: &str) -> &mut Self {
        self.transcript.push(&Event::UserMessage {
            text: text.into(),
            attachments: Vec::new(),
        });
        self.request()
    }

    /// Adds a directive, which the next request sends.
    pub(super) fn directive(&mut self, text: &str) -> &mut Self {
        self.transcript.push(&Event::Directive {
            kind: DirectiveKind::Cut,
            text: text.into(),
        });
        self
    }

    /// Adds a message of the user during the turn, which the next request sends.
    pub(super) fn steer(&mut self, text: &str) -> &mut Self {
        self.transcript.push(&Event::Steer { text: text.into() });
        self
    }

    /// Records that a request was sent.
    pub(super) fn request(&mut self) -> &mut Self {
        self.transcript.push(&Event::RequestSent { step: 1 });
        self
    }

    /// Adds results of calls, counted from 0 in the conversation, and records that a request was sent.
    pub(super) fn results(&mut self, results: &[(u32, &str, bool)]) -> &mut Self {
        for (call, content, is_error) in results {
            self.transcript.push(&Event::ToolResult {
                call: CallKey(*call),
                end: if *is_error {
                    CallEnd::Failure
                } else {
                    CallEnd::Success
                },
                content: (*content).into(),
                held: false,
                details: None,
                media: Vec::new(),
                summary: None,
            });
        }
        self.request()
    }

    /// Decodes a response and records it like a turn.
    pub(super) fn response(&mut self, api: &dyn WireApi, body: &[u8]) -> &mut Self {
        let pieces = self.decode(api, body).unwrap();
        let finish = pieces.iter().find_map(|piece| match piece {
            Piece::Finish(finish) => Some(finish.clone()),
            _ => None,
        });
        let mut response = Response::default();
        for piece in pieces {
            response.add(piece);
        }
        self.record(&response, finish)
    }

    fn record(&mut self, response: &Response, finish: Option<Finish>) -> &mut Self {
        for item in &response.items {
            let Item {
                kind,
                text,
                opaque,
                complete,
            } = item.clone();
            let event = match kind {
                Kind::Text => Event::Text { text, opaque },
                Kind::Reasoning | Kind::Compaction | Kind::Opaque if complete => {
                    Event::Reasoning { text, opaque }
                }
                Kind::ToolCall { id, name } if complete => {
                    self.calls += 1;
                    Event::ToolCall {
                        call: CallKey(self.calls - 1),
                        id,
                        name,
                        arguments: text,
                        opaque,
                    }
                }
                _ => continue,
            };
            self.transcript.push(&event);
        }
        self.transcript.push(&Event::ResponseEnd {
            finish,
            usage: Usage::default(),
        });
        self
    }

    /// Sets how the model reasons, by columns of a table: how it is told, whether it can be told not to, the efforts that it
    /// knows, the effort that is configured, whether the request asks for reasoning, and a feature that was refused.
    pub(super) fn reasons(&mut self, columns: [&str; 6]) -> &mut Self {
        let [kind, can_be_off, efforts, effort, asked, refused] = columns;
        let known = |word: &str| json!(Some(word).filter(|word| *word != "-"));
        let abilities = &mut self.options.abilities;
        abilities.reasoning = serde_json::from_value(json!(kind)).unwrap();
        abilities.reasoning_off = can_be_off == "yes";
        abilities.efforts = efforts.split_whitespace().map(str::to_owned).collect();
        self.options.reasoning = serde_json::from_value(known(effort)).unwrap();
        self.reasoning = asked == "yes";
        let features = Feature::ALL.iter().copied();
        self.without = features.filter(|it| it.word() == refused).collect();
        self
    }

    /// The body of the next request, as bytes.
    pub(super) fn bytes(&self, api: &dyn WireApi) -> Vec<u8> {
        let fork = self.fork();
        let body = self
            .shared
            .body(api, &self.ask(), &self.head, &fork, &self.messages);
        body.concat()
    }

    /// The body of the next request.
    pub(super) fn body(&self, api: &dyn WireApi) -> Value {
        let bytes = self.bytes(api);
        serde_json::from_slice(&bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)))
    }

    /// Decodes a response.
    pub(super) fn decode(&self, api: &dyn WireApi, body: &[u8]) -> Result<Vec<Piece>, ApiError> {
        self.decode_in(api, &[body])
    }

    /// Decodes a response that arrives in these chunks.
    pub(super) fn decode_in(
        &self,
        api: &dyn WireApi,
        portions: &[&[u8]],
    ) -> Result<Vec<Piece>, ApiError> {
        let (mut pieces, mut events) = (Vec::new(), Vec::new());
        let mut cutter = SseParser::new(api.framing());
        for portion in portions {
            cutter.take(portion, &mut events).unwrap();
        }
        let whole = events.len();
        let stray = cutter.end(&mut events);
        let mut decoder = api.decoder(&self.ask(), self.shared.call_ids(&self.messages));
        for (at, event) in events.into_iter().enumerate() {
            match event {
                SseEvent::KeepAlive => pieces.push(Piece::KeepAlive),
                SseEvent::Stray => {}
                SseEvent::Data(data) => match decoder.event(&data, &mut pieces) {
                    Err(error) if at >= whole && error.is_garbled() => return Err(ApiError::cut()),
                    done => done?,
                },
            }
            if matches!(pieces.last(), Some(Piece::Finish(_))) {
                return Ok(pieces);
            }
        }
        decoder.end(&stray, &mut pieces)?;
        Ok(pieces)
    }

    /// Checks that a response decodes equally for every split in two. Cut off at any byte it is an error or the same,
    /// and has no call that the whole response lacks.
    pub(super) fn check_cuts(&self, api: &dyn WireApi, body: &[u8]) {
        let add = |pieces: Vec<Piece>| {
            let mut response = Response::default();
            pieces.into_iter().for_each(|piece| response.add(piece));
            response
        };
        let whole = self.decode(api, body).map(add);
        for at in 0..=body.len() {
            let (before, after) = body.split_at(at);
            assert_eq!(
                self.decode_in(api, &[before, after]).map(add),
                whole,
                "in two at {at}"
            );
            if let (Ok(part), Ok(whole)) = (self.decode(api, before).map(add), &whole) {
                assert_eq!(part.items, whole.items, "whole although cut off at {at}");
            }
        }
    }

    /// The conversation as the model is sent it.
    fn fork(&self) -> Fork {
        let reads = !self.without.contains(&Feature::History);
        let fork = self
            .transcript
            .fork()
            .read_by(&self.options.id(), reads, None);
        match self.compacts {
            true => fork.before_response(),
            false => fork,
        }
    }

    /// Contents of the next request besides the conversation.
    pub(super) fn ask(&self) -> RequestContents<'_> {
        RequestContents {
            options: &self.options,
            head: &self.head,
            tool_choice: &self.tool_choice,
            reasoning: self.reasoning,
            schema: self.schema.as_ref(),
            without: &self.without,
            left_out: &self.left_out,
            compacts: self.compacts,
            is_compacted: self.fork().is_native,
            conversation: "conv-5f1c",
            media: self.shared.media(),
        }
    }
}

/// The tool of the samples.
pub(super) fn grep_tool() -> ToolDeclaration {
    ToolDeclaration {
        name: "fs_grep".into(),
        description: "Search files.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "pattern": {"type": "string"}},
            "required": ["path", "pattern"],
            "additionalProperties": false,
        }),
        strict: false,
    }
}

/// The tool that answers inquiries, as in the samples.
pub(super) fn answer_tool() -> ToolDeclaration {
    ToolDeclaration {
        name: "answer_inquiry".into(),
        description: "Answer a question a tool asked. Call only when told to.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"inquiry_id": {"type": "string"}, "answer": {"type": "string"}},
            "required": ["inquiry_id", "answer"],
            "additionalProperties": false,
        }),
        strict: true,
    }
}
