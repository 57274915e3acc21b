//! A session: a conversation that a client has open, with the options of its next turns.

use aside_config::Flag;
use aside_config::settings::McpServer;
use aside_mcp::ServerLease;
use aside_session::record::TurnOptions;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use agent_client_protocol_schema::v1::SessionId;
use aside_base::lock;
use aside_turn::{record::Word, rules::Mode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{documents::SessionTexts, root::SessionRoot};
use crate::front::error::{RequestError, Result};

/// Maximum number of running and waiting prompts of a session.
const PROMPTS: usize = 64;

/// A conversation that a client has open.
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) root: SessionRoot,
    /// MCP servers of the client, by name.
    pub(super) servers: Vec<(String, McpServer)>,
    /// Keeps the servers of its turns running while the session is open.
    pub(super) lease: ServerLease,
    /// Texts that files held, shared with the same session when it is opened again.
    pub(super) texts: SessionTexts,
    /// State, shared with the same session when it is opened again.
    state: Arc<Mutex<SessionState>>,
}

/// Choices for the next turns; the configuration applies to the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TurnChoice {
    pub(super) mode: Option<Mode>,
    /// `provider/model`.
    pub(super) model: Option<String>,
    /// Word of the setting `assistant.reasoning`.
    pub(super) reasoning: Option<String>,
}

#[derive(Default)]
struct SessionState {
    choice: TurnChoice,
    /// Cancellation of each running or waiting prompt.
    prompts: Vec<(u64, CancellationToken)>,
    next: u64,
    /// Notices about the workspace that were already sent.
    heard: HashSet<String>,
    /// Cost in US dollars so far.
    cost: f64,
}

/// A running or waiting prompt, until this is dropped.
pub(super) struct ActivePrompt<'a> {
    session: &'a Session,
    number: u64,
    /// Cancelled when the client cancels the prompt.
    pub(super) cancelled: CancellationToken,
}

impl Session {
    pub(super) fn new(
        id: impl Into<SessionId>,
        root: SessionRoot,
        servers: Vec<(String, McpServer)>,
    ) -> Self {
        Self {
            id: id.into(),
            root,
            servers,
            lease: ServerLease::default(),
            texts: SessionTexts::default(),
            state: Arc::default(),
        }
    }

    /// Takes over the state of `before`, whose prompts can still be cancelled.
    pub(super) fn goes_on_with(self, before: &Self) -> Self {
        Self {
            state: before.state.clone(),
            texts: before.texts.clone(),
            lease: before.lease.clone(),
            ..self
        }
    }

    /// Registers a prompt. Cancelling `withdrawn` ends it too.
    ///
    /// # Errors
    /// Fails if too many prompts are waiting.
    pub(super) fn prompt(&self, withdrawn: &CancellationToken) -> Result<ActivePrompt<'_>> {
        let mut state = lock(&self.state);
        if state.prompts.len() >= PROMPTS {
            return Err(RequestError::Internal(format!(
                "{PROMPTS} prompts of this session wait already; wait for the end of one, or cancel them"
            )));
        }
        state.next += 1;
        let (number, cancelled) = (state.next, withdrawn.child_token());
        state.prompts.push((number, cancelled.clone()));
        Ok(ActivePrompt {
            session: self,
            number,
            cancelled,
        })
    }

    /// Cancels all running and waiting prompts.
    pub(super) fn cancel(&self) {
        for (_, prompt) in &lock(&self.state).prompts {
            prompt.cancel();
        }
    }

    /// Choices for the next turns.
    pub(super) fn choice(&self) -> TurnChoice {
        lock(&self.state).choice.clone()
    }

    /// Replaces the choices for the next turns.
    pub(super) fn choose(&self, choice: TurnChoice) {
        lock(&self.state).choice = choice;
    }

    /// Whether this notice was not sent yet.
    pub(super) fn is_news(&self, text: &str) -> bool {
        lock(&self.state).heard.insert(text.to_owned())
    }

    /// Cost of the session so far, in US dollars.
    pub(super) fn cost(&self) -> f64 {
        lock(&self.state).cost
    }

    /// Sets the cost of the session so far.
    pub(super) fn costs(&self, cost: f64) {
        lock(&self.state).cost = cost;
    }
}

impl Drop for ActivePrompt<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.session.state);
        state.prompts.retain(|(number, _)| *number != self.number);
    }
}

impl TurnChoice {
    /// Options to start a turn with.
    pub(super) fn options(&self) -> TurnOptions {
        TurnOptions {
            mode: self.mode.map(Word::Known),
            model: self.model.clone(),
            ..TurnOptions::default()
        }
    }

    /// The choices as settings.
    pub(super) fn flags(&self) -> Vec<Flag> {
        let typed = |name: &str, key: &str, value: &Option<String>| {
            let value: Value = json!(value.as_ref()?);
            Some(Flag::Typed {
                name: name.to_owned(),
                key: key.to_owned(),
                value,
            })
        };
        let model = typed("model", "assistant.model", &self.model);
        let reasoning = typed("effort", "assistant.reasoning", &self.reasoning);
        model.into_iter().chain(reasoning).collect()
    }
}
