//! Codes and texts of [`RequestError`] for LSP clients.

use std::borrow::Cow;

use aside_session::{log::OpenError, store::StoreError};
use serde_json::json;
use tower_lsp::jsonrpc::{Error, ErrorCode};

use crate::{
    engine::StartError,
    front::{error::RequestError, wire::requests::code},
};

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Self {
        Self {
            code: code(&error),
            message: Cow::Owned(text(&error)),
            data: match error {
                RequestError::UndoConflicts { uris, .. } => Some(json!({ "conflicts": uris })),
                _ => None,
            },
        }
    }
}

/// The error, with the protocol's method that helps, if there is one.
pub(in super::super) fn text(error: &RequestError) -> String {
    let help = match error {
        RequestError::UnknownConversation(_) => "; aside/conversation/list has those there are",
        RequestError::NotTrusted(_) => "; trust it first, with aside/workspace/trust",
        _ => "",
    };
    format!("{error}{help}")
}

fn code(error: &RequestError) -> ErrorCode {
    match error {
        RequestError::InvalidParams(_) => ErrorCode::InvalidParams,
        RequestError::UnknownConversation(_)
        | RequestError::NoConversation
        | RequestError::Store(StoreError::Unknown(_) | StoreError::Several { .. }) => {
            ErrorCode::ServerError(code::UNKNOWN_CONVERSATION)
        }
        RequestError::UnknownTurn(_)
        | RequestError::NothingToResume
        | RequestError::NothingToUndo
        | RequestError::Store(StoreError::NoTurn { .. })
        | RequestError::Start(StartError::NothingToResume(_)) => {
            ErrorCode::ServerError(code::UNKNOWN_TURN)
        }
        RequestError::TurnRuns(_) => ErrorCode::ServerError(code::TURN_RUNS),
        RequestError::UnknownPrompt(_) | RequestError::NoPrompt => {
            ErrorCode::ServerError(code::UNKNOWN_PROMPT)
        }
        RequestError::NotTrusted(_) => ErrorCode::ServerError(code::NOT_TRUSTED),
        RequestError::NoModel(_) => ErrorCode::ServerError(code::NO_PROVIDER),
        RequestError::UndoConflicts { .. } => ErrorCode::ServerError(code::UNDO_CONFLICTS),
        RequestError::Withdrawn => ErrorCode::RequestCancelled,
        RequestError::Open(held) | RequestError::Store(StoreError::Open(held)) => of_open(held),
        RequestError::Store(
            StoreError::NoPlace | StoreError::Unusable { .. } | StoreError::Io { .. },
        )
        | RequestError::Start(_)
        | RequestError::Internal(_) => ErrorCode::InternalError,
    }
}

fn of_open(held: &OpenError) -> ErrorCode {
    match held {
        OpenError::Held { .. } => ErrorCode::ServerError(code::OPEN_ELSEWHERE),
        OpenError::Io { .. } => ErrorCode::InternalError,
    }
}
