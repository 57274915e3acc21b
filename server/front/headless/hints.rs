//! Suggested command lines for what to do next. Pure.
//!
//! The record of a turn keeps how it was started, except for flags that must be repeated because files may have changed
//! since. Those flags are part of every suggestion.

use std::path::Path;

use aside_base::visible::one_line;
use aside_config::Toggle;
use aside_turn::question::{AnswerType, has_clear_numbers};

use super::args::RunArgs;
use crate::{
    engine::TurnStart,
    front::wire::{Prompt, PromptKind},
};

/// Flags to repeat when a turn is continued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    again: Vec<String>,
    /// The message of the turn, where it asked for a summary: that is asked for again.
    summary: Option<String>,
}

impl Hints {
    /// Collects the flags from the arguments of a turn. `folder`: its workspace, if that is not the current folder.
    #[must_use]
    pub fn of(args: &RunArgs, folder: Option<&Path>) -> Self {
        let mut again = Vec::new();
        let mut say = |words: &[&str]| again.extend(words.iter().map(|word| quoted(word)));
        if let Some(folder) = folder {
            say(&["--cwd", &folder.to_string_lossy()]);
        }
        for toggle in &args.tools.0 {
            match toggle {
                Toggle::On(name) => say(&["-t", name]),
                Toggle::Off(name) => say(&["-T", name]),
                Toggle::AllOff => say(&["-T"]),
            }
        }
        for setting in &args.settings {
            say(&["--set", setting]);
        }
        for detached in &args.detached {
            say(&["--detached", &detached.to_string()]);
        }
        if args.trust {
            say(&["--trust"]);
        }
        if args.unsandboxed {
            say(&["--unsandboxed"]);
        }
        let asks_for_summary = |text: &String| {
            let typed = TurnStart::typed(text.clone(), Vec::new());
            !matches!(typed, Ok(TurnStart::Message { .. }))
        };
        let summary = args.message.clone().filter(asks_for_summary);
        Self { again, summary }
    }

    /// The command that resumes an interrupted turn.
    #[must_use]
    pub fn resume(&self, conversation: &str) -> String {
        self.command(&["-c", conversation, "--resume"])
    }

    /// The command that resumes a turn and answers a prompt, with `VALUE` as the answer.
    #[must_use]
    pub fn answer(&self, conversation: &str, prompt: &str) -> String {
        let answer = format!("--answer {}=VALUE", quoted(prompt));
        format!("{} {answer}", self.resume(conversation))
    }

    /// The command that continues a conversation.
    #[must_use]
    pub fn message(&self, conversation: &str) -> String {
        let message = self.summary.as_deref().unwrap_or("Go on.");
        self.command(&["-c", conversation, message])
    }

    fn command(&self, words: &[&str]) -> String {
        let words = words.iter().map(|word| quoted(word));
        let words: Vec<String> = words.chain(self.again.iter().cloned()).collect();
        one_line(&format!("aside run {}", words.join(" ")))
    }
}

/// Description of the values that can replace `VALUE`; `None` if the answer cannot be given on a command line.
#[must_use]
pub fn values(prompt: &Prompt) -> Option<String> {
    let one_of = |options: &[String]| {
        let options: Vec<String> = options.iter().map(|option| shown(option)).collect();
        match options.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        }
    };
    let values = match (&prompt.kind, &prompt.answer_type) {
        (_, AnswerType::Secret) => return None,
        (PromptKind::DeliverResult, _) | (_, AnswerType::Boolean) => "true or false".to_owned(),
        (_, AnswerType::Select { options }) => one_of(options),
        (_, answer_type @ AnswerType::MultiSelect { options, .. }) => {
            let count = answer_type.how_many().unwrap_or_else(|| "any".into());
            let has_commas = options.iter().any(|option| option.contains(','));
            if has_clear_numbers(options) && !has_commas {
                let numbered = options.iter().enumerate();
                let numbered: Vec<String> = numbered
                    .map(|(at, option)| format!("{} for {}", at + 1, one_line(option)))
                    .collect();
                format!("{count} of {}, separated by commas", numbered.join(", "))
            } else {
                format!("{count} of {}, as a JSON array", one_of(options))
            }
        }
        (_, answer_type) => answer_type
            .phrase()
            .unwrap_or_else(|| "any text, in quotes".into()),
    };
    Some(if prompt.optional {
        format!("{values}, or nothing to leave it out")
    } else {
        values
    })
}

