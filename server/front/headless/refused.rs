//! Why a call was refused, in words for a person. Pure: what the model is told of it also says what the model is to do.

use aside_base::visible::{one_line, short_line};
use aside_turn::record::Refusal;
use serde_json::Value;

/// Characters of a call's arguments that are shown.
const ARGUMENTS: usize = 200;
/// How the keys begin that refuse.
const KEYS: [&str; 2] = ["conversation.", "commands."];
/// How what a result says to the model alone begins.
const FOR_THE_MODEL: [&str; 3] = [
    " Do not retry it in this turn",
    " Do not retry this tool call in this turn",
    " Do not ask it again in this turn",
];

/// A refused call and why, in one line.
pub(super) fn refused(refusal: &Refusal) -> String {
    let mut words = refusal.text.split([' ', '(', ')']);
    // The key that refuses it is in what the model is told.
    let key = words.find(|word| KEYS.iter().any(|key| word.starts_with(key)));
    let key = key.map_or_else(String::new, |key| format!(" ({})", one_line(key)));
    format!("{}: {}{key}", call(refusal), refusal.reason.in_words())
}

/// The tool and its arguments, of which a single text stands for itself.
fn call(refusal: &Refusal) -> String {
    let tool = one_line(&refusal.tool);
    let arguments = match &refusal.arguments {
        Value::Object(members) if members.is_empty() => return tool,
        Value::Object(members) if members.len() == 1 => match members.values().next() {
            Some(Value::String(only)) => only.clone(),
            _ => refusal.arguments.to_string(),
        },
        Value::Null => return tool,
        other => other.to_string(),
    };
    format!("{tool} `{}`", short_line(&arguments, ARGUMENTS))
}

/// What a result says of its tool, whose name stands before it, without what is meant for the model alone.
pub(super) fn for_a_person<'a>(tool: &str, summary: &'a str) -> &'a str {
    let end = FOR_THE_MODEL.iter().filter_map(|begin| summary.find(begin));
    let Some(end) = end.min() else {
        return summary;
    };
    let said = &summary[..end];
    let behind = said.strip_prefix(tool);
    let behind = behind.and_then(|rest| rest.strip_prefix(": ").or(rest.strip_prefix(' ')));
    behind.unwrap_or(said)
}

#[cfg(test)]
mod tests {
    use aside_turn::record::RefusalReason;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refused_call_is_named_with_its_arguments_and_why() {
        for (reason, arguments, text, expected) in [
            (
                RefusalReason::NeedsApproval,
                json!({"command": "cargo test"}),
                "run_command needs approval and no interactive client is attached. Do not retry it in this turn.",
                "run_command `cargo test`: nobody was there to approve it",
            ),
            (
                RefusalReason::Mode,
                json!({"command": "a", "cwd": "b"}),
                "run_command is not allowed here (plan mode). Do not retry it in this turn.",
                "run_command `{\"command\":\"a\",\"cwd\":\"b\"}`: the mode does not allow it",
            ),
            (
                RefusalReason::Configuration,
                json!({}),
                "run_command is not allowed here (conversation.tools.run_command.run). Do not retry it in this turn.",
                "run_command: the configuration does not allow it (conversation.tools.run_command.run)",
            ),
            (
                RefusalReason::Configuration,
                json!({"command": "curl x"}),
                "run_command is not allowed here (a rule in commands.deny). Do not retry it in this turn, nor try it in another way.",
                "run_command `curl x`: the configuration does not allow it (commands.deny)",
            ),
            (
                RefusalReason::InvalidStaticAnswer,
                Value::Null,
                "run_command: the configured conversation.tools.run_command.questions.q.answer value does not match …",
                "run_command: the configured answer does not fit (conversation.tools.run_command.questions.q.answer)",
            ),
        ] {
            let refusal = Refusal {
                tool: "run_command".into(),
                arguments,
                reason,
                text: text.into(),
            };
            assert_eq!(refused(&refusal), expected);
        }
    }

    #[test]
    fn what_is_meant_for_the_model_is_left_out() {
        for (summary, expected) in [
            (
                "run_command needs approval and no interactive client is attached. Do not retry it in this turn.",
                "needs approval and no interactive client is attached.",
            ),
            (
                "run_command: the question could not be shown: gone. Do not retry this tool call in this turn.",
                "the question could not be shown: gone.",
            ),
            (
                "The user did not allow run_command to run. Do not retry it in this turn; ask or continue without it.",
                "The user did not allow run_command to run.",
            ),
            (
                "run_command said: do not retry",
                "run_command said: do not retry",
            ),
        ] {
            assert_eq!(for_a_person("run_command", summary), expected);
        }
    }
}
