//! `rehearsal`: a model that plays a script, with real tools and files and without a network.
//!
//! The demo, tests and a user's dry run use it through the same code as any other model. The format of scripts is
//! described in this folder's README.

mod file;
mod item;
mod moment;
mod pattern;
mod script;
#[cfg(test)]
mod tests;

use std::{fs::File, io::Read, pin::Pin, sync::Mutex, time::Duration};

use aside_base::lock;
use aside_turn::{
    inquiry::Strategy,
    response::{Failure, FailureClass, Feature, Finish, Kind, Piece, Usage},
    rules::Model,
};
use async_trait::async_trait;
use serde_json::{Value, json};

use self::{
    item::{ScriptedItem, ScriptedItemKind},
    moment::{AskedQuestion, RehearsedRequest, answer_to},
    script::{RehearsalScript, ReplyContent, ScriptedFault, ScriptedReply},
};
use super::{ModelRequest, Provider, ResponseStream};

/// The message that the built-in script `demo` expects.
pub const DEMO_PROMPT: &str =
    "Uploads give up too early. Let them try five times, and ask me how long to wait in between.";

const BUILT_IN: [(&str, &str); 2] = [
    ("demo", include_str!("demo.toml")),
    ("hello", include_str!("hello.toml")),
];

/// Names of the built-in scripts.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Files of the project for the built-in script `demo`: relative paths and contents.
#[must_use]
pub fn demo_files() -> &'static [(&'static str, &'static str)] {
    &[
        ("README.md", include_str!("demo/README.md")),
        ("settings.toml", include_str!("demo/settings.toml")),
        ("transfer.py", include_str!("demo/transfer.py")),
    ]
}

/// A script being played. Replies are used up over all its requests.
#[derive(Debug)]
pub struct Rehearsal {
    /// Path or built-in name, for messages.
    name: String,
    model: Model,
    replies: Vec<ScriptedReply>,
    played: Mutex<PlayedReplies>,
}

/// Progress of a script.
#[derive(Debug)]
struct PlayedReplies {
    /// Number of times each reply was played.
    times: Vec<u32>,
    /// Number of call ids that were made up.
    calls: u32,
    /// Number of answers given to inquiries.
    answers: u32,
}

/// The end of a stream after its pieces.
enum StreamEnd {
    Whole,
    Broken(Failure),
    Silent,
}

impl Rehearsal {
    /// Whether any reply states a cost. The other replies then cost nothing.
    fn has_prices(&self) -> bool {
        let mut stated = self.replies.iter().filter_map(|reply| reply.usage.as_ref());
        stated.any(|usage| usage.cost.is_some())
    }

    /// Opens a script: a built-in one by name (`demo`, `hello`), else a file, relative to the current folder. The model
    /// is called `rehearsal/<script>`.
    ///
    /// # Errors
    /// One sentence with the script, the line, the problem and its fix.
    pub fn open(script: &str) -> Result<Self, String> {
        match BUILT_IN.iter().find(|(name, _)| *name == script) {
            Some((_, text)) => Self::parse(script, text),
            None => Self::parse(script, &read(script)?),
        }
    }

