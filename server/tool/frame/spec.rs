//! Description of a tool, for models, people and configuration.

use std::time::Duration;

use aside_turn::rules::Class;
use serde_json::Value;

/// Description of a tool, for models, people and configuration.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The tool's name, which fits `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// Summary that providers are sent in place of the description, if there is one.
    pub summary: Option<String>,
    /// Purpose and use of the tool, for the model.
    pub description: String,
    /// The JSON schema of its arguments: an object.
    pub parameters: Value,
    /// Whether providers have to enforce the schema of the arguments.
    pub strict: bool,
    /// Largest effects of the tool.
    pub class: Class,
    /// Whether it is on, and what may turn it on or off.
    pub enable: Enable,
    /// Whether clients are sent neither calls nor results of the tool, only its questions.
    pub hidden: bool,
    /// Whether the questions of the tool are the assistant's own.
    pub asks_for_assistant: bool,
    /// The ids of all questions of the tool. `None` if the tool may ask any.
    pub questions: Option<&'static [&'static str]>,
    /// Question id and the header of its prompt.
    pub prompt_labels: &'static [(&'static str, &'static str)],
    /// Ids of questions that the assistant is asked by default.
    pub default_targets: &'static [&'static str],
    /// Whether the tool starts processes.
    pub runs_commands: bool,
    /// Whether the tool is not part of Aside.
    pub outside: bool,
    /// Whether the tool runs in the client.
    pub in_client: bool,
    /// The MCP server of the tool. Only people answer the questions of such a tool.
    pub server: Option<String>,
    /// Whether only people answer the questions of the tool, whatever is configured.
    pub asks_people: bool,
    /// Maximum duration of a run, if it is not the one of all tools.
    pub time: Option<Duration>,
}

/// Whether a tool is on, and what may turn it on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enable {
    /// Whether the tool is on unless something says otherwise.
    pub state: bool,
    /// Directives that may change that.
    pub allow_toggle: AllowToggle,
}

/// Directives that may turn a tool on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowToggle {
    /// A bulk directive, or one that names the tool.
    Any,
    /// Only a directive that names the tool.
    IfNamed,
    /// None, not even a directive that names the tool.
    Never,
}

impl AllowToggle {
    /// The word of the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::IfNamed => "if_named",
            Self::Never => "never",
        }
    }
}

impl ToolSpec {
    /// A tool that reads and is on, with the defaults of every other field.
    #[must_use]
    pub fn new(name: &str, description: &str, parameters: Value) -> Self {
        Self {
            name: name.to_owned(),
            summary: None,
            description: description.to_owned(),
            parameters,
            strict: false,
            class: Class::Reads,
            enable: Enable {
                state: true,
                allow_toggle: AllowToggle::Any,
            },
            hidden: false,
            asks_for_assistant: false,
            questions: Some(&[]),
            prompt_labels: &[],
            default_targets: &[],
            runs_commands: false,
            outside: false,
            in_client: false,
            server: None,
            asks_people: false,
            time: None,
        }
    }
}
