//! What configuration and trust make of what a front end wants.

use std::sync::Arc;

use aside_turn::rules::Mode;

use super::{
    error::StartError,
    request::{ConversationTarget, TurnRequest},
    trust::WorkspaceConfig,
};
use crate::{
    config::{self, Configuration, ModelChoice, ModelId, settings::Settings},
    engine::{Engine, conversations::running::Lease, drive::notice::TurnNotice, models::Models},
    tool::Tool,
};

/// A turn as it is configured. It has its conversation, in which no other turn begins meanwhile.
pub struct TurnConfig {
    /// The effective configuration, with where each value comes from.
    pub configuration: Configuration,
    /// Whether the workspace is trusted.
    pub trusted: bool,
    /// Tools that are no part of the program. They are for the front end to add.
    pub client_tools: Vec<Arc<dyn Tool>>,
    pub(super) request: TurnRequest,
    /// None for a conversation that is yet to be made.
    pub(super) lease: Option<Lease>,
    trust_ended: Vec<String>,
    /// There is a workspace; without one there are no tools.
    pub(super) is_workspace: bool,
    models: Models,
    /// The turn's model, once it is known.
    model: Option<ModelId>,
}

impl Engine {
    /// Takes the conversation, and reads the configuration and whether the workspace is trusted. Makes nothing.
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
    /// The mode that was asked for. One that nobody knows, as a record of a later version may have it, asks.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        self.request.options.resumed_mode()
    }

    /// Commands may run without a sandbox.
    #[must_use]
    pub fn unsandboxed(&self) -> bool {
        self.request.run.unsandboxed || self.configuration.settings.unsandboxed
    }

    /// Whether the answer has to fit a schema.
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

    /// Finds the model. Where none is configured and no key is there, an Ollama is asked for one, for some seconds;
    /// this may be dropped meanwhile.
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
                chosen.map_err(|why| self.no_model(why))?
            }
        };
        Ok(self.model.insert(found).clone())
    }

    /// What a person should know of the configuration before the turn.
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
        config::choose_model(self.settings(), self.models.env().as_ref())
            .map_err(|why| self.no_model(why))
    }

    /// There is no model; what might have named one and does not count is part of why.
    fn no_model(&self, why: String) -> StartError {
        let is_ignored = self
            .configuration
            .ignored
            .iter()
            .any(|key| key == "assistant.model");
        StartError::NoProvider(match is_ignored {
            true => format!(
                "{why}; the workspace's own `assistant.model` is ignored, for the workspace is not trusted"
            ),
            false => why,
        })
    }

    fn settings(&self) -> &Settings {
        &self.configuration.settings
    }
}
