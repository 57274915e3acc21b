//! A question, the answers that fit, and its origin.
//!
//! The JSON spelling here is the one that tools write on their standard output and that the log keeps.
//! Older tools wrote `pre_amble` for `context` and untagged answer types; both are read, neither is written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod answer;
mod answer_type;
mod format;
mod number;

pub use answer::{Answer, Misfit, Secret};
pub use answer_type::{AnswerType, has_clear_numbers};
pub use format::TextFormat;

/// A question that a tool returns when it cannot go on without an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Key of the answer; unique within its tool.
    pub id: String,
    /// One line, not empty.
    pub text: String,
    /// Several lines, shown above the text.
    #[serde(default, alias = "pre_amble", skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The type of answers that fit.
    pub answer_type: AnswerType,
    /// Whether the answer may be left out. The answer is then null.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    /// Default answer. Fits `answer_type`, is never null, and is absent for a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether the tool demands a human answer. [`Question::is_exclusive`] also covers secrets.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exclusive: bool,
    /// Whether an answer may be remembered for the rest of the turn.
    #[serde(default, skip_serializing_if = "Persistence::is_turn")]
    pub persistence: Persistence,
    /// The reason why [`Question::read`] could not read it whole.
    #[serde(skip)]
    pub broken: Option<QuestionFault>,
}

/// Whether an answer may be remembered for the rest of the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Persistence {
    /// Ask every time.
    None,
    /// A person may answer "for the rest of this turn".
    #[default]
    Turn,
}

/// Origin of a question. Set by the code that asks; configuration cannot change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Source {
    /// The model's own question, asked through a built-in such as `ask_user`.
    Assistant,
    /// A tool's question.
    Tool {
        /// The tool's name.
        name: String,
    },
}

