//! The engine of a process: conversations, models, and services for turns.

use aside_config::Settings;
use aside_mcp::McpServers;
use aside_tool::Tool;
use aside_tool::namespace::ProcessNamespaces;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use aside_base::{environment, private, system::folders::canonical};

use super::{
    conversations::Conversations,
    drive::durable::Durability,
    models::{
        Models,
        key::{EnteredKeys, Env},
    },
};

/// Folder that stands for a missing workspace. No workspace has a name that begins with a dot.
const NO_WORKSPACE: &str = ".no-workspace";

/// The engine of a process. Clones are the same engine.
#[derive(Clone)]
pub struct Engine(Arc<EngineParts>);

struct EngineParts {
    state_dir: PathBuf,
    program: PathBuf,
    own_tools: Vec<Arc<dyn Tool>>,
    env: Env,
    entered: EnteredKeys,
    models: OnceLock<Models>,
    conversations: Conversations,
    mcp: McpServers,
    namespaces: ProcessNamespaces,
    durability: Durability,
}

impl Engine {
    /// Creates an engine with its state in `state_dir`. `program` is the executable that supervises child processes,
    /// `aside` itself. `own_tools` are offered like built-in tools.
    #[must_use]
    pub fn new(state_dir: PathBuf, program: PathBuf, own_tools: Vec<Arc<dyn Tool>>) -> Self {
        let env = Arc::new(environment::variable);
        Self::in_environment(state_dir, program, own_tools, env)
    }

    /// Like [`Engine::new`], with `env` in place of the process's environment for keys and addresses.
    #[must_use]
    pub fn in_environment(
        state_dir: PathBuf,
        program: PathBuf,
        own_tools: Vec<Arc<dyn Tool>>,
        env: Env,
    ) -> Self {
        Self(Arc::new(EngineParts {
            conversations: Conversations::new(state_dir.clone()),
            state_dir,
            program,
            own_tools,
            env,
            entered: EnteredKeys::default(),
            models: OnceLock::new(),
            mcp: McpServers::default(),
            namespaces: ProcessNamespaces::default(),
            durability: Durability::default(),
        }))
    }

    /// The state directory, for conversations, approvals, trust and lists of models.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        &self.0.state_dir
    }

    /// The folder that stands for a missing workspace: empty, and created if necessary. Turns in it have no tools.
    #[must_use]
    pub fn no_workspace(&self) -> PathBuf {
        let folder = self.0.state_dir.join(NO_WORKSPACE);
        // What needs it says so.
        let _ = private::make_folder(&folder);
        folder
    }

    /// Whether a folder can be a workspace: it is not inside the state directory.
    #[must_use]
    pub fn is_workspace(&self, root: &Path) -> bool {
        let own = canonical(&self.0.state_dir);
        let own = own.as_deref().unwrap_or(&self.0.state_dir);
        !root.starts_with(own)
    }

    /// Conversations and running turns.
    #[must_use]
    pub fn conversations(&self) -> &Conversations {
        &self.0.conversations
    }

    /// Opens models. All turns of the process share connections and keys. The certificate authorities are those of the
    /// first settings.
    #[must_use]
    pub fn models(&self, settings: &Settings) -> Models {
        let inner = &self.0;
        let new = || {
            Models::new(
                settings,
                inner.env.clone(),
                inner.entered.clone(),
                inner.program.clone(),
                inner.state_dir.clone(),
            )
        };
        inner.models.get_or_init(new).clone()
    }

    /// The keys that a person entered in an editor.
    #[must_use]
    pub fn entered_keys(&self) -> &EnteredKeys {
        &self.0.entered
    }

    /// The MCP servers of the process. None is started before its tools are requested.
    pub(super) fn mcp(&self) -> &McpServers {
        &self.0.mcp
    }

    /// Whether PID namespaces work here, as far as tested.
    pub(super) fn namespaces(&self) -> &ProcessNamespaces {
        &self.0.namespaces
    }

    /// The logs that are being made durable.
    pub(super) fn durability(&self) -> &Durability {
        &self.0.durability
    }

    pub(super) fn program(&self) -> &Path {
        &self.0.program
    }

    pub(super) fn own_tools(&self) -> &[Arc<dyn Tool>] {
        &self.0.own_tools
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("state_dir", &self.0.state_dir)
            .finish_non_exhaustive()
    }
}
