//! Folders and layers of settings of the client.

use aside_config::Flag;
use aside_session::conversation::Conversation;
use aside_session::conversation::ConversationSummary;
use std::{
    cmp::Reverse,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use aside_base::lock;
use aside_base::system::folders::canonical;
use serde_json::Value;
use tower_lsp::lsp_types::{Url, WorkspaceFoldersChangeEvent};

use crate::front::uri::file_of;
use crate::{
    engine::{Engine, Layers, TrustedBy, start::trust::WorkspaceConfig},
    front::{
        error::{Result, not_found},
        wire::introduction::InitializationOptions,
    },
};

/// The client's layers of settings. Without `Debug`, because they may hold secrets.
#[derive(Clone, Default)]
pub(super) struct ClientSettings {
    /// Settings of the user's scope.
    pub(super) config: Option<Value>,
    /// Settings that the workspace can change.
    pub(super) workspace_config: Option<Value>,
    /// Whether the client reports that the user trusts the workspace. Clones share it, so revoking applies to all.
    pub(super) trusted: Arc<AtomicBool>,
}

/// The folders that are open in the client, and the client's settings.
pub(super) struct EditorWorkspace {
    engine: Engine,
    settings: Mutex<ClientSettings>,
    /// Number of times that the client's settings were replaced.
    changes: AtomicU64,
    /// Folders as the client named them.
    folders: Mutex<Vec<Url>>,
}

impl EditorWorkspace {
    /// Creates it from `initialize`.
    pub(super) fn new(engine: Engine, settings: ClientSettings, folders: Vec<Url>) -> Self {
        Self {
            engine,
            settings: settings.into(),
            changes: AtomicU64::default(),
            folders: folders.into(),
        }
    }

    /// A snapshot. Later messages of the client do not change it, but trust may end.
    pub(super) fn as_of_now(&self) -> Arc<Self> {
        let settings = lock(&self.settings).clone();
        let folders = lock(&self.folders).clone();
        Arc::new(Self::new(self.engine.clone(), settings, folders))
    }

    /// Takes opened and closed folders.
    pub(super) fn folders_changed(&self, event: WorkspaceFoldersChangeEvent) {
        let mut folders = lock(&self.folders);
        for removed in event.removed {
            let path = file_of(&removed.uri);
            folders.retain(|folder| {
                *folder != removed.uri && (path.is_none() || file_of(folder) != path)
            });
        }
        folders.extend(event.added.into_iter().map(|folder| folder.uri));
    }

    /// Replaces all of the client's settings.
    pub(super) fn take(&self, settings: ClientSettings) {
        *lock(&self.settings) = settings;
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of times that the client's settings were replaced.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Ignores the client's trust from now on.
    pub(super) fn revoke_trust(&self) {
        lock(&self.settings).trusted.store(false, Ordering::Relaxed);
    }

    /// The first folder of the workspace.
    pub(super) fn first_folder(&self) -> Option<PathBuf> {
        self.folders().into_iter().next()
    }

    /// The real path of `folder`, or of the first folder, or of the stand-in for no folder. Reads links.
    pub(super) fn root(&self, folder: Option<&Path>) -> PathBuf {
        let root = folder.map(Path::to_owned).or_else(|| self.first_folder());
        let root = root.unwrap_or_else(|| self.engine.no_workspace());
        canonical(&root).unwrap_or(root)
    }

    /// The real paths of all folders; at least one. Reads links.
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

    /// The client's layers for a folder, with these flags. The client's trust covers only the folders that it opened.
    pub(super) fn layers(&self, root: &Path, flags: Vec<Flag>) -> Layers {
        let is_open =
            !self.folders().is_empty() && self.roots().iter().any(|open| root.starts_with(open));
        let settings = lock(&self.settings);
        Layers {
            flags,
            client_config: settings.config.clone(),
            workspace_config: settings.workspace_config.clone(),
            trusted_by: if settings.trusted.load(Ordering::Relaxed) && is_open {
                TrustedBy::Client
            } else {
                TrustedBy::Store
            },
            ..Layers::default()
        }
    }

    /// The configuration of a turn in this folder. Reads files.
    ///
    /// # Errors
    /// Fails if the configuration is invalid.
    pub(super) fn configuration(&self, root: &Path) -> Result<WorkspaceConfig> {
        let layers = self.layers(root, Vec::new());
        Ok(self.engine.configuration(root, &layers)?)
    }

    /// The conversation with this id and its folder. Reads files.
    ///
    /// # Errors
    /// [`RequestError::UnknownConversation`], or a store that cannot be opened.
    pub(super) fn conversation(&self, id: &str) -> Result<(Conversation, PathBuf)> {
        let found = self.engine.conversations().find(self.roots(), id);
        found.map_err(not_found)
    }

    /// The conversations of all folders, the last changed first. Reads files.
    ///
    /// # Errors
    /// Fails if a store cannot be opened or read.
    pub(super) fn conversations_by_age(&self) -> Result<Vec<ConversationSummary>> {
        let mut all = Vec::new();
        for root in self.roots() {
            all.extend(self.engine.conversations().store(&root)?.list()?);
        }
        all.sort_by_key(|listed| Reverse(listed.updated));
        Ok(all)
    }

    fn folders(&self) -> Vec<PathBuf> {
        let folders = lock(&self.folders);
        let mut paths: Vec<PathBuf> = folders.iter().filter_map(file_of).collect();
        // Clients name their root folder twice.
        paths.dedup();
        paths
    }
}

impl ClientSettings {
    /// Reads a client's options. A stock client may take them from a file of the workspace, so its settings count as the
    /// workspace's, and its trust is ignored.
    pub(super) fn of(options: InitializationOptions, speaks_aside: bool) -> Self {
        let InitializationOptions {
            config,
            workspace_config,
            trusted,
            ..
        } = options;
        match speaks_aside {
            true => Self {
                config,
                workspace_config,
                trusted: Arc::new(trusted.into()),
            },
            false => Self {
                config: None,
                workspace_config: workspace_config.or(config),
                trusted: Arc::default(),
            },
        }
    }
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSettings")
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}

/// The URI of a file of a workspace, by its path from the root.
pub(super) fn file_uri(root: &Path, path: &str) -> String {
    let path = root.join(path);
    Url::from_file_path(&path).map_or_else(|()| path.display().to_string(), String::from)
}
