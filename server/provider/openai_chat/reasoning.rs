//! How a model is told to reason.

use serde_json::{Value, json};

use super::server::Reasoning;
use crate::{
    provider::{
        abilities::{Abilities, ReasoningKind},
        api::Ask,
        options::Effort,
    },
    turn::response::Feature,
};

/// The word that turns reasoning off.
const NONE: &str = "none";

/// The member that says how much the model is to reason; none where nobody has a wish.
pub(super) fn asked(dialect: Reasoning, ask: &Ask<'_>) -> Option<(&'static str, Value)> {
    let abilities = &ask.options.abilities;
    if ask.without.contains(&Feature::Reasoning) {
        return None;
    }
    let can_be_off = abilities.reasoning_off && !ask.without.contains(&Feature::ReasoningOff);
    let wish = ask.options.reasoning;
    let off = can_be_off && (!ask.reasoning || wish == Some(Effort::Off));
    match (abilities.reasoning, dialect) {
        (ReasoningKind::Effort, Reasoning::Effort) if off => {
            Some(("reasoning_effort", json!(NONE)))
        }
        (ReasoningKind::Effort | ReasoningKind::Switch, Reasoning::Object) if off => {
            Some(("reasoning", json!({"enabled": false})))
        }
        (ReasoningKind::Effort, _) => {
            let word = word(wish?, abilities);
            Some(match dialect {
                Reasoning::Effort => ("reasoning_effort", json!(word)),
                Reasoning::Object => ("reasoning", json!({"effort": word})),
            })
        }
        (ReasoningKind::Switch, Reasoning::Object) => {
            wish.map(|_| ("reasoning", json!({"enabled": true})))
        }
        (ReasoningKind::Switch, Reasoning::Effort) if off || wish.is_some() => {
            Some(("chat_template_kwargs", json!({"enable_thinking": !off})))
        }
        _ => None,
    }
}

/// The model's word that is nearest to an effort.
fn word(effort: Effort, abilities: &Abilities) -> &str {
    let usual = match effort {
        Effort::Off | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    };
    let words: Vec<&str> = abilities.efforts.iter().map(String::as_str).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| *word != NONE).collect();
    let Some(most) = words.len().checked_sub(1) else {
        return if effort == Effort::Max { "high" } else { usual };
    };
    if effort != Effort::Off && words.contains(&usual) {
        return usual;
    }
    match effort {
        Effort::Off | Effort::Low => words[0],
        Effort::Medium => words[most / 2],
        Effort::High | Effort::Max => words[most],
    }
}
