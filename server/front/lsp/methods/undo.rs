//! `aside/turn/undo`: takes back what a turn changed in files, all of it or nothing.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tower_lsp::lsp_types::Url;

use super::{
    super::{
        connection::Connection, documents::editor::OpenEditor, fallback::undone::UndoSummary,
        settings::file_uri,
    },
    raw_params::is_turn_id,
};
use crate::{
    engine::{
        blocking,
        clock::Clock,
        conversations::running::Lease,
        undo::{ConnectedEditor, TurnUndo, UndoFailure, UndoTarget},
    },
    front::{
        error::{RequestError, Result, internal, invalid},
        transport::in_order::{let_next_begin, to_the_end},
        wire::requests::{UndoParams, UndoResult},
    },
    session::{conversation::Conversation, replay, undo::UndoError},
};

/// Serves the method `aside/turn/undo`.
pub(in super::super) async fn undo(at: Arc<Connection>, params: UndoParams) -> Result<UndoResult> {
    Ok(take_back(&at, params).await?.result)
}

/// Takes a turn back. The editor is waited for, and so other messages are handled meanwhile; no turn begins in the
/// conversation.
pub(super) async fn take_back(at: &Arc<Connection>, params: UndoParams) -> Result<UndoSummary> {
    let UndoParams { turn_id, uris } = params;
    let (conversation, root) = of_turn(at, &turn_id).await?;
    let paths = |uris: Vec<String>| {
        let paths = uris.iter().enumerate();
        let paths = paths.map(|(n, uri)| {
            relative(uri, &root)
                .ok_or_else(|| invalid(format!("uris[{n}]: {uri:?} is no file of the workspace")))
        });
        paths.collect::<Result<Vec<String>>>()
    };
    let only = uris.map(paths).transpose()?;
    let lease = at.engine.conversations().reserve(conversation.id())?;
    let taking = Taking {
        at: at.clone(),
        only,
        conversation,
        root,
        turn: turn_id,
    };
    to_the_end(async move {
        let_next_begin();
        taking.finish(lease).await
    })
    .await
}

/// The conversation of a turn: of those that have it, as a fork does, the one in which this process ran it, else the
/// newest.
async fn of_turn(at: &Connection, turn: &str) -> Result<(Conversation, PathBuf)> {
    if !is_turn_id(turn) {
        return Err(RequestError::UnknownTurn(turn.to_owned()));
    }
    let (engine, roots) = (at.engine.clone(), at.workspace.roots());
    let id = turn.to_owned();
    let found = blocking(move || -> Result<_> { Ok(engine.conversations().of_turn(roots, &id)?) });
    let found = found.await?;
    found.ok_or_else(|| RequestError::UnknownTurn(turn.to_owned()))
}

/// Takes a turn back.
struct Taking {
    at: Arc<Connection>,
    conversation: Conversation,
    root: PathBuf,
    turn: String,
    only: Option<Vec<String>>,
}

impl Taking {
    async fn finish(self, mut lease: Lease) -> Result<UndoSummary> {
        let at = self.at.clone();
        let result = blocking(move || self.back()).await;
        if result.is_ok() {
            lease.forget();
        }
        let conversation_id = lease.conversation().to_owned();
        drop(lease);
        if result.is_ok() {
            at.conversation_changed(&conversation_id).await;
        }
        at.status.tell(None).await;
        result
    }

    /// On a thread that may wait.
    fn back(self) -> Result<UndoSummary> {
        let root = self.root.as_path();
        // While it is open here, no turn of another process changes files.
        let mut log = self.conversation.log(Clock::start().now())?;
        let lines = self.conversation.read_all().map_err(internal)?;
        let turns = replay::turns(&lines.records);
        let place = turns.iter().position(|turn| turn.id == self.turn);
        let place = place.ok_or_else(|| RequestError::UnknownTurn(self.turn.clone()))?;
        let which = UndoTarget {
            id: self.turn.clone(),
            name: format!("turn {}", place + 1),
        };
        let editor = OpenEditor {
            client: self.at.client.clone(),
            documents: self.at.documents.clone(),
        };
        let undoing = TurnUndo {
            which: &which,
            conversation: &self.conversation,
            root,
            editor: Some(ConnectedEditor {
                editor: &editor,
                gone: &self.at.gone,
            }),
        };
        let failed = |error: UndoFailure| self.failed(&which, &error);
        let plan = undoing.plan(&lines, self.only.as_deref());
        let plan = plan.map_err(|error| failed(error.into()))?;
        let done = undoing.carry_out(&plan, &mut log).map_err(failed)?;
        let files = plan.changes.iter().map(|change| change.path.clone());
        let files: Vec<String> = files.collect();
        Ok(UndoSummary {
            result: UndoResult {
                files: files.iter().map(|path| file_uri(root, path)).collect(),
                untracked: plan.untracked,
            },
            prompt: turns[place].prompt.clone(),
            files,
            unsaved: done.unsaved,
        })
    }

    fn failed(&self, which: &UndoTarget, error: &UndoFailure) -> RequestError {
        if let UndoFailure::Undo(UndoError::NoTurn(turn)) = error {
            return RequestError::UnknownTurn(turn.clone());
        }
        let why = error.sentence(which);
        let conflicts = error.conflicts();
        if conflicts.is_empty() {
            return internal(why);
        }
        let uris = conflicts
            .iter()
            .map(|path| file_uri(&self.root, path))
            .collect();
        RequestError::UndoConflicts { why, uris }
    }
}

/// The path of a file from the workspace's root.
fn relative(uri: &str, root: &Path) -> Option<String> {
    let path = Url::parse(uri).ok()?.to_file_path().ok()?;
    let real = || {
        let folder = path.parent()?.canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    let inside = path.strip_prefix(root).map(Path::to_owned).ok();
    let inside = inside.or_else(|| real()?.strip_prefix(root).map(Path::to_owned).ok())?;
    Some(inside.to_str()?.to_owned())
}
