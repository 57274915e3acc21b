//! How a model is told to reason.

use serde_json::{Value, json};

use super::server::Reasoning;
use crate::provider::{
    abilities::ReasoningKind,
    api::{Ask, Reasoning as Asked},
    effort,
};

/// The member that says how much the model is to reason; none where nobody has a wish.
pub(super) fn asked(dialect: Reasoning, ask: &Ask<'_>) -> Option<(&'static str, Value)> {
    let abilities = &ask.options.abilities;
    let (off, wish) = match ask.reasoning() {
        Asked::Unsaid => return None,
        Asked::Off => (true, None),
        Asked::On(wish) => (false, wish),
    };
    match (abilities.reasoning, dialect) {
        (ReasoningKind::Effort, Reasoning::Effort) if off => {
            Some(("reasoning_effort", json!(effort::NONE)))
        }
        (ReasoningKind::Effort | ReasoningKind::Switch, Reasoning::Object) if off => {
            Some(("reasoning", json!({"enabled": false})))
        }
        (ReasoningKind::Effort, _) => {
            let word = effort::usual_word(wish?, &abilities.efforts);
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
