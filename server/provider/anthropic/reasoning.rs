//! How much the model is told to think.

use serde_json::{Value, json};

use super::super::{
    abilities::ReasoningKind,
    api::Ask,
    options::{Effort, Options},
};
use crate::turn::response::Feature;

/// The fewest tokens that may be given to thinking.
const LEAST: u64 = 1024;
/// Words for efforts, from little to much.
pub(super) const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

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
pub(super) fn thinking(ask: &Ask<'_>) -> Thinking {
    let abilities = &ask.options.abilities;
    if abilities.reasoning == ReasoningKind::None || ask.without.contains(&Feature::Reasoning) {
        return Thinking::default();
    }
    let switches = abilities.reasoning_off && !ask.without.contains(&Feature::ReasoningOff);
    if switches && !(ask.reasoning && ask.options.reasons()) {
        // Without an effort: the highest ones are refused together with it.
        return Thinking {
            member: Some(json!({"type": "disabled"})),
            effort: None,
        };
    }
    // Summarized, or what the model says between its calls would come as thinking without a word.
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let member = match abilities.reasoning {
        ReasoningKind::None | ReasoningKind::Effort => None,
        ReasoningKind::Adaptive => Some(adaptive),
        ReasoningKind::Budget | ReasoningKind::Switch => {
            budget(ask.options).map(|tokens| json!({"type": "enabled", "budget_tokens": tokens}))
        }
    };
    let effort = ask.options.reasoning;
    Thinking {
        member,
        effort: effort.and_then(|effort| nearest(effort, &abilities.efforts)),
    }
}

/// Tokens for thinking. A quarter of the answer's is left for its words; none where both cannot be.
fn budget(options: &Options) -> Option<u64> {
    let kind = options.abilities.reasoning;
    let wanted = match options.reasoning {
        // A budget is asked for only where it is configured.
        None if kind == ReasoningKind::Budget => return None,
        Some(Effort::Off | Effort::Low) => 2_048,
        None | Some(Effort::Medium) => 8_192,
        Some(Effort::High) => 16_384,
        Some(Effort::Max) => 65_536,
    };
    let output = options.output();
    (output > LEAST).then(|| wanted.min(output / 4 * 3).max(LEAST))
}

/// The word that comes nearest to an effort, the lower one of two; none where no word is known.
fn nearest(effort: Effort, words: &[String]) -> Option<String> {
    let rank = |word: &str| WORDS.iter().position(|known| *known == word);
    let wanted = match effort {
        Effort::Off => "none",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    };
    let wanted = rank(wanted)?;
    let known = words.iter().filter_map(|word| Some((rank(word)?, word)));
    known
        .min_by_key(|(rank, _)| (rank.abs_diff(wanted), *rank))
        .map(|(_, word)| word.clone())
}
