//! One server: connects on first use, and again after a failure.

use std::{sync::Arc, time::Duration};

use aside_base::{lock, visible::printable};
use tokio::{
    sync::{Mutex, MutexGuard},
    time::{Instant, timeout},
};

use super::{
    connection::{Connection, NotOpened, NotOpenedKind},
    listing::{self, ListedTool},
    network,
    noise::Noise,
    program,
    settings::{McpDefinition, ServerGround, ServerPlace},
};

/// Delay before another attempt, by the number of failures in a row. After the last one the server stays off.
const BACK_OFF: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(30),
];
/// Several notices of changed tools within this time count as one.
const NOTICE_DELAY: Duration = Duration::from_millis(100);
/// Maximum time in which an attempt waits until no command runs in the sandbox.
const QUIET_TIMEOUT: Duration = Duration::from_secs(5);
/// Said of a call meanwhile.
const WAITS: &str = "The server starts as soon as no command runs in the sandbox that could change what it starts from.";

/// A configured server and its state.
pub(super) struct HeldServer {
    pub(super) definition: McpDefinition,
    ground: ServerGround,
    state: Mutex<ServerState>,
    /// Output of the server that is not MCP.
    noise: Arc<Noise>,
    /// Serialises calls on a connection of the older protocol.
    pub(super) turns: Mutex<()>,
}

#[derive(Default)]
struct ServerState {
    connection: Option<Arc<Connection>>,
    tools: Vec<ListedTool>,
    faults: Vec<String>,
    /// Number of failed attempts in a row.
    failed: usize,
    /// Time and reason of the last failed attempt.
    last: Option<(Instant, String)>,
}

/// Reason why a call is not made on a server that was started anew.
const CHANGED: &str = "the tool changed when the server was restarted; the new version is available from the next turn on";

/// Message about a server that is too slow to start. `noise` describes its output.
fn late(within: Duration, noise: &str) -> String {
    format!(
        "no answer within {} s{noise}; the first start may have to download it: try again, or increase its `startup_seconds`",
        within.as_secs()
    )
}

impl HeldServer {
    pub(super) fn new(definition: McpDefinition, ground: ServerGround) -> Self {
        Self {
            definition,
            ground,
            state: Mutex::default(),
            noise: Arc::default(),
            turns: Mutex::default(),
        }
    }

    /// Returns the server's current tools, and messages about tools that were left out.
    ///
    /// # Errors
    /// The reason why the server cannot be reached.
    pub(super) async fn tools(&self) -> Result<(Vec<ListedTool>, Vec<String>), String> {
        let within = self.definition.startup;
        let tools = async {
            let mut state = self.state.lock().await;
            let connection = self.open(&mut state).await.map_err(|it| it.why)?;
            if connection.questions.take_changed() {
                tokio::time::sleep(NOTICE_DELAY).await;
                connection.questions.take_changed();
                let listed = connection.tools().await?;
                (state.tools, state.faults) = listing::tools(&self.definition, listed);
            }
            Ok((state.tools.clone(), state.faults.clone()))
        };
        match timeout(within, tools).await {
            Ok(tools) => tools,
            Err(_) => {
                let why = self.late();
                if let Ok(mut state) = self.state.try_lock() {
                    state.failed += 1;
                    state.last = Some((Instant::now(), why.clone()));
                }
                Err(why)
            }
        }
    }

    /// Returns an open connection on which the tool is unchanged. While commands run that could change what the server
    /// starts from, it waits for them and says so.
    ///
    /// # Errors
    /// The reason why the server cannot be reached, or that the tool changed.
    pub(super) async fn connection(
        &self,
        tool: &ListedTool,
        say: impl Fn(&str),
    ) -> Result<Arc<Connection>, String> {
        loop {
            let opened = async {
                let mut state = self.state.lock().await;
                let connection = self.open(&mut state).await?;
                let is_same = state.tools.iter().any(|it| it.hash == tool.hash);
                is_same
                    .then_some(connection)
                    .ok_or_else(|| NotOpened::failed(CHANGED.to_owned()))
            };
            match timeout(self.definition.startup, opened).await {
                Ok(Err(fault)) if fault.kind == NotOpenedKind::KeptWaiting => say(WAITS),
                Ok(opened) => return opened.map_err(|fault| fault.why),
                Err(_) => return Err(self.late()),
            }
        }
    }

    /// The end of what a local server wrote to its standard error since it was last started.
    pub(super) fn log(&self) -> String {
        let written = printable(&lock(&self.noise.errors));
        self.definition.hide.in_text(&written)
    }

    fn late(&self) -> String {
        let noise = self.definition.hide.in_text(&self.noise.clause());
        late(self.definition.startup, &noise)
    }

    async fn open(
        &self,
        state: &mut MutexGuard<'_, ServerState>,
    ) -> Result<Arc<Connection>, NotOpened> {
        if let Some(open) = state.connection.as_ref().filter(|it| !it.is_closed()) {
            return Ok(open.clone());
        }
        state.connection = None;
        if let Some((at, why)) = &state.last {
            match BACK_OFF.get(state.failed.saturating_sub(1)) {
                _ if state.failed == 0 => {}
                None => {
                    let why = format!("it failed {} times in a row: {why}", state.failed);
                    return Err(NotOpened::failed(why));
                }
                // In the same words: what is still so is no news.
                Some(wait) if at.elapsed() < *wait => {
                    return Err(NotOpened::failed(why.clone()));
                }
                Some(_) => {}
            }
        }
        let listed = match self.connect().await {
            Ok(connection) => {
                let tools = connection.tools().await.map_err(NotOpened::failed);
                tools.map(|tools| (connection, tools))
            }
            Err(fault) => Err(fault),
        };
        match listed {
            Ok((connection, listed)) => {
                (state.tools, state.faults) = listing::tools(&self.definition, listed);
                state.failed = 0;
                let connection = Arc::new(connection);
                state.connection = Some(connection.clone());
                Ok(connection)
            }
            Err(fault) => match fault.kind {
                NotOpenedKind::Failed => {
                    state.failed += 1;
                    state.last = Some((Instant::now(), fault.why.clone()));
                    Err(fault)
                }
                // The server works, and a login may happen in another process.
                NotOpenedKind::WantsLogin => Err(NotOpened {
                    why: self.wants_login(),
                    ..fault
                }),
                NotOpenedKind::KeptWaiting => Err(fault),
            },
        }
    }

    async fn connect(&self) -> Result<Connection, NotOpened> {
        let McpDefinition {
            place,
            protocol,
            hide,
            ..
        } = &self.definition;
        match place {
            ServerPlace::Program(program) => {
                // An attempt that is late for the start would be called slow.
                let quiet = QUIET_TIMEOUT.min(self.definition.startup / 2);
                program::open(program, *protocol, hide, &self.ground, &self.noise, quiet).await
            }
            ServerPlace::Network(address) => network::open(address, *protocol, hide).await,
        }
    }

    fn wants_login(&self) -> String {
        match &self.definition.place {
            ServerPlace::Network(address) if address.logins.is_none() => {
                "it refused its key; correct the variable or the header of the server that holds it"
                    .to_owned()
            }
            _ => format!(
                "it requires a login; run `aside mcp login {}`",
                self.definition.name
            ),
        }
    }
}
