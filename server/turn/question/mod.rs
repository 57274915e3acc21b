//! A question, what answers it, and who asked.
//!
//! The JSON spelling here is the one that tools write on their standard output and that the log keeps.
//! Older tools wrote `pre_amble` for `context` and untagged answer types; both are read, neither is written.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What a tool returns when it cannot go on without an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The key of the answer; unique inside its tool.
    pub id: String,
    /// One line, not empty.
    pub text: String,
    /// Several lines, shown above the text.
    #[serde(default, alias = "pre_amble", skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What counts as an answer.
    pub answer_type: AnswerType,
    /// Fits `answer_type`; never there for a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Only a human may answer. See [`Question::is_exclusive`], which also knows secrets.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exclusive: bool,
    /// Whether an answer may be remembered for the rest of the turn.
    #[serde(default, skip_serializing_if = "Persistence::is_turn")]
    pub persistence: Persistence,
}

/// What counts as an answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AnswerType {
    /// `true` or `false`.
    Boolean,
    /// One of the options, exactly.
    Select {
        /// At least one, none twice.
        options: Vec<String>,
    },
    /// Any text.
    Text,
    /// Text that is typed unseen and reaches the asking tool alone. Implies `exclusive`.
    Secret,
}

/// May an answer be remembered for the rest of the turn?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Persistence {
    /// Ask every time.
    None,
    /// A person may say "for the rest of this turn".
    #[default]
    Turn,
}

/// An answer that fits its question. [`Question::accept`] is the only way to one.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What may be recorded and shown.
    Value(Value),
    /// What may not.
    Secret(Secret),
}

/// Text that cannot be printed, recorded or serialised: it has no `Display` and no `Serialize`, and its
/// `Debug` says `[secret]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a value is not an answer to a question, in words for the one who gave it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misfit(pub String);

