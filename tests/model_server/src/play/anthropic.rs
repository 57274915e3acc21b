//! Anthropic Messages: `message_start`, one content block an item, `message_delta`, `message_stop`.

use serde_json::{Value, json};

use super::{
    ModelReply, PlayedFault, PlayedFinish, PlayedPieces, PlayedTokens, ReplyItem, named_event,
    signature,
};
use crate::ServedApi;

/// The whole body.
pub(super) fn stream(play: &ModelReply) -> String {
    let mut out = String::new();
    named_event(&mut out, &message_start(play));
    for (index, said) in play.said.iter().enumerate() {
        named_event(&mut out, &block_start(play, index, said));
        if index == 0 {
            // A ping may come anywhere; after the first block has begun is where it usually does.
            named_event(&mut out, &json!({"type": "ping"}));
        }
        for delta in deltas(play, index, said) {
            let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
            named_event(&mut out, &event);
        }
        if play.fault.is_none() || index + 1 < play.said.len() {
            named_event(
                &mut out,
                &json!({"type": "content_block_stop", "index": index}),
            );
        }
    }
    if let Some(fault) = play.fault {
        named_event(&mut out, &error(fault));
    } else {
        named_event(&mut out, &message_delta(play));
        named_event(&mut out, &json!({"type": "message_stop"}));
    }
    out
}

fn message_start(play: &ModelReply) -> Value {
    let PlayedTokens {
        input,
        cache_read,
        cache_write,
        ..
    } = match play.is_compaction() {
        true => PlayedTokens::default(),
        false => play.tokens,
    };
    json!({"type": "message_start", "message": {
        "id": format!("msg_{:02}", play.number),
        "type": "message",
        "role": "assistant",
        "model": play.model_or("claude-opus-5-5"),
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "stop_details": null,
        "usage": {
            "input_tokens": input,
            "cache_creation_input_tokens": cache_write,
            "cache_read_input_tokens": cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": cache_write,
                "ephemeral_1h_input_tokens": 0,
            },
            // What is written of the output when the message begins.
            "output_tokens": if play.is_compaction() { 0 } else { 2 },
            "service_tier": "standard",
            "inference_geo": "global",
        },
    }})
}

fn block_start(play: &ModelReply, index: usize, said: &ReplyItem) -> Value {
    let block = match said {
        ReplyItem::Text(_) => json!({"type": "text", "text": ""}),
        ReplyItem::Reasoning(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        ReplyItem::HiddenReasoning => {
            let data = signature(ServedApi::Anthropic, &play.binding, index);
            json!({"type": "redacted_thinking", "data": data})
        }
        ReplyItem::Compaction(text) => {
            let signature = signature(ServedApi::Anthropic, &play.binding, index);
            json!({
                "type": "compaction", "content": text, "signature": signature,
                "encrypted_content": null, "tool_changes": [],
            })
        }
        ReplyItem::Call { id, name, .. } => json!({
            "type": "tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"},
        }),
    };
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn deltas(play: &ModelReply, index: usize, said: &ReplyItem) -> Vec<Value> {
    let of = |kind: &str, field: &str, pieces: &PlayedPieces| -> Vec<Value> {
        pieces
            .iter()
            .map(|piece| json!({"type": kind, field: piece}))
            .collect()
    };
    match said {
        ReplyItem::Text(text) => of("text_delta", "text", text),
        ReplyItem::Reasoning(text) => {
            let mut deltas = of("thinking_delta", "thinking", text);
            let signature = signature(ServedApi::Anthropic, &play.binding, index);
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            deltas
        }
        ReplyItem::HiddenReasoning | ReplyItem::Compaction(_) => Vec::new(),
        ReplyItem::Call { arguments, .. } => {
            // The first fragment is empty, always.
            let mut deltas = of("input_json_delta", "partial_json", &[""].into());
            let sent = play.sent(index, arguments);
            deltas.extend(of("input_json_delta", "partial_json", &sent));
            deltas
        }
    }
}

fn message_delta(play: &ModelReply) -> Value {
    let stop_reason = match &play.finish {
        PlayedFinish::MaxTokens => "max_tokens",
        PlayedFinish::Refusal(_) => "refusal",
        PlayedFinish::ContextFull => "model_context_window_exceeded",
        PlayedFinish::Pause => "pause_turn",
        _ if play.is_compaction() => "compaction",
        _ if play.calls_tools() => "tool_use",
        _ => "end_turn",
    };
    let stop_details = match &play.finish {
        PlayedFinish::Refusal(explanation) => {
            json!({"type": "refusal", "category": "cyber", "explanation": explanation})
        }
        _ => Value::Null,
    };
    let PlayedTokens {
        input,
        cache_read,
        cache_write,
        output,
        reasoning,
    } = play.tokens;
    let delta = json!({
        "stop_reason": stop_reason, "stop_sequence": null, "stop_details": stop_details,
    });
    if play.is_compaction() {
        // The counts beside leave the summary out.
        let iteration = json!({
            "type": "compaction",
            "input_tokens": input,
            "cache_creation_input_tokens": cache_write,
            "cache_read_input_tokens": cache_read,
            "output_tokens": output,
        });
        let usage = json!({"input_tokens": 0, "output_tokens": 0, "iterations": [iteration]});
        return json!({"type": "message_delta", "delta": delta, "usage": usage});
    }
    json!({
        "type": "message_delta",
        "delta": delta,
        "usage": {
            "input_tokens": input,
            "cache_creation_input_tokens": cache_write,
            "cache_read_input_tokens": cache_read,
            "output_tokens": output,
            "output_tokens_details": {"thinking_tokens": reasoning},
        },
    })
}

fn error(fault: PlayedFault) -> Value {
    let (kind, message) = match fault {
        PlayedFault::Overloaded => ("overloaded_error", "Overloaded"),
        PlayedFault::RateLimited => (
            "rate_limit_error",
            "This request would exceed your rate limit.",
        ),
        PlayedFault::Server => ("api_error", "Internal server error"),
    };
    json!({
        "type": "error", "error": {"type": kind, "message": message}, "request_id": "req_01",
    })
}
