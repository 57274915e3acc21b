//! One connection to a server, over either transport: its list of tools and its calls.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use aside_base::visible::short_line;
use aside_tool::process::spoken::Spoken;
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
    listing::ToolPages,
    questions::{AsideClient, ReportProgress, ServerQuestions},
    settings::HideSecrets,
};

/// Maximum size of a server's message in bytes.
pub(super) const MAX_MESSAGE: usize = 4 << 20;
/// Maximum number of pages of a list of tools.
const MAX_PAGES: usize = 64;
/// JSON-RPC code `Invalid params`. Servers also use it when the state of a call has expired.
const INVALID_PARAMS: i32 = -32602;

/// JSON-RPC code `Internal error`, which does not concern the protocol.
pub(super) const INTERNAL_ERROR: i32 = -32603;

/// An open connection. A server that was started for it ends with it.
pub(super) struct Connection {
    running: RunningService<RoleClient, AsideClient>,
    /// The server's process, which ends when this is dropped.
    process: Option<Spoken>,
    pub(super) questions: Arc<ServerQuestions>,
    /// Whether the older protocol is spoken: the server asks questions during a call without naming the call.
    pub(super) is_older: bool,
    hide: HideSecrets,
    /// Whether a failed request put the protocol version in doubt. Over HTTP no closed connection reveals a new server.
    doubted: AtomicBool,
    /// Ends the subscription to changes of the tools when dropped.
    _listening: Option<DropGuard>,
}

/// Reason why a server could not be opened.
pub(super) struct NotOpened {
    pub(super) why: String,
    pub(super) kind: NotOpenedKind,
}

/// Kind of reason why a server could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotOpenedKind {
    /// The attempt failed. After several in a row there is no further one.
    Failed,
    /// The server requires a login.
    WantsLogin,
    /// Commands run that could change what the server starts from, so it was not started yet.
    KeptWaiting,
}

impl NotOpened {
    pub(super) fn failed(why: String) -> Self {
        let kind = NotOpenedKind::Failed;
        Self { why, kind }
    }
}

/// Reason why a call has no result.
#[derive(Debug)]
pub(super) enum CallFault {
    /// The server or the connection is gone.
    Gone,
    /// The call was cancelled.
    Cancelled,
    /// The server's state of the call has expired, so the call has to start again.
    Expired,
    /// The server refused the call, with this message.
    Refused(String),
}

impl Connection {
    /// Opens the protocol over a transport.
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

    /// Attaches the process that ends with the connection.
    pub(super) fn of_process(self, process: Spoken) -> Self {
        Self {
            process: Some(process),
            ..self
        }
    }

    /// Whether the next request needs a new connection.
    pub(super) fn is_closed(&self) -> bool {
        self.running.is_closed()
            || self.running.peer().is_transport_closed()
            || self.doubted.load(Ordering::Relaxed)
    }

    /// Handles a failed request: the version of a remote server is negotiated again before the next one.
    fn has_failed(&self, error: &ServiceError) {
        let is_of_protocol = match error {
            ServiceError::McpError(error) => {
                ![INVALID_PARAMS, INTERNAL_ERROR].contains(&error.code.0)
            }
            _ => true,
        };
        if self.process.is_none() && is_of_protocol {
            self.doubted.store(true, Ordering::Relaxed);
        }
    }

    /// Returns all tools as the server lists them. What came counts, whatever became of the rest.
    ///
    /// # Errors
    /// The reason why there is not even a first page.
    pub(super) async fn tools(&self) -> Result<ToolPages, String> {
        let info = self.running.peer().peer_info();
        if info.is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(ToolPages::default());
        }
        let mut pages = ToolPages::default();
        let mut cursors: Vec<String> = Vec::new();
        while cursors.len() < MAX_PAGES {
            let (listed, next) = match self.page(cursors.last()).await {
                Ok(page) => page,
                Err(why) if cursors.is_empty() => return Err(why),
                Err(why) => {
                    pages.fault = Some(format!("its list of tools breaks off: {why}"));
                    return Ok(pages);
                }
            };
            pages.tools.extend(listed);
            // Some servers end their list with an empty cursor.
            let Some(next) = next.filter(|next| !next.is_empty()) else {
                return Ok(pages);
            };
            if cursors.contains(&next) {
                pages.fault = Some("its list of tools goes in circles".to_owned());
                return Ok(pages);
            }
            cursors.push(next);
        }
        pages.fault = Some(format!(
            "its list of tools has more than {MAX_PAGES} pages, and only those count"
        ));
        Ok(pages)
    }

    /// Returns a page of the list of tools, and the cursor of the next one.
    async fn page(&self, cursor: Option<&String>) -> Result<(Vec<Value>, Option<String>), String> {
        let params = PaginatedRequestParams::default().with_cursor(cursor.cloned());
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
        let listed = page["tools"].as_array().cloned();
        let listed = listed.ok_or_else(|| "it did not return a list of tools".to_owned())?;
        let next = page["nextCursor"].as_str().map(ToOwned::to_owned);
        Ok((listed, next))
    }

    /// Calls a tool. What the server says of its progress meanwhile is reported.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        cancelled: &CancellationToken,
        report: ReportProgress,
    ) -> Result<Value, CallFault> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self
            .running
            .peer()
            .send_request_with_option(request, options);
        let mut handle: RequestHandle<RoleClient> = sent.await.map_err(|_| CallFault::Gone)?;
        let token = handle.progress_token.clone();
        let _heard = self.questions.hear_progress(token, report);
        let reply = tokio::select! {
            biased;
            () = cancelled.cancelled() => {
                // The reply to the cancellation does not matter.
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
                    match error.code.0 == INVALID_PARAMS && text.contains("requestState") {
                        true => CallFault::Expired,
                        false => CallFault::Refused(text),
                    },
                )
            }
            Err(ServiceError::UnexpectedResponse) => {
                Err(CallFault::Refused("its answer is invalid".to_owned()))
            }
            Err(ServiceError::TransportSend(error)) => match faults::refusal(&*error.error) {
                Some(why) => Err(CallFault::Refused(self.hidden(&why))),
                None => Err(CallFault::Gone),
            },
            Err(_) => Err(CallFault::Gone),
        }
    }

    /// Converts any kind of result to JSON, without the secrets that the server was given.
    fn value_of(&self, result: &ServerResult) -> Value {
        let mut value = serde_json::to_value(result).unwrap_or_default();
        self.hide.in_json(&mut value);
        value
    }

    fn hidden(&self, text: &str) -> String {
        self.hide.in_text(text)
    }
}

/// Subscribes to changes of a server's tools, if it announces them. The older protocol needs no subscription.
fn listening(peer: Peer<RoleClient>, questions: Arc<ServerQuestions>) -> Option<DropGuard> {
    let tools = peer.peer_info()?.capabilities.tools.clone()?;
    if tools.list_changed != Some(true) {
        return None;
    }
    let over = CancellationToken::new();
    let guard = over.clone().drop_guard();
    tokio::spawn(over.run_until_cancelled_owned(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        // Without a subscription the tools are listed again at the next connection.
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
