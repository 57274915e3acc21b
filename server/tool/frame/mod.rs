//! The frame that every tool stands in. A tool plans a call; the registry shows the plan, compares the run with it and
//! gives the run its permits.
//!
//! | module | contents |
//! |---|---|
//! | `spec` | the description of a tool |
//! | `files` | the files of the workspace, or the open documents in their place |
//! | `snapshots` | the texts of files as the model saw them last |
//! | `context` | the means of a tool |
//! | `plan` | what a person is shown of a call, and the work that follows |
//! | `tool` | the trait of tools, and the frame of tools that block |
//! | [`registry`] | the tools of a conversation by name, and the checks that all of them share |
//!
//! Invariant: what only the registry may do is visible in this folder only, where there is no tool: it opens files by
//! their paths, makes a [`Planning`] and a [`ReadPermit`], and runs a [`CallPlan`].

mod context;
mod files;
mod plan;
pub mod registry;
mod snapshots;
mod spec;
mod tool;

pub(crate) use context::DRAIN;
pub use context::{AskLive, FileEdit, SearchPassages, ToolContext, ToolLimits};
pub use files::Files;
pub(crate) use files::{
    ReadPermit, Readable, TextSource,
    known::{KnownFile, WrittenTo},
};
pub use plan::{CallPlan, Planning, ToolRun, Unplanned};
pub(crate) use plan::{EditBase, invalid, off_thread};
pub use snapshots::FileSnapshots;
pub(crate) use snapshots::{GivenLines, LinesRead, TextGap};
pub use spec::{AllowToggle, Enable, ToolSpec};
pub use tool::Tool;
pub(crate) use tool::{BlockingTool, BuiltIn};
