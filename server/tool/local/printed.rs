//! Converts the output of a local program to the outcome of its call. Pure, except for long output that is stored.

use std::time::Duration;

use aside_base::visible::{printable, printed};
use aside_turn::{
    effect::CallWork,
    input::{ToolOutcome, ToolOutput},
    question::{Answer, Question, QuestionFault, Secret},
};
use serde_json::{Value, json};

use crate::{
    ToolContext,
    hold::{remark, warning},
    output::{fitted, value_without_secrets, without_secrets},
    process::{Answered, BoundedOutput, CommandEnd},
};

/// Bytes of a question, all of it.
const QUESTION: usize = 256 << 10;

/// The standard output of a program.
#[derive(Debug, PartialEq)]
enum PrintedOutcome {
    Success(String),
    Error {
        text: String,
        transient: bool,
    },
    Question(Box<Question>),
    /// The output is not a valid outcome.
    Text,
}

/// What came of a call. `made` is what it left that could run something later.
pub(super) fn outcome_of(
    answered: Answered,
    made: &[String],
    work: &CallWork,
    context: &ToolContext,
) -> ToolOutcome {
    let Answered {
        how,
        output,
        errors,
    } = answered;
    let secrets = secrets(work);
    let kept = TextBounds {
        context,
        secrets: &secrets,
    };
    let said = match output.is_whole() {
        true => read(output.start(), &secrets),
        false => PrintedOutcome::Text,
    };
    let result = |text: String| {
        let output = ToolOutput::text(text);
        ToolOutput {
            content: warning(made) + &output.content,
            summary: output.summary + &remark(made),
            ..output
        }
    };
    match (&how, said) {
        (CommandEnd::Cancelled, _) => ToolOutcome::Stopped,
        (CommandEnd::Exit(0), PrintedOutcome::Success(text)) => {
            ToolOutcome::Success(result(kept.text(text)))
        }
        (CommandEnd::Exit(0), PrintedOutcome::Question(question)) => {
            ToolOutcome::NeedsInput(*question)
        }
        (CommandEnd::Exit(_), PrintedOutcome::Error { text, transient }) => {
            ToolOutcome::Error(ToolOutput {
                details: transient.then(|| json!({"transient": true})),
                ..result(kept.text(text))
            })
        }
        (CommandEnd::Exit(0), PrintedOutcome::Text) => {
            let text = kept.output(output);
            ToolOutcome::Success(result(match text.trim_end() {
                "" => "(no output)".to_owned(),
                text => text.to_owned(),
            }))
        }
        (how, _) => {
            let mut text = failure(&work.tool, how, context.limits.time);
            for (name, output) in [("Standard output", output), ("Standard error", errors)] {
                let said = kept.output(output);
                if !said.trim().is_empty() {
                    text += &format!("\n{name}:\n{}", said.trim_end());
                }
            }
            ToolOutcome::Error(result(text))
        }
    }
}

/// The fault, and advice.
fn failure(tool: &str, how: &CommandEnd, time: Duration) -> String {
    match how {
        CommandEnd::NotStarted(why) => format!(
            "{tool} could not be started: {why}. Do not retry; tell the user to look at \
             conversation.tools.{tool}.command."
        ),
        CommandEnd::TimedOut => format!(
            "{tool} was stopped after {} s, with all its processes; its effects are unknown. Look before you run \
             it again.",
            time.as_millis().div_ceil(1000)
        ),
        CommandEnd::Lost => format!(
            "The processes of {tool} were ended from outside; its effects are unknown. Look before you run it again."
        ),
        CommandEnd::Exit(_)
        | CommandEnd::Signal(_)
        | CommandEnd::Unbuilt(_)
        | CommandEnd::Cancelled => {
            format!("{tool} failed. {}", how.line(time))
        }
    }
}

/// Reads standard output: one JSON object with a `type` that is known, else text. Secrets are taken out of what was read,
/// never of what is to be read, which they would break.
fn read(output: &[u8], secrets: &[Secret]) -> PrintedOutcome {
    let Some(b'{') = output.trim_ascii_start().first() else {
        return PrintedOutcome::Text;
    };
    let Ok(value) = serde_json::from_slice::<Value>(output) else {
        return PrintedOutcome::Text;
    };
    let text = |key: &str| match value.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        // As it is written, a secret may be spelt in another way.
        Some(other) => value_without_secrets(other.clone(), secrets).to_string(),
    };
    match value.get("type").and_then(Value::as_str) {
        Some("success") => PrintedOutcome::Success(text("content")),
        Some("error") => {
            let trace = value.get("trace").and_then(Value::as_array);
            let trace = trace.into_iter().flatten().filter_map(Value::as_str);
            let lines: Vec<String> = std::iter::once(text("message"))
                .chain(trace.map(ToOwned::to_owned))
                .collect();
            PrintedOutcome::Error {
                text: lines.join("\n"),
                transient: value.get("transient") == Some(&Value::Bool(true)),
            }
        }
        Some("needs_input") if output.len() > QUESTION => {
            PrintedOutcome::Question(Box::new(Question {
                broken: Some(QuestionFault::TooLong),
                ..Question::read(&Value::Null)
            }))
        }
        Some("needs_input") => {
            let question = value.get("question").unwrap_or(&Value::Null);
            PrintedOutcome::Question(Box::new(Question::read(question)))
        }
        _ => PrintedOutcome::Text,
    }
}

