//! The tools: what one is, and what it may use. One file a tool.
//!
//! | module | what lives there |
//! |---|---|
//! | a file each | the tools that are part of Aside: `built_in!` below is their list |
//! | [`client`], [`local`] | tools that run in the client, and those that are programs of the user's |
//! | `frame` | what every tool stands in: its context, files, plan and [`registry`] |
//! | `change`, [`line_ends`] | a change of a file, which the tools that edit share; line ends and the byte order mark |
//! | [`workspace`], `walk`, `ignored` | the path gate; a walk through the files, and the files that it leaves out |
//! | [`editor`] | the editor that has files open |
//! | [`process`], [`supervisor`] | the one way to start a child process, and to end it with all its children |
//! | [`sandbox`], [`probe`] | the walls around a command, and whether they stand here |
//! | [`namespace`] | what keeps a program outside of the sandbox together with its processes |
//! | `hold`, `outside` | how a program is held that a call starts, and what it made; a command that is offered to run outside |
//! | `output` | how tools word and bound what they return |
//!
//! Invariant: nothing here knows the engine, a session or a client. A tool sees its [`Planning`] and its [`ToolRun`];
//! files are reached through `frame` alone, and child processes through [`process`] alone.

use std::sync::Arc;

use serde_json::Value;

mod change;
pub mod client;
pub mod editor;
mod frame;
mod hold;
mod ignored;
pub mod line_ends;
pub mod local;
pub mod namespace;
mod output;
mod outside;
pub mod probe;
pub mod process;
pub mod sandbox;
#[cfg(unix)]
pub mod supervisor;
#[cfg(windows)]
#[path = "supervisor/none.rs"]
pub mod supervisor;
// The tool of CONTRIBUTING, on which the rules of all tools are tried too. Linux tells who reads a file.
#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "safety/count_lines.rs"]
mod count_lines;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod safety;
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
            let tools: Vec<Arc<dyn Tool>> = vec![$(<$module::$Tool as BuiltIn>::tool()),+];
            tools.into_iter()
        }

        /// The names of the files of these tools, and their texts.
        #[cfg(test)]
        const BUILT_IN_FILES: &[(&str, &str)] =
            &[$((stringify!($module), include_str!(concat!(stringify!($module), ".rs")))),+];
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
    mod recall => Recall;
    mod ask_user => AskUser;
    mod answer_inquiry => AnswerInquiry;
    mod describe_tools => DescribeTools;
}

pub use frame::{
    AllowToggle, AskLive, CallPlan, Enable, FileEdit, FileSnapshots, Files, Planning,
    SearchPassages, Tool, ToolContext, ToolLimits, ToolRun, ToolSpec, Unplanned, registry,
};
use frame::{BlockingTool, BuiltIn, invalid, off_thread};
pub use output::{
    fitted, fitted_in, question_without_secrets, value_without_secrets, without_secrets,
};

impl registry::Registry {
    /// The tools that are part of Aside.
    #[must_use]
    pub fn builtin() -> Self {
        Self::of(built_in())
    }
}

/// Tokens of what a model is sent of a tool, roughly.
#[must_use]
pub fn tokens(description: &str, parameters: &Value) -> u64 {
    /// Bytes of a token.
    const BYTES: usize = 4;
    ((description.len() + parameters.to_string().len()) / BYTES) as u64
}
