//! `aside/prompt`.

use serde::Deserialize;
use serde_json::Value;

use super::PromptKind;

/// Params of `aside/prompt`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct Prompt {
    pub prompt_id: String,
    pub conversation_id: String,
    pub turn_id: String,
    pub tool: PromptTool,
    pub kind: PromptKind,
    pub label: String,
    pub text: String,
    pub context: Option<String>,
    pub answer_type: AnswerType,
    #[serde(default)]
    pub optional: bool,
    pub default: Option<Value>,
    pub remember: bool,
    pub exclusive: bool,
    pub source: Source,
    pub preview: Option<Preview>,
    pub position: Position,
    pub resumable: Option<bool>,
}

/// The call of a prompt.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct PromptTool {
    pub name: String,
    pub call_id: String,
    pub arguments: Value,
    pub server: Option<String>,
}

/// What counts as an answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum AnswerType {
    Boolean,
    Select {
        options: Vec<String>,
    },
    MultiSelect {
        options: Vec<String>,
        minimum: Option<usize>,
        maximum: Option<usize>,
    },
    Number {
        integer: bool,
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    Text {
        minimum: Option<usize>,
        maximum: Option<usize>,
        format: Option<TextFormat>,
    },
    Secret,
}

/// The form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum TextFormat {
    Email,
    Uri,
    Date,
    DateTime,
}

impl AnswerType {
    /// Whether a value is an answer of this type; the format of a text is not looked at.
    #[must_use]
    pub fn is_met_by(&self, value: &Value) -> bool {
        let is_within = |count: usize, least: &Option<usize>, most: &Option<usize>| {
            least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most)
        };
        match self {
            Self::Boolean => value.is_boolean(),
            Self::Select { options } => options.iter().any(|option| value == option),
            Self::MultiSelect {
                options,
                minimum,
                maximum,
            } => value.as_array().is_some_and(|chosen| {
                let is_new = |(place, one): (usize, &Value)| {
                    options.iter().any(|option| one == option) && !chosen[..place].contains(one)
                };
                chosen.iter().enumerate().all(is_new) && is_within(chosen.len(), minimum, maximum)
            }),
            Self::Number {
                integer,
                minimum,
                maximum,
            } => value.as_f64().is_some_and(|number| {
                (!integer || number.fract() == 0.0)
                    && minimum.is_none_or(|least| number >= least)
                    && maximum.is_none_or(|most| number <= most)
            }),
            Self::Text {
                minimum, maximum, ..
            } => value
                .as_str()
                .is_some_and(|text| is_within(text.chars().count(), minimum, maximum)),
            Self::Secret => value.as_str().is_some_and(|text| !text.is_empty()),
        }
    }
}

/// Whose question it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum Source {
    Assistant,
    Tool { name: String },
}

/// What a person sees before saying yes.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub enum Preview {
    Command {
        text: String,
        cwd: String,
    },
    Diff {
        uri: String,
        version: Option<i64>,
        old: String,
        new: String,
    },
    Text {
        text: String,
    },
}

/// A prompt's place among the open ones of its turn.
#[derive(Clone, Copy, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct Position {
    pub n: usize,
    pub of: usize,
}

impl Prompt {
    /// What of it contradicts itself.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("the prompt {} {what}", self.prompt_id));
        if let AnswerType::Select { options } | AnswerType::MultiSelect { options, .. } =
            &self.answer_type
        {
            if options.is_empty() {
                return wrong("offers no option");
            }
            if options
                .iter()
                .enumerate()
                .any(|(place, option)| options[..place].contains(option))
            {
                return wrong("offers an option twice");
            }
        }
        let fits = |default: &Value| {
            self.answer_type != AnswerType::Secret && self.answer_type.is_met_by(default)
        };
        if !self.default.as_ref().is_none_or(fits) {
            return wrong("has a default that does not fit");
        }
        if self.text.is_empty() || self.text.contains('\n') {
            return wrong("has a text that is not one line");
        }
        if self.position.n == 0 || self.position.n > self.position.of {
            return wrong("has a position outside of the open ones");
        }
        Ok(())
    }
}
