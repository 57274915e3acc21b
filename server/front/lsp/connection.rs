//! The server's side of a connection: empty before `initialize`, complete from then on.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock, atomic::AtomicBool},
};

use aside_base::system::programs;
use aside_session::store::default_state_dir;
use aside_tool::Tool;
use aside_turn::{effect::DismissReason, input::PromptAnswer, record::Vocabulary};
use tokio_util::sync::CancellationToken;
use tower_lsp::lsp_types::Url;

use super::{
    client::{LspClient, capabilities::EditorCapabilities},
    documents::Documents,
    fallback::state::Fallback,
    handles::Handles,
    pending::PendingTurns,
    settings::{ClientSettings, EditorWorkspace},
    status::StatusLine,
};
use crate::{
    engine::Engine,
    front::{
        error::{RequestError, Result, internal, invalid},
        relay::prompts::{AnswerError, PendingPrompt, Prompts},
        transport::{
            disk::DiskWork,
            end::{Ends, Signals, watch_parent},
            last::Departure,
            outbox::Outbox,
            tasks::Tasks,
        },
        wire::{
            methods::{ConversationChanged, DismissPrompt},
            requests::{ConversationRef, DismissParams},
        },
    },
};

/// The server that tower-lsp calls. Clones share one state.
#[derive(Clone)]
pub(super) struct Server {
    pipes: Arc<Pipes>,
    connection: Arc<OnceLock<Arc<LspConnection>>>,
}

/// Parts of a connection that exist before `initialize`.
pub(super) struct Pipes {
    /// tower-lsp's handle of the client.
    pub(super) raw: tower_lsp::Client,
    /// Tools of the program besides the built-in ones.
    pub(super) own_tools: Vec<Arc<dyn Tool>>,
    /// State folder, unless the client names one; `None` for the default.
    pub(super) state_dir: Option<PathBuf>,
    pub(super) output: Outbox,
    pub(super) ends: Ends,
    pub(super) signals: Signals,
    pub(super) tasks: Tasks,
}

/// Content of a client's `initialize`.
pub(super) struct Introduction {
    /// Capabilities of the client.
    pub(super) capabilities: EditorCapabilities,
    /// Layers of settings from the client.
    pub(super) settings: ClientSettings,
    /// The folders of the workspace, as the client names them.
    pub(super) folders: Vec<Url>,
    /// State folder; `None` for the default.
    pub(super) state_dir: Option<PathBuf>,
    /// Process id of the client.
    pub(super) process: Option<u32>,
}

/// An initialized connection.
pub(super) struct LspConnection {
    pub(super) client: LspClient,
    pub(super) engine: Engine,
    /// The prompts that are open.
    pub(super) prompts: Arc<Prompts>,
    pub(super) documents: Arc<Documents>,
    pub(super) workspace: Arc<EditorWorkspace>,
    pub(super) status: Arc<StatusLine>,
    pub(super) fallback: Arc<Fallback>,
    pub(super) tasks: Tasks,
    /// Queue of disk work for requests of the client.
    pub(super) disk: DiskWork,
    /// Turns that are about to begin.
    pub(super) pending: PendingTurns,
    /// Cancelled when the client shuts the server down. Turns that begin later are interrupted at once.
    pub(super) ending: CancellationToken,
    /// Cancelled when the client has left: nothing waits for the editor any more.
    pub(super) gone: CancellationToken,
    /// Held while settings are applied to running turns.
    pub(super) applying: tokio::sync::Mutex<()>,
    /// Whether providers are being asked for their models.
    pub(super) asks_for_models: Arc<AtomicBool>,
}

impl Server {
    /// Creates a server before `initialize`.
    pub(super) fn new(pipes: Pipes) -> Self {
        Self {
            pipes: Arc::new(pipes),
            connection: Arc::default(),
        }
    }

