//! The agent's side of a connection: empty before `initialize`, complete from then on.

use aside_session::store::default_state_dir;
use aside_tool::Tool;
use aside_tool::registry::Registry;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};

use agent_client_protocol_schema::v1::{InitializeRequest, RequestId, SessionId};
use aside_base::{lock, system::programs};
use aside_turn::rules::Client;
use dashmap::DashMap;
use tokio_util::sync::CancellationToken;

use super::{capabilities::ClientAbilities, client::AcpClient, session::Session};
use crate::{
    engine::Engine,
    front::{
        error::{RequestError, Result, internal},
        relay::prompts::Prompts,
        transport::{disk::DiskWork, lanes::Lanes, last::Departure, outbox::Outbox, tasks::Tasks},
    },
};

/// The agent that the message loop calls. Clones share one state.
#[derive(Clone)]
pub(super) struct Agent {
    pub(super) client: AcpClient,
    pub(super) tasks: Tasks,
    disk: DiskWork,
    own_tools: Arc<[Arc<dyn Tool>]>,
    state_dir: Option<PathBuf>,
    connection: Arc<OnceLock<Arc<AcpConnection>>>,
    /// Unanswered requests; each can be cancelled.
    open: Arc<DashMap<RequestId, CancellationToken>>,
}

/// An initialized connection.
pub(super) struct AcpConnection {
    pub(super) client: AcpClient,
    /// Capabilities of the client.
    pub(super) can: ClientAbilities,
    /// The client as turns know it.
    pub(super) person: Client,
    pub(super) engine: Engine,
    /// The prompts that are open.
    pub(super) prompts: Prompts,
    pub(super) registry: Arc<Registry>,
    pub(super) disk: DiskWork,
    /// Order of a session's prompts: one runs at a time.
    pub(super) turns: Lanes,
    pub(super) tasks: Tasks,
    /// Cancelled when the client has left: nothing begins any more.
    pub(super) gone: CancellationToken,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
}

impl Agent {
    /// Creates an agent before `initialize`, with tools besides the built-in ones, and with state in `state_dir` or the
    /// default folder.
    pub(super) fn new(
        output: Outbox,
        tasks: Tasks,
        own_tools: Vec<Arc<dyn Tool>>,
        state_dir: Option<PathBuf>,
    ) -> Self {
        Self {
            disk: DiskWork::new(output.clone()),
            client: AcpClient::new(output),
            tasks,
            own_tools: own_tools.into(),
            state_dir,
            connection: Arc::default(),
            open: Arc::default(),
        }
    }

    /// Registers a request. The returned token is cancelled if the client cancels the request.
    pub(super) fn begins(&self, id: &RequestId) -> CancellationToken {
        let withdrawn = CancellationToken::new();
        self.open.insert(id.clone(), withdrawn.clone());
        withdrawn
    }

    /// Removes an answered request.
    pub(super) fn ends(&self, id: &RequestId) {
        self.open.remove(id);
    }

    /// Cancels a request of the client, which is answered all the same.
    pub(super) fn withdraw(&self, id: &RequestId) {
        if let Some(request) = self.open.get(id) {
            request.cancel();
        }
    }

    /// Initializes the connection.
    ///
    /// # Errors
    /// Fails if it was initialized already, or no state folder can be found.
    pub(super) fn connect(&self, said: &InitializeRequest) -> Result<()> {
        let state_dir = self.state_dir.clone().map_or_else(default_state_dir, Ok)?;
        let program = programs::own().map_err(internal)?;
        let can = ClientAbilities::of(said);
        let connection = AcpConnection {
            client: self.client.clone(),
            can,
            person: can.client(said),
            engine: Engine::new(state_dir, program, self.own_tools.to_vec()),
            prompts: Prompts::default(),
            registry: Arc::new(Registry::builtin()),
            disk: self.disk.clone(),
            turns: Lanes::default(),
            tasks: self.tasks.clone(),
            gone: CancellationToken::new(),
            sessions: Mutex::default(),
        };
        let set = self.connection.set(Arc::new(connection));
        set.map_err(|_| RequestError::InvalidParams("initialize came already".into()))
    }

    /// The initialized connection.
    pub(super) fn connected(&self) -> Option<&Arc<AcpConnection>> {
        self.connection.get()
    }
}

impl Departure for Agent {
    async fn leave(&self) {
        if let Some(connection) = self.connected() {
            connection.gone.cancel();
            connection.engine.conversations().running().leave().await;
        }
    }

    async fn close(&self) {
        self.client.close();
        self.tasks.ended().await;
    }
}

impl AcpConnection {
    /// An open session.
    ///
    /// # Errors
    /// [`RequestError::UnknownConversation`].
    pub(super) fn session(&self, id: &SessionId) -> Result<Arc<Session>> {
        let session = lock(&self.sessions).get(id).cloned();
        session.ok_or_else(|| RequestError::UnknownConversation(id.to_string()))
    }

    /// Opens a session. It shares the state of an open session with the same id.
    pub(super) fn open(&self, session: Session) -> Arc<Session> {
        let mut sessions = lock(&self.sessions);
        let session = match sessions.get(&session.id) {
            Some(before) => session.goes_on_with(before),
            None => session,
        };
        let session = Arc::new(session);
        sessions.insert(session.id.clone(), session.clone());
        session
    }

    /// Closes a session and cancels everything that runs in it.
    pub(super) fn close(&self, id: &SessionId) -> Option<Arc<Session>> {
        let session = lock(&self.sessions).remove(id)?;
        session.cancel();
        Some(session)
    }

    /// Folders of the open sessions.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let sessions = lock(&self.sessions);
        let mut roots: Vec<PathBuf> = sessions.values().map(|it| it.root.real.clone()).collect();
        roots.sort();
        roots.dedup();
        roots
    }

    /// A folder as the client called it when it opened a session there.
    pub(super) fn called(&self, root: &Path) -> PathBuf {
        let sessions = lock(&self.sessions);
        let session = sessions.values().find(|it| it.root.real == root);
        session.map_or_else(|| root.to_owned(), |it| it.root.called(root))
    }
}
