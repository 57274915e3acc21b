//! Combines a front end's request with configuration and trust.

use std::sync::Arc;

use aside_config::{Configuration, ModelChoice, ModelId, settings::Settings};
use aside_tool::Tool;
use aside_turn::rules::Mode;

use super::{
    error::StartError,
    request::{ConversationTarget, TurnRequest},
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
    /// `None` for a new conversation.
    pub(super) lease: Option<Lease>,
    trust_ended: Vec<String>,
    /// Whether there is a workspace; without one there are no tools.
    pub(super) is_workspace: bool,
    models: Models,
    /// The turn's model, once it was found.
    model: Option<ModelId>,
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
                Some(self.conversations().reserve(conversation.id())?)
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

    /// Whether [`TurnConfig::find_model`] returns at once.
    #[must_use]
    pub fn knows_model(&self) -> bool {
        let first = matches!(self.choice(), Ok(ModelChoice::FirstOfOllama));
        !first || self.model.is_some() || self.models.first_of_ollama().is_some()
    }

    /// Finds the model. If none is configured and there is no key, an Ollama is asked for one, which may take some
    /// seconds. Cancel-safe.
    ///
    /// # Errors
    /// [`StartError::NoProvider`].
    pub async fn find_model(&mut self) -> Result<ModelId, StartError> {
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
        } else if !self.trusted {
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
        aside_config::choose_model(self.settings(), self.models.env().as_ref())
            .map_err(|why| self.no_model(why))
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
