//! The only way to the client.
//!
//! | module | contents |
//! |---|---|
//! | [`capabilities`] | capabilities of the client, from `initialize` |
//! | [`counting`] | how a client counts lines and characters |
//! | [`reply`] | the reply to a request |
//! | `lsp` | LSP's own methods that are called |
//! | [`tools`] | tools that run in the editor |
//! | `editor_tools` | the list of tools that every editor serves in the same way |
//! | [`registration`] | requests for the client's settings, and registrations for changes of settings and files |
//!
//! Invariant: a task owns the future of a request until the client replies. tower-lsp panics on a reply to a request
//! whose future was dropped, so nothing else may hold tower-lsp's client.

pub(super) mod capabilities;
pub(super) mod counting;
mod editor_tools;
mod lsp;
pub(super) mod registration;
pub(super) mod reply;
pub(super) mod tools;

use std::{collections::HashMap, marker::PhantomData, sync::Arc, time::Duration};

use aside_base::visible::without_links;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower_lsp::{
    jsonrpc,
    lsp_types::{
        LogMessageParams, MessageActionItem, MessageType, ShowMessageParams,
        ShowMessageRequestParams,
        notification::{LogMessage, Notification, ShowMessage},
        request::{Request, ShowMessageRequest},
    },
};

use self::{
    capabilities::EditorCapabilities,
    reply::{Reply, ReplyError},
};
use crate::front::{
    transport::{end::Signals, outbox::Outbox, tasks::Tasks},
    wire::methods::{ClientNotification, ClientRequest},
};

/// Time for an answer that a program gives, and not a person. Emacs 28 leaves what came together with the reply to a command
/// unread until more comes; so a line for the log follows each message and each request without an answer, so much later.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Handle of the client. Clones share one connection.
#[derive(Clone)]
pub(super) struct LspClient {
    raw: tower_lsp::Client,
    capabilities: Arc<EditorCapabilities>,
    output: Outbox,
    signals: Signals,
    /// Cancelled when replies no longer count.
    closed: CancellationToken,
    tasks: Tasks,
}

impl LspClient {
    /// Creates the handle with the client's capabilities.
    pub(super) fn new(
        raw: tower_lsp::Client,
        capabilities: Arc<EditorCapabilities>,
        output: Outbox,
        signals: Signals,
        tasks: Tasks,
    ) -> Self {
        Self {
            raw,
            capabilities,
            output,
            signals,
            closed: CancellationToken::new(),
            tasks,
        }
    }

    /// Capabilities of the client.
    pub(super) fn can(&self) -> &EditorCapabilities {
        &self.capabilities
    }

    /// Sends a request. A task owns it until the client replies; dropping the `Reply` only stops waiting.
    pub(super) fn request<M: ClientRequest>(&self, params: M::Params) -> Reply<M::Result> {
        let (raw, signals, closed) = (self.raw.clone(), self.signals.clone(), self.closed.clone());
        let is_heard = self.capabilities.speaks_aside();
        let (replies, reply) = Reply::channel();
        self.tasks.spawn_unawaited(M::NAME, async move {
            let mut answer = std::pin::pin!(answered::<M>(&raw, is_heard, params));
            tokio::select! {
                biased;
                answer = &mut answer => {
                    // The receiver may be gone.
                    let _ = replies.send(read::<M>(answer, signals.now().is_some()));
                }
                () = closed.cancelled() => {
                    drop(replies);
                    let _ = answer.await;
                }
            }
        });
        reply
    }

    /// Sends a notification. Those of Aside's protocol are not sent to a fallback client.
    pub(super) async fn notify<M: ClientNotification>(&self, params: M::Params) {
        if self.capabilities.speaks_aside() || !M::NAME.starts_with("aside/") {
            self.raw.send_notification::<Raw<M>>(params).await;
        }
    }

    /// Shows a message. Its text is changed so that the client makes no links of it, whoever wrote it.
    pub(super) async fn show_message(&self, typ: MessageType, message: &str) {
        let message = without_links(message);
        let shown = ShowMessageParams {
            typ,
            message: message.clone(),
        };
        self.notify::<ShowMessage>(shown).await;
        if !self.capabilities.speaks_aside() {
            let (raw, closed) = (self.raw.clone(), self.closed.clone());
            self.tasks.spawn_unawaited("shown message", async move {
                let later = closed.run_until_cancelled(sleep(AT_ONCE)).await;
                if later.is_some() {
                    log_line(&raw, message).await;
                }
            });
        }
    }

