//! Servers of the Model Context Protocol, whose tools join those of Aside.
//!
//! | module | what lives there |
//! |---|---|
//! | `tool` | a tool of a server, as the machine of tools sees it |
//! | `server` | one server: connected when it is needed, and again when it was lost |
//! | `program`, `network` | a server that is started here, one that is reached over HTTP: opening the protocol |
//! | `noise` | what a server that is started here writes: its messages passed on, the rest told of |
//! | [`login`] | logging in to a server on the network, and its tokens |
//! | `connection` | one connection: lists and calls |
//! | `faults` | what goes wrong over HTTP, in words |
//! | `questions` | what a server asks while a call runs |
//! | `reply`, `listing` | what it answers, and the tools that it lists |
//! | `form` | its forms as questions, and answers as what it is sent |
//! | [`settings`] | a server as it is configured |
//!
//! Each uses only those below it.
//!
//! Invariant: everything that a server says is a stranger's: bounded, checked, and never believed. Nothing is started
//! but by [`McpServers::tools`], which is asked for trusted workspaces alone.

use std::{
    collections::HashMap,
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use futures_util::{StreamExt, stream};

mod connection;
mod faults;
mod form;
mod listing;
pub mod login;
mod network;
mod noise;
mod program;
mod questions;
mod reply;
mod server;
pub mod settings;
mod tool;

use self::{
    login::BegunLogin,
    server::HeldServer,
    settings::{HideSecrets, McpDefinition, ServerAddress, ServerGround},
    tool::McpTool,
};
use crate::tool::Tool;

/// Servers that are started at once.
const AT_ONCE: usize = 4;

/// The servers of a process, shared by its conversations. Each runs as long as a lease holds it.
#[derive(Default)]
pub struct McpServers {
    /// By workspace and definition.
    running: Mutex<HashMap<(PathBuf, String), Weak<HeldServer>>>,
    /// What conversations without a lease of their own hold together, by workspace.
    leases: Mutex<HashMap<PathBuf, ServerLease>>,
}

/// Holds servers: those of the last turn that was started under it. Clones are the same lease.
#[derive(Clone, Default)]
pub struct ServerLease(Arc<Mutex<Vec<Arc<HeldServer>>>>);

/// The tools of a server, and what is wrong with others of them.
pub type OfferedTools = (Vec<Arc<dyn Tool>>, Vec<String>);

/// What a server offers, or why it does not.
pub struct ServerTools {
    /// The name of the server.
    pub name: String,
    /// Its tools, in the order of their names, and what is wrong with others of them; or why there are none.
    pub tools: Result<OfferedTools, String>,
}

/// Begins a login to a server on the network.
///
/// # Errors
/// Why there is none, in words.
pub async fn begin_login(
    address: &ServerAddress,
    hide: &HideSecrets,
) -> Result<BegunLogin, String> {
    let challenge = network::challenge(address, hide).await;
    BegunLogin::begin(address, hide, challenge).await
}

impl McpServers {
    /// The tools of these servers, in order. What is not running yet is started, each within its own time; what the lease
    /// held before is ended, unless it is among them or another lease holds it. Without a lease, that of the workspace is
    /// meant.
    pub async fn tools(
        &self,
        definitions: Vec<McpDefinition>,
        ground: &ServerGround,
        lease: Option<&ServerLease>,
    ) -> Vec<ServerTools> {
        let servers = self.servers(definitions, ground);
        match lease {
            Some(lease) => lease.hold(&servers),
            None => lock(&self.leases)
                .entry(ground.root.clone())
                .or_default()
                .hold(&servers),
        }
        let tools = stream::iter(servers).map(|server| async move {
            let tools = server.tools().await.map(|(tools, faults)| {
                let made = tools.into_iter().map(|listed| {
                    let tool: Arc<dyn Tool> = Arc::new(McpTool::new(listed, server.clone()));
                    tool
                });
                (made.collect(), faults)
            });
            ServerTools {
                name: server.definition.name.clone(),
                tools,
            }
        });
        tools.buffered(AT_ONCE).collect().await
    }

    fn servers(
        &self,
        definitions: Vec<McpDefinition>,
        ground: &ServerGround,
    ) -> Vec<Arc<HeldServer>> {
        let mut running = lock(&self.running);
        running.retain(|_, server| server.strong_count() > 0);
        let held = |definition: McpDefinition| {
            let key = (ground.root.clone(), definition.key());
            let runs = running.get(&key).and_then(Weak::upgrade);
            runs.unwrap_or_else(|| {
                let server = Arc::new(HeldServer::new(definition, ground.clone()));
                running.insert(key, Arc::downgrade(&server));
                server
            })
        };
        definitions.into_iter().map(held).collect()
    }
}

impl ServerLease {
    /// Holds these, and nothing else.
    fn hold(&self, servers: &[Arc<HeldServer>]) {
        let before = std::mem::replace(&mut *lock(&self.0), servers.to_vec());
        // What nobody else holds ends here.
        drop(before);
    }
}

impl fmt::Debug for ServerLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerLease")
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is whole.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