impl Question {
    /// Creates a question with defaults for all other fields.
    #[must_use]
    pub fn new(id: impl Into<String>, text: impl Into<String>, answer_type: AnswerType) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            context: None,
            answer_type,
            optional: false,
            default: None,
            exclusive: false,
            persistence: Persistence::Turn,
            broken: None,
        }
    }

    /// Reads a question that a program wrote. One that cannot be read is marked as broken and recorded as far as
    /// possible; nobody is asked.
    #[must_use]
    pub fn read(written: &Value) -> Self {
        Self::deserialize(written).unwrap_or_else(|_| {
            let text = |key| written.get(key).and_then(Value::as_str).unwrap_or_default();
            Self {
                broken: Some(QuestionFault::of(written)),
                ..Self::new(text("id"), text("text"), AnswerType::text())
            }
        })
    }

    /// Adapts the question of a tool that is not part of Aside: lines after the first move to the top of the context.
    #[must_use]
    pub fn from_outside(mut self) -> Self {
        if let Some((first, rest)) = self.text.split_once('\n') {
            let (first, rest) = (first.trim_end().to_owned(), rest.trim_end().to_owned());
            self.context = match self.context.take() {
                Some(context) if rest.is_empty() => Some(context),
                Some(context) => Some(format!("{rest}\n{context}")),
                None => Some(rest).filter(|rest| !rest.is_empty()),
            };
            self.text = first;
        }
        self
    }

    /// Whether only a human may answer: the tool demands it, or the answer is a secret.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.exclusive || self.is_secret()
    }

    /// Whether the answer is typed unseen.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.answer_type == AnswerType::Secret
    }

    /// Whether a person may answer "for the rest of this turn". Only booleans are remembered.
    #[must_use]
    pub fn may_be_remembered(&self) -> bool {
        self.persistence == Persistence::Turn && self.answer_type == AnswerType::Boolean
    }

    /// Whether id, text, context and type are equal, so that both ask the same.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
            && self.text == other.text
            && self.context == other.context
            && self.answer_type == other.answer_type
    }

    /// Checks the question itself. A broken question is never shown to anyone.
    ///
    /// # Errors
    /// The fault, for the text `<tool> asked an invalid question (<fault>)`.
    pub fn check(&self) -> Result<(), &'static str> {
        if let Some(what) = self.broken {
            return Err(what.phrase());
        }
        if self.id.is_empty() {
            return Err("it has no id");
        }
        if self.text.trim().is_empty() {
            return Err("its text is empty");
        }
        if self.text.contains(['\n', '\r']) {
            return Err("its text has more than one line");
        }
        self.answer_type.check()?;
        match &self.default {
            Some(_) if self.is_secret() => Err("a secret has no default"),
            Some(default) if self.answer_type.accept(default).is_err() => {
                Err("its default does not fit its answer type")
            }
            _ => Ok(()),
        }
    }

    /// Reads a value from a person or a configuration as an answer.
    ///
    /// A boolean is a JSON boolean; a select is one of its options exactly; a multi-select is an array of different
    /// options, which is sorted into their order; a number is a JSON number within its bounds; a text is taken as it is,
    /// within its bounds and format; a secret is a text that is not empty. Null leaves an optional answer out, also that
    /// of a secret.
    ///
    /// # Errors
    /// A [`Misfit`] that names what would fit. The value, which may be a secret, is never repeated.
    pub fn accept(&self, value: &Value) -> Result<Answer, Misfit> {
        if self.optional && value.is_null() {
            return Ok(Answer::Value(Value::Null));
        }
        self.answer_type.accept(value)
    }

    /// Reads a model's text as an answer.
    ///
    /// A boolean is `true` or `false` in any case, trimmed; a select is an option exactly, or else the only one that
    /// matches in any case, because APIs may change the case of an enum; a number is parsed; a multi-select is a JSON
    /// array; a text is taken as it is and not empty. An empty text leaves an optional answer out.
    ///
    /// # Errors
    /// A [`Misfit`] that names what would fit.
    pub fn accept_text(&self, text: &str) -> Result<Answer, Misfit> {
        if self.optional && text.trim().is_empty() && !self.is_secret() {
            return Ok(Answer::Value(Value::Null));
        }
        match self.answer_type.of_model(text) {
            Some(value) => self.answer_type.accept(&value),
            None => Err(Misfit(self.answer_type.expectation())),
        }
    }

    /// The value that a text from a command line stands for. An empty text leaves an optional answer out.
    #[must_use]
    pub fn parse(&self, text: &str) -> Value {
        if self.optional && text.is_empty() {
            return Value::Null;
        }
        self.answer_type.of_person(text)
    }
}

impl Persistence {
    fn is_turn(&self) -> bool {
        *self == Self::Turn
    }
}

/// Reason why a tool's output is not a valid question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionFault {
    /// Not a JSON object.
    NoObject,
    /// The id is missing.
    NoId,
    /// The text is missing.
    NoText,
    /// The answer type is missing.
    NoType,
    /// An unknown answer type.
    UnknownType,
    /// A member of the wrong type.
    Member,
    /// Longer than a question may be.
    TooLong,
}

impl QuestionFault {
    /// The fault as a clause.
    fn phrase(self) -> &'static str {
        match self {
            Self::NoObject => "it is no object",
            Self::NoId => "it has no id",
            Self::NoText => "it has no text",
            Self::NoType => "it has no answer type",
            Self::UnknownType => "its answer type is not known",
            Self::Member => "one of its members is of another type",
            Self::TooLong => "it is longer than 256 KiB",
        }
    }

    /// Finds the fault of a value that cannot be read as a question.
    fn of(written: &Value) -> Self {
        let is_text = |key| written.get(key).is_some_and(Value::is_string);
        match written.get("answer_type") {
            _ if !written.is_object() => Self::NoObject,
            _ if !is_text("id") => Self::NoId,
            _ if !is_text("text") => Self::NoText,
            None => Self::NoType,
            Some(of) if AnswerType::deserialize(of).is_err() => Self::UnknownType,
            Some(_) => Self::Member,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests;
