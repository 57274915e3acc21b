//! What the handlers share: the client, what it told, the conversations, and what is open in it.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use tokio_util::sync::CancellationToken;
use tower_lsp::{Client, lsp_types::Url};

use super::{
    client::{LspClient, capabilities::EditorCapabilities},
    configured::IsAsking,
    documents::Documents,
    fallback::state::Fallback,
    health::Standing,
    prompts::Prompts,
    settings::ClientSettings,
    turns::Turns,
};
use crate::{
    config::Settings,
    engine::models::Models,
    front::{
        error::{Result, internal},
        transport::{
            end::{Ends, Signals},
            outbox::Outbox,
            tasks::Tasks,
        },
        wire::{methods::StatusChanged, requests::StatusParams},
    },
    session::store::{Store, default_state_dir},
    tool::Tool,
};

/// What the handlers share.
pub(super) struct Hub {
    raw: Client,
    lsp: OnceLock<LspClient>,
    pub(super) tasks: Tasks,
    /// Tools that the program has besides the built-in ones.
    pub(super) own: Vec<Arc<dyn Tool>>,
    /// What `initialize` told; nothing is asked of it before.
    pub(super) told: OnceLock<Arc<EditorCapabilities>>,
    /// As the client named them.
    pub(super) folders: Mutex<Vec<Url>>,
    pub(super) settings: Mutex<ClientSettings>,
    pub(super) documents: Arc<Documents>,
    pub(super) turns: Turns,
    pub(super) prompts: Prompts,
    /// What is open in a fallback client.
    pub(super) fallback: Fallback,
    /// What models are opened with, from the first turn on.
    models: OnceLock<Models>,
    pub(super) standing: Standing,
    /// Providers are being asked for their models.
    pub(super) asking: IsAsking,
    /// Ends the connection when the client's process is gone.
    pub(super) ends: Ends,
    signals: Signals,
    /// Cancelled when the client went.
    pub(super) gone: CancellationToken,
    output: Outbox,
    stores: Mutex<HashMap<PathBuf, Store>>,
    status: Mutex<Option<StatusParams>>,
}

impl Hub {
    pub(super) fn new(
        client: Client,
        own: Vec<Arc<dyn Tool>>,
        output: Outbox,
        (ends, signals): (Ends, Signals),
    ) -> Self {
        Self {
            raw: client,
            lsp: OnceLock::new(),
            tasks: Tasks::default(),
            own,
            told: OnceLock::new(),
            folders: Mutex::default(),
            settings: Mutex::default(),
            documents: Arc::default(),
            turns: Turns::default(),
            prompts: Prompts::default(),
            fallback: Fallback::default(),
            models: OnceLock::new(),
            standing: Standing::default(),
            asking: IsAsking::default(),
            ends,
            signals,
            gone: CancellationToken::new(),
            output,
            stores: Mutex::default(),
            status: Mutex::default(),
        }
    }

    /// What the client told; tower-lsp refuses every request before `initialize`.
    pub(super) fn told(&self) -> Result<&EditorCapabilities> {
        self.told
            .get()
            .map(Arc::as_ref)
            .ok_or_else(|| internal("initialize comes first"))
    }

    /// Where state is kept.
    pub(super) fn state_dir(&self) -> Result<PathBuf> {
        match &self.told()?.state_dir {
            Some(folder) => Ok(folder.clone()),
            None => default_state_dir().map_err(internal),
        }
    }

    /// The way to the client; nothing is sent before `initialize`.
    pub(super) fn lsp(&self) -> &LspClient {
        self.lsp.get_or_init(|| {
            let can = self.told.get().cloned().unwrap_or_default();
            let (output, signals) = (self.output.clone(), self.signals.clone());
            LspClient::new(self.raw.clone(), can, output, signals, self.tasks.clone())
        })
    }

    /// The client takes part in the protocol.
    pub(super) fn speaks_aside(&self) -> bool {
        self.lsp().can().speaks_aside()
    }

    /// The first folder of the workspace.
    pub(super) fn first_folder(&self) -> Option<PathBuf> {
        self.folders().into_iter().next()
    }

    fn folders(&self) -> Vec<PathBuf> {
        let folders = lock(&self.folders);
        let paths = folders.iter().map(Url::to_file_path);
        let mut paths: Vec<PathBuf> = paths.filter_map(Result::ok).collect();
        // Clients name their root twice.
        paths.dedup();
        paths
    }

    /// The workspace: this folder, else the first.
    pub(super) fn root(&self, wanted: Option<&Path>) -> PathBuf {
        let root = wanted.map(Path::to_owned).or_else(|| self.first_folder());
        let root = root.unwrap_or_else(|| PathBuf::from("."));
        root.canonicalize().unwrap_or(root)
    }

    /// The folders of the workspace, each by its real path; at least one.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let folders = self.folders();
        if folders.is_empty() {
            return vec![self.root(None)];
        }
        folders
            .iter()
            .map(|folder| self.root(Some(folder)))
            .collect()
    }

    /// The folders of the workspace, and those that turns were started in.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        let mut places = self.roots();
        let more: Vec<PathBuf> = lock(&self.stores).keys().cloned().collect();
        places.extend(more);
        let mut known = HashSet::new();
        places.retain(|place| known.insert(place.clone()));
        places
    }

    /// The conversations of a workspace.
    pub(super) fn store(&self, root: &Path) -> Result<Store> {
        let mut stores = lock(&self.stores);
        if let Some(store) = stores.get(root) {
            return Ok(store.clone());
        }
        let store = Store::open(&self.state_dir()?, root)?;
        stores.insert(root.to_owned(), store.clone());
        Ok(store)
    }

    /// What models are opened with: one for the process, so that they share connections.
    pub(super) fn models(&self, settings: &Settings) -> Result<Models> {
        if let Some(models) = self.models.get() {
            return Ok(models.clone());
        }
        let supervisor = std::env::current_exe().map_err(internal)?;
        let env = Arc::new(|name: &str| std::env::var(name).ok());
        let models = Models::new(settings, env, supervisor, self.state_dir()?);
        Ok(self.models.get_or_init(|| models).clone())
    }

    /// The client went: every turn is interrupted, an undo waits for it no more, and this returns when the last has
    /// ended.
    pub(super) async fn leave(&self) {
        self.gone.cancel();
        self.turns.leave().await;
    }

    /// Tells how it goes, where that changed.
    pub(super) async fn tell_status(&self, model: Option<String>) {
        let now = {
            let mut last = lock(&self.status);
            let before = last.clone();
            let found = self.standing.found();
            let of_last_turn = || before.as_ref().and_then(|last| last.model.clone());
            let now = StatusParams {
                health: found.health,
                busy: self.turns.any(),
                message: found.message,
                model: model.or_else(of_last_turn).or(found.model),
                pending_prompts: self.prompts.count(),
            };
            if before.as_ref() == Some(&now) {
                return;
            }
            *last = Some(now.clone());
            now
        };
        self.lsp().notify::<StatusChanged>(now).await;
    }
}

/// The guard of a lock that nobody can leave broken: what is done while it is held cannot panic halfway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shared by handlers and tasks.
pub(super) type SharedHub = Arc<Hub>;
