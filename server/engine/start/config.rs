//! Combines a front end's request with configuration and trust.

use std::{sync::Arc, time::Duration};

use aside_config::{Configuration, ModelChoice, ModelId, settings::Settings};
use aside_mcp::ServerTools;
use aside_tool::Tool;
use aside_turn::rules::Mode;
use tokio::time::{Instant, timeout_at};

use super::{
    error::StartError,
    request::{ConversationTarget, TurnRequest, TurnStart},
    trust::WorkspaceConfig,
};
use crate::engine::{
    Engine,
    conversations::running::Lease,
    drive::notice::TurnNotice,
    models::{ChoiceError, Models},
};
use aside_config::{self};

/// A configured turn. It reserves its conversation, so that no other turn starts in it.
pub struct TurnConfig {
    /// The effective configuration, with the source of each value.
    pub configuration: Configuration,
    /// Whether the workspace is trusted.
    pub trusted: bool,
    /// Tools that run in the client, added by the front end.
    pub client_tools: Vec<Arc<dyn Tool>>,
    pub(super) request: TurnRequest,
    /// `None` for a new conversation, and for a turn that gives way.
    pub(super) lease: Option<Lease>,
    trust_ended: Vec<String>,
    /// Whether there is a workspace; without one there are no tools.
    pub(super) is_workspace: bool,
    models: Models,
    /// The turn's model, once it was found.
    model: Option<ModelId>,
    /// The tools of MCP servers, once these were started.
    pub(super) servers: Option<Vec<ServerTools>>,
}

impl Engine {
    /// Reserves the conversation, and reads the configuration and trust. Creates no files.
    ///
    /// # Errors
    /// [`StartError::Taken`], [`StartError::Configuration`], [`StartError::Trust`] and [`StartError::Store`].
    pub fn configure(&self, request: TurnRequest) -> Result<TurnConfig, StartError> {
        let lease = match &request.target {
            ConversationTarget::New => None,
            ConversationTarget::Existing(conversation) => {
                let is_asked = !matches!(request.start, TurnStart::SummariseIdle);
                let reserve = || self.conversations().reserve(conversation.id());
                // Nobody waits for one while it is prepared, which may take long.
                is_asked.then(reserve).transpose()?
            }
        };
        let WorkspaceConfig {
            configuration,
            trusted,
            trust_ended,
            is_workspace,
        } = self
            .configuration(&request.root, &request.layers)?
            .sound()?;
        Ok(TurnConfig {
            models: self.models(&configuration.settings),
            configuration,
            trusted,
            client_tools: Vec::new(),
            request,
            lease,
            trust_ended,
            is_workspace,
            model: None,
            servers: None,
        })
    }
}

