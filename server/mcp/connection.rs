//! One connection to a server: its process, the opening of the protocol, its list of tools, its calls.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, ListToolsRequest,
        PaginatedRequestParams, ProtocolVersion, ServerResult,
    },
    service::{
        ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt,
        PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError,
    },
    transport::async_rw::AsyncRwTransport,
};
use serde_json::Value;
use tokio::{
    io::AsyncReadExt,
    process::{ChildStdin, ChildStdout},
};
use tokio_util::sync::CancellationToken;

use super::{
    questions::{AsideClient, ServerQuestions},
    settings::{McpDefinition, ProtocolChoice},
};
use crate::{
    tool::process::{Job, Spoken, SpokenPipes},
    turn::record::CallKey,
    visible::{printable, short_line},
};

/// Bytes of one message of a server. A longer one is dropped, and what waits for it waits in vain.
const LINE: usize = 4 << 20;
/// Bytes of what a server says on standard error that are kept.
const SAID: usize = 64 << 10;
/// Pages of a list of tools.
const PAGES: usize = 64;
/// The code of an error that says that the protocol's version is not taken.
const VERSION: i32 = -32022;
/// The code of an error that says, among others, that the state of a call is too old.
const PARAMS: i32 = -32602;

/// An open connection. The server ends with it.
pub(super) struct Connection {
    running: RunningService<RoleClient, AsideClient>,
    /// Held: the server lives no longer than this.
    _process: Spoken,
    pub(super) questions: Arc<ServerQuestions>,
    /// The server asks while a call runs, and says not for which.
    pub(super) is_older: bool,
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum CallFault {
    /// The server is gone, or the connection is.
    Gone,
    /// The call was cancelled.
    Cancelled,
    /// What the server keeps of a call is gone, so that it has to begin again.
    Expired,
    /// The server says that it cannot; its words.
    Refused(String),
}

impl Connection {
    /// Starts a server and opens the protocol with it, the older one first: there a tool may ask while it runs.
    pub(super) async fn open(
        definition: &McpDefinition,
        root: &Path,
        holder: &Path,
    ) -> Result<Self, String> {
        let older = || ServerOpening::new(definition, root, holder, ProtocolVersion::V_2025_11_25);
        let newer = || ServerOpening::new(definition, root, holder, ProtocolVersion::V_2026_07_28);
        match definition.protocol {
            ProtocolChoice::Older => older().open().await.map_err(|(_, why)| why),
            ProtocolChoice::Newer => newer().open().await.map_err(|(_, why)| why),
            ProtocolChoice::Auto => match older().open().await {
                Err((true, _)) => newer().open().await.map_err(|(_, why)| why),
                opened => opened.map_err(|(_, why)| why),
            },
        }
    }

    /// Whether nothing can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.running.is_closed() || self.running.peer().is_transport_closed()
    }

    /// All tools that the server lists, as it writes them.
    pub(super) async fn tools(&self) -> Result<Vec<Value>, String> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ListToolsRequest::with_param(params);
            let page = self
                .running
                .peer()
                .send_request(ClientRequest::ListToolsRequest(request));
            let page = page.await.map_err(|error| said(&error))?;
            let page = value_of(&page);
            let Some(listed) = page["tools"].as_array() else {
                return Err("it does not list its tools".to_owned());
            };
            tools.extend(listed.iter().cloned());
            // An empty cursor is one.
            cursor = page["nextCursor"].as_str().map(ToOwned::to_owned);
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(format!("its list of tools has more than {PAGES} pages"))
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        cancelled: &CancellationToken,
    ) -> Result<Value, CallFault> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self
            .running
            .peer()
            .send_request_with_option(request, options);
        let mut handle: RequestHandle<RoleClient> = sent.await.map_err(|_| CallFault::Gone)?;
        let reply = tokio::select! {
            biased;
            () = cancelled.cancelled() => {
                // Nobody waits for what it says to that.
                let _ = handle.cancel(Some("the user cancelled the call".to_owned())).await;
                return Err(CallFault::Cancelled);
            }
            reply = &mut handle.rx => reply.map_err(|_| CallFault::Gone)?,
        };
        match reply {
            Ok(result) => Ok(value_of(&result)),
            Err(ServiceError::McpError(error)) => {
                let text = short_line(&error.message, 1000);
                Err(
                    match error.code.0 == PARAMS && text.contains("requestState") {
                        true => CallFault::Expired,
                        false => CallFault::Refused(text),
                    },
                )
            }
            Err(ServiceError::UnexpectedResponse) => {
                Err(CallFault::Refused("its answer cannot be read".to_owned()))
            }
            Err(_) => Err(CallFault::Gone),
        }
    }
}

