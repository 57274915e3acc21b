//! Servers of the Model Context Protocol (MCP), whose tools join those of Aside.
//!
//! | module | contents |
//! |---|---|
//! | `tool` | a server's tool, as an implementation of [`Tool`] |
//! | `server` | one server: connects on first use, and again after a failure |
//! | `program`, `network` | local servers that are started, remote ones over HTTP: opening the protocol |
//! | `noise` | output of local servers: passes messages on, reports the rest |
//! | [`login`] | logins to remote servers, and their tokens |
//! | `connection` | one connection: lists and calls |
//! | `answers` | the answers of a remote server, each to its request |
//! | `faults` | error messages for remote servers |
//! | `questions` | questions of a server during a call |
//! | `reply`, `listing` | results of calls, and lists of tools |
//! | `form` | forms as questions, and answers as replies |
//! | [`settings`] | the configuration of a server |
//!
//! Each module uses only those below it.
//!
//! Invariant: nothing that a server sends is trusted: all of it is bounded and checked. Only [`McpServers::tools`]
//! starts servers, and it is called for trusted workspaces only.

use std::{
    collections::HashMap,
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, Weak},
};

use aside_base::lock;
use aside_tool::Tool;
use futures_util::{StreamExt, stream};

mod answers;
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

/// Maximum number of servers that are started at the same time.
const MAX_STARTING: usize = 4;

/// The servers of a process, shared by its conversations. A server runs as long as a lease holds it.
#[derive(Default)]
pub struct McpServers {
    /// Running servers by workspace and definition.
    running: Mutex<HashMap<(PathBuf, String), Weak<HeldServer>>>,
    /// Leases for conversations without one of their own, by workspace.
    leases: Mutex<HashMap<PathBuf, ServerLease>>,
}

/// Keeps the servers of the last turn under this lease running. Clones are the same lease.
#[derive(Clone, Default)]
pub struct ServerLease(Arc<Mutex<Vec<Arc<HeldServer>>>>);

/// The tools of a server, and messages about tools that were left out.
pub type OfferedTools = (Vec<Arc<dyn Tool>>, Vec<String>);

/// A server's tools, or the reason why there are none.
pub struct ServerTools {
    /// Name of the server.
    pub name: String,
    /// Tools sorted by name and messages about tools that were left out, or the reason why there are no tools.
    pub tools: Result<OfferedTools, String>,
    /// The end of what the server wrote to its standard error, for a person.
    pub log: String,
}

/// Starts a login to a remote server.
///
/// # Errors
/// A sentence with the reason why no login is possible.
pub async fn begin_login(
    address: &ServerAddress,
    hide: &HideSecrets,
) -> Result<BegunLogin, String> {
    let challenge = network::challenge(address, hide).await;
    BegunLogin::begin(address, hide, challenge).await
}

impl McpServers {
    /// Returns the tools of these servers, in order, and starts servers that do not run yet. Other servers of the lease
    /// end, unless another lease holds them. Without a lease, the one of the workspace is used.
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
                log: server.log(),
                tools,
            }
        });
        tools.buffered(MAX_STARTING).collect().await
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
    /// Replaces the servers that the lease holds.
    fn hold(&self, servers: &[Arc<HeldServer>]) {
        let before = std::mem::replace(&mut *lock(&self.0), servers.to_vec());
        // Servers without any other lease end here.
        drop(before);
    }
}

impl fmt::Debug for ServerLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerLease")
    }
}