impl TurnConfig {
    /// The requested mode. An unknown one, from the record of a later version, means `ask`.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        self.request.options.resumed_mode()
    }

    /// Whether commands may run without a sandbox.
    #[must_use]
    pub fn unsandboxed(&self) -> bool {
        self.request.run.unsandboxed || self.configuration.settings.unsandboxed
    }

    /// Whether the answer must match a schema.
    #[must_use]
    pub fn has_schema(&self) -> bool {
        self.request.options.schema.is_some()
    }

    /// Sets the message, if it was not known when the turn was configured.
    pub fn set_message(&mut self, start: TurnStart) {
        self.request.start = start;
    }

    /// The time from which the turn counts.
    #[must_use]
    pub fn since(&self) -> Instant {
        self.request.since
    }

    /// The time at which the turn's own time limit is over.
    #[must_use]
    pub fn ends_at(&self) -> Option<Instant> {
        let limit = self.settings().conversation.limits.turn_time;
        let recorded = self.request.options.limits.and_then(|it| it.turn_seconds);
        let limit = recorded.map(Duration::from_secs).or(limit);
        limit.map(|limit| self.request.since + limit)
    }

    /// Names of the MCP servers that the turn needs.
    #[must_use]
    pub fn servers(&self) -> Vec<&str> {
        // No server is started without trust.
        if !self.trusted || !self.is_workspace {
            return Vec::new();
        }
        let servers = self.settings().mcp.servers.iter();
        let enabled = servers.filter(|(_, server)| server.is_on());
        enabled.map(|(name, _)| name.as_str()).collect()
    }

    /// Whether [`TurnConfig::prepare`] returns at once.
    #[must_use]
    pub fn is_prepared(&self) -> bool {
        let first = matches!(self.choice(), Ok(ModelChoice::FirstOfOllama));
        let knows_model = !first || self.model.is_some() || self.models.first_of_ollama().is_some();
        knows_model && (self.servers.is_some() || self.servers().is_empty())
    }

    /// Finds the model and starts the MCP servers that do not run yet, which may take many seconds. Cancel-safe.
    ///
    /// # Errors
    /// [`StartError::NoProvider`], [`StartError::NoModel`] and [`StartError::TimeUp`].
    pub async fn prepare(&mut self, engine: &Engine) -> Result<(), StartError> {
        let Some(ends_at) = self.ends_at() else {
            return self.find(engine).await;
        };
        match timeout_at(ends_at, self.find(engine)).await {
            Ok(found) => found,
            Err(_) => {
                let names = self.servers().into_iter().map(str::to_owned);
                let is_known = self.model.is_some();
                Err(StartError::TimeUp(names.filter(|_| is_known).collect()))
            }
        }
    }

    async fn find(&mut self, engine: &Engine) -> Result<(), StartError> {
        self.find_model().await?;
        if self.servers.is_none() {
            let lease = self.request.servers.as_ref();
            let found = match self.servers().is_empty() {
                true => Vec::new(),
                false => {
                    let root = &self.request.root;
                    engine.server_tools(&self.configuration, root, lease).await
                }
            };
            self.servers = Some(found);
        }
        Ok(())
    }

    /// Finds the model. If none is configured and there is no key, an Ollama is asked for one, which may take some
    /// seconds.
    ///
    /// # Errors
    /// [`StartError::NoProvider`] and [`StartError::NoModel`].
    pub(super) async fn find_model(&mut self) -> Result<ModelId, StartError> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        let found = match (self.choice()?, self.models.first_of_ollama()) {
            (ModelChoice::FirstOfOllama, Some(model)) => model,
            (choice, _) => {
                let chosen = self.models.choose(choice, self.settings()).await;
                chosen.map_err(|why| match why {
                    ChoiceError::NothingFound if !self.is_model_ignored() => {
                        StartError::NoModel(why)
                    }
                    why => self.no_model(why.to_string()),
                })?
            }
        };
        Ok(self.model.insert(found).clone())
    }

    /// Notices about the configuration for a person.
    pub(super) fn notices(&self) -> Vec<TurnNotice> {
        let configured = self.configuration.notices.iter().cloned();
        let mut notices: Vec<TurnNotice> = configured.map(TurnNotice::Configuration).collect();
        if !self.trust_ended.is_empty() {
            notices.push(TurnNotice::TrustEnded(self.trust_ended.clone()));
        }
        if !self.is_workspace {
            notices.push(TurnNotice::NoWorkspace);
        } else if !self.trusted && self.trust_ended.is_empty() {
            notices.push(TurnNotice::NotTrusted);
        }
        if self.unsandboxed() {
            notices.push(TurnNotice::Unsandboxed);
        }
        let mode = self.request.options.mode_notice();
        notices.extend(mode.map(TurnNotice::Configuration));
        notices
    }

    fn choice(&self) -> Result<ModelChoice, StartError> {
        let choice = self.models.choice(self.settings());
        choice.map_err(|why| self.no_model(why))
    }

    /// The error for a missing model. An ignored setting that would have named one is part of the message.
    fn no_model(&self, why: String) -> StartError {
        StartError::NoProvider(match self.is_model_ignored() {
            true => format!(
                "{why}; the workspace's own `assistant.model` is ignored, because the workspace is not trusted"
            ),
            false => why,
        })
    }

    /// Whether the workspace names a model that does not count, because the workspace is not trusted.
    fn is_model_ignored(&self) -> bool {
        let mut ignored = self.configuration.ignored.iter();
        ignored.any(|key| key == "assistant.model")
    }

    fn settings(&self) -> &Settings {
        &self.configuration.settings
    }
}
