//! `aside/turn/undo`: takes back what a turn changed in files, all of it or nothing.

use std::path::{Path, PathBuf};

use tower_lsp::{jsonrpc, lsp_types::Url};

use super::{
    conversations::uri,
    documents::editor::OpenEditor,
    hub::{Hub, SharedHub},
    params::Given,
    server::Server,
    start::is_turn_id,
};
use crate::{
    engine::{
        ConversationState, blocking,
        clock::Clock,
        undo::{Failed, InEditor, Undoing, Which},
    },
    front::{
        error::{RequestError, Result, internal, invalid},
        transport::in_order::{let_next_begin, to_the_end},
        wire::{
            methods::ConversationChanged,
            requests::{ConversationRef, UndoParams, UndoResult},
        },
    },
    session::{conversation::Conversation, replay, undo::UndoError},
};

/// What was taken back.
pub(super) struct TakenBack {
    pub(super) result: UndoResult,
    /// What the user wrote to begin the turn.
    pub(super) prompt: String,
    /// The files that are as they were before it, relative to the workspace.
    pub(super) files: Vec<String>,
    /// Files that are back in the editor and not saved there, relative to the workspace.
    pub(super) unsaved: Vec<String>,
}

impl Server {
    pub(super) async fn turn_undo(&self, params: Given<UndoParams>) -> jsonrpc::Result<UndoResult> {
        Ok(self.take_back(params.read()?).await?.result)
    }

    /// Takes a turn back. The editor is waited for, and so other messages are handled meanwhile; no turn begins in
    /// the conversation.
    pub(super) async fn take_back(&self, params: UndoParams) -> Result<TakenBack> {
        let UndoParams { turn_id, uris } = params;
        let (conversation, root) = self.hub.of_turn(&turn_id).await?;
        let paths = |uris: Vec<String>| {
            let paths = uris.iter().enumerate();
            let paths = paths.map(|(at, uri)| {
                relative(uri, &root).ok_or_else(|| {
                    invalid(format!("uris[{at}]: {uri:?} is no file of the workspace"))
                })
            });
            paths.collect::<Result<Vec<String>>>()
        };
        let only = uris.map(paths).transpose()?;
        let reserved = Reserved::new(&self.hub, conversation.id())?;
        let taking = Taking {
            hub: self.hub.clone(),
            only,
            conversation,
            root,
            turn: turn_id,
        };
        to_the_end(async move {
            let_next_begin();
            taking.finish(reserved).await
        })
        .await
    }
}

impl Hub {
    /// The conversation of a turn: of those that have it, as a fork does, the one in which this process saw it,
    /// else the newest.
    async fn of_turn(&self, turn: &str) -> Result<(Conversation, PathBuf)> {
        if !is_turn_id(turn) {
            return Err(RequestError::UnknownTurn(turn.to_owned()));
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
        let found = blocking(move || -> Result<_> {
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
            .ok_or_else(|| RequestError::UnknownTurn(turn.to_owned()))
    }
}

/// A conversation in which no turn begins. It is free again when this is dropped.
struct Reserved {
    hub: SharedHub,
    conversation: String,
    /// What is kept of it; true as long as nothing is undone.
    kept: Option<ConversationState>,
}

impl Reserved {
    fn new(hub: &SharedHub, conversation: &str) -> Result<Self> {
        let Some(kept) = hub.turns.reserve(conversation) else {
            hub.not_running(conversation)?;
            // It ended this moment.
            return Self::new(hub, conversation);
        };
        Ok(Self {
            hub: hub.clone(),
            conversation: conversation.to_owned(),
            kept,
        })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.hub.turns.free(&self.conversation, self.kept.take());
    }
}

/// Takes a turn back.
struct Taking {
    hub: SharedHub,
    conversation: Conversation,
    root: PathBuf,
    turn: String,
    only: Option<Vec<String>>,
}

impl Taking {
    async fn finish(self, mut reserved: Reserved) -> Result<TakenBack> {
        let hub = self.hub.clone();
        let result = blocking(move || self.back()).await;
        if result.is_ok() {
            reserved.kept = None;
        }
        let conversation_id = reserved.conversation.clone();
        drop(reserved);
        if result.is_ok() {
            hub.lsp()
                .notify::<ConversationChanged>(ConversationRef { conversation_id })
                .await;
        }
        hub.tell_status(None).await;
        result
    }

    /// On a thread that may wait.
    fn back(self) -> Result<TakenBack> {
        let root = self.root.as_path();
        // While it is open here, no turn of another process changes files.
        let mut log = self.conversation.log(Clock::start().now())?;
        let lines = self.conversation.read_all().map_err(internal)?;
        let turns = replay::turns(&lines.records);
        let place = turns.iter().position(|turn| turn.id == self.turn);
        let place = place.ok_or_else(|| RequestError::UnknownTurn(self.turn.clone()))?;
        let which = Which {
            id: self.turn.clone(),
            name: format!("turn {}", place + 1),
        };
        let editor = OpenEditor {
            client: self.hub.lsp().clone(),
            documents: self.hub.documents.clone(),
        };
        let undoing = Undoing {
            which: &which,
            conversation: &self.conversation,
            root,
            editor: Some(InEditor {
                editor: &editor,
                gone: &self.hub.gone,
            }),
        };
        let failed = |error: Failed| self.failed(&which, &error);
        let plan = undoing.plan(&lines, self.only.as_deref());
        let plan = plan.map_err(|error| failed(error.into()))?;
        let done = undoing.carry_out(&plan, &mut log).map_err(failed)?;
        let files = plan.changes.iter().map(|change| change.path.clone());
        let files: Vec<String> = files.collect();
        Ok(TakenBack {
            result: UndoResult {
                files: files.iter().map(|path| uri(root, path)).collect(),
                untracked: plan.untracked,
            },
            prompt: turns[place].prompt.clone(),
            files,
            unsaved: done.unsaved,
        })
    }

    fn failed(&self, which: &Which, error: &Failed) -> RequestError {
        if let Failed::Undo(UndoError::NoTurn(turn)) = error {
            return RequestError::UnknownTurn(turn.clone());
        }
        let why = error.sentence(which);
        let conflicts = error.conflicts();
        if conflicts.is_empty() {
            return internal(why);
        }
        let uris = conflicts.iter().map(|path| uri(&self.root, path)).collect();
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
