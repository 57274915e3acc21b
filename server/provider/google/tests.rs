mod history;
mod requests;
mod responses;

use std::time::Duration;

use aside_turn::{
    inquiry::{CallResult, Message},
    response::{Feature, Finish, Item, Kind, Piece, Usage},
    rules::ToolChoice,
};
use http::HeaderMap;
use serde_json::{Value, json};

use super::super::{
    ToolDeclaration,
    abilities::{Abilities, ForcedToolSupport, Prices, Rates, ReasoningKind},
    api::WireApi,
    options::{ModelOptions, ReasoningEffort},
    retry::ApiError,
    trial::{ProviderTrial, answer_tool, grep_tool, json_sample, options, sample},
};
use super::Google;

const CALLS: &str = "gemini/03_stream_thought_and_parallel_calls.sse";

const SIGNED: &str = "gemini/05_stream_text_signature_on_empty_part.sse";

/// Pieces as text, one item per line.
pub(in super::super) fn lines(pieces: &[Piece]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut usage = Usage::default();
    for piece in pieces {
        match piece {
            Piece::Open { slot, kind } => {
                assert_eq!(*slot as usize, lines.len(), "slots are dense");
                lines.push(match kind {
                    Kind::ToolCall { id, name } => format!("call {id} {name}"),
                    kind => format!("{kind:?}").to_lowercase(),
                });
            }
            Piece::Delta { slot, text } => lines[*slot as usize] += &format!(" | {text}"),
            Piece::Anew { slot, name, text } => {
                lines[*slot as usize] += &format!(" anew {name} {text}");
            }
            Piece::Close {
                slot,
                opaque,
                complete,
            } => {
                let line = &mut lines[*slot as usize];
                *line += if *complete { " ." } else { " …" };
                if let Some(opaque) = opaque {
                    *line += &format!(" {opaque}");
                }
            }
            Piece::Usage(newer) => usage.merge(newer),
            Piece::KeepAlive => {}
            Piece::Finish(finish) => lines.push(format!("= {finish:?}")),
        }
    }
    let Usage {
        input,
        cache_read,
        output,
        ..
    } = usage;
    lines.push(format!("{input} + {cache_read} > {output}"));
    lines.join("\n")
}

fn abilities() -> Abilities {
    let words = ["MINIMAL", "LOW", "MEDIUM", "HIGH"];
    Abilities {
        reasoning: ReasoningKind::Effort,
        reasoning_off: false,
        efforts: words.map(str::to_owned).to_vec(),
        ..Abilities::default()
    }
}

fn argon() -> ModelOptions {
    let mut options = options("google/gemini-4-argon", abilities());
    options.reasoning = Some(ReasoningEffort::Low);
    options
}

fn trial(options: ModelOptions) -> ProviderTrial {
    let mut trial = ProviderTrial::new(options, "You are a coding agent.", vec![grep_tool()]);
    trial.user("Where is retry_after parsed?");
    trial
}

fn chunks(chunks: &[Value]) -> String {
    chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect()
}

fn parts(parts: Value, reason: &str) -> String {
    let content = json!({"role": "model", "parts": parts});
    let candidate = json!({"content": content, "finishReason": reason});
    chunks(&[json!({"candidates": [candidate], "responseId": "r7"})])
}

/// Status and body of a sample error.
pub(in super::super) fn http_sample(name: &str) -> (u16, HeaderMap, String) {
    let text = sample(name).replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, HeaderMap::new(), body.to_owned())
}
