//! Errors of requests, as data.
//!
//! The text of an error says what is wrong and nothing about a protocol. Each protocol gives errors its own codes, and
//! adds which of its methods helps.

use aside_session::{log::OpenError, store::StoreError};
use aside_turn::{record::ResultReason, resume::ResumeError};
use tokio::task::JoinError;

use crate::engine::{
    StartError,
    conversations::{ConversationError, Taken},
};

/// The result of a request.
pub type Result<T, E = RequestError> = std::result::Result<T, E>;

/// Reason why a request cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// A parameter is not what it should be. The sentence names it.
    #[error("{0}")]
    InvalidParams(String),
    /// No conversation has this id.
    #[error("there is no conversation {0:?}")]
    UnknownConversation(String),
    /// The workspace has no conversation at all.
    #[error("there is no conversation here")]
    NoConversation,
    /// No turn with this id runs, or, for an undo, none is on record.
    #[error("there is no running turn {0:?}")]
    UnknownTurn(String),
    /// No conversation of the workspace was interrupted.
    #[error("no turn was interrupted here")]
    NothingToResume,
    /// The conversation has no turn.
    #[error("there is no turn to undo")]
    NothingToUndo,
    /// A turn runs in this conversation, or is being undone.
    #[error("a turn runs in conversation {0}, or is being undone; wait for its end, or cancel it")]
    TurnRuns(String),
    /// No prompt with this id is open.
    #[error("there is no open prompt {0:?}; where its turn was interrupted, resume that first")]
    UnknownPrompt(String),
    /// No prompt is open at all.
    #[error("no prompt is open")]
    NoPrompt,
    /// The request needs a trusted workspace, which the text names.
    #[error("the workspace is not trusted, so {0} cannot be had")]
    NotTrusted(String),
    /// No model is configured and none was found.
    #[error("{0}")]
    NoModel(String),
    /// An undo would lose something. Nothing was changed.
    #[error("{why}")]
    UndoConflicts {
        /// A sentence about the data that would be lost.
        why: String,
        /// The URIs of the files that are not as the turn left them.
        uris: Vec<String>,
    },
    /// The client has withdrawn the request.
    #[error("Canceled")]
    Withdrawn,
    /// The store of conversations refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The conversation cannot be opened for writing.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The turn cannot begin.
    #[error(transparent)]
    Start(StartError),
    /// Something failed that is not the client's doing.
    #[error("{0}")]
    Internal(String),
}

impl From<StartError> for RequestError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Taken(taken) => taken.into(),
            StartError::Resume(ResumeError::InVain {
                tool,
                refused: ResultReason::NotTrusted,
                ..
            }) => Self::NotTrusted(format!("an answer to {tool}, which waits")),
            StartError::Configuration(_) | StartError::Usage(_) | StartError::Resume(_) => {
                Self::InvalidParams(error.to_string())
            }
            StartError::NoModel(why) => Self::NoModel(why.to_string()),
            StartError::NoProvider(why) => Self::NoModel(why),
            StartError::Store(error) => error.into(),
            StartError::Open(error) => error.into(),
            StartError::NothingToResume(_)
            | StartError::TimeUp(_)
            | StartError::Trust(_)
            | StartError::NoThread(_)
            | StartError::Log { .. }
            | StartError::Workspace { .. } => Self::Start(error),
        }
    }
}

impl From<Taken> for RequestError {
    fn from(taken: Taken) -> Self {
        Self::TurnRuns(taken.0)
    }
}

impl From<ConversationError> for RequestError {
    fn from(error: ConversationError) -> Self {
        match error {
            ConversationError::Taken(taken) => taken.into(),
            ConversationError::Store(error) => error.into(),
        }
    }
}

impl From<JoinError> for RequestError {
    fn from(panicked: JoinError) -> Self {
        internal(panicked)
    }
}

/// A parameter is not what it should be; `text` names it.
pub(in crate::front) fn invalid(text: impl Into<String>) -> RequestError {
    RequestError::InvalidParams(text.into())
}

/// Something failed that is not the client's doing.
pub(in crate::front) fn internal(why: impl ToString) -> RequestError {
    RequestError::Internal(why.to_string())
}

/// The error for a conversation that cannot be opened by its id.
pub(in crate::front) fn not_found(error: StoreError) -> RequestError {
    match error {
        StoreError::Unknown(id) => RequestError::UnknownConversation(id),
        error => error.into(),
    }
}
