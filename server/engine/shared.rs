//! The engine of a process: its conversations, its models, and what turns are made with.

use std::{
    fmt,
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use aside_base::environment;

use super::{
    conversations::Conversations,
    models::{Models, key::Env},
};
use crate::{
    config::Settings,
    mcp::McpServers,
    tool::{Tool, namespace::ProcessNamespaces},
};

/// The folder that stands for the workspace where there is none. No workspace has a name with a dot in front.
const NO_WORKSPACE: &str = ".no-workspace";

/// One a process. Clones are the same engine.
#[derive(Clone)]
pub struct Engine(Arc<EngineParts>);

struct EngineParts {
    state_dir: PathBuf,
    program: PathBuf,
    own_tools: Vec<Arc<dyn Tool>>,
    env: Env,
    models: OnceLock<Models>,
    conversations: Conversations,
    mcp: McpServers,
    namespaces: ProcessNamespaces,
}

impl Engine {
    /// An engine that keeps its state in `state_dir`. `program` holds child processes: it is `aside` itself.
    /// `own_tools` are there besides the built-in tools, and count like them.
    #[must_use]
    pub fn new(state_dir: PathBuf, program: PathBuf, own_tools: Vec<Arc<dyn Tool>>) -> Self {
        let env = Arc::new(environment::variable);
        Self::in_environment(state_dir, program, own_tools, env)
    }

    /// The same, with `env` in place of the environment of this process, where keys and addresses are looked for.
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
            models: OnceLock::new(),
            mcp: McpServers::default(),
            namespaces: ProcessNamespaces::default(),
        }))
    }

    /// Where conversations, approvals, trust, and what was learned of models are kept.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        &self.0.state_dir
    }

    /// Stands for the workspace where there is none: an empty folder of Aside's own, made where it is missing. Turns
    /// in it have no tools.
    #[must_use]
    pub fn no_workspace(&self) -> PathBuf {
        let folder = self.0.state_dir.join(NO_WORKSPACE);
        // What needs it says so.
        let _ = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        folder
    }

    /// Whether a folder is a workspace: it is none of Aside's own.
    #[must_use]
    pub fn is_workspace(&self, root: &Path) -> bool {
        let own = self.0.state_dir.canonicalize();
        let own = own.as_deref().unwrap_or(&self.0.state_dir);
        !root.starts_with(own)
    }

    /// The conversations, and the turns that run in them.
    #[must_use]
    pub fn conversations(&self) -> &Conversations {
        &self.0.conversations
    }

    /// What models are opened with: one for the process, so that turns share connections and keys. The certificate
    /// authorities are those of the first settings that come here.
    #[must_use]
    pub fn models(&self, settings: &Settings) -> Models {
        let inner = &self.0;
        let new = || {
            Models::new(
                settings,
                inner.env.clone(),
                inner.program.clone(),
                inner.state_dir.clone(),
            )
        };
        inner.models.get_or_init(new).clone()
    }

    /// The servers of the process. None is started before somebody asks for its tools.
    pub(super) fn mcp(&self) -> &McpServers {
        &self.0.mcp
    }

    /// What is known of namespaces of processes here.
    pub(super) fn namespaces(&self) -> &ProcessNamespaces {
        &self.0.namespaces
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
