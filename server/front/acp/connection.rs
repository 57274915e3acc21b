//! The agent's side of a connection: empty before `initialize`, whole from then on.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use agent_client_protocol_schema::v1::{InitializeRequest, RequestId, SessionId};
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
    session::store::default_state_dir,
    tool::{Tool, registry::Registry},
    turn::rules::Client,
};

/// What the loop calls. Clones are one.
#[derive(Clone)]
pub(super) struct Agent {
    pub(super) client: AcpClient,
    pub(super) tasks: Tasks,
    disk: DiskWork,
    own_tools: Arc<[Arc<dyn Tool>]>,
    state_dir: Option<PathBuf>,
    connection: Arc<OnceLock<Arc<Connection>>>,
    /// Requests that are not answered yet; each can be withdrawn.
    open: Arc<DashMap<RequestId, CancellationToken>>,
}

/// A connection that was initialized, by its parts.
pub(super) struct Connection {
    pub(super) client: AcpClient,
    /// What the client can do.
    pub(super) can: ClientAbilities,
    /// The client as turns know it.
    pub(super) person: Client,
    pub(super) engine: Engine,
    /// The prompts that are open.
    pub(super) prompts: Prompts,
    pub(super) registry: Arc<Registry>,
    pub(super) disk: DiskWork,
    /// The order of a session's prompts: one runs at a time.
    pub(super) turns: Lanes,
    pub(super) tasks: Tasks,
    /// Cancelled when the client went: nothing begins any more.
    pub(super) gone: CancellationToken,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
}

impl Agent {
    /// An agent whose client has said nothing yet, with these tools besides the built-in ones and with state in this
    /// folder, else in the usual place.
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

    /// A request came. What is returned is cancelled where the client withdraws it.
    pub(super) fn begins(&self, id: &RequestId) -> CancellationToken {
        let withdrawn = CancellationToken::new();
        self.open.insert(id.clone(), withdrawn.clone());
        withdrawn
    }

    /// A request is answered.
    pub(super) fn ends(&self, id: &RequestId) {
        self.open.remove(id);
    }

    /// The client wants no answer any more, but will get one.
    pub(super) fn withdraw(&self, id: &RequestId) {
        if let Some(request) = self.open.get(id) {
            request.cancel();
        }
    }

    /// Makes the connection to a client that introduced itself.
    ///
    /// # Errors
    /// It did so already, or there is no place for state.
    pub(super) fn connect(&self, said: &InitializeRequest) -> Result<()> {
        let state_dir = self.state_dir.clone().map_or_else(default_state_dir, Ok)?;
        let program = std::env::current_exe().map_err(internal)?;
        let can = ClientAbilities::of(said);
        let connection = Connection {
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

    /// The connection, if it was initialized.
    pub(super) fn connected(&self) -> Option<&Arc<Connection>> {
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

impl Connection {
    /// A session that the client has open.
    ///
    /// # Errors
    /// [`RequestError::UnknownConversation`].
    pub(super) fn session(&self, id: &SessionId) -> Result<Arc<Session>> {
        let session = self.sessions().get(id).cloned();
        session.ok_or_else(|| RequestError::UnknownConversation(id.to_string()))
    }

    /// Opens a session; it goes on with what one of the same id has.
    pub(super) fn open(&self, session: Session) -> Arc<Session> {
        let mut sessions = self.sessions();
        let session = match sessions.get(&session.id) {
            Some(before) => session.goes_on_with(before),
            None => session,
        };
        let session = Arc::new(session);
        sessions.insert(session.id.clone(), session.clone());
        session
    }

    /// Closes a session: what runs in it is cancelled.
    pub(super) fn close(&self, id: &SessionId) -> Option<Arc<Session>> {
        let session = self.sessions().remove(id)?;
        session.cancel();
        Some(session)
    }

    /// The folders that sessions are open in.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let sessions = self.sessions();
        let mut roots: Vec<PathBuf> = sessions.values().map(|it| it.root.clone()).collect();
        roots.sort();
        roots.dedup();
        roots
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
