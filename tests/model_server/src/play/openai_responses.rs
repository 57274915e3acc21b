//! OpenAI Responses: every output item opens, fills and closes with events of its own, and the last event repeats
//! them all.

use serde_json::{Value, json};

use super::{
    ModelReply, PlayedFault, PlayedFinish, PlayedPieces, ReplyItem, named_event, signature,
};
use crate::ServedApi;

/// The whole body.
pub(super) fn stream(play: &ModelReply) -> String {
    let mut events = Events::default();
    let begun = response(play, "in_progress", &[]);
    events.push(json!({"type": "response.created", "response": begun}));
    events.push(json!({"type": "response.in_progress", "response": begun}));
    for (index, said) in play.said.iter().enumerate() {
        match said {
            ReplyItem::Text(text) => message(&mut events, play, index, text),
            ReplyItem::Reasoning(text) => reasoning(&mut events, play, index, text),
            ReplyItem::HiddenReasoning => {
                reasoning(&mut events, play, index, &PlayedPieces::default())
            }
            ReplyItem::Compaction(_) => compaction(&mut events, play, index),
            ReplyItem::Call { .. } => function_call(&mut events, play, index, said),
        }
    }
    if let Some(fault) = play.fault {
        events.push(error(play, fault));
        return events.text;
    }
    if let PlayedFinish::Refusal(explanation) = &play.finish {
        refusal(&mut events, play, &explanation.as_str().into());
    }
    let status = match play.finish {
        PlayedFinish::MaxTokens | PlayedFinish::ContentFilter => "incomplete",
        _ => "completed",
    };
    let mut response = response(play, status, &events.output);
    if status == "incomplete" {
        let filtered = play.finish == PlayedFinish::ContentFilter;
        let reason = if filtered {
            "content_filter"
        } else {
            "max_output_tokens"
        };
        response["incomplete_details"] = json!({"reason": reason});
    }
    response["usage"] = usage(play);
    events.push(json!({"type": format!("response.{status}"), "response": response}));
    events.text
}

/// The events so far, and the items that are done.
#[derive(Default)]
struct Events {
    text: String,
    sequence: usize,
    output: Vec<Value>,
}

