//! Reasoning options of a request.

use serde_json::{Value, json};

use super::server::ReasoningStyle;
use crate::{
    abilities::ReasoningKind,
    api::{ReasoningRequest as Asked, RequestContents},
    effort,
};

/// The member that controls reasoning; `None` if nothing is configured.
pub(super) fn asked(
    dialect: ReasoningStyle,
    ask: &RequestContents<'_>,
) -> Option<(&'static str, Value)> {
    let abilities = &ask.options.abilities;
    let (off, wish) = match ask.reasoning() {
        Asked::Unsaid => return None,
        Asked::Off => (true, None),
        Asked::On(wish) => (false, wish),
    };
    match (abilities.reasoning, dialect) {
        (ReasoningKind::Effort, ReasoningStyle::Effort) if off => {
            Some(("reasoning_effort", json!(effort::NONE)))
        }
        (ReasoningKind::Effort | ReasoningKind::Switch, ReasoningStyle::Object) if off => {
            Some(("reasoning", json!({"enabled": false})))
        }
        (ReasoningKind::Effort, _) => {
            let word = effort::usual_word(wish?, &abilities.efforts);
            Some(match dialect {
                ReasoningStyle::Effort => ("reasoning_effort", json!(word)),
                ReasoningStyle::Object => ("reasoning", json!({"effort": word})),
            })
        }
        (ReasoningKind::Switch, ReasoningStyle::Object) => {
            wish.map(|_| ("reasoning", json!({"enabled": true})))
        }
        (ReasoningKind::Switch, ReasoningStyle::Effort) if off || wish.is_some() => {
            Some(("chat_template_kwargs", json!({"enable_thinking": !off})))
        }
        _ => None,
    }
}
