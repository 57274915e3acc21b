//! Why a turn cannot begin.

use aside_turn::resume::ResumeError;

use crate::{
    config::Problems,
    engine::{NoThread, conversations::Taken},
    session::{log::OpenError, store::StoreError},
};

/// Why a turn cannot begin. Nothing was changed then, but for a repaired log and blobs that nothing names.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A turn runs in the conversation.
    #[error(transparent)]
    Taken(#[from] Taken),
    /// What it takes to carry out a turn cannot be had.
    #[error(transparent)]
    NoThread(#[from] NoThread),
    /// The configuration is broken. Each problem has a line.
    #[error(transparent)]
    Configuration(#[from] Problems),
    /// Whether the workspace is trusted cannot be found out.
    #[error("whether this workspace is trusted cannot be found out: {0}")]
    Trust(std::io::Error),
    /// What was asked for is not possible.
    #[error("{0}")]
    Usage(String),
    /// There is no usable provider or model.
    #[error("{0}")]
    NoProvider(String),
    /// The conversation cannot be found or made.
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
        /// The system's words, or what was being done.
        why: String,
    },
    /// The last turn of the conversation is over.
    #[error(
        "there is nothing to resume in conversation {0}: its last turn has ended; send a new message instead"
    )]
    NothingToResume(String),
    /// An answer does not fit its prompt.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The workspace cannot be opened.
    #[error("the workspace {folder} cannot be opened: {source}")]
    Workspace {
        /// The folder of the conversation.
        folder: String,
        /// The system's words.
        source: std::io::Error,
    },
}
