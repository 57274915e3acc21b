//! A session: a conversation that a client has open, and how its next turns begin.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent_client_protocol_schema::v1::SessionId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{Flag, settings::McpServer},
    front::error::{RequestError, Result},
    mcp::ServerLease,
    session::record::TurnOptions,
    turn::{record::Word, rules::Mode},
};

/// Prompts of a session that run or wait, at the most.
const PROMPTS: usize = 64;

/// A conversation that a client has open.
pub(super) struct Session {
    pub(super) id: SessionId,
    /// The real path of the folder that it works in.
    pub(super) root: PathBuf,
    /// The client's MCP servers by name.
    pub(super) servers: Vec<(String, McpServer)>,
    /// Holds the servers of its turns, as long as it is open.
    pub(super) lease: ServerLease,
    /// Shared with the same session opened anew.
    state: Arc<Mutex<SessionState>>,
}

/// What the person chose for the turns to come; what is not chosen is as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TurnChoice {
    pub(super) mode: Option<Mode>,
    /// `provider/model`.
    pub(super) model: Option<String>,
    /// A word of the setting `assistant.reasoning`.
    pub(super) reasoning: Option<String>,
}

#[derive(Default)]
struct SessionState {
    choice: TurnChoice,
    /// Cancels each prompt that runs or waits.
    prompts: Vec<(u64, CancellationToken)>,
    next: u64,
    /// What the client heard of the workspace, which need not be said again.
    heard: HashSet<String>,
    /// In US dollars, so far.
    cost: f64,
}

/// A prompt that runs or waits, until this is dropped.
pub(super) struct ActivePrompt<'a> {
    session: &'a Session,
    number: u64,
    /// Cancelled when the client wants it to end.
    pub(super) cancelled: CancellationToken,
}

impl Session {
    pub(super) fn new(
        id: impl Into<SessionId>,
        root: PathBuf,
        servers: Vec<(String, McpServer)>,
    ) -> Self {
        Self {
            id: id.into(),
            root,
            servers,
            lease: ServerLease::default(),
            state: Arc::default(),
        }
    }

    /// The same, which goes on with what `before` has: its prompts can still be cancelled.
    pub(super) fn goes_on_with(self, before: &Self) -> Self {
        Self {
            state: before.state.clone(),
            lease: before.lease.clone(),
            ..self
        }
    }

    /// A prompt came, which ends also where `withdrawn` is cancelled.
    ///
    /// # Errors
    /// Too many wait already.
    pub(super) fn prompt(&self, withdrawn: &CancellationToken) -> Result<ActivePrompt<'_>> {
        let mut state = self.state();
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

    /// Cancels all prompts that run or wait.
    pub(super) fn cancel(&self) {
        for (_, prompt) in &self.state().prompts {
            prompt.cancel();
        }
    }

    /// What was chosen for the turns to come.
    pub(super) fn choice(&self) -> TurnChoice {
        self.state().choice.clone()
    }

    /// Something else was chosen.
    pub(super) fn choose(&self, choice: TurnChoice) {
        self.state().choice = choice;
    }

    /// Whether the client was not told this yet.
    pub(super) fn is_news(&self, text: &str) -> bool {
        self.state().heard.insert(text.to_owned())
    }

    /// What the session cost so far, in US dollars.
    pub(super) fn cost(&self) -> f64 {
        self.state().cost
    }

    /// It cost this by now.
    pub(super) fn costs(&self, cost: f64) {
        self.state().cost = cost;
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        // What is done while it is held cannot panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActivePrompt<'_> {
    fn drop(&mut self) {
        let mut state = self.session.state();
        state.prompts.retain(|(number, _)| *number != self.number);
    }
}

impl TurnChoice {
    /// What a turn is started with.
    pub(super) fn options(&self) -> TurnOptions {
        TurnOptions {
            mode: self.mode.map(Word::Known),
            model: self.model.clone(),
            ..TurnOptions::default()
        }
    }

    /// What of it are settings.
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
