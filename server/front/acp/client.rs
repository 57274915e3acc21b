//! The only way to the client.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use agent_client_protocol_schema::{
    rpc::JsonRpcMessage,
    v1::{
        CancelRequestNotification, Request, RequestId, SessionId, SessionNotification,
        SessionUpdate,
    },
};
use aside_base::lock;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::message::notification;
use crate::front::{error::Result, transport::outbox::Outbox};

/// Handle of the client. Clones share one connection.
#[derive(Clone)]
pub(super) struct AcpClient(Arc<ClientState>);

struct ClientState {
    output: Outbox,
    next: AtomicI64,
    /// Requests of ours that wait for a reply.
    waiting: Mutex<HashMap<i64, oneshot::Sender<Result<Value, String>>>>,
    /// Cancelled when replies no longer count.
    closed: CancellationToken,
}

/// A request that was sent. Dropping it stops waiting for the reply and does not notify the client.
pub(super) struct SentRequest {
    id: i64,
    client: AcpClient,
    reply: oneshot::Receiver<Result<Value, String>>,
}

impl AcpClient {
    pub(super) fn new(output: Outbox) -> Self {
        Self(Arc::new(ClientState {
            output,
            next: AtomicI64::new(1),
            waiting: Mutex::default(),
            closed: CancellationToken::new(),
        }))
    }

    /// Sends an update of a session.
    pub(super) fn update(&self, session: &SessionId, update: SessionUpdate) {
        let params = SessionNotification::new(session.clone(), update);
        self.0.output.say(&notification("session/update", params));
    }

    /// Sends a request.
    pub(super) fn request(&self, method: &str, params: impl Serialize) -> SentRequest {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (replies, reply) = oneshot::channel();
        lock(&self.0.waiting).insert(id, replies);
        self.0.output.say(&JsonRpcMessage::wrap(Request {
            id: RequestId::Number(id),
            method: method.into(),
            params: Some(params),
        }));
        let client = self.clone();
        SentRequest { id, client, reply }
    }

    /// Takes a reply. A reply without a request is ignored.
    pub(super) fn replied(&self, id: &RequestId, result: Result<Value, String>) {
        let asked = match id {
            RequestId::Number(id) => lock(&self.0.waiting).remove(id),
            RequestId::Null | RequestId::Str(_) => None,
        };
        match asked {
            // The receiver may be gone.
            Some(asked) => drop(asked.send(result)),
            None => tracing::info!(%id, "the client replied to nothing that it was asked"),
        }
    }

    /// Waits until fewer than `bytes` bytes are queued for the client.
    pub(super) async fn room(&self, bytes: usize) {
        self.0.output.drained(bytes).await;
    }

    /// Ends all waiting for replies.
    pub(super) fn close(&self) {
        self.0.closed.cancel();
    }
}

impl SentRequest {
    /// Waits for the reply: the result, or the client's error message. `None` once the connection is over. Cancel-safe.
    pub(super) async fn reply(&mut self) -> Option<Result<Value, String>> {
        let closed = self.client.0.closed.clone();
        let reply = closed.run_until_cancelled(&mut self.reply).await?;
        reply.ok()
    }

    /// Tells the client that no answer is needed any more. The client may answer all the same.
    pub(super) fn withdraw(&self) {
        let params = CancelRequestNotification::new(RequestId::Number(self.id));
        self.client
            .0
            .output
            .say(&notification("$/cancel_request", params));
    }
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        lock(&self.client.0.waiting).remove(&self.id);
    }
}