/// Whose question it is. It follows from which code asked, and no configuration reaches it.
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
    /// A question with the defaults of every field that is not named.
    #[must_use]
    pub fn new(id: impl Into<String>, text: impl Into<String>, answer_type: AnswerType) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            context: None,
            answer_type,
            default: None,
            exclusive: false,
            persistence: Persistence::Turn,
        }
    }

    /// The question of a tool that is not part of Aside: lines after the first move to the top of the context.
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

    /// Only a human may answer: said so by the tool, or because it is a secret.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.exclusive || self.is_secret()
    }

    /// The answer is typed unseen.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.answer_type == AnswerType::Secret
    }

    /// A person may say "for the rest of this turn". Only booleans are remembered.
    #[must_use]
    pub fn may_be_remembered(&self) -> bool {
        self.persistence == Persistence::Turn && self.answer_type == AnswerType::Boolean
    }

    /// Equal id, text, context and type: asking it again is asking the same.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
            && self.text == other.text
            && self.context == other.context
            && self.answer_type == other.answer_type
    }

    /// What is wrong with the question itself, if anything. A broken question is never shown to anyone.
    ///
    /// # Errors
    /// What is wrong, for the text `<tool> asked an invalid question (<what>)`.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.id.is_empty() {
            return Err("it has no id");
        }
        if self.text.trim().is_empty() {
            return Err("its text is empty");
        }
        if self.text.contains(['\n', '\r']) {
            return Err("its text has more than one line");
        }
        if let AnswerType::Select { options } = &self.answer_type {
            if options.is_empty() {
                return Err("it has no options");
            }
            if options
                .iter()
                .enumerate()
                .any(|(at, option)| options[..at].contains(option))
            {
                return Err("it has an option twice");
            }
        }
        match &self.default {
            Some(_) if self.is_secret() => Err("a secret has no default"),
            Some(default) if self.accept(default).is_err() => {
                Err("its default does not fit its answer type")
            }
            _ => Ok(()),
        }
    }

    /// The answer that a value is, as a person or a configuration gave it: booleans are booleans, a select is
    /// one of its options exactly, text is text as it is, a secret is text that is not empty.
    ///
    /// # Errors
    /// A [`Misfit`] that names what would fit. It never repeats the value, which may be a secret.
    pub fn accept(&self, value: &Value) -> Result<Answer, Misfit> {
        match (&self.answer_type, value) {
            (AnswerType::Boolean, Value::Bool(_)) | (AnswerType::Text, Value::String(_)) => {
                Ok(Answer::Value(value.clone()))
            }
            (AnswerType::Select { options }, Value::String(text)) if options.contains(text) => {
                Ok(Answer::Value(value.clone()))
            }
            (AnswerType::Secret, Value::String(text)) if !text.is_empty() => {
                Ok(Answer::Secret(Secret::new(text.clone())))
            }
            _ => Err(Misfit(self.answer_type.expectation())),
        }
    }

    /// The answer that a model's text is: booleans `true`/`false` in any case, trimmed; a select exactly, else
    /// the one option that matches in any case, because APIs may change the case of an enum; text as it is,
    /// not empty.
    ///
    /// # Errors
    /// A [`Misfit`] that names what would fit.
    pub fn accept_text(&self, text: &str) -> Result<Answer, Misfit> {
        let misfit = || Misfit(self.answer_type.expectation());
        match &self.answer_type {
            AnswerType::Boolean => match text.trim().to_ascii_lowercase().as_str() {
                "true" => Ok(Answer::Value(Value::Bool(true))),
                "false" => Ok(Answer::Value(Value::Bool(false))),
                _ => Err(misfit()),
            },
            AnswerType::Select { options } => {
                if options.iter().any(|option| option == text) {
                    return Ok(Answer::Value(Value::from(text)));
                }
                let folded = text.trim().to_lowercase();
                let mut near = options
                    .iter()
                    .filter(|option| option.trim().to_lowercase() == folded);
                match (near.next(), near.next()) {
                    (Some(only), None) => Ok(Answer::Value(Value::from(only.as_str()))),
                    _ => Err(misfit()),
                }
            }
            AnswerType::Text if !text.is_empty() => Ok(Answer::Value(Value::from(text))),
            // No model ever answers a secret; that none is asked is the routing's part.
            AnswerType::Text | AnswerType::Secret => Err(misfit()),
        }
    }

    /// The value that a text from a command line or a terminal stands for, by the question's type.
    #[must_use]
    pub fn parse(&self, text: &str) -> Value {
        match (&self.answer_type, text.trim()) {
            (AnswerType::Boolean, "true" | "yes" | "y") => Value::Bool(true),
            (AnswerType::Boolean, "false" | "no" | "n") => Value::Bool(false),
            _ => Value::from(text),
        }
    }
}

impl AnswerType {
    /// What would be an answer, in one sentence.
    #[must_use]
    pub fn expectation(&self) -> String {
        match self {
            Self::Boolean => "The answer must be exactly true or false.".into(),
            Self::Select { options } => {
                format!("The answer must be exactly one of: {}.", options.join(", "))
            }
            Self::Text | Self::Secret => "The answer must be a text that is not empty.".into(),
        }
    }

    /// The word of the type, as in the tagged form.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Select { .. } => "select",
            Self::Text => "text",
            Self::Secret => "secret",
        }
    }
}

impl Answer {
    /// The value, for everything but a secret.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Secret(_) => None,
        }
    }
}

impl Secret {
    /// Takes a text out of sight.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one tool that asked.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<'de> Deserialize<'de> for AnswerType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Tagged {
            Boolean,
            Select { options: Vec<String> },
            Text,
            Secret,
        }
        #[derive(Deserialize)]
        enum Old {
            Boolean,
            Select { options: Vec<String> },
            Text,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Tagged(Tagged),
            Old(Old),
        }
        Ok(match Spelling::deserialize(deserializer)? {
            Spelling::Tagged(Tagged::Boolean) | Spelling::Old(Old::Boolean) => Self::Boolean,
            Spelling::Tagged(Tagged::Select { options })
            | Spelling::Old(Old::Select { options }) => Self::Select { options },
            Spelling::Tagged(Tagged::Text) | Spelling::Old(Old::Text) => Self::Text,
            Spelling::Tagged(Tagged::Secret) => Self::Secret,
        })
    }
}

impl Persistence {
    fn is_turn(&self) -> bool {
        *self == Self::Turn
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
