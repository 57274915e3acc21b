//! One server: its connection, opened when it is needed, and again when it was lost.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Mutex, MutexGuard},
    time::{Instant, timeout},
};

use super::{
    connection::{Connection, NotOpened},
    listing::{self, ListedTool},
    network,
    noise::Noise,
    program,
    settings::{McpDefinition, ServerGround, ServerPlace},
};

/// How long a server that failed is left alone, by how often it failed in a row. After that it stays off.
const BACK_OFF: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(30),
];
/// Several notices that the tools changed are one.
const SETTLED: Duration = Duration::from_millis(100);

/// A server, and what is known of it.
pub(super) struct HeldServer {
    pub(super) definition: McpDefinition,
    ground: ServerGround,
    state: Mutex<ServerState>,
    /// What it wrote that is no message.
    noise: Arc<Noise>,
    /// Calls on a connection of the older protocol, one at a time.
    pub(super) turns: Mutex<()>,
}

#[derive(Default)]
struct ServerState {
    connection: Option<Arc<Connection>>,
    tools: Vec<ListedTool>,
    faults: Vec<String>,
    /// Times in a row that it could not be opened.
    failed: usize,
    /// When it was last tried in vain, and why that failed.
    last: Option<(Instant, String)>,
}

/// What is said of a server that is too slow to start. `noise` is what it wrote instead.
fn late(within: Duration, noise: &str) -> String {
    format!(
        "it did not answer within {} s{noise}; the first start may have to fetch it: try again, or set its `startup_seconds` higher",
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

    /// The tools of the server as they are now, and what is wrong with others of its tools.
    ///
    /// # Errors
    /// Where it cannot be reached; why.
    pub(super) async fn tools(&self) -> Result<(Vec<ListedTool>, Vec<String>), String> {
        let within = self.definition.startup;
        let tools = async {
            let mut state = self.state.lock().await;
            let connection = self.open(&mut state).await?;
            if connection.questions.take_changed() {
                tokio::time::sleep(SETTLED).await;
                connection.questions.take_changed();
                let listed = connection.tools().await?;
                (state.tools, state.faults) = listing::tools(&self.definition, &listed);
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

    /// An open connection on which the tool is what it was.
    ///
    /// # Errors
    /// Where it cannot be reached, or the tool changed; why.
    pub(super) async fn connection(&self, tool: &ListedTool) -> Result<Arc<Connection>, String> {
        let opened = async {
            let mut state = self.state.lock().await;
            let connection = self.open(&mut state).await?;
            let is_same = state.tools.iter().any(|it| it.hash == tool.hash);
            is_same.then_some(connection).ok_or_else(|| {
                "the tool is another one since the server was started again; it counts from the next turn on".to_owned()
            })
        };
        let within = self.definition.startup;
        timeout(within, opened)
            .await
            .unwrap_or_else(|_| Err(self.late()))
    }

    fn late(&self) -> String {
        let noise = self.definition.hide.in_text(&self.noise.in_words());
        late(self.definition.startup, &noise)
    }

    async fn open(
        &self,
        state: &mut MutexGuard<'_, ServerState>,
    ) -> Result<Arc<Connection>, String> {
        if let Some(open) = state.connection.as_ref().filter(|it| !it.is_closed()) {
            return Ok(open.clone());
        }
        state.connection = None;
        if let Some((at, why)) = &state.last {
            match BACK_OFF.get(state.failed.saturating_sub(1)) {
                _ if state.failed == 0 => {}
                None => return Err(format!("it failed {} times in a row: {why}", state.failed)),
                Some(wait) if at.elapsed() < *wait => {
                    return Err(format!("it failed a moment ago: {why}"));
                }
                Some(_) => {}
            }
        }
        let listed = match self.connect().await {
            Ok(connection) => {
                let tools = connection.tools().await;
                tools.map(|tools| (connection, tools))
            }
            // It is well, and a login elsewhere changes what it says.
            Err(fault) if fault.wants_login => return Err(self.wants_login()),
            Err(fault) => Err(fault.why),
        };
        match listed {
            Ok((connection, listed)) => {
                (state.tools, state.faults) = listing::tools(&self.definition, &listed);
                state.failed = 0;
                let connection = Arc::new(connection);
                state.connection = Some(connection.clone());
                Ok(connection)
            }
            Err(why) => {
                state.failed += 1;
                state.last = Some((Instant::now(), why.clone()));
                Err(why)
            }
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
                program::open(program, *protocol, hide, &self.ground, &self.noise).await
            }
            ServerPlace::Network(address) => network::open(address, *protocol, hide).await,
        }
    }

    fn wants_login(&self) -> String {
        let name = &self.definition.name;
        format!("it wants you to log in; run `aside mcp login {name}`")
    }
}
