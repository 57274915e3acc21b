//! Reasons why a turn cannot start.

use aside_config::Problems;
use aside_session::{log::OpenError, store::StoreError};
use aside_turn::resume::ResumeError;

use crate::engine::{NoThread, conversations::Taken, models::ChoiceError};

/// The MCP servers that were awaited, as a clause.
fn while_starting(servers: &[String]) -> String {
    match servers {
        [] => String::new(),
        servers => format!(", while these MCP servers started: {}", servers.join(", ")),
    }
}

/// Reason why a turn cannot start. Nothing was changed then, except for a repaired log and unreferenced blobs.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A turn runs in the conversation.
    #[error(transparent)]
    Taken(#[from] Taken),
    /// No thread can be started.
    #[error(transparent)]
    NoThread(#[from] NoThread),
    /// The configuration is invalid. Each problem has its own line.
    #[error(transparent)]
    Configuration(#[from] Problems),
    /// Trust in the workspace cannot be determined.
    #[error("cannot determine whether this workspace is trusted: {0}")]
    Trust(std::io::Error),
    /// The request is not possible.
    #[error("{0}")]
    Usage(String),
    /// No model is named, and none was found.
    #[error(transparent)]
    NoModel(ChoiceError),
    /// No usable provider or model.
    #[error("{0}")]
    NoProvider(String),
    /// The turn's own time was over before it began.
    #[error("the turn's time was over before it began{}; raise the timeout to let it begin", while_starting(.0))]
    TimeUp(Vec<String>),
    /// The conversation cannot be found or created.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The conversation cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The conversation cannot be read or written.
    #[error("conversation {id} cannot be used: {why}")]
    Log {
        /// The id of the conversation.
        id: String,
        /// The system's error, or the failed step.
        why: String,
    },
    /// The last turn of the conversation has ended.
    #[error(
        "there is nothing to resume in conversation {0}: its last turn has ended; send a new message instead"
    )]
    NothingToResume(String),
    /// An answer does not fit its prompt.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The workspace cannot be opened.
    #[error(
        "the workspace {folder} cannot be opened: {source}; bring it back, or open another folder"
    )]
    Workspace {
        /// Folder of the workspace.
        folder: String,
        /// The system's error.
        source: std::io::Error,
    },
}