    /// Parses a script. The name is used in messages and in the model's id.
    ///
    /// # Errors
    /// Like [`Rehearsal::open`].
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let RehearsalScript { model, replies } = script::parse(text).map_err(|broken| {
            format!(
                "the rehearsal script cannot be played: {name}:{}: {}",
                broken.line, broken.what
            )
        })?;
        let played = PlayedReplies {
            times: vec![0; replies.len()],
            calls: 0,
            answers: 0,
        };
        Ok(Self {
            name: name.to_owned(),
            model: Model {
                id: format!("rehearsal/{name}"),
                ..model
            },
            replies,
            played: Mutex::new(played),
        })
    }

    /// Chooses the first matching reply that is left, and builds its pieces.
    fn play(&self, request: &ModelRequest) -> Result<(&ScriptedReply, Vec<Piece>), Failure> {
        let moment = RehearsedRequest(request);
        // Nothing that holds the lock can panic halfway through a change.
        let mut played = lock(&self.played);
        let left = |at: usize, reply: &ScriptedReply| {
            reply.times.is_none_or(|times| played.times[at] < times)
        };
        let found = self
            .replies
            .iter()
            .enumerate()
            .find(|(at, reply)| left(*at, reply) && moment.fits(&reply.when, &reply.content));
        let Some((at, reply)) = found else {
            return Err(self.no_reply(&moment));
        };
        played.times[at] = played.times[at].saturating_add(1);
        let pieces = match &reply.content {
            ReplyContent::Say(items) => {
                played.calls = played.calls.max(moment.calls());
                say(items, reply.truncate_last, &mut played.calls)
            }
            content => answer(&moment, content, &mut played.answers),
        };
        Ok((reply, pieces))
    }

    fn no_reply(&self, moment: &RehearsedRequest<'_>) -> Failure {
        let (turn, step) = (moment.turn(), moment.step());
        let user: String = moment.user().unwrap_or_default().chars().take(80).collect();
        let inquiry = match moment.asked().first() {
            Some(asked) => format!(", inquiry {}", asked.id),
            None if moment.is_inquiry() => ", an inquiry".to_owned(),
            None => String::new(),
        };
        failure(
            FailureClass::Other,
            format!(
                "the script {} has no reply left for this request (turn {turn}, step {step}{inquiry}, last user message: \
                 {user:?}); add a [[reply]] that matches it",
                self.name
            ),
        )
    }

    fn status(&self, status: u16, retry_after: Option<Duration>, text: Option<&str>) -> Failure {
        let class = class_of(status, text.unwrap_or_default());
        let (what, advice) = match text {
            Some(text) => (text, None),
            None => {
                let (what, advice) = what_and_next(&class);
                (what, Some(advice.to_owned()))
            }
        };
        Failure {
            class,
            text: format!("{} answered with status {status}: {what}", self.model.id),
            advice,
            retry_after,
        }
    }
}

#[async_trait]
impl Provider for Rehearsal {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn send(&self, request: ModelRequest) -> Result<ResponseStream, Failure> {
        let (reply, mut pieces) = self.play(&request)?;
        if !reply.delay.is_zero() {
            tokio::time::sleep(reply.delay).await;
        }
        let end = match &reply.fault {
            ScriptedFault::Status {
                status,
                retry_after,
                text,
            } => {
                return Err(self.status(*status, *retry_after, text.as_deref()));
            }
            ScriptedFault::Cut(after) => {
                pieces.truncate(*after);
                let text = format!("the connection to {} broke", self.model.id);
                StreamEnd::Broken(Failure {
                    advice: Some("try again".to_owned()),
                    ..failure(FailureClass::Transient, text)
                })
            }
            ScriptedFault::Stall(after) => {
                pieces.truncate(after.unwrap_or(usize::MAX));
                StreamEnd::Silent
            }
            ScriptedFault::None => {
                let mut usage = reply.usage.unwrap_or_else(|| usage(&request, &pieces));
                if usage.cost.is_none() && self.has_prices() {
                    usage.cost = Some(0.0);
                }
                let finish = reply.finish.clone().unwrap_or_else(|| finish(&pieces));
                pieces.extend([Piece::Usage(usage), Piece::Finish(finish)]);
                StreamEnd::Whole
            }
        };
        Ok(stream(pieces, reply.piece_delay, end))
    }
}

fn stream(pieces: Vec<Piece>, delay: Duration, end: StreamEnd) -> ResponseStream {
    let stream: Pin<Box<_>> = Box::pin(async_stream::stream! {
        for piece in pieces {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            yield Ok(piece);
        }
        match end {
            StreamEnd::Whole => {}
            StreamEnd::Broken(failure) => yield Err(failure),
            StreamEnd::Silent => std::future::pending().await,
        }
    });
    stream
}

/// Reads a script's file, up to a size limit.
fn read(path: &str) -> Result<String, String> {
    let built_in = BUILT_IN
        .map(|(name, _)| format!("rehearsal/{name}"))
        .join(" and ");
    let advice = format!("give the path of a script, or one of {built_in}");
    let broken = |error: std::io::Error| {
        format!("the rehearsal script {path} cannot be read ({error}); {advice}")
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(script::MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(broken)?;
    if text.len() as u64 > script::MAX_BYTES {
        return Err(format!(
            "the rehearsal script {path} is over {} bytes; {advice}",
            script::MAX_BYTES
        ));
    }
    Ok(text)
}

fn say(items: &[ScriptedItem], truncate_last: bool, calls: &mut u32) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let kind = match &item.kind {
            ScriptedItemKind::Text => Kind::Text,
            ScriptedItemKind::Reasoning => Kind::Reasoning,
            ScriptedItemKind::Call { name, id: Some(id) } => Kind::ToolCall {
                id: id.clone(),
                name: name.clone(),
            },
            ScriptedItemKind::Call { name, id: None } => {
                *calls = calls.saturating_add(1);
                Kind::ToolCall {
                    id: format!("call_{calls}"),
                    name: name.clone(),
                }
            }
        };
        let complete = !(truncate_last && at + 1 == items.len());
        push(&mut pieces, kind, item.fragments.iter().cloned(), complete);
    }
    pieces
}