/// Bounds and storage of a call's texts, which never contain a secret.
struct TextBounds<'a> {
    context: &'a ToolContext,
    secrets: &'a [Secret],
}

impl TextBounds<'_> {
    fn text(&self, text: String) -> String {
        let clean = without_secrets(text, self.secrets);
        fitted(self.context, printable(clean.as_bytes()))
    }

    fn output(&self, output: BoundedOutput) -> String {
        if self.secrets.is_empty() {
            return output.finish(self.context);
        }
        let text = String::from_utf8_lossy(output.start()).into_owned();
        let mut text = without_secrets(text, self.secrets);
        if !output.is_whole() {
            // What follows is not kept, and could begin in the middle of a secret.
            let longest = self.secrets.iter().map(|it| it.reveal().len()).max();
            let end = text.len().saturating_sub(longest.unwrap_or_default());
            text.truncate(text.floor_char_boundary(end));
            text += &format!("\n[The rest of {} bytes is not kept.]", output.total());
        }
        fitted(self.context, printed(text.as_bytes()))
    }
}

/// The secrets that the call was given.
fn secrets(work: &CallWork) -> Vec<Secret> {
    let secrets = work.answers.iter().filter_map(|(_, answer)| match answer {
        Answer::Secret(secret) => Some(secret.clone()),
        Answer::Value(_) => None,
    });
    secrets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: PrintedOutcome) {
        assert_eq!(read(output.as_bytes(), &[]), expected, "{output}");
    }

    #[test]
    fn an_outcome_is_no_text() {
        let success = |text: &str| PrintedOutcome::Success(text.into());
        check(r#"{"type":"success","content":"a"}"#, success("a"));
        check(
            "\n {\"type\":\"success\",\"content\":{\"n\":1}}\n",
            success("{\"n\":1}"),
        );
        check(r#"{"type":"success"}"#, success(""));
        let error = |text: &str, transient| PrintedOutcome::Error {
            text: text.into(),
            transient,
        };
        check(
            r#"{"type":"error","message":"no","trace":["a","b"],"transient":true}"#,
            error("no\na\nb", true),
        );
        for text in [
            "",
            "plain",
            "{}",
            "[]",
            r#"{"type":"other"}"#,
            r#"{"type":"success""#,
            r#"{"type":"success"} and more"#,
        ] {
            check(text, PrintedOutcome::Text);
        }
        assert_eq!(
            read(b"{\"type\":\"success\",\"content\":\"\xff\"}", &[]),
            PrintedOutcome::Text
        );
    }

    #[test]
    fn a_secret_is_taken_out_of_an_object_however_it_is_written() {
        let given = [Secret::new("a\"b\\c".into())];
        let said = json!({"type": "success", "content": {"pw": "a\"b\\c"}}).to_string();
        let clean = PrintedOutcome::Success("{\"pw\":\"[secret]\"}".into());
        assert_eq!(read(said.as_bytes(), &given), clean);
    }

    #[test]
    fn a_question_is_read_in_both_spellings_or_broken() {
        let of = |question: Value| {
            let said = json!({"type": "needs_input", "question": question}).to_string();
            match read(said.as_bytes(), &[]) {
                PrintedOutcome::Question(question) => question,
                other => panic!("{other:?}"),
            }
        };
        let new = of(
            json!({"id": "to", "text": "Where?", "context": "c", "answer_type": {"type": "select", "options": ["a"]}}),
        );
        let old = of(
            json!({"id": "to", "text": "Where?", "pre_amble": "c", "answer_type": {"Select": {"options": ["a"]}}}),
        );
        assert_eq!(new, old);
        assert_eq!(new.check(), Ok(()));
        let broken = |question: Value, what: &'static str| {
            assert_eq!(of(question.clone()).check(), Err(what), "{question}");
        };
        broken(Value::Null, "it is no object");
        broken(json!({"text": "Where?"}), "it has no id");
        broken(json!({"id": "to"}), "it has no text");
        broken(json!({"id": "to", "text": "?"}), "it has no answer type");
        broken(
            json!({"id": "to", "text": "?", "answer_type": "Colour"}),
            "its answer type is not known",
        );
        broken(
            json!({"id": "to", "text": "?", "answer_type": "Text", "exclusive": "very"}),
            "one of its members is of another type",
        );
        broken(
            json!({"id": "to", "text": "x".repeat(QUESTION), "answer_type": "Text"}),
            "it is longer than 256 KiB",
        );
    }
}
