//! `aside/turn/undo`: undoes all file changes of a turn, or none.

use aside_base::system::folders::canonical;
use std::{path::Path, sync::Arc};

use super::{
    super::{connection::LspConnection, documents::editor::OpenEditor, settings::file_uri},
    raw_params::is_turn_id,
};
use crate::front::uri::file_path;
use crate::{
    engine::{
        blocking,
        conversations::running::Lease,
        undo::{ConnectedEditor, TakeBackError, TurnToUndo, UndoneTurn},
    },
    front::{
        error::{RequestError, Result, internal, invalid},
        transport::in_order::to_the_end,
        wire::requests::{UndoParams, UndoResult},
    },
};

/// Serves the method `aside/turn/undo`.
pub(in super::super) async fn undo(
    at: Arc<LspConnection>,
    params: UndoParams,
) -> Result<UndoResult> {
    Ok(take_back(&at, params).await?.1)
}

/// Undoes a turn and returns the report for the client. Other messages are handled while this waits for the editor, but
/// no turn begins in the conversation.
pub(super) async fn take_back(
    at: &Arc<LspConnection>,
    params: UndoParams,
) -> Result<(UndoneTurn, UndoResult)> {
    if !is_turn_id(&params.turn_id) {
        return Err(RequestError::UnknownTurn(params.turn_id));
    }
    let at = at.clone();
    let undone = to_the_end(async move {
        let (undo, lease) = reserve(&at, params).await?;
        let root = undo.root.clone();
        Ok((carry_out(&at, undo, lease).await?, root))
    });
    let (undone, root) = undone.await?;
    let files = undone.files.iter().map(|path| file_uri(&root, path));
    let result = UndoResult {
        files: files.collect(),
        untracked: undone.untracked,
    };
    Ok((undone, result))
}

/// Finds the turn and locks its conversation. If several have it, as after a fork, the one in which this process ran
/// the turn counts, or else the newest.
async fn reserve(at: &LspConnection, params: UndoParams) -> Result<(TurnToUndo, Lease)> {
    let UndoParams { turn_id, uris } = params;
    let (engine, workspace) = (at.engine.clone(), at.workspace.as_of_now());
    let of = at
        .engine
        .conversations()
        .running()
        .conversation_of(&turn_id);
    let reserve = move || {
        let conversations = engine.conversations();
        let found = conversations.of_turn(workspace.roots(), &turn_id)?;
        let (conversation, root) =
            found.ok_or_else(|| RequestError::UnknownTurn(turn_id.clone()))?;
        let only = uris.map(|uris| paths(&uris, &root)).transpose()?;
        let lease = conversations.reserve(conversation.id())?;
        let undo = TurnToUndo {
            conversation,
            root,
            turn: turn_id,
            only,
        };
        Ok((undo, lease))
    };
    match of {
        Some(conversation) => at.disk.of_conversation(&conversation, reserve).await,
        // The conversation is not known before the turn is found.
        None => at.disk.exclusively(reserve).await,
    }
}

/// Converts URIs to paths from the workspace's root.
fn paths(uris: &[String], root: &Path) -> Result<Vec<String>> {
    let paths = uris.iter().enumerate();
    let paths = paths.map(|(n, uri)| {
        relative(uri, root)
            .ok_or_else(|| invalid(format!("uris[{n}]: {uri:?} is no file of the workspace")))
    });
    paths.collect()
}

/// Undoes the turn on a blocking thread and notifies the client of the changes.
async fn carry_out(
    at: &Arc<LspConnection>,
    undo: TurnToUndo,
    mut lease: Lease,
) -> Result<UndoneTurn> {
    let editor = OpenEditor {
        client: at.client.clone(),
        documents: at.documents.clone(),
    };
    let gone = at.gone.clone();
    let result = blocking(move || {
        let editor = ConnectedEditor {
            editor: &editor,
            gone: &gone,
        };
        let undone = undo.take_back(Some(editor));
        undone.map_err(|error| refused(error, &undo.root))
    });
    let result = result.await;
    if result.is_ok() {
        lease.forget();
    }
    let conversation_id = lease.conversation().to_owned();
    drop(lease);
    if result.is_ok() {
        at.conversation_changed(&conversation_id).await;
    }
    at.status.tell().await;
    result
}

fn refused(error: TakeBackError, root: &Path) -> RequestError {
    let why = error.to_string();
    let conflicts = match error {
        TakeBackError::Open(error) => return error.into(),
        TakeBackError::NoTurn(turn) => return RequestError::UnknownTurn(turn),
        TakeBackError::Read(_) => Vec::new(),
        TakeBackError::Failed { why, .. } => why.conflicts(),
    };
    if conflicts.is_empty() {
        return internal(why);
    }
    let uris = conflicts.iter().map(|path| file_uri(root, path)).collect();
    RequestError::UndoConflicts { why, uris }
}

/// The path of a file from the workspace's root.
fn relative(uri: &str, root: &Path) -> Option<String> {
    let path = file_path(uri)?;
    let real = || {
        let folder = canonical(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    };
    let inside = path.strip_prefix(root).map(Path::to_owned).ok();
    let inside = inside.or_else(|| real()?.strip_prefix(root).map(Path::to_owned).ok())?;
    Some(inside.to_str()?.to_owned())
}