    /// Shows a message with titles of actions to choose from. The client makes no links of the text; titles come back
    /// unchanged.
    pub(super) fn ask_by_message(
        &self,
        typ: MessageType,
        message: &str,
        titles: Vec<String>,
    ) -> Reply<Option<MessageActionItem>> {
        let item = |title| MessageActionItem {
            title,
            properties: HashMap::new(),
        };
        self.request::<ShowMessageRequest>(ShowMessageRequestParams {
            typ,
            message: without_links(message),
            actions: Some(titles.into_iter().map(item).collect()),
        })
    }

    /// Writes a text to the client's log of the server.
    pub(super) async fn log_message(&self, typ: MessageType, message: &str) {
        let message = message.to_owned();
        self.notify::<LogMessage>(LogMessageParams { typ, message })
            .await;
    }

    /// Waits until fewer than `bytes` bytes are queued for the client.
    pub(super) async fn room(&self, bytes: usize) {
        self.output.drained(bytes).await;
    }

    /// Whether the connection is over, so that replies no longer count.
    pub(super) fn is_over(&self) -> bool {
        self.signals.now().is_some()
    }

    /// Ends all waiting for replies: every [`Reply`] is [`ReplyError::ConnectionOver`] from now on.
    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    /// Cancelled by [`Self::close`].
    pub(super) fn closed(&self) -> &CancellationToken {
        &self.closed
    }
}

/// Reads a reply. An error after the end of the connection decides nothing.
/// The client's answer to a request. `is_heard`: the client reads all that it is sent; else a line for its log goes behind
/// the request.
async fn answered<M: ClientRequest>(
    raw: &tower_lsp::Client,
    is_heard: bool,
    params: M::Params,
) -> jsonrpc::Result<Value> {
    let mut answer = std::pin::pin!(raw.send_request::<Raw<M>>(params));
    if is_heard {
        return answer.await;
    }
    if let Ok(answer) = timeout(AT_ONCE, &mut answer).await {
        return answer;
    }
    log_line(raw, format!("Waiting for the answer to {}.", M::NAME)).await;
    answer.await
}

/// Sends a line for the client's log.
async fn log_line(raw: &tower_lsp::Client, message: String) {
    let typ = MessageType::LOG;
    let line = LogMessageParams { typ, message };
    raw.send_notification::<Raw<LogMessage>>(line).await;
}

fn read<M: ClientRequest>(
    answer: jsonrpc::Result<Value>,
    is_over: bool,
) -> Result<M::Result, ReplyError> {
    match answer {
        Ok(value) => serde_json::from_value(value).map_err(|why| {
            ReplyError::Failed(if M::IS_SECRET {
                "the client's reply is no answer".into()
            } else {
                why.to_string()
            })
        }),
        Err(_) if is_over => Err(ReplyError::ConnectionOver),
        Err(error) if error.code == jsonrpc::ErrorCode::MethodNotFound => Err(ReplyError::Unknown),
        Err(error) => Err(ReplyError::Failed(error.message.into_owned())),
    }
}

/// A row of the protocol's table in tower-lsp's form.
struct Raw<M>(PhantomData<fn() -> M>);

impl<M: ClientRequest> Request for Raw<M> {
    type Params = M::Params;
    type Result = Value;
    const METHOD: &'static str = M::NAME;
}

impl<M: ClientNotification> Notification for Raw<M> {
    type Params = M::Params;
    const METHOD: &'static str = M::NAME;
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tower_lsp::lsp_types::request::ShowDocument;

    use super::*;
    use crate::front::wire::{PromptAnswer, methods::ShowPrompt};

    #[test]
    fn a_reply_is_read_and_a_secret_never_repeated() {
        let failed = |text: &str| Some(ReplyError::Failed(text.into()));
        let answer = json!({"action": "cancel"});
        assert_eq!(
            read::<ShowPrompt>(Ok(answer), true),
            Ok(PromptAnswer::Cancel)
        );
        assert_eq!(
            read::<ShowPrompt>(Ok(json!({"action": "hunter2"})), false).err(),
            failed("the client's reply is no answer")
        );
        assert_eq!(
            read::<ShowDocument>(Ok(json!({})), false).err(),
            failed("missing field `success`")
        );
    }

    #[test]
    fn an_error_after_the_end_decides_nothing() {
        let error = || jsonrpc::Error {
            message: "the window is closed".into(),
            ..jsonrpc::Error::internal_error()
        };
        assert_eq!(
            read::<ShowPrompt>(Err(error()), false),
            Err(ReplyError::Failed("the window is closed".into()))
        );
        assert_eq!(
            read::<ShowPrompt>(Err(error()), true),
            Err(ReplyError::ConnectionOver)
        );
    }
}
