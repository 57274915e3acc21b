//! OpenAI Chat Completions and servers that speak it: unnamed events, one delta each, and `[DONE]`.

use serde_json::{Value, json};

use super::{
    ChatServer, ModelReply, PlayedFault, PlayedFinish, PlayedPieces, ReplyItem, data_event,
};

/// The whole body.
pub(super) fn stream(play: &ModelReply) -> String {
    let mut out = String::new();
    let opening = match play.chat_server {
        ChatServer::Openai => json!({"role": "assistant", "content": null, "refusal": null}),
        ChatServer::LlamaCpp => json!({"role": "assistant", "content": null}),
        ChatServer::Vllm => json!({"role": "assistant", "content": ""}),
    };
    data_event(&mut out, &chunk(play, opening, None));
    for delta in deltas(play) {
        data_event(&mut out, &chunk(play, delta, None));
    }
    if let Some(fault) = play.fault {
        data_event(&mut out, &error(fault));
        return out;
    }
    data_event(&mut out, &finish(play));
    if play.chat_server == ChatServer::Openai {
        data_event(&mut out, &usage(play));
    }
    out.push_str("data: [DONE]\n\n");
    out
}

fn deltas(play: &ModelReply) -> Vec<Value> {
    let mut deltas = Vec::new();
    let mut calls = 0;
    for (index, said) in play.said.iter().enumerate() {
        match said {
            ReplyItem::Text(text) => deltas.extend(each("content", text)),
            ReplyItem::Reasoning(text) => match play.chat_server {
                ChatServer::Openai => {}
                ChatServer::LlamaCpp => deltas.extend(each("reasoning_content", text)),
                ChatServer::Vllm => deltas.extend(each("reasoning", text)),
            },
            ReplyItem::HiddenReasoning | ReplyItem::Compaction(_) => {}
            ReplyItem::Call {
                id,
                name,
                arguments,
            } => {
                let sent = play.sent(index, arguments);
                deltas.extend(call(play.chat_server, calls, (id, name), &sent));
                calls += 1;
            }
        }
    }
    if let PlayedFinish::Refusal(explanation) = &play.finish {
        deltas.extend(each("refusal", &explanation.as_str().into()));
    }
    deltas
}

/// One delta a piece, in this field.
fn each(field: &str, pieces: &PlayedPieces) -> Vec<Value> {
    pieces.iter().map(|piece| json!({field: piece})).collect()
}

/// A call: id and name come in its first delta only, and everyone merges by `index`.
fn call(
    server: ChatServer,
    index: usize,
    (id, name): (&str, &str),
    sent: &PlayedPieces,
) -> Vec<Value> {
    let mut pieces = sent.iter();
    // llama.cpp sends the arguments from the first delta on, the others begin with none.
    let first = match server {
        ChatServer::LlamaCpp => pieces.next().unwrap_or_default(),
        ChatServer::Openai | ChatServer::Vllm => "",
    };
    let function = json!({"name": name, "arguments": first});
    let first = json!({"index": index, "id": id, "type": "function", "function": function});
    let rest = pieces.map(|piece| json!({"index": index, "function": {"arguments": piece}}));
    std::iter::once(first)
        .chain(rest)
        .map(|call| json!({"tool_calls": [call]}))
        .collect()
}

/// A chunk with one choice.
fn chunk(play: &ModelReply, delta: Value, finish_reason: Option<&str>) -> Value {
    let mut chunk = match play.chat_server {
        ChatServer::LlamaCpp => {
            return json!({
                "choices": [{"finish_reason": finish_reason, "index": 0, "delta": delta}],
                "created": 1_795_291_200,
                "id": id(play),
                "model": play.model_or("qwen3.5:local"),
                "system_fingerprint": "b8210-x",
                "object": "chat.completion.chunk",
            });
        }
        ChatServer::Openai | ChatServer::Vllm => head(play),
    };
    chunk["system_fingerprint"] = Value::Null;
    chunk["choices"] = json!([
        {"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason},
    ]);
    if play.chat_server == ChatServer::Openai {
        chunk["usage"] = Value::Null;
    }
    chunk
}

fn id(play: &ModelReply) -> String {
    format!("chatcmpl-{:02}", play.number)
}

/// What every chunk begins with.
fn head(play: &ModelReply) -> Value {
    json!({
        "id": id(play),
        "object": "chat.completion.chunk",
        "created": 1_795_291_200,
        "model": play.model_or("gpt-6.1-sol"),
    })
}

fn finish(play: &ModelReply) -> Value {
    let reason = match play.finish {
        PlayedFinish::MaxTokens => "length",
        PlayedFinish::ContentFilter => "content_filter",
        PlayedFinish::ContextFull => "model_length",
        _ if play.calls_tools() => "tool_calls",
        _ => "stop",
    };
    let mut chunk = chunk(play, json!({}), Some(reason));
    if play.chat_server == ChatServer::LlamaCpp {
        let tokens = play.tokens;
        // `cache_n` is the prefix that was reused; times are in milliseconds.
        chunk["timings"] = json!({
            "cache_n": tokens.cache_read,
            "prompt_n": tokens.input + tokens.cache_write,
            "prompt_ms": 88.9,
            "predicted_n": tokens.output,
            "predicted_ms": 1998.2,
        });
    }
    chunk
}

/// The usage, in a chunk without choices.
fn usage(play: &ModelReply) -> Value {
    let tokens = play.tokens;
    let mut chunk = head(play);
    chunk["choices"] = json!([]);
    chunk["usage"] = json!({
        "prompt_tokens": tokens.prompt(),
        "completion_tokens": tokens.output,
        "total_tokens": tokens.prompt() + tokens.output,
        "prompt_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": tokens.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    });
    chunk
}

fn error(fault: PlayedFault) -> Value {
    let (message, kind, code) = match fault {
        PlayedFault::Overloaded => (
            "The engine is currently overloaded, please try again later",
            "server_error",
            json!("server_is_overloaded"),
        ),
        PlayedFault::RateLimited => (
            "Rate limit reached.",
            "tokens",
            json!("rate_limit_exceeded"),
        ),
        PlayedFault::Server => ("The server had an error", "server_error", Value::Null),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}
