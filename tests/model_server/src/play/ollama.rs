//! Ollama's `/api/chat`: one JSON object a line. Thinking comes first, and each call comes whole.

use serde_json::{Value, json};

use super::{ModelReply, PlayedFault, PlayedFinish, ReplyItem};

/// The whole body.
pub(super) fn stream(play: &ModelReply) -> String {
    let mut lines = Vec::new();
    for said in &play.said {
        if let ReplyItem::Reasoning(text) = said {
            lines.extend(
                text.iter()
                    .map(|piece| line(play, json!({"thinking": piece}))),
            );
        }
    }
    let mut calls = 0;
    for (index, said) in play.said.iter().enumerate() {
        match said {
            ReplyItem::Text(text) => {
                lines.extend(
                    text.iter()
                        .map(|piece| line(play, json!({"content": piece}))),
                );
            }
            ReplyItem::Call {
                id,
                name,
                arguments,
            } if !play.is_broken(index) => {
                let arguments = arguments.whole();
                let arguments: Value =
                    serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
                let function = json!({"index": calls, "name": name, "arguments": arguments});
                let call = json!({"id": id, "function": function});
                lines.push(line(play, json!({"tool_calls": [call]})));
                calls += 1;
            }
            ReplyItem::Call { .. }
            | ReplyItem::Reasoning(_)
            | ReplyItem::HiddenReasoning
            | ReplyItem::Compaction(_) => {}
        }
    }
    lines.push(match (play.fault, &play.finish) {
        (Some(fault), _) => error(fault),
        (None, PlayedFinish::MalformedCall) => json!({"error": "error parsing tool call"}),
        (None, finish) => last(play, finish),
    });
    lines
        .iter()
        .fold(String::new(), |text, line| format!("{text}{line}\n"))
}

/// A line with these fields in its message. `content` is always there.
fn line(play: &ModelReply, fields: Value) -> Value {
    let mut message = json!({"role": "assistant", "content": ""});
    for (key, value) in fields.as_object().into_iter().flatten() {
        message[key] = value.clone();
    }
    json!({
        "model": play.model_or("qwen3.5:9b"),
        "created_at": "2026-11-21T20:00:00.000000Z",
        "message": message,
        "done": false,
    })
}

/// The last line. After calls too the reason is `stop`; durations are in nanoseconds.
fn last(play: &ModelReply, finish: &PlayedFinish) -> Value {
    let mut line = line(play, json!({}));
    line["done"] = true.into();
    line["done_reason"] = if *finish == PlayedFinish::MaxTokens {
        "length"
    } else {
        "stop"
    }
    .into();
    line["total_duration"] = 36_119_863_291_u64.into();
    line["load_duration"] = 109_119_375_u64.into();
    line["prompt_eval_count"] = play.tokens.prompt().into();
    line["prompt_eval_duration"] = 246_789_208_u64.into();
    line["eval_count"] = play.tokens.output.into();
    line["eval_duration"] = 1_366_582_209_u64.into();
    line
}

fn error(fault: PlayedFault) -> Value {
    match fault {
        PlayedFault::Overloaded => {
            json!({"error": "server busy, please try again", "status": 503})
        }
        PlayedFault::RateLimited => json!({"error": "rate limit exceeded", "status": 429}),
        PlayedFault::Server => json!({"error": "an error was encountered while running the model"}),
    }
}
