//! The tools: what one is, and what it may use. One file a tool.
//!
//! | module | what lives there |
//! |---|---|
//! | a file each | the tools that are part of Aside: `built_in!` below is their list |
//! | [`client`], [`local`] | tools that run in the client, and those that are programs of the user's |
//! | `change` | a change of files, which the tools that edit share |
//! | [`registry`] | the tools of a conversation by name, and their arguments checked |
//! | `host` | what a tool may use |
//! | [`workspace`], `walk`, `ignored` | the path gate; a walk through the files, and what it leaves out |
//! | [`editor`], `readable` | files that are open in an editor; what is read, a file or the open document in its place |
//! | [`process`], [`supervisor`] | the one way to start a child process, and to end it with all its children |
//! | [`sandbox`], [`probe`] | the walls around a command, and whether they stand here |
//! | [`namespace`] | what keeps a program outside of the sandbox together with its processes |
//! | `hold`, `outside` | how a program is held that a call starts, and what it made; a command that is offered to run outside |
//! | `output` | how tools word and bound what they return |
//!
//! Invariant: nothing here knows the engine, a session or a client. A tool sees its call and its [`ToolContext`];
//! files are reached through [`workspace`] alone, and child processes through [`process`] alone.

use std::{sync::Arc, time::Duration};

use aside_turn::{
    effect::CallWork,
    input::{Preparation, ToolOutcome, ToolOutput},
    model_text::ModelText,
    rules::Class,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

mod change;
pub mod client;
pub mod editor;
mod hold;
mod host;
mod ignored;
pub mod local;
pub mod namespace;
mod output;
mod outside;
pub mod probe;
pub mod process;
mod readable;
pub mod registry;
pub mod sandbox;
pub mod supervisor;
#[cfg(test)]
mod trial;
mod walk;
pub mod workspace;

/// Declares the modules of tools, and lists the tools.
macro_rules! built_in {
    ($(mod $module:ident => $Tool:ident;)+) => {
        $(mod $module;)+

        /// The tools that are part of Aside, in the order in which models are told of them.
        fn built_in() -> impl Iterator<Item = Arc<dyn Tool>> {
            let tools: Vec<Arc<dyn Tool>> = vec![$(Arc::new($module::$Tool::new())),+];
            tools.into_iter()
        }

        #[cfg(test)]
        const BUILT_IN_FILES: &[&str] = &[$(stringify!($module)),+];
    };
}

// A tool is its file and its line here; models are told of them in this order.
built_in! {
    // They read the workspace.
    mod read_file => ReadFile;
    mod list_files => ListFiles;
    mod search => Search;
    // They change it.
    mod edit_file => EditFile;
    mod write_file => WriteFile;
    // They start processes, and read on in what those said.
    mod run_command => RunCommand;
    mod read_output => ReadOutput;
    // They belong to the conversation itself.
    mod ask_user => AskUser;
    mod answer_inquiry => AnswerInquiry;
    mod describe_tools => DescribeTools;
}

pub use host::{AskLive, FileEdit, FileSnapshots, PreparedCall, ToolContext, ToolLimits};
pub use output::{fitted, question_without_secrets, value_without_secrets, without_secrets};

/// Something that the model may call. One file a tool, with its schema, behaviour and tests.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is, for models, people and configuration.
    fn about(&self) -> &ToolSpec;

    /// Looks at a call and changes nothing: what it would do, what a person is shown, whether it must ask.
    /// The arguments fit the tool's schema: [`registry::Registry::prepare`] has seen to it.
    async fn prepare(&self, work: &CallWork, host: &Arc<ToolContext>) -> Preparation;

    /// Does it. Run again from the start with every answer that it asked for. Ends soon after `cancelled`,
    /// with [`ToolOutcome::Stopped`], and leaves no process behind.
    async fn run(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> ToolOutcome;
}

/// What a tool is, for models, people and configuration.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The tool's name, which fits `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What providers are sent in place of the description, where there is one.
    pub summary: Option<String>,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// The JSON schema of its arguments: an object.
    pub parameters: Value,
    /// Providers are to hold the arguments to the schema.
    pub strict: bool,
    /// What it does at most.
    pub class: Class,
    /// Whether it is on, and what may turn it on or off.
    pub enable: Enable,
    /// Clients are sent neither its calls nor its results, only its questions.
    pub hidden: bool,
    /// Its questions are the assistant's own.
    pub asks_for_assistant: bool,
    /// The ids of all questions that it asks; none where it may ask any.
    pub questions: Option<&'static [&'static str]>,
    /// Question id and the header of its prompt.
    pub prompt_labels: &'static [(&'static str, &'static str)],
    /// Ids of questions that the assistant is asked where nothing is configured.
    pub default_targets: &'static [&'static str],
    /// It starts processes.
    pub runs_commands: bool,
    /// It is no part of Aside.
    pub outside: bool,
    /// The server that it comes from. Its questions are for people alone.
    pub server: Option<String>,
    /// Its questions are for people alone, whatever is configured.
    pub asks_people: bool,
    /// How long it may run, where that is not what counts for all.
    pub time: Option<Duration>,
}

/// Whether a tool is on, and what may turn it on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enable {
    /// Whether the tool is on unless something says otherwise.
    pub state: bool,
    /// What may change that.
    pub allow_toggle: AllowToggle,
}

/// What may turn a tool on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowToggle {
    /// A bulk directive, or one that names it.
    Any,
    /// Only one that names it.
    IfNamed,
    /// Nothing changes it, not even a directive that names the tool.
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
            server: None,
            asks_people: false,
            time: None,
        }
    }
}

/// The arguments of a call as the tool's own type.
///
/// # Errors
/// The text for the model, which says what does not fit.
fn arguments<'de, T: Deserialize<'de>>(work: &'de CallWork) -> Result<T, String> {
    T::deserialize(&work.arguments).map_err(|error| invalid(&work.tool, &error.to_string()))
}

/// Tokens of what a model is sent of a tool, roughly.
#[must_use]
pub fn tokens(description: &str, parameters: &Value) -> u64 {
    /// Bytes of a token.
    const BYTES: usize = 4;
    ((description.len() + parameters.to_string().len()) / BYTES) as u64
}

/// The error of a call whose arguments do not fit.
fn invalid(tool: &str, what: &str) -> String {
    ModelText::default().invalid_arguments(tool, what)
}

/// Runs what would block, off the async threads. A panic in it becomes the error of its call.
async fn off_thread<T: Send + 'static>(
    work: &CallWork,
    host: &Arc<ToolContext>,
    act: impl FnOnce(&CallWork, &ToolContext) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (own, host) = (work.clone(), host.clone());
    tokio::task::spawn_blocking(move || act(&own, &host))
        .await
        .map_err(|_| {
            let tool = &work.tool;
            format!("{tool} failed inside Aside; this is a defect, do not retry.")
        })?
}

/// An outcome from a text, whichever way it went.
fn outcome(result: Result<ToolOutcome, String>) -> ToolOutcome {
    result.unwrap_or_else(|text| ToolOutcome::Error(ToolOutput::text(text)))
}

/// A preparation, whichever way it went.
fn preparation(result: Result<Preparation, String>) -> Preparation {
    result.unwrap_or_else(Preparation::Error)
}
