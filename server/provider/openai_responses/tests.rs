mod history;
mod requests;
mod responses;

use super::OpenaiResponses;
use crate::{
    ToolDeclaration,
    abilities::{Abilities, ForcedToolSupport, Prices, Rates, ReasoningKind},
    options::{ModelOptions, ReasoningEffort},
    trial::{ProviderTrial, answer_tool, grep_tool, options, sample},
};

const API: OpenaiResponses = OpenaiResponses;

/// The model of the samples.
fn sol() -> ModelOptions {
    let abilities = Abilities {
        forced_tools: ForcedToolSupport::Yes,
        system_messages: true,
        reasoning: ReasoningKind::Effort,
        reasoning_off: false,
        efforts: words("low medium high xhigh"),
        prices: Some(Prices {
            rates: Rates {
                input: 2.0,
                output: 10.0,
                cache_read: Some(0.1),
                cache_write: Some(2.5),
                cache_write_long: Some(5.0),
            },
            ..Prices::default()
        }),
        ..Abilities::default()
    };
    ModelOptions {
        reasoning: Some(ReasoningEffort::Medium),
        ..options("openai/gpt-6.1-sol", abilities)
    }
}

fn words(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

/// The conversation of the samples, without messages.
fn conversation(options: ModelOptions) -> ProviderTrial {
    let grep = ToolDeclaration {
        strict: true,
        ..grep_tool()
    };
    ProviderTrial::new(
        options,
        "You are a coding agent.",
        vec![grep, answer_tool()],
    )
}

/// The conversation of the samples, up to its first call.
fn called() -> ProviderTrial {
    let mut trial = conversation(sol());
    trial
        .user("Where is retry_after parsed?")
        .response(&API, sample(CALL).as_bytes());
    trial
}

const CALL: &str = "openai_responses/02_stream_reasoning_message_tool.sse";

/// A stream of these events.
fn stream(events: &[&str]) -> String {
    let event = |event: &&str| format!("data: {event}\n\n");
    events.iter().map(event).collect()
}
