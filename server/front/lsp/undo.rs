//! `aside/turn/undo`: takes back what a turn changed in files, all of it or nothing.

use std::path::{Path, PathBuf};

use serde_json::json;
use tower_lsp::{jsonrpc::Result, lsp_types::Url};

use super::{
    conversations::{off_thread, uri},
    error::{error_with, internal, invalid, of_open, unknown_turn},
    hub::{Hub, SharedHub},
    params::Given,
    server::Server,
    start::is_turn_id,
};
use crate::{
    engine::{
        clock::Clock,
        undo::{self, Failed, Which, listed},
    },
    front::wire::requests::{UndoParams, UndoResult, code},
    session::{
        conversation::Conversation,
        replay,
        undo::{Plan, UndoError},
    },
};

impl Server {
    pub(super) async fn turn_undo(&self, params: Given<UndoParams>) -> Result<UndoResult> {
        let UndoParams { turn_id, uris } = params.read()?;
        let (conversation, root) = self.hub.of_turn(&turn_id).await?;
        self.hub.not_running(conversation.id())?;
        let paths = |uris: Vec<String>| {
            let paths = uris.iter().enumerate();
            let paths = paths.map(|(at, uri)| {
                relative(uri, &root).ok_or_else(|| {
                    invalid(format!("uris[{at}]: {uri:?} is no file of the workspace"))
                })
            });
            paths.collect::<Result<Vec<String>>>()
        };
        let taking = Taking {
            hub: self.hub.clone(),
            only: uris.map(paths).transpose()?,
            conversation: conversation.clone(),
            root,
            turn: turn_id,
        };
        let result = off_thread(move || taking.back()).await?;
        self.hub.turns.forget(conversation.id());
        self.tell_changed(conversation.id()).await;
        Ok(result)
    }
}

impl Hub {
    /// The conversation of a turn: of those that have it, as a fork does, the one in which this process saw it,
    /// else the newest.
    async fn of_turn(&self, turn: &str) -> Result<(Conversation, PathBuf)> {
        if !is_turn_id(turn) {
            return Err(unknown_turn(turn));
        }
        let seen = self.turns.conversation_of(turn);
        if let Some(seen) = seen.and_then(|id| self.conversation(&id).ok()) {
            return Ok(seen);
        }
        let places = self.places();
        let stores = places
            .into_iter()
            .map(|root| Ok((self.store(&root)?, root)));
        let stores = stores.collect::<Result<Vec<_>>>()?;
        let wanted = turn.to_owned();
        let found = off_thread(move || {
            let mut found = Vec::new();
            for (store, root) in stores {
                for listed in store.list().map_err(internal)? {
                    let conversation = store.find(&listed.id).map_err(internal)?;
                    if conversation.has_turn(&wanted).map_err(internal)? {
                        found.push((listed.updated, conversation, root));
                        break;
                    }
                }
            }
            Ok(found.into_iter().max_by_key(|(updated, ..)| *updated))
        });
        let found = found.await?;
        found
            .map(|(_, conversation, root)| (conversation, root))
            .ok_or_else(|| unknown_turn(turn))
    }
}

/// Takes a turn back, on a thread that may wait.
struct Taking {
    hub: SharedHub,
    conversation: Conversation,
    root: PathBuf,
    turn: String,
    only: Option<Vec<String>>,
}

impl Taking {
    fn back(self) -> Result<UndoResult> {
        let root = self.root.as_path();
        // While it is open here, no turn changes files.
        let mut log = self
            .conversation
            .log(Clock::start().now())
            .map_err(|held| of_open(&held))?;
        let lines = self.conversation.read_all().map_err(internal)?;
        let turns = replay::turns(&lines.records);
        let place = turns.iter().position(|turn| turn.id == self.turn);
        let place = place.ok_or_else(|| unknown_turn(&self.turn))?;
        let which = Which {
            id: self.turn.clone(),
            name: format!("turn {}", place + 1),
        };
        let plan = undo::plan(&lines, &which, root, self.only.as_deref())
            .map_err(|error| self.failed(&which, error))?;
        self.nothing_unsaved(&plan, &which)?;
        undo::carry_out(&plan, &which, &self.conversation, root, &mut log).map_err(|error| {
            match error {
                Failed::Undo(error) => self.failed(&which, error),
                Failed::Record(_) => internal(error),
            }
        })?;
        let files = plan.changes.iter();
        Ok(UndoResult {
            files: files.map(|change| uri(root, &change.path)).collect(),
            untracked: plan.untracked,
        })
    }

    /// What is open and not saved would be lost, or come back over what was undone.
    fn nothing_unsaved(&self, plan: &Plan, which: &Which) -> Result<()> {
        let unsaved = self.hub.documents.unsaved();
        let conflicts = plan.changes.iter().map(|change| change.path.clone());
        let conflicts = conflicts.filter(|path| unsaved.contains(&self.root.join(path)));
        let conflicts: Vec<String> = conflicts.collect();
        match conflicts.is_empty() {
            true => Ok(()),
            false => Err(self.failed(which, UndoError::Conflicts(conflicts))),
        }
    }

    fn failed(&self, which: &Which, error: UndoError) -> tower_lsp::jsonrpc::Error {
        let name = &which.name;
        match error {
            UndoError::Conflicts(files) => {
                let uris: Vec<String> = files.iter().map(|path| uri(&self.root, path)).collect();
                let text = format!(
                    "{name} was not undone, as these files were changed since: {}; \
                     put them back yourself, or undo later turns first",
                    listed(files.iter().map(String::as_str))
                );
                error_with(code::UNDO_CONFLICTS, text, json!({ "conflicts": uris }))
            }
            UndoError::NoTurn(turn) => unknown_turn(&turn),
            other => internal(format!("{name} was not undone: {other}")),
        }
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