    /// Initializes the connection.
    ///
    /// # Errors
    /// Fails if no state folder can be found.
    pub(super) fn connect(&self, introduction: Introduction) -> Result<()> {
        let pipes = &self.pipes;
        if let Some(process) = introduction.process
            && let Err(error) = watch_parent(process, pipes.ends.clone())
        {
            tracing::warn!(%error, "the client's process is not watched");
        }
        let connection = LspConnection::new(pipes, introduction)?;
        // A second `initialize` is refused by tower-lsp.
        let _ = self.connection.set(Arc::new(connection));
        Ok(())
    }

    /// The initialized connection.
    pub(super) fn connected(&self) -> Option<&Arc<LspConnection>> {
        self.connection.get()
    }

    /// The connection. tower-lsp refuses every request before `initialize`.
    ///
    /// # Errors
    /// Fails before `initialize`.
    pub(super) fn connection(&self) -> Result<Arc<LspConnection>> {
        let connection = self.connected().cloned();
        connection.ok_or_else(|| internal("initialize comes first"))
    }

    /// The tasks of the connection.
    pub(super) fn tasks(&self) -> &Tasks {
        &self.pipes.tasks
    }
}

impl Departure for Server {
    async fn leave(&self) {
        if let Some(connection) = self.connected() {
            // An undo stops waiting for the client.
            connection.ending.cancel();
            connection.gone.cancel();
            connection.engine.conversations().running().leave().await;
        }
    }

    async fn close(&self) {
        if let Some(connection) = self.connected() {
            connection.client.close();
        }
        self.tasks().ended().await;
    }
}

impl LspConnection {
    fn new(pipes: &Pipes, introduction: Introduction) -> Result<Self> {
        let state_dir = introduction.state_dir.or_else(|| pipes.state_dir.clone());
        let state_dir = state_dir.map_or_else(default_state_dir, Ok)?;
        let program = programs::own().map_err(internal)?;
        let engine = Engine::new(state_dir, program, pipes.own_tools.clone());
        let tasks = pipes.tasks.clone();
        let client = LspClient::new(
            pipes.raw.clone(),
            Arc::new(introduction.capabilities),
            pipes.output.clone(),
            pipes.signals.clone(),
            tasks.clone(),
        );
        let prompts = Arc::new(Prompts::default());
        let (settings, folders) = (introduction.settings, introduction.folders);
        let workspace = Arc::new(EditorWorkspace::new(engine.clone(), settings, folders));
        let handles = Handles {
            client,
            engine,
            prompts,
            workspace,
            tasks,
        };
        Ok(Self {
            status: Arc::new(StatusLine::new(handles.clone())),
            fallback: Arc::new(Fallback::new(handles.clone())),
            client: handles.client,
            engine: handles.engine,
            prompts: handles.prompts,
            workspace: handles.workspace,
            tasks: handles.tasks,
            disk: DiskWork::new(pipes.output.clone()),
            pending: PendingTurns::default(),
            documents: Arc::default(),
            ending: CancellationToken::new(),
            gone: CancellationToken::new(),
            applying: tokio::sync::Mutex::default(),
            asks_for_models: Arc::default(),
        })
    }

    /// Answers an open prompt by other means than its message, and takes it off the client's screen.
    ///
    /// # Errors
    /// [`RequestError::UnknownPrompt`], or an answer that does not fit.
    pub(super) async fn answer(&self, open: &PendingPrompt, answer: PromptAnswer) -> Result<()> {
        let prompt_id = open.prompt.prompt_id.clone();
        match self.prompts.answer(open, answer).await {
            Err(AnswerError::NotOpen) => return Err(RequestError::UnknownPrompt(prompt_id)),
            Err(AnswerError::Misfit(misfit)) => return Err(invalid(format!("answer: {misfit}"))),
            Ok(()) => {}
        }
        let reason = DismissReason::AnsweredElsewhere.word().to_owned();
        self.client
            .notify::<DismissPrompt>(DismissParams { prompt_id, reason })
            .await;
        Ok(())
    }

    /// Notifies the client that a conversation was created, changed or deleted.
    pub(super) async fn conversation_changed(&self, conversation_id: &str) {
        let conversation_id = conversation_id.to_owned();
        self.client
            .notify::<ConversationChanged>(ConversationRef { conversation_id })
            .await;
    }
}