/// An option as typed into a shell, with hidden characters made visible.
fn shown(option: &str) -> String {
    one_line(&quoted(option))
}

/// Quotes a word for a shell if necessary.
fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::front::headless::args::{self, Command};

    fn hints(line: &str, folder: Option<&str>) -> Hints {
        let words = shlex::split(line).expect("a command line");
        let cli = args::parse(words.into_iter().map(Into::into)).expect("arguments");
        let Command::Run(args) = cli.command else {
            panic!("not a turn");
        };
        Hints::of(&args, folder.map(Path::new))
    }

    #[test]
    fn hints_repeat_flags_that_are_not_recorded() {
        let check = |line: &str, folder, again: &str| {
            let hints = hints(line, folder);
            assert_eq!(
                hints.answer("c1", "t1-1"),
                format!("aside run -c c1 --resume{again} --answer t1-1=VALUE")
            );
            assert_eq!(
                hints.resume("c1"),
                format!("aside run -c c1 --resume{again}")
            );
            assert_eq!(
                hints.message("c1"),
                format!("aside run -c c1 'Go on.'{again}")
            );
        };
        check("aside run Go", None, "");
        check(
            "aside run --mode edits -m a/b --max-cost 1 --max-steps 3 --timeout 5s --strict Go",
            None,
            "",
        );
        check(
            "aside run --trust --unsandboxed --detached stop --detached run=deny Go",
            None,
            " --detached stop --detached 'run=deny' --trust --unsandboxed",
        );
        check(
            "aside run -t edit_file -T run_command --set 'assistant.instructions=[\"a b\"]' -T -- Go",
            Some("/w/my project"),
            " --cwd '/w/my project' -t edit_file -T run_command -T --set 'assistant.instructions=[\"a b\"]'",
        );
    }

    #[test]
    fn a_summary_that_was_cancelled_is_asked_for_again() {
        let hint = |line: &str| hints(line, None).message("c1");
        let compact = "aside run -c c1 '/compact the ports'";
        assert_eq!(hint("aside run -c c1 '/compact the ports'"), compact);
        assert_eq!(
            hint("aside run -c c1 /compacts"),
            "aside run -c c1 'Go on.'"
        );
    }

    #[test]
    fn hints_name_the_possible_values() {
        let check = |kind: &str, answer_type: Value, optional: bool, expected: Option<&str>| {
            let prompt = json!({
                "promptId": "t1-1", "conversationId": "c1", "turnId": "t1",
                "tool": {"name": "a", "callId": "b", "arguments": {}},
                "kind": kind, "label": "a", "text": "Which?", "answerType": answer_type,
                "optional": optional, "remember": false, "exclusive": true,
                "source": {"type": "assistant"}, "position": {"n": 1, "of": 1},
            });
            let prompt = serde_json::from_value(prompt).expect("a prompt");
            assert_eq!(values(&prompt).as_deref(), expected);
        };
        let question = |answer_type, expected| check("question", answer_type, false, expected);
        let select = |options: Value| json!({"type": "select", "options": options});
        check(
            "runTool",
            select(json!(["once", "turn", "always", "no"])),
            false,
            Some("once, turn, always or no"),
        );
        check(
            "deliverResult",
            json!({"type": "boolean"}),
            false,
            Some("true or false"),
        );
        question(json!({"type": "boolean"}), Some("true or false"));
        question(
            select(json!(["dark red", "it's"])),
            Some("'dark red' or \"it's\""),
        );
        question(json!({"type": "text"}), Some("any text, in quotes"));
        let number = json!({"type": "number", "integer": true, "minimum": 1, "maximum": 5});
        question(number.clone(), Some("a whole number between 1 and 5"));
        check(
            "question",
            number,
            true,
            Some("a whole number between 1 and 5, or nothing to leave it out"),
        );
        let several = |options: Value| json!({"type": "multi_select", "options": options});
        question(
            several(json!(["red", "dark blue"])),
            Some("any of 1 for red, 2 for dark blue, separated by commas"),
        );
        question(
            several(json!(["2", "1"])),
            Some("any of 2 or 1, as a JSON array"),
        );
        question(
            several(json!(["a, b", "c"])),
            Some("any of 'a, b' or c, as a JSON array"),
        );
        question(json!({"type": "secret"}), None);
    }
}
