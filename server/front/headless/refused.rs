//! A refused call in one line for a person, rendered from the refusal's data. Pure.

use aside_base::visible::{one_line, short_line};
use aside_turn::record::Refusal;
use serde_json::Value;

/// Maximum number of characters shown of a call's arguments.
const ARGUMENTS: usize = 200;

/// A refused call and the reason, on one line.
pub(super) fn refused(refusal: &Refusal) -> String {
    format!("{}: {}", call(refusal), one_line(&refusal.why()))
}

/// The tool and its arguments; a single text argument is shown without its name.
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

#[cfg(test)]
mod tests {
    use aside_turn::record::RefusalReason;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refused_call_is_named_with_its_arguments_and_why() {
        let run = "conversation.tools.run_command.run";
        let answer = "conversation.tools.run_command.questions.q.answer";
        let read_only = Refusal::new(
            "edit_file".into(),
            Value::Null,
            RefusalReason::NeedsApproval,
            None,
            Some("a.txt is read-only".into()),
        );
        assert_eq!(
            refused(&read_only),
            "edit_file: nobody was there to approve it: a.txt is read-only"
        );
        for (reason, key, arguments, expected) in [
            (
                RefusalReason::NeedsApproval,
                None,
                json!({"command": "cargo test"}),
                "run_command `cargo test`: nobody was there to approve it",
            ),
            (
                RefusalReason::Mode,
                None,
                json!({"command": "a", "cwd": "b"}),
                "run_command `{\"command\":\"a\",\"cwd\":\"b\"}`: the mode does not allow it",
            ),
            (
                RefusalReason::Configuration,
                Some(run),
                json!({}),
                "run_command: the configuration does not allow it (conversation.tools.run_command.run)",
            ),
            (
                RefusalReason::Configuration,
                Some("commands.deny"),
                json!({"command": "curl x"}),
                "run_command `curl x`: the configuration does not allow it (commands.deny)",
            ),
            (
                RefusalReason::InvalidStaticAnswer,
                Some(answer),
                Value::Null,
                "run_command: the configured answer does not fit (conversation.tools.run_command.questions.q.answer)",
            ),
        ] {
            let key = key.map(str::to_owned);
            let refusal = Refusal::new("run_command".into(), arguments, reason, key, None);
            assert_eq!(refused(&refusal), expected);
        }
    }
}
