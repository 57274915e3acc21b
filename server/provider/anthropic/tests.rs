//! Tests of requests and responses.

mod history;
mod requests;
mod responses;

use serde_json::{Value, json};

use super::{
    super::{
        abilities::{Abilities, ForcedToolSupport, Prices, Rates, ReasoningKind},
        options::{ModelOptions, ReasoningEffort},
        trial::{ProviderTrial, answer_tool, grep_tool, options, sample},
    },
    Anthropic,
};

const FIRST: &str = "anthropic/03_stream_thinking_text_two_tools.sse";

/// A model that always thinks, and decides by itself how much.
fn abilities() -> Abilities {
    Abilities {
        context_window: Some(1_000_000),
        max_output: Some(128_000),
        forced_tools: ForcedToolSupport::No,
        images: true,
        documents: true,
        system_messages: true,
        reasoning: ReasoningKind::Adaptive,
        reasoning_off: false,
        efforts: ["low", "medium", "high", "xhigh", "max"]
            .map(str::to_owned)
            .to_vec(),
        prices: Some(Prices {
            rates: Rates {
                input: 4.0,
                output: 20.0,
                cache_read: Some(0.2),
                cache_write: Some(5.0),
                cache_write_long: Some(8.0),
            },
            ..Prices::default()
        }),
        ..Abilities::default()
    }
}

fn model() -> ModelOptions {
    ModelOptions {
        reasoning: Some(ReasoningEffort::Medium),
        ..options("anthropic/claude-opus-5-5", abilities())
    }
}

/// The conversation of the samples, without messages.
fn trial() -> ProviderTrial {
    ProviderTrial::new(
        model(),
        "You are a coding agent.",
        vec![grep_tool(), answer_tool()],
    )
}

/// The conversation of the samples, up to the model's two calls.
fn called() -> ProviderTrial {
    let mut trial = trial();
    trial
        .user("Where is retry_after parsed?")
        .response(&Anthropic, sample(FIRST).as_bytes());
    trial
}

/// A stream of these events.
fn stream(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"]);
    events.iter().map(event).collect()
}

/// A response of these complete blocks.
fn response(blocks: &[Value], stop_reason: &str) -> String {
    let mut events =
        vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}})];
    for (index, block) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 1}}));
    events.push(json!({"type": "message_stop"}));
    stream(&events)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
