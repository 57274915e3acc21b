//! The protocol's errors, each one sentence.

use serde_json::Value;
use tower_lsp::jsonrpc::{Error, ErrorCode};

use crate::{
    engine::{assemble::AssembleError, begin::BeginError},
    front::wire::requests::code,
    session::{log::OpenError, store::StoreError},
};

/// An error of the protocol's own.
pub(super) fn error(code: i64, text: impl Into<String>) -> Error {
    Error {
        code: ErrorCode::ServerError(code),
        message: text.into().into(),
        data: None,
    }
}

/// The same with data.
pub(super) fn error_with(code: i64, text: impl Into<String>, data: Value) -> Error {
    Error {
        data: Some(data),
        ..error(code, text)
    }
}

/// A parameter that is not what it should be; the sentence names it.
pub(super) fn invalid(text: impl Into<String>) -> Error {
    Error {
        code: ErrorCode::InvalidParams,
        message: text.into().into(),
        data: None,
    }
}

/// Something failed that is not the client's doing.
pub(super) fn internal(text: impl ToString) -> Error {
    Error {
        code: ErrorCode::InternalError,
        message: text.to_string().into(),
        data: None,
    }
}

pub(super) fn unknown_conversation(id: &str) -> Error {
    let text =
        format!("there is no conversation {id:?}; aside/conversation/list has those there are");
    error(code::UNKNOWN_CONVERSATION, text)
}

pub(super) fn unknown_turn(id: &str) -> Error {
    error(
        code::UNKNOWN_TURN,
        format!("there is no running turn {id:?}"),
    )
}

pub(super) fn turn_runs(conversation: &str) -> Error {
    let text = format!(
        "a turn runs in conversation {conversation}, or is being undone; wait for its end, or cancel it"
    );
    error(code::TURN_RUNS, text)
}

pub(super) fn unknown_prompt(id: &str) -> Error {
    error(
        code::UNKNOWN_PROMPT,
        format!(
            "there is no open prompt {id:?}; where its turn was interrupted, resume that first"
        ),
    )
}

pub(super) fn of_store(failed: &StoreError) -> Error {
    match failed {
        StoreError::Unknown(_) | StoreError::Several { .. } => {
            error(code::UNKNOWN_CONVERSATION, failed.to_string())
        }
        StoreError::NoTurn { .. } => error(code::UNKNOWN_TURN, failed.to_string()),
        StoreError::Open(held) => of_open(held),
        _ => internal(failed),
    }
}

pub(super) fn of_open(failed: &OpenError) -> Error {
    match failed {
        OpenError::Held { .. } => error(code::OPEN_ELSEWHERE, failed.to_string()),
        OpenError::Io { .. } => internal(failed),
    }
}

pub(super) fn of_assemble(failed: AssembleError) -> Error {
    match failed {
        AssembleError::Usage(text) => invalid(text),
        AssembleError::NoProvider(text) => error(code::NO_PROVIDER, text),
    }
}

pub(super) fn of_begin(failed: &BeginError) -> Error {
    match failed {
        BeginError::Open(held) => of_open(held),
        BeginError::NothingToResume(_) => error(code::UNKNOWN_TURN, failed.to_string()),
        BeginError::Resume(_) => invalid(failed.to_string()),
        BeginError::Log { .. } | BeginError::Workspace { .. } => internal(failed),
    }
}
