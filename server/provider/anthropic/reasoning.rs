//! How much the model is told to think.

use serde_json::{Value, json};

use super::super::{
    abilities::ReasoningKind,
    api::{ReasoningRequest, RequestContents},
    effort,
    options::{ModelOptions, ReasoningEffort},
};

/// The fewest tokens that may be given to thinking.
const LEAST: u64 = 1024;

/// What a request says of thinking.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Thinking {
    /// The member `thinking`.
    pub(super) member: Option<Value>,
    /// The member `effort` of `output_config`.
    pub(super) effort: Option<String>,
}

/// What a request says of thinking. A change from one request to the next loses the cached messages, so that it
/// depends on nothing else than what is configured, known and asked for.
pub(super) fn thinking(ask: &RequestContents<'_>) -> Thinking {
    let effort = match ask.reasoning() {
        ReasoningRequest::Unsaid => return Thinking::default(),
        ReasoningRequest::Off => {
            // Without an effort: the highest ones are refused together with it.
            return Thinking {
                member: Some(json!({"type": "disabled"})),
                effort: None,
            };
        }
        ReasoningRequest::On(effort) => effort,
    };
    let abilities = &ask.options.abilities;
    // Summarized, or what the model says between its calls would come as thinking without a word.
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let member = match abilities.reasoning {
        ReasoningKind::None | ReasoningKind::Effort => None,
        ReasoningKind::Adaptive => Some(adaptive),
        ReasoningKind::Budget | ReasoningKind::Switch => {
            budget(ask.options).map(|tokens| json!({"type": "enabled", "budget_tokens": tokens}))
        }
    };
    let word = effort.and_then(|effort| effort::word(effort, &abilities.efforts));
    Thinking {
        member,
        effort: word.map(str::to_owned),
    }
}

/// The model is told to think by a number of tokens.
pub(super) fn is_budgeted(ask: &RequestContents<'_>) -> bool {
    let member = thinking(ask).member;
    member.is_some_and(|member| member["type"] == "enabled")
}

/// Tokens for thinking. A quarter of the answer's is left for its words; none where both cannot be.
fn budget(options: &ModelOptions) -> Option<u64> {
    let kind = options.abilities.reasoning;
    let wanted = match options.reasoning {
        // A budget is asked for only where it is configured.
        None if kind == ReasoningKind::Budget => return None,
        Some(ReasoningEffort::Off | ReasoningEffort::Low) => 2_048,
        None | Some(ReasoningEffort::Medium) => 8_192,
        Some(ReasoningEffort::High) => 16_384,
        Some(ReasoningEffort::Max) => 65_536,
    };
    let output = options.output();
    (output > LEAST).then(|| wanted.min(output / 4 * 3).max(LEAST))
}
