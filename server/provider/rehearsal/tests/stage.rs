//! A conversation around a rehearsal, as text.

use std::{collections::BTreeSet, fmt::Write, sync::Arc};

use aside_turn::{
    Event,
    attachment::{Attachment, Content, Media, MediaType},
    inquiry::{Message, Strategy},
    record::{CallEnd, CallKey, DirectiveKind},
    response::{Failure, Finish, Kind, Piece, Response, Usage},
    rules::ToolChoice,
    transcript::Transcript,
};
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};

use crate::{Head, ModelRequest, Provider, SharedBody, rehearsal::Rehearsal};

/// A conversation around a rehearsal: keeps the transcript and writes down the responses.
pub(super) struct RehearsalStage {
    pub(super) rehearsal: Rehearsal,
    transcript: Transcript,
    pub(super) calls: Vec<(String, CallKey)>,
    step: u32,
    pub(super) seen: String,
    runtime: tokio::runtime::Runtime,
}

impl RehearsalStage {
    pub(super) fn new(rehearsal: Rehearsal) -> Self {
        Self {
            rehearsal,
            transcript: Transcript::default(),
            calls: Vec::new(),
            step: 0,
            seen: String::new(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap(),
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        let (what, text) = line.split_once(": ").unwrap_or((line, ""));
        let text = text.to_owned();
        match what.split_once(' ').unwrap_or((what, "")) {
            ("user", attached) => {
                self.calls.clear();
                self.transcript.push(&Event::TurnStart);
                let attachments = attached.split_whitespace().map(attachment).collect();
                let message = Event::UserMessage { text, attachments };
                self.transcript.push(&message);
            }
            ("steer", _) => self.transcript.push(&Event::Steer { text }),
            ("directive", _) => {
                let kind = DirectiveKind::Cut;
                self.transcript.push(&Event::Directive { kind, text });
            }
            ("result", id) => self.result(id, text),
            ("send", _) => self.request(ToolChoice::Auto),
            ("forced", _) => self.request(ToolChoice::Required),
            ("ask", how) => self.ask(how, &text),
            _ => panic!("no such line: {line}"),
        }
    }

    fn result(&mut self, id: &str, content: String) {
        let call = self
            .calls
            .iter()
            .rev()
            .find(|(known, _)| known == id)
            .unwrap()
            .1;
        let result = Event::ToolResult {
            call,
            end: CallEnd::Success,
            content,
            held: false,
            details: None,
            media: Vec::new(),
            summary: None,
        };
        self.transcript.push(&result);
    }

    fn request(&mut self, tool_choice: ToolChoice) {
        self.step += 1;
        self.transcript
            .push(&Event::RequestSent { step: self.step });
        let request = self.make(tool_choice, None, vec![], None);
        let response = self.play(request);
        for item in response.items {
            let opaque = None;
            self.transcript.push(&match item.kind {
                Kind::Reasoning => Event::Reasoning {
                    text: item.text,
                    opaque,
                },
                Kind::ToolCall { id, name } => {
                    let call = CallKey(u32::try_from(self.calls.len()).unwrap());
                    self.calls.push((id.clone(), call));
                    Event::ToolCall {
                        call,
                        id,
                        name,
                        arguments: item.text,
                        opaque,
                    }
                }
                _ => Event::Text {
                    text: item.text,
                    opaque,
                },
            });
        }
        self.transcript.push(&Event::ResponseEnd {
            finish: Some(Finish::Stop),
            usage: Usage::default(),
        });
    }

    fn ask(&mut self, how: &str, questions: &str) {
        let mut text = String::new();
        for question in questions.split(" + ") {
            let mut words = question.splitn(3, ' ');
            let (tool, id, rest) = (
                words.next().unwrap(),
                words.next().unwrap(),
                words.next().unwrap(),
            );
            let _ = write!(
                text,
                "The tool `{tool}` needs an answer before it can go on.\nInquiry {id}\n{rest}\n"
            );
        }
        let schema =
            |of: &str| Some(json!({"type": "object", "properties": {"answer": {"type": of}}}));
        let (strategy, schema) = match how {
            "in_band" => (Strategy::InBand, None),
            "boolean" => (Strategy::Structured, schema("boolean")),
            _ => (Strategy::Structured, schema("string")),
        };
        let messages = vec![Message::User {
            results: vec![],
            text,
        }];
        let request = self.make(ToolChoice::Auto, Some(strategy), messages, schema);
        self.play(request);
    }

    fn make(
        &self,
        tool_choice: ToolChoice,
        inquiry: Option<Strategy>,
        messages: Vec<Message>,
        schema: Option<Value>,
    ) -> ModelRequest {
        ModelRequest {
            head: Arc::new(Head::default()),
            transcript: self.transcript.fork(),
            shared: Arc::new(SharedBody::new("c1")),
            without: BTreeSet::new(),
            left_out: BTreeSet::new(),
            messages,
            compacts: false,
            inquiry,
            tool_choice,
            reasoning: false,
            schema,
        }
    }

    /// Writes a line: `|` separates fragments, `…` marks a truncated item, and `waits` a stream that stalls.
    fn play(&mut self, request: ModelRequest) -> Response {
        let _guard = self.runtime.enter();
        let mut response = Response::default();
        let line = match self.rehearsal.send(request).now_or_never() {
            None => "waits".to_owned(),
            Some(Err(failure)) => failed(&failure),
            Some(Ok(mut pieces)) => {
                let mut line = String::new();
                loop {
                    match pieces.next().now_or_never() {
                        None => break line + "waits",
                        Some(None) => break line,
                        Some(Some(Err(failure))) => break line + &failed(&failure),
                        Some(Some(Ok(piece))) => {
                            show(&mut line, &piece);
                            response.add(piece);
                        }
                    }
                }
            }
        };
        self.seen += &format!("{}\n", line.trim_end());
        response
    }
}

fn failed(failure: &Failure) -> String {
    let wait = failure
        .retry_after
        .map(|wait| format!(" after {wait:?}"))
        .unwrap_or_default();
    format!("{:?}{wait}: {}", failure.class, failure.sentence())
}

fn show(line: &mut String, piece: &Piece) {
    let _ = match piece {
        Piece::Open {
            kind: Kind::Text, ..
        } => write!(line, "says"),
        Piece::Open {
            kind: Kind::Reasoning,
            ..
        } => write!(line, "thinks"),
        Piece::Open {
            kind: Kind::ToolCall { id, name },
            ..
        } => write!(line, "{id} {name}"),
        Piece::Delta { text, .. } => write!(line, "|{text}"),
        Piece::Close { complete: true, .. } => write!(line, "| "),
        Piece::Close {
            complete: false, ..
        } => write!(line, "… "),
        Piece::Usage(usage) => write!(line, "({}/{}) ", usage.input, usage.output),
        Piece::Finish(finish) => write!(line, "{finish:?}"),
        other => write!(line, "{other:?}"),
    };
}

/// A text that contains its name, or an image of 12,000 bytes.
fn attachment(name: &str) -> Attachment {
    if !name.ends_with(".png") {
        return Attachment::text(name, format!("Words of {name}."));
    }
    let content = Content::Media(Media {
        media_type: MediaType::Png,
        blob: "00ff".into(),
        size: 12_000,
    });
    Attachment {
        name: name.into(),
        content,
    }
}
