//! Why something cannot be done with conversations.

use std::{io, path::PathBuf};

use super::log::OpenError;

/// Why something cannot be done with conversations.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Neither `HOME` nor `XDG_STATE_HOME` is an absolute path.
    #[error("there is no place for conversations; set HOME or XDG_STATE_HOME to an absolute path")]
    NoPlace,
    /// The state directory cannot be read or written.
    #[error(
        "cannot use the state directory {}: {source}; make it writable, or set XDG_STATE_HOME to one that is",
        folder.display()
    )]
    Unusable {
        /// The folder that cannot be used.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No conversation has an id that begins so.
    #[error("there is no conversation {0}; `aside conversation list` shows those that there are")]
    Unknown(String),
    /// Several conversations have ids that begin so.
    #[error("{prefix} could be {}; write more of the id", ids.join(" or "))]
    Several {
        /// The beginning of an id, as it was given.
        prefix: String,
        /// The ids that begin with it.
        ids: Vec<String>,
    },
    /// The conversation has no such turn.
    #[error(
        "conversation {id} has no turn {turn}; `aside conversation show {id}` shows those it has"
    )]
    NoTurn {
        /// The id of the conversation.
        id: String,
        /// The turn that was named, by id or number.
        turn: String,
    },
    /// It cannot be opened for writing.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file of it cannot be read or written.
    #[error("cannot read or write conversation {id}: {source}; check its folder and its disk")]
    Io {
        /// The id of the conversation.
        id: String,
        /// What the system said.
        source: io::Error,
    },
}