/// Answers an inquiry: a call for each question that the script can answer, or a JSON object.
fn answer(moment: &RehearsedRequest<'_>, content: &ReplyContent, answers: &mut u32) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let asked = moment.asked();
    let known = asked
        .iter()
        .filter_map(|one| answer_to(one, content).map(|answer| (one, answer)));
    if moment.0.inquiry == Some(Strategy::Structured) {
        if let Some((_, answer)) = known.into_iter().next() {
            let text = structured(moment.0.schema.as_ref(), answer);
            push(&mut pieces, Kind::Text, [text], true);
        }
        return pieces;
    }
    for (AskedQuestion { id: inquiry, .. }, answer) in known {
        *answers = answers.saturating_add(1);
        let id = format!("answer_{answers}");
        let arguments = json!({"inquiry_id": inquiry, "answer": answer}).to_string();
        let kind = Kind::ToolCall {
            id,
            name: "answer_inquiry".to_owned(),
        };
        push(&mut pieces, kind, [arguments], true);
    }
    pieces
}

fn structured(schema: Option<&Value>, answer: &str) -> String {
    let boolean = schema.and_then(|schema| schema.pointer("/properties/answer/type"))
        == Some(&json!("boolean"));
    let answer = match answer.parse::<bool>() {
        Ok(yes) if boolean => Value::Bool(yes),
        _ => answer.into(),
    };
    json!({ "answer": answer }).to_string()
}

/// Adds one item. Slots are dense because items come one after the other.
fn push(
    pieces: &mut Vec<Piece>,
    kind: Kind,
    fragments: impl IntoIterator<Item = String>,
    complete: bool,
) {
    let slot = match pieces.last() {
        Some(Piece::Close { slot, .. }) => slot + 1,
        _ => 0,
    };
    pieces.push(Piece::Open { slot, kind });
    pieces.extend(
        fragments
            .into_iter()
            .map(|text| Piece::Delta { slot, text }),
    );
    pieces.push(Piece::Close {
        slot,
        opaque: None,
        complete,
    });
}

fn finish(pieces: &[Piece]) -> Finish {
    let calls = |piece: &Piece| {
        matches!(
            piece,
            Piece::Open {
                kind: Kind::ToolCall { .. },
                ..
            }
        )
    };
    if pieces.iter().any(|piece| {
        matches!(
            piece,
            Piece::Close {
                complete: false,
                ..
            }
        )
    }) {
        Finish::MaxTokens
    } else if pieces.iter().any(calls) {
        Finish::ToolUse
    } else {
        Finish::Stop
    }
}

/// Estimates tokens as four characters each: the new part of the request, and the reply.
fn usage(request: &ModelRequest, pieces: &[Piece]) -> Usage {
    let said: usize = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Delta { text, .. } => text.chars().count(),
            _ => 0,
        })
        .sum();
    let tokens = |characters: usize| characters.div_ceil(4) as u64;
    Usage {
        input: tokens(RehearsedRequest(request).new_characters()),
        output: tokens(said),
        ..Usage::default()
    }
}

fn failure(class: FailureClass, text: String) -> Failure {
    Failure {
        class,
        text,
        advice: None,
        retry_after: None,
    }
}

/// Classifies a status, like a real provider's.
fn class_of(status: u16, text: &str) -> FailureClass {
    match status {
        401 | 403 | 404 => FailureClass::Auth,
        402 => FailureClass::Money,
        429 => FailureClass::Rate,
        503 | 529 => FailureClass::Overload,
        408 | 500 | 502 | 504 => FailureClass::Transient,
        400 if text.contains("tool_choice") => FailureClass::Refused(Feature::ForcedTool),
        _ => FailureClass::Other,
    }
}

fn what_and_next(class: &FailureClass) -> (&'static str, &'static str) {
    match class {
        FailureClass::Auth => (
            "the key or the model is rejected",
            "choose another with --model",
        ),
        FailureClass::Money => ("there is no credit left", "add some"),
        FailureClass::Rate => ("too many requests", "wait a little"),
        FailureClass::Overload => ("it is overloaded", "try again later"),
        FailureClass::Transient => ("the server failed", "try again"),
        _ => ("the request is not accepted", "change it"),
    }
}
