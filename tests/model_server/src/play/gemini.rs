//! Gemini generateContent: unnamed events, each a response of its own to be appended; no last event.

use serde_json::{Map, Value, json};

use super::{ModelReply, PlayedFault, PlayedFinish, ReplyItem, data_event, signature};
use crate::ServedApi;

/// The whole body.
pub(super) fn stream(play: &ModelReply) -> String {
    let mut out = String::new();
    for parts in steps(play) {
        data_event(&mut out, &chunk(play, content(parts), None));
    }
    match (play.fault, &play.finish) {
        // The error is no event: it stands bare in the stream, printed over several lines.
        (Some(fault), _) => out.push_str(&format!("{:#}\n", error(fault))),
        (None, PlayedFinish::ContentFilter) if play.said.is_empty() => {
            data_event(&mut out, &blocked_prompt(play));
        }
        (None, finish) => data_event(&mut out, &last(play, finish)),
    }
    out
}

/// The parts of each chunk: a piece of text is a chunk, and calls side by side are one chunk together.
fn steps(play: &ModelReply) -> Vec<Vec<Value>> {
    let mut steps: Vec<Vec<Value>> = Vec::new();
    let mut signed = false;
    let mut after_call = false;
    for (index, said) in play.said.iter().enumerate() {
        let call = match said {
            ReplyItem::Text(text) => {
                steps.extend(text.iter().map(|piece| vec![json!({"text": piece})]));
                None
            }
            ReplyItem::Reasoning(text) => {
                let part = |piece| vec![json!({"text": piece, "thought": true})];
                steps.extend(text.iter().map(part));
                None
            }
            ReplyItem::HiddenReasoning | ReplyItem::Compaction(_) => continue,
            // A call comes whole or not at all.
            ReplyItem::Call { .. } if play.is_broken(index) => continue,
            ReplyItem::Call {
                id,
                name,
                arguments,
            } => {
                let arguments = arguments.whole();
                let args: Value =
                    serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
                Some(json!({"functionCall": {"id": id, "name": name, "args": args}}))
            }
        };
        let Some(mut call) = call else {
            after_call = false;
            continue;
        };
        if !signed {
            // Only the first call of a step is signed.
            call["thoughtSignature"] = signature(ServedApi::Gemini, &play.binding, 0).into();
            signed = true;
        }
        match steps.last_mut() {
            Some(parts) if after_call => parts.push(call),
            _ => steps.push(vec![call]),
        }
        after_call = true;
    }
    steps
}

fn content(parts: Vec<Value>) -> Value {
    json!({"parts": parts, "role": "model"})
}

/// A response with one candidate. `last` holds what the candidate says of its end.
fn chunk(play: &ModelReply, content: Value, last: Option<Map<String, Value>>) -> Value {
    let tokens = play.tokens;
    let mut usage = json!({
        "promptTokenCount": tokens.prompt(), "cachedContentTokenCount": tokens.cache_read,
    });
    if last.is_some() {
        usage["candidatesTokenCount"] = tokens.output.saturating_sub(tokens.reasoning).into();
        usage["thoughtsTokenCount"] = tokens.reasoning.into();
        usage["totalTokenCount"] = (tokens.prompt() + tokens.output).into();
    } else {
        usage["totalTokenCount"] = (tokens.prompt() + tokens.reasoning).into();
        usage["thoughtsTokenCount"] = tokens.reasoning.into();
    }
    let mut candidate = json!({"content": content, "index": 0});
    for (key, value) in last.into_iter().flatten() {
        candidate[key] = value;
    }
    with_ids(
        play,
        json!({"candidates": [candidate], "usageMetadata": usage}),
    )
}

fn with_ids(play: &ModelReply, mut response: Value) -> Value {
    response["modelVersion"] = play.model_or("gemini-4-argon").into();
    response["responseId"] = format!("rid-{:02}", play.number).into();
    response
}

/// The last chunk. `STOP` also stands after calls.
fn last(play: &ModelReply, finish: &PlayedFinish) -> Value {
    let reason = match finish {
        PlayedFinish::MaxTokens => "MAX_TOKENS",
        PlayedFinish::ContentFilter => "SAFETY",
        PlayedFinish::Pause => "CONTINUATION",
        PlayedFinish::MalformedCall => "MALFORMED_FUNCTION_CALL",
        _ => "STOP",
    };
    let mut end = Map::new();
    end.insert("finishReason".into(), reason.into());
    if *finish == PlayedFinish::MalformedCall {
        let name = play.said.iter().rev().find_map(|said| match said {
            ReplyItem::Call { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let message = format!("Malformed function call: {}(", name.unwrap_or_default());
        end.insert("finishMessage".into(), message.into());
        return chunk(play, json!({}), Some(end));
    }
    if *finish == PlayedFinish::Pause {
        end.insert(
            "continuationToken".into(),
            signature(ServedApi::Gemini, &play.binding, 0).into(),
        );
    }
    let mut part = json!({"text": ""});
    if !play.calls_tools() && *finish == PlayedFinish::Stop {
        // A reply without calls is signed at its end, and this may be the only signature.
        part["thoughtSignature"] = signature(ServedApi::Gemini, &play.binding, 0).into();
    }
    chunk(play, content(vec![part]), Some(end))
}

/// A prompt that was blocked gets no candidate at all.
fn blocked_prompt(play: &ModelReply) -> Value {
    let prompt = play.tokens.prompt();
    with_ids(
        play,
        json!({
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {"promptTokenCount": prompt, "totalTokenCount": prompt},
        }),
    )
}

fn error(fault: PlayedFault) -> Value {
    let (code, message, status) = match fault {
        PlayedFault::Overloaded => (503, "The model is overloaded.", "UNAVAILABLE"),
        PlayedFault::RateLimited => (
            429,
            "Resource has been exhausted (e.g. check quota).",
            "RESOURCE_EXHAUSTED",
        ),
        PlayedFault::Server => (500, "An internal error has occurred.", "INTERNAL"),
    };
    json!({"error": {"code": code, "message": message, "status": status}})
}
