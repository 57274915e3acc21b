//! Standard output of `aside run`: the answer, or messages of the protocol.

use aside_base::visible::{is_hidden, readable};
use aside_turn::record::Outcome;
use serde::Serialize;
use serde_json::json;

use super::{args::Output, exit, failure::CommandFailure};
use crate::front::wire::{
    TurnCompleted, TurnRef, TurnUpdate, TurnUsage, Update,
    methods::{Notification, TurnEnded, TurnUpdated},
};

/// Facts about this run, beside the end of its turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFacts {
    /// Model of the turn, as `provider/model`.
    pub model: String,
    /// Files that this run changed, relative to the workspace.
    pub changed: Vec<String>,
    /// Number of the model's responses in this run.
    pub steps: u32,
    /// Time since the start of the program in milliseconds.
    pub duration_ms: u64,
    /// What this run used, where the turn's usage has earlier runs too.
    pub run_usage: TurnUsage,
    /// The warnings of this run.
    pub warnings: Vec<String>,
}

/// The end of a turn as a program reads it.
#[derive(Serialize)]
struct RunEnded<'a> {
    #[serde(flatten)]
    turn: &'a TurnCompleted,
    #[serde(flatten)]
    run: &'a RunFacts,
}

/// What is left of the usage of a turn without that of its earlier runs.
#[must_use]
pub fn since(before: &TurnUsage, total: &TurnUsage) -> TurnUsage {
    let cost = total
        .cost_usd
        .map(|cost| (cost - before.cost_usd.unwrap_or(0.0)).max(0.0));
    TurnUsage {
        input_tokens: total.input_tokens.saturating_sub(before.input_tokens),
        output_tokens: total.output_tokens.saturating_sub(before.output_tokens),
        cache_read_tokens: total
            .cache_read_tokens
            .saturating_sub(before.cache_read_tokens),
        cache_write_tokens: total
            .cache_write_tokens
            .saturating_sub(before.cache_write_tokens),
        cost_usd: cost,
        at_least: total.at_least,
        context_tokens: total.context_tokens,
        context_window: total.context_window,
    }
}

/// Writer of a turn's standard output.
#[derive(Debug)]
pub struct OutputWriter {
    output: Output,
    /// Whether standard output is a terminal, which a model's text must not control.
    is_terminal: bool,
    turn: TurnRef,
    seq: u64,
}

impl OutputWriter {
    /// Creates a writer for one start or resumption of a turn.
    #[must_use]
    pub fn new(output: Output, is_terminal: bool, turn: TurnRef) -> Self {
        Self {
            output,
            is_terminal,
            turn,
            seq: 0,
        }
    }

    /// Returns the output for an update: one line, or nothing.
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

    /// Returns the output for the end of the turn. As text it is only the answer of a completed turn, because half an
    /// answer could pass for a whole one.
    #[must_use]
    pub fn end(&self, end: &TurnCompleted, run: &RunFacts) -> String {
        let ended = RunEnded { turn: end, run };
        match (self.output, end.outcome, &end.structured, &end.answer) {
            (Output::Jsonl, ..) => line(&Notification::of::<TurnEnded>(ended)),
            (Output::Json, ..) => line(&ended),
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
            format!("{}{end}", readable("", text))
        } else {
            format!("{text}{end}")
        }
    }
}

/// Output for a turn that did not start or has no end: the form of a turn's end without its ids. Empty as text, because
/// people read the message on standard error.
#[must_use]
pub fn failed(output: Output, failure: &CommandFailure) -> String {
    let code = match failure.code {
        exit::USAGE => "usage",
        exit::NO_PROVIDER => "no_provider",
        exit::LIMIT => "limit",
        129.. => "signal",
        _ => "internal",
    };
    let params = json!({
        "outcome": Outcome::Failed,
        "error": {"code": code, "message": failure.text},
        "usage": TurnUsage::default(),
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
    // These types contain only strings, numbers and JSON values, which can always be serialised.
    serde_json::to_string(message)
        .map(|line| in_plain_sight(line) + "\n")
        .unwrap_or_default()
}

/// JSON without characters that steer a terminal or cannot be seen there: they are in strings alone, by their numbers.
fn in_plain_sight(json: String) -> String {
    if !json.contains(is_hidden) {
        return json;
    }
    let mut line = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if is_hidden(c) {
            let units = c.encode_utf16(&mut [0; 2]).to_vec();
            line.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::engine::StartError;

    #[test]
    fn json_hides_nothing_from_a_terminal() {
        let said = "a\u{202e}b\u{e0041}\u{9b}1m\u{7f}\u{1b}";
        let line = line(&said);
        assert!(line.is_ascii(), "{line}");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), said);
    }

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
            usage: TurnUsage::default(),
            refusals: vec![],
            prompts: vec![],
        }
    }

    #[test]
    fn text_output_is_the_answer_of_a_completed_turn() {
        let check = |end: TurnCompleted, is_terminal, expected: &str| {
            assert_eq!(
                writer(Output::Text, is_terminal).end(&end, &RunFacts::default()),
                expected
            );
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
    fn json_output_is_one_object() {
        let end = end(Outcome::Cancelled, "Do", None);
        let facts = RunFacts {
            model: "rehearsal/demo".into(),
            changed: vec!["a.py".into()],
            steps: 2,
            duration_ms: 12,
            warnings: vec!["Look.".into()],
            ..RunFacts::default()
        };
        let written = writer(Output::Json, false).end(&end, &facts);
        let object: Value = serde_json::from_str(&written).expect("an object");
        assert_eq!(object["model"], "rehearsal/demo");
        assert_eq!(object["changed"], json!(["a.py"]));
        assert_eq!(
            (&object["steps"], &object["durationMs"]),
            (&json!(2), &json!(12))
        );
        assert_eq!(object["warnings"], json!(["Look."]));
        assert_eq!(object["runUsage"]["inputTokens"], 0);
        assert_eq!(
            serde_json::from_str::<TurnCompleted>(written.trim_end()).expect("an object"),
            end
        );
        assert_eq!(written.lines().count(), 1);
    }

    #[test]
    fn usage_of_a_run_is_without_that_of_earlier_runs() {
        let usage = |tokens, cost| TurnUsage {
            input_tokens: tokens,
            cost_usd: cost,
            ..TurnUsage::default()
        };
        let check = |before, total, expected| assert_eq!(since(&before, &total), expected);
        check(usage(0, None), usage(5, None), usage(5, None));
        check(usage(2, None), usage(5, Some(0.5)), usage(3, Some(0.5)));
        check(
            usage(2, Some(0.25)),
            usage(5, Some(1.0)),
            usage(3, Some(0.75)),
        );
    }

    #[test]
    fn jsonl_output_is_every_notification() {
        let mut writer = writer(Output::Jsonl, false);
        let text = |text: &str| Update::Text {
            step: 1,
            text: text.into(),
        };
        let written = [
            writer.update(text("a\nb")),
            writer.update(text("c")),
            writer.end(
                &end(Outcome::Completed, "a\nbc", None),
                &RunFacts::default(),
            ),
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
    fn failed_starts_are_objects_too() {
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
    fn only_jsonl_is_written_before_the_end() {
        for output in [Output::Text, Output::Json] {
            let update = Update::Text {
                step: 1,
                text: "a".into(),
            };
            assert_eq!(writer(output, false).update(update), "");
        }
    }
}
