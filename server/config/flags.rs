//! Flags whose values have a form of their own.

use std::fmt;

use aside_turn::{record::Vocabulary as _, rules::DetachedMode};

use super::names::is_name;

/// The kinds of prompts for which `--detached` can be given separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachedKind {
    /// Permission for a call to run.
    Run,
    /// Permission for the model to see a result.
    Deliver,
    /// A question that a tool asks.
    Tool,
}

/// `--detached MODE` or `--detached KIND=MODE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetachedFlag {
    /// The kind that the mode is for; all kinds if none is named.
    pub kind: Option<DetachedKind>,
    /// Mode for prompts when nobody is there to answer.
    pub mode: DetachedMode,
}

/// An answer given on the command line with `--answer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerFlag {
    /// `TOOL.QUESTION=VALUE`: a configured answer. The question's type says how the text is read.
    Configured {
        /// The tool that asks.
        tool: String,
        /// The question's id.
        question: String,
        /// The flag as it was typed.
        text: String,
    },
    /// `PROMPT_ID=VALUE`: the answer to one open prompt.
    Prompt {
        /// The id of the open prompt.
        id: String,
        /// The flag as it was typed.
        text: String,
    },
}

impl DetachedFlag {
    /// Reads the flag's value.
    ///
    /// # Errors
    /// A sentence that names what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, mode) = match text.split_once('=') {
            None => (None, text),
            Some(("run", mode)) => (Some(DetachedKind::Run), mode),
            Some(("deliver", mode)) => (Some(DetachedKind::Deliver), mode),
            Some(("tool", mode)) => (Some(DetachedKind::Tool), mode),
            Some((kind, _)) => {
                let kind = kind.escape_debug();
                return Err(format!(
                    "`{kind}` is not a kind of prompt; use run, deliver or tool"
                ));
            }
        };
        let mode = DetachedMode::of(mode).ok_or_else(|| {
            let mode = mode.escape_debug();
            format!("`{mode}` is not a mode; use auto, defaults, deny or stop")
        })?;
        Ok(Self { kind, mode })
    }
}

/// The flag as it is typed.
impl fmt::Display for DetachedFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            None => "",
            Some(DetachedKind::Run) => "run=",
            Some(DetachedKind::Deliver) => "deliver=",
            Some(DetachedKind::Tool) => "tool=",
        })?;
        f.write_str(self.mode.word())
    }
}

impl AnswerFlag {
    /// Key of the question, as written before the `=`.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Configured { tool, question, .. } => format!("{tool}.{question}"),
            Self::Prompt { id, .. } => id.clone(),
        }
    }

    /// Reads the flag's value: what stands before the first `=` is a tool and a question where it has a dot.
    ///
    /// # Errors
    /// A sentence that says how it is written. It does not repeat the answer.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((key, text)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err("an answer is written TOOL.QUESTION=VALUE or PROMPT_ID=VALUE".into());
        };
        let text = text.to_owned();
        let Some((tool, question)) = key.split_once('.') else {
            return Ok(Self::Prompt {
                id: key.to_owned(),
                text,
            });
        };
        if !is_name(tool) || question.is_empty() {
            let key = key.escape_debug();
            return Err(format!(
                "`{key}` names no question; it is written TOOL.QUESTION=VALUE"
            ));
        }
        Ok(Self::Configured {
            tool: tool.into(),
            question: question.into(),
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: fmt::Debug>(parsed: Result<T, String>, expected: &str) {
        assert_eq!(
            parsed.map_or_else(|error| error, |flag| format!("{flag:?}")),
            expected
        );
    }

    #[test]
    fn a_detached_mode_is_for_all_kinds_or_one() {
        let parse = DetachedFlag::parse;
        check(parse("stop"), "DetachedFlag { kind: None, mode: Stop }");
        check(
            parse("run=auto"),
            "DetachedFlag { kind: Some(Run), mode: Auto }",
        );
        check(
            parse("tool=defaults"),
            "DetachedFlag { kind: Some(Tool), mode: Defaults }",
        );
        check(
            parse("deliver=deny"),
            "DetachedFlag { kind: Some(Deliver), mode: Deny }",
        );
        check(
            parse("wait"),
            "`wait` is not a mode; use auto, defaults, deny or stop",
        );
        check(
            parse("ask=deny"),
            "`ask` is not a kind of prompt; use run, deliver or tool",
        );
    }

    #[test]
    fn an_answer_with_a_dot_is_for_a_question() {
        let parse = AnswerFlag::parse;
        check(
            parse("edit.which one=a=b"),
            r#"Configured { tool: "edit", question: "which one", text: "a=b" }"#,
        );
        check(parse("p7=yes"), r#"Prompt { id: "p7", text: "yes" }"#);
        check(
            parse("edit.q="),
            r#"Configured { tool: "edit", question: "q", text: "" }"#,
        );
        let written = "an answer is written TOOL.QUESTION=VALUE or PROMPT_ID=VALUE";
        check(parse("hunter2"), written);
        check(parse("=x"), written);
        check(
            parse("a b.c=x"),
            "`a b.c` names no question; it is written TOOL.QUESTION=VALUE",
        );
        check(
            parse("edit.=x"),
            "`edit.` names no question; it is written TOOL.QUESTION=VALUE",
        );
    }
}
