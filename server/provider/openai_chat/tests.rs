//! Tests of encoding and decoding, against samples of each server.

mod errors;
mod history;
mod lists;
mod opening;
mod responses;

use aside_turn::response::{Kind, Piece, Usage};

use super::OpenaiChat;
use crate::{
    ToolDeclaration,
    abilities::Abilities,
    options::ModelOptions,
    trial::{ProviderTrial, grep_tool, options, sample},
};

const OPENAI: &str = "https://api.openai.com/v1";
const OPENROUTER: &str = "https://openrouter.ai/api/v1";
const DEEPSEEK: &str = "https://api.deepseek.com";
const MISTRAL: &str = "https://api.mistral.ai/v1";
const OLLAMA: &str = "http://localhost:11434/v1";
const LOCAL: &str = "http://localhost:8080/v1";

/// A model on a server.
fn model(base: &str, model: &str) -> (OpenaiChat, ModelOptions) {
    let mut options = options(&format!("p/{model}"), Abilities::default());
    options.base = base.parse().unwrap();
    (OpenaiChat::new(&options.base), options)
}

/// The tool of the samples, whose schema is strict.
fn grep() -> ToolDeclaration {
    ToolDeclaration {
        strict: true,
        ..grep_tool()
    }
}

/// A conversation with a server, without system text.
fn talk(base: &str, name: &str) -> (OpenaiChat, ProviderTrial) {
    let (api, options) = model(base, name);
    (api, ProviderTrial::new(options, "", vec![grep()]))
}

fn stream(name: &str) -> Vec<u8> {
    sample(&format!("openai_chat/{name}.sse")).into_bytes()
}

/// A response of one chunk per delta, and a finish reason.
fn deltas(deltas: &[&str], finish: &str) -> Vec<u8> {
    let mut body = String::new();
    for delta in deltas {
        body += &format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
    }
    body += &format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{finish}\"}}]}}\n\ndata: [DONE]\n\n"
    );
    body.into_bytes()
}

/// Pieces as text, one per line, without empty ones.
fn shown(pieces: &[Piece]) -> String {
    let line = |piece: &Piece| match piece {
        Piece::Open { slot, kind } => match kind {
            Kind::Text => format!("{slot} text"),
            Kind::Reasoning => format!("{slot} reasoning"),
            Kind::ToolCall { id, name } => format!("{slot} call {id} {name}"),
            Kind::Compaction => format!("{slot} compaction"),
            Kind::Opaque => format!("{slot} opaque"),
        },
        Piece::Delta { slot, text } => format!("{slot} + {text}"),
        Piece::Anew { slot, name, text } => format!("{slot} anew {name} {text}"),
        Piece::Close {
            slot,
            opaque,
            complete,
        } => {
            let end = if *complete { "end" } else { "torn" };
            let opaque = opaque.as_deref().unwrap_or_default();
            format!("{slot} {end} {opaque}")
        }
        Piece::Usage(Usage {
            input,
            cache_read,
            cache_write,
            output,
            cost,
            ..
        }) => {
            let cost = cost.map(|cost| format!(" ${cost}")).unwrap_or_default();
            format!("in {input} read {cache_read} write {cache_write} out {output}{cost}")
        }
        Piece::KeepAlive => String::new(),
        Piece::Finish(finish) => format!("{finish:?}"),
    };
    let lines = pieces.iter().map(|piece| line(piece).trim_end().to_owned());
    let said = lines.filter(|line| !line.is_empty());
    said.collect::<Vec<_>>().join("\n")
}
