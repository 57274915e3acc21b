//! Reasoning options of a request.

use serde_json::{Value, json};

use super::super::{
    abilities::ReasoningKind,
    api::{ReasoningRequest, RequestContents},
    effort,
    options::{ModelOptions, ReasoningEffort},
};

/// Minimum number of thinking tokens that the API accepts.
const MIN_BUDGET: u64 = 1024;

/// Members of a request that control thinking.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Thinking {
    /// The member `thinking`.
    pub(super) member: Option<Value>,
    /// The member `effort` of `output_config`.
    pub(super) effort: Option<String>,
}

/// Returns the members that control thinking. They depend only on the configuration, the abilities and the request,
/// because a change between requests invalidates the cached messages.
pub(super) fn thinking(ask: &RequestContents<'_>) -> Thinking {
    let effort = match ask.reasoning() {
        ReasoningRequest::Unsaid => return Thinking::default(),
        ReasoningRequest::Off => {
            // No effort here: the API refuses the highest ones together with `disabled`.
            return Thinking {
                member: Some(json!({"type": "disabled"})),
                effort: None,
            };
        }
        ReasoningRequest::On(effort) => effort,
    };
    let abilities = &ask.options.abilities;
    // Without `summarized`, text between calls would arrive as empty thinking.
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

/// Whether the request sets a number of thinking tokens.
pub(super) fn is_budgeted(ask: &RequestContents<'_>) -> bool {
    let member = thinking(ask).member;
    member.is_some_and(|member| member["type"] == "enabled")
}

/// Number of thinking tokens. A quarter of the output is left for the answer; `None` if both do not fit.
fn budget(options: &ModelOptions) -> Option<u64> {
    let kind = options.abilities.reasoning;
    let wanted = match options.reasoning {
        // A budget is requested only if it is configured.
        None if kind == ReasoningKind::Budget => return None,
        Some(ReasoningEffort::Off | ReasoningEffort::Low) => 2_048,
        None | Some(ReasoningEffort::Medium) => 8_192,
        Some(ReasoningEffort::High) => 16_384,
        Some(ReasoningEffort::Max) => 65_536,
    };
    let output = options.output();
    (output > MIN_BUDGET).then(|| wanted.min(output / 4 * 3).max(MIN_BUDGET))
}
