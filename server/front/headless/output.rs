//! Standard output of `aside run`: the answer, or messages of the protocol.

use aside_base::visible::visible;
use aside_turn::record::Outcome;
use serde::Serialize;
use serde_json::json;

use super::{args::Output, exit, failure::CommandFailure};
use crate::front::wire::{
    TurnCompleted, TurnRef, TurnUpdate, Update, Usage,
    methods::{Notification, TurnEnded, TurnUpdated},
};

/// What is written to standard output, from the first update of a turn to its end.
#[derive(Debug)]
pub struct OutputWriter {
    output: Output,
    /// Standard output is a terminal, which no text of a model may act on.
    is_terminal: bool,
    turn: TurnRef,
    seq: u64,
}

impl OutputWriter {
    /// A writer for one start or resume of a turn.
    #[must_use]
    pub fn new(output: Output, is_terminal: bool, turn: TurnRef) -> Self {
        Self {
            output,
            is_terminal,
            turn,
            seq: 0,
        }
    }

    /// What to write when this happened: a line, or nothing.
    pub fn update(&mut self, update: Update) -> String {
        if self.output != Output::Jsonl {
            return String::new();
        }
        self.seq += 1;
        line(&Notification::of::<TurnUpdated>(TurnUpdate {
            conversation_id: self.turn.conversation_id.clone(),
            turn_id: self.turn.turn_id.clone(),
            seq: self.seq,
            update,
        }))
    }

    /// What to write when the turn has ended so. As text it is the answer of a completed turn alone: half
    /// an answer would pass for one.
    #[must_use]
    pub fn end(&self, end: &TurnCompleted) -> String {
        match (self.output, end.outcome, &end.structured, &end.answer) {
            (Output::Jsonl, ..) => line(&Notification::of::<TurnEnded>(end)),
            (Output::Json, ..) => line(end),
            (Output::Text, Outcome::Completed, Some(structured), _) => {
                self.text(&structured.to_string())
            }
            (Output::Text, Outcome::Completed, None, Some(answer)) => self.text(answer),
            (Output::Text, ..) => String::new(),
        }
    }

    fn text(&self, text: &str) -> String {
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        if self.is_terminal {
            format!("{}{end}", visible(text))
        } else {
            format!("{text}{end}")
        }
    }
}

/// What is written where no turn began, or it did not end: in the same form as the end of a turn, without its ids. Nothing
/// as text, which is for people: they are told on standard error.
#[must_use]
pub fn failed(output: Output, failure: &CommandFailure) -> String {
    let code = match failure.code {
        exit::USAGE => "usage",
        exit::NO_PROVIDER => "no_provider",
        _ => "internal",
    };
    let params = json!({
        "outcome": Outcome::Failed,
        "error": {"code": code, "message": failure.text},
        "usage": Usage::default(),
        "refusals": [],
        "prompts": [],
    });
    match output {
        Output::Text => String::new(),
        Output::Json => line(&params),
        Output::Jsonl => line(&Notification::of::<TurnEnded>(params)),
    }
}

fn line(message: &impl Serialize) -> String {
    // These types hold strings, numbers and JSON values: nothing that cannot be written.
    serde_json::to_string(message)
        .map(|line| line + "\n")
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::engine::StartError;

    fn writer(output: Output, is_terminal: bool) -> OutputWriter {
        let turn = TurnRef {
            conversation_id: "c-1".into(),
            turn_id: "t-1".into(),
        };
        OutputWriter::new(output, is_terminal, turn)
    }

    fn end(outcome: Outcome, answer: &str, structured: Option<Value>) -> TurnCompleted {
        TurnCompleted {
            conversation_id: "c-1".into(),
            turn_id: "t-1".into(),
            outcome,
            answer: Some(answer.into()),
            structured,
            error: None,
            usage: Usage::default(),
            refusals: vec![],
            prompts: vec![],
        }
    }

    #[test]
    fn as_text_it_is_the_answer_of_a_completed_turn() {
        let check = |end: TurnCompleted, is_terminal, expected: &str| {
            assert_eq!(writer(Output::Text, is_terminal).end(&end), expected);
        };
        check(end(Outcome::Completed, "Done.", None), false, "Done.\n");
        check(end(Outcome::Completed, "Done.\n", None), false, "Done.\n");
        check(end(Outcome::Completed, "\x1b[2J", None), false, "\x1b[2J\n");
        check(end(Outcome::Completed, "\x1b[2J", None), true, "␛[2J\n");
        check(
            end(Outcome::Completed, "x", Some(json!({"a": 1}))),
            false,
            "{\"a\":1}\n",
        );
        check(end(Outcome::Cancelled, "Do", None), false, "");
        check(end(Outcome::Failed, "{\"a\":", None), false, "");
    }

    #[test]
    fn as_json_it_is_one_object() {
        let end = end(Outcome::Cancelled, "Do", None);
        let written = writer(Output::Json, false).end(&end);
        assert_eq!(
            serde_json::from_str::<TurnCompleted>(written.trim_end()).expect("an object"),
            end
        );
        assert_eq!(written.lines().count(), 1);
    }

    #[test]
    fn as_lines_it_is_every_notification() {
        let mut writer = writer(Output::Jsonl, false);
        let text = |text: &str| Update::Text {
            step: 1,
            text: text.into(),
        };
        let written = [
            writer.update(text("a\nb")),
            writer.update(text("c")),
            writer.end(&end(Outcome::Completed, "a\nbc", None)),
        ]
        .concat();
        let lines: Vec<Value> = written
            .lines()
            .map(|line| serde_json::from_str(line).expect("a message"))
            .collect();
        let update = |seq: u64, text: &str| {
            json!({"jsonrpc": "2.0", "method": "aside/turn/update", "params": {
                "conversationId": "c-1", "turnId": "t-1", "seq": seq,
                "update": {"kind": "text", "step": 1, "text": text}}})
        };
        assert_eq!(lines[..2], [update(1, "a\nb"), update(2, "c")]);
        assert_eq!(lines[2]["method"], "aside/turn/completed");
        assert_eq!(lines[2]["params"]["answer"], "a\nbc");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn where_no_turn_began_it_is_an_object_all_the_same() {
        let check = |failure: CommandFailure, code: &str| {
            let object = json!({
                "outcome": "failed",
                "error": {"code": code, "message": "Why."},
                "usage": {"inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0},
                "refusals": [], "prompts": [],
            });
            let read = |output| {
                let written = failed(output, &failure);
                assert_eq!(written.lines().count(), 1);
                serde_json::from_str::<Value>(&written).expect("an object")
            };
            assert_eq!(read(Output::Json), object);
            assert_eq!(
                read(Output::Jsonl),
                json!({"jsonrpc": "2.0", "method": "aside/turn/completed", "params": object})
            );
            assert_eq!(failed(Output::Text, &failure), "");
        };
        check(CommandFailure::usage("Why."), "usage");
        check(CommandFailure::internal("Why."), "internal");
        check(StartError::NoProvider("Why.".into()).into(), "no_provider");
    }

    #[test]
    fn nothing_is_written_before_the_end_but_lines() {
        for output in [Output::Text, Output::Json] {
            let update = Update::Text {
                step: 1,
                text: "a".into(),
            };
            assert_eq!(writer(output, false).update(update), "");
        }
    }
}
