//! One connection to a server, however it came about: its list of tools, its calls.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use aside_base::visible::short_line;
use rmcp::{
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, ListToolsRequest,
        PaginatedRequestParams, ProtocolVersion, ServerResult, SubscriptionFilter,
    },
    service::{
        ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer,
        PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError,
    },
    transport::IntoTransport,
};
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    faults,
    questions::{AsideClient, ServerQuestions},
    settings::HideSecrets,
};
use crate::tool::process::spoken::Spoken;

/// Bytes of one message of a server.
pub(super) const MESSAGE: usize = 4 << 20;
/// Pages of a list of tools.
const PAGES: usize = 64;
/// The code of an error that says, among others, that the state of a call is too old.
const PARAMS: i32 = -32602;

/// The code of an error of the server's own, which says nothing of the protocol.
const INTERNAL: i32 = -32603;

/// An open connection. A server that was started for it ends with it.
pub(super) struct Connection {
    running: RunningService<RoleClient, AsideClient>,
    /// Held: the server lives no longer than this.
    process: Option<Spoken>,
    pub(super) questions: Arc<ServerQuestions>,
    /// The server asks while a call runs, and says not for which.
    pub(super) is_older: bool,
    hide: HideSecrets,
    /// What came back may be of a server that speaks another version by now. Over HTTP no end of a connection tells that.
    doubted: AtomicBool,
    /// Held: what listens to changes of its tools ends with it.
    _listening: Option<DropGuard>,
}

/// Why a server did not open.
pub(super) struct NotOpened {
    pub(super) why: String,
    /// It is there, and wants a person to log in first.
    pub(super) wants_login: bool,
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
    /// Opens a protocol over a transport.
    pub(super) async fn over<T, E, A>(
        transport: T,
        version: ProtocolVersion,
        hide: HideSecrets,
    ) -> Result<Self, ClientInitializeError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let questions = Arc::new(ServerQuestions::new(hide.clone()));
        let client = AsideClient {
            questions: questions.clone(),
            version: version.clone(),
        };
        let is_older = version == ProtocolVersion::V_2025_11_25;
        let lifecycle = match is_older {
            true => ClientLifecycleMode::Initialize,
            false => ClientLifecycleMode::Discover {
                preferred_versions: vec![version],
            },
        };
        let running = client.serve_with_lifecycle(transport, lifecycle).await?;
        let cache = ClientCacheConfig::disabled();
        running.peer().set_response_cache_config(cache).await;
        let listening = (!is_older).then(|| listening(running.peer().clone(), questions.clone()));
        Ok(Self {
            running,
            process: None,
            questions,
            is_older,
            hide,
            doubted: AtomicBool::default(),
            _listening: listening.flatten(),
        })
    }

    /// The same connection, with the process that it ends with.
    pub(super) fn of_process(self, process: Spoken) -> Self {
        Self {
            process: Some(process),
            ..self
        }
    }

    /// Whether another one has to be opened for what is sent next.
    pub(super) fn is_closed(&self) -> bool {
        self.running.is_closed()
            || self.running.peer().is_transport_closed()
            || self.doubted.load(Ordering::Relaxed)
    }

    /// A request failed. A server on the network is asked anew then which version it speaks, before the next one.
    fn has_failed(&self, error: &ServiceError) {
        let is_of_protocol = match error {
            ServiceError::McpError(error) => ![PARAMS, INTERNAL].contains(&error.code.0),
            _ => true,
        };
        if self.process.is_none() && is_of_protocol {
            self.doubted.store(true, Ordering::Relaxed);
        }
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
            let page = page.await.map_err(|error| {
                self.has_failed(&error);
                self.hidden(&said(&error))
            })?;
            let page = self.value_of(&page);
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
        if let Err(error) = &reply {
            self.has_failed(error);
        }
        match reply {
            Ok(result) => Ok(self.value_of(&result)),
            Err(ServiceError::McpError(error)) => {
                let text = short_line(&self.hidden(&error.message), 1000);
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
            Err(ServiceError::TransportSend(error)) => match faults::refusal(&*error.error) {
                Some(why) => Err(CallFault::Refused(self.hidden(&why))),
                None => Err(CallFault::Gone),
            },
            Err(_) => Err(CallFault::Gone),
        }
    }

    /// The JSON of a result, of whichever kind it was taken for, without the secrets that the server was given.
    fn value_of(&self, result: &ServerResult) -> Value {
        let mut value = serde_json::to_value(result).unwrap_or_default();
        self.hide.in_json(&mut value);
        value
    }

    fn hidden(&self, text: &str) -> String {
        self.hide.in_text(text)
    }
}

/// Listens to changes of a server's tools, where it says that it tells of them. In the older protocol it does so unasked.
fn listening(peer: Peer<RoleClient>, questions: Arc<ServerQuestions>) -> Option<DropGuard> {
    let tools = peer.peer_info()?.capabilities.tools.clone()?;
    if tools.list_changed != Some(true) {
        return None;
    }
    let over = CancellationToken::new();
    let guard = over.clone().drop_guard();
    tokio::spawn(over.run_until_cancelled_owned(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        // Where it does not let us listen, its tools are looked at when it is connected again.
        let Ok(mut subscription) = peer.listen(filter).await else {
            return;
        };
        while let Ok(Some(_)) = subscription.next().await {
            questions.has_changed();
        }
    }));
    Some(guard)
}

fn said(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => short_line(&error.message, 200),
        ServiceError::TransportSend(error) => faults::why(&*error.error),
        other => short_line(&other.to_string(), 200),
    }
}