/// The JSON of a result, of whichever kind it was taken for.
fn value_of(result: &ServerResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

/// A server that is being started.
struct ServerOpening<'a> {
    definition: &'a McpDefinition,
    root: &'a Path,
    holder: &'a Path,
    version: ProtocolVersion,
}

impl<'a> ServerOpening<'a> {
    fn new(
        definition: &'a McpDefinition,
        root: &'a Path,
        holder: &'a Path,
        version: ProtocolVersion,
    ) -> Self {
        Self {
            definition,
            root,
            holder,
            version,
        }
    }

    /// Opens the connection; where that fails, whether the newer protocol might do, and why.
    async fn open(self) -> Result<Connection, (bool, String)> {
        let started = self.start();
        let (process, pipes) =
            started.map_err(|error| (false, format!("it cannot be started: {error}")))?;
        let SpokenPipes {
            input,
            output,
            errors,
        } = pipes;
        let said = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(listen(errors, said.clone()));
        let questions = Arc::new(ServerQuestions::default());
        let client = AsideClient {
            questions: questions.clone(),
            version: self.version.clone(),
        };
        let is_older = self.version == ProtocolVersion::V_2025_11_25;
        let lifecycle = match is_older {
            true => ClientLifecycleMode::Initialize,
            false => ClientLifecycleMode::Discover {
                preferred_versions: vec![self.version],
            },
        };
        let transport: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin> =
            AsyncRwTransport::new(output, input).with_max_line_length(LINE);
        match client.serve_with_lifecycle(transport, lifecycle).await {
            Ok(running) => {
                let cache = ClientCacheConfig::disabled();
                running.peer().set_response_cache_config(cache).await;
                Ok(Connection {
                    running,
                    _process: process,
                    questions,
                    is_older,
                })
            }
            Err(error) => {
                let wants_newer = wants_newer(&error);
                let why = why(&error, &said);
                process.end().await;
                Err((wants_newer, why))
            }
        }
    }

    fn start(&self) -> io::Result<(Spoken, SpokenPipes)> {
        let definition = self.definition;
        let env = definition.environment.iter();
        let job = Job {
            // It belongs to none.
            call: CallKey(0),
            program: definition.command.clone().into(),
            args: definition.args.iter().map(Into::into).collect(),
            cwd: self.root.to_owned(),
            env: env
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            time: Duration::MAX,
            drain: Duration::ZERO,
            walls: None,
        };
        Spoken::start(&job, self.holder)
    }
}

/// Whether a server that refuses the older protocol speaks the newer one.
fn wants_newer(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            error.code.0 == VERSION || error.message.contains("2026-07-28")
        }
        _ => false,
    }
}

/// Why a server could not be opened, with the last line that it said itself.
fn why(error: &ClientInitializeError, said: &Mutex<Vec<u8>>) -> String {
    let why = match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended before it answered".to_owned(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refuses: {}", short_line(&error.message, 200))
        }
        other => short_line(&other.to_string(), 200),
    };
    let said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let said = printable(&said);
    match said.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(last) => format!("{why}; it says \"{}\"", short_line(last, 200)),
        None => why,
    }
}

fn said(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => short_line(&error.message, 200),
        other => short_line(&other.to_string(), 200),
    }
}

/// Keeps the last of what a server says on standard error, so that it can be told why it does not start.
async fn listen(mut errors: ChildStdout, said: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = errors.read(&mut chunk).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&chunk[..count]);
        if said.len() > SAID {
            let cut = said.len() - SAID / 2;
            said.drain(..cut);
        }
    }
}
