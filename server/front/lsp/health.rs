//! How it goes apart from turns: whether the configuration can be used, and whether there is a model. Looked at in
//! the background; who waits for a network, for want of a model, holds nobody else up.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use serde_json::json;

use super::{
    hub::{Hub, SharedHub, lock},
    settings::Effective,
};
use crate::{
    config::{self, Choice, Flag, ModelId, Settings},
    engine::{blocking, models::Models},
    front::{
        error::{RequestError, Result},
        transport::in_order::{let_next_begin, unless_withdrawn},
        wire::requests::Health,
    },
};

const NOT_TRUSTED: &str =
    "The workspace is not trusted: tools only read here, and of its settings little counts.";

/// What was found when it was last looked at.
#[derive(Default)]
pub(super) struct Standing {
    found: Mutex<Found>,
    /// The first model of an Ollama that nobody configured, once it was found.
    ollama: Mutex<Option<String>>,
    /// Counts the looks: a slow one does not undo what a later one found.
    looks: AtomicU64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) health: Health,
    pub(super) message: Option<String>,
    pub(super) model: Option<String>,
}

impl Standing {
    pub(super) fn found(&self) -> Found {
        lock(&self.found).clone()
    }
}

impl Hub {
    /// Looks for the first time, where nobody did.
    pub(super) fn look_once(self: &SharedHub) {
        if self.standing.looks.load(Ordering::Relaxed) == 0 {
            self.look_again();
        }
    }

    /// Looks at the configuration and the model anew, in the background, and tells how it goes.
    pub(super) fn look_again(self: &SharedHub) {
        let look = self.standing.looks.fetch_add(1, Ordering::Relaxed) + 1;
        let hub = self.clone();
        let over = self.lsp().closed().clone();
        self.tasks.spawn_until("health", over, async move {
            let found = hub.look().await;
            if hub.standing.looks.load(Ordering::Relaxed) == look {
                *lock(&hub.standing.found) = found;
                hub.tell_status(None).await;
            }
        });
    }

    async fn look(self: &SharedHub) -> Found {
        let hub = self.clone();
        let read = blocking(move || -> Result<_> {
            let effective = hub.configuration(&hub.root(None), Vec::new())?;
            let models = hub.models(&effective.configuration.settings)?;
            Ok((effective, models))
        });
        let (effective, models) = match read.await {
            Ok(read) => read,
            Err(error) => return Found::error(error.to_string()),
        };
        let settings = &effective.configuration.settings;
        let choice = match config::choose_model(settings, models.env().as_ref()) {
            Ok(choice) => choice,
            Err(text) => return Found::error(text),
        };
        let model = match choice {
            Choice::FirstOfOllama => self.probe(settings, &models).await,
            choice => models.choose(choice, settings).await,
        };
        let model = model.and_then(|model| {
            models.open(&model, &settings.assistant, settings)?;
            Ok(model.to_string())
        });
        match model {
            Err(text) => Found::error(text),
            Ok(model) => Found {
                health: if effective.trusted {
                    Health::Ok
                } else {
                    Health::Warning
                },
                message: (!effective.trusted).then(|| NOT_TRUSTED.to_owned()),
                model: Some(model),
            },
        }
    }

    async fn probe(&self, settings: &Settings, models: &Models) -> Result<ModelId, String> {
        let found = models.choose(Choice::FirstOfOllama, settings).await;
        let model = found.as_ref().ok().map(ToString::to_string);
        *lock(&self.standing.ollama) = model;
        found
    }

    /// Where no model is configured and no key is there: the flag that names the one of an Ollama. Where none is known
    /// it is looked for, for some seconds, in which the next handler begins.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) async fn model_flag(
        &self,
        effective: &Effective,
        models: &Models,
    ) -> Result<Option<Flag>> {
        let settings = &effective.configuration.settings;
        let choice = config::choose_model(settings, models.env().as_ref());
        if !matches!(choice, Ok(Choice::FirstOfOllama)) {
            return Ok(None);
        }
        let known = lock(&self.standing.ollama).clone();
        let model = match known {
            Some(model) => model,
            None => {
                let_next_begin();
                let found = unless_withdrawn(self.probe(settings, models)).await?;
                let found = found.map_err(RequestError::NoModel)?;
                found.to_string()
            }
        };
        Ok(Some(Flag::Typed {
            name: "model".into(),
            key: "assistant.model".into(),
            value: json!(model),
        }))
    }
}

impl Found {
    fn error(text: String) -> Self {
        Self {
            health: Health::Error,
            message: Some(text),
            model: None,
        }
    }
}