impl Events {
    fn push(&mut self, mut event: Value) {
        event["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        named_event(&mut self.text, &event);
    }

    fn added(&mut self, index: usize, item: &Value) {
        let kind = "response.output_item.added";
        self.push(json!({"type": kind, "output_index": index, "item": item}));
    }

    fn done(&mut self, index: usize, item: Value) {
        let kind = "response.output_item.done";
        self.push(json!({"type": kind, "output_index": index, "item": item}));
        self.output.push(item);
    }
}

/// Whether the item is never closed: the error follows.
fn stays_open(play: &ModelReply, index: usize) -> bool {
    play.fault.is_some() && play.is_broken(index)
}

fn item_id(play: &ModelReply, kind: &str, index: usize) -> String {
    format!("{kind}_{:02}_{index}", play.number)
}

/// A reasoning item. What it opens with as `encrypted_content` is not what it closes with, and only that counts.
fn reasoning(events: &mut Events, play: &ModelReply, index: usize, text: &PlayedPieces) {
    let id = item_id(play, "rs", index);
    let encrypted = signature(ServedApi::OpenaiResponses, &play.binding, index);
    let early = format!("{}partial", encrypted.get(..24).unwrap_or_default());
    let item = |summary: Value, encrypted: &str| {
        json!({
            "id": id, "type": "reasoning", "summary": summary, "encrypted_content": encrypted,
        })
    };
    events.added(index, &item(json!([]), &early));
    let part = |text: &str| json!({"type": "summary_text", "text": text});
    let event = |kind: &str, field: &str, value: Value| {
        json!({
            "type": format!("response.reasoning_summary_{kind}"),
            "item_id": id, "output_index": index, "summary_index": 0, field: value,
        })
    };
    let whole = text.whole();
    if !whole.is_empty() {
        events.push(event("part.added", "part", part("")));
        for piece in text.iter() {
            events.push(event("text.delta", "delta", piece.into()));
        }
    }
    if stays_open(play, index) {
        return;
    }
    let mut summary = json!([]);
    if !whole.is_empty() {
        events.push(event("text.done", "text", whole.as_str().into()));
        events.push(event("part.done", "part", part(&whole)));
        summary = json!([part(&whole)]);
    }
    events.done(index, item(summary, &encrypted));
}

/// A summary, which nobody can read.
fn compaction(events: &mut Events, play: &ModelReply, index: usize) {
    let item = json!({
        "type": "compaction",
        "id": item_id(play, "cmp", index),
        "encrypted_content": signature(ServedApi::OpenaiResponses, &play.binding, index),
    });
    events.added(index, &item);
    events.push(json!({
        "type": "response.compaction.compacting", "item_id": item["id"], "output_index": index,
    }));
    events.done(index, item);
}

/// A message. What is said before a call is a commentary.
fn message(events: &mut Events, play: &ModelReply, index: usize, text: &PlayedPieces) {
    let id = item_id(play, "msg", index);
    let calls_follow = play
        .said
        .iter()
        .skip(index)
        .any(|said| matches!(said, ReplyItem::Call { .. }));
    let phase = if calls_follow {
        "commentary"
    } else {
        "final_answer"
    };
    let item = |status: &str, content: Value| {
        json!({
            "id": id, "type": "message", "role": "assistant",
            "status": status, "phase": phase, "content": content,
        })
    };
    let event = |kind: &str| {
        json!({
            "type": format!("response.{kind}"),
            "item_id": id, "output_index": index, "content_index": 0,
        })
    };
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    events.added(index, &item("in_progress", json!([])));
    let mut added = event("content_part.added");
    added["part"] = part("");
    events.push(added);
    for piece in text.iter() {
        let mut delta = event("output_text.delta");
        delta["delta"] = piece.into();
        delta["logprobs"] = json!([]);
        events.push(delta);
    }
    if stays_open(play, index) {
        return;
    }
    let whole = text.whole();
    let mut done = event("output_text.done");
    done["text"] = whole.as_str().into();
    done["logprobs"] = json!([]);
    events.push(done);
    let mut done = event("content_part.done");
    done["part"] = part(&whole);
    events.push(done);
    let cut = play.is_broken(index) && play.finish == PlayedFinish::MaxTokens;
    let status = if cut { "incomplete" } else { "completed" };
    events.done(index, item(status, json!([part(&whole)])));
}

/// A refusal is a message too, whose content part is another.
fn refusal(events: &mut Events, play: &ModelReply, text: &PlayedPieces) {
    let index = play.said.len();
    let id = item_id(play, "msg", index);
    let item = |status: &str, content: Value| {
        json!({
            "id": id, "type": "message", "role": "assistant", "status": status, "content": content,
        })
    };
    let event = |kind: &str, field: &str, value: Value| {
        json!({
            "type": format!("response.{kind}"),
            "item_id": id, "output_index": index, "content_index": 0, field: value,
        })
    };
    let part = |text: &str| json!({"type": "refusal", "refusal": text});
    events.added(index, &item("in_progress", json!([])));
    events.push(event("content_part.added", "part", part("")));
    for piece in text.iter() {
        events.push(event("refusal.delta", "delta", piece.into()));
    }
    let whole = text.whole();
    events.push(event("refusal.done", "refusal", whole.as_str().into()));
    events.push(event("content_part.done", "part", part(&whole)));
    events.done(index, item("completed", json!([part(&whole)])));
}

fn function_call(events: &mut Events, play: &ModelReply, index: usize, said: &ReplyItem) {
    let ReplyItem::Call {
        id: call_id,
        name,
        arguments,
    } = said
    else {
        return;
    };
    let id = item_id(play, "fc", index);
    let item = |status: &str, arguments: &str| {
        json!({
            "id": id, "type": "function_call", "status": status,
            "call_id": call_id, "name": name, "arguments": arguments,
        })
    };
    let event = |kind: &str, field: &str, value: &str| {
        json!({
            "type": format!("response.function_call_arguments.{kind}"),
            "item_id": id, "output_index": index, field: value,
        })
    };
    events.added(index, &item("in_progress", ""));
    let sent = play.sent(index, arguments);
    for piece in sent.iter() {
        events.push(event("delta", "delta", piece));
    }
    if stays_open(play, index) {
        return;
    }
    let whole = sent.whole();
    if play.is_broken(index) && play.finish == PlayedFinish::MaxTokens {
        // A call that was cut short has no `done` of its arguments.
        events.done(index, item("incomplete", &whole));
        return;
    }
    events.push(event("done", "arguments", &whole));
    events.done(index, item("completed", &whole));
}

/// The response object, as it stands at some time.
fn response(play: &ModelReply, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{:02}", play.number),
        "object": "response",
        "created_at": 1_795_291_200,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": play.model_or("gpt-6.1-sol"),
        "output": output,
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "store": false,
        "prompt_cache_options": {"mode": "implicit", "ttl": "30m"},
        "reasoning": {
            "effort": "medium", "summary": "detailed", "context": "all_turns", "mode": "standard",
        },
        "service_tier": "default",
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "usage": null,
    })
}

/// The input counts what was read from the cache and what was written to it.
fn usage(play: &ModelReply) -> Value {
    let tokens = play.tokens;
    json!({
        "input_tokens": tokens.prompt(),
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write,
            "cache_write_tokens_details": {
                "ttl_30m_tokens": tokens.cache_write, "ttl_12h_tokens": 0,
            },
        },
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.prompt() + tokens.output,
    })
}

/// A failure of the model ends the response; the rest is an event without one.
fn error(play: &ModelReply, fault: PlayedFault) -> Value {
    let (code, message) = match fault {
        PlayedFault::Overloaded => ("server_is_overloaded", "The server is overloaded."),
        PlayedFault::RateLimited => ("rate_limit_exceeded", "Rate limit reached."),
        PlayedFault::Server => {
            let mut response = response(play, "failed", &[]);
            let message = "The model failed to generate a response.";
            response["error"] = json!({"code": "server_error", "message": message});
            return json!({"type": "response.failed", "response": response});
        }
    };
    json!({"type": "error", "code": code, "message": message, "param": null})
}
