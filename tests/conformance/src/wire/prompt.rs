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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum AnswerType {
    Boolean,
    Select { options: Vec<String> },
    Text,
    Secret,
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
        if let AnswerType::Select { options } = &self.answer_type {
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
        let fits = match (&self.answer_type, &self.default) {
            (_, None) => true,
            (AnswerType::Boolean, Some(default)) => default.is_boolean(),
            (AnswerType::Select { options }, Some(Value::String(default))) => {
                options.contains(default)
            }
            (AnswerType::Text, Some(default)) => default.is_string(),
            (AnswerType::Select { .. } | AnswerType::Secret, Some(_)) => false,
        };
        if !fits {
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
