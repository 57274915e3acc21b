//! Health of the server for a status line: whether the configuration is valid, whether there is a model, whether a turn
//! runs. The configuration is checked in the background, so that waiting for the network blocks nothing.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use aside_base::lock;

use super::handles::Handles;
use crate::{
    engine::blocking,
    front::{
        error::Result,
        wire::{
            methods::StatusChanged,
            requests::{Health, StatusParams},
        },
    },
};

const NOT_TRUSTED: &str =
    "The workspace is not trusted: tools only read here, and of its settings little counts.";

/// The status of the server, and the one that the client knows.
pub(super) struct StatusLine {
    handles: Handles,
    found: Mutex<Findings>,
    /// Number of checks, so that a slow one does not override a later one.
    looks: AtomicU64,
    /// The status that was sent last.
    sent: Mutex<Option<StatusParams>>,
}

/// Findings of the last check.
#[derive(Clone, Debug, Default)]
struct Findings {
    health: Health,
    message: Option<String>,
    /// The model that a turn takes which names none.
    model: Option<String>,
}

impl StatusLine {
    /// Creates a status that was not sent yet.
    pub(super) fn new(handles: Handles) -> Self {
        Self {
            handles,
            found: Mutex::default(),
            looks: AtomicU64::default(),
            sent: Mutex::default(),
        }
    }

    /// Checks configuration and model, unless that was done before.
    pub(super) fn look_once(self: &Arc<Self>) {
        if self.looks.load(Ordering::Relaxed) == 0 {
            self.look_again();
        }
    }

    /// Checks configuration and model again in the background, and notifies the client of a change.
    pub(super) fn look_again(self: &Arc<Self>) {
        let look = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
        let (status, over) = (self.clone(), self.handles.client.closed().clone());
        self.handles
            .tasks
            .spawn_until("look at the configuration", over, async move {
                let found = status.look().await;
                if status.looks.load(Ordering::Relaxed) == look {
                    *lock(&status.found) = found;
                    status.tell().await;
                }
            });
    }

    /// A turn began, with `model` where it named none, which is shown until the next check. Where something was wrong with
    /// the configuration, it is checked again: the turn would not have begun.
    pub(super) async fn began(self: &Arc<Self>, model: Option<String>) {
        let was_wrong = {
            let mut found = lock(&self.found);
            found.model = model.or(found.model.take());
            found.health == Health::Error
        };
        if was_wrong {
            self.look_again();
        }
        self.tell().await;
    }

    /// Sends the status if it changed.
    pub(super) async fn tell(&self) {
        let now = {
            let mut sent = lock(&self.sent);
            let found = lock(&self.found).clone();
            let now = StatusParams {
                health: found.health,
                busy: self.handles.engine.conversations().running().any(),
                message: found.message,
                model: found.model,
                pending_prompts: self.handles.prompts.count(),
            };
            if sent.as_ref() == Some(&now) {
                return;
            }
            *sent = Some(now.clone());
            now
        };
        self.handles.client.notify::<StatusChanged>(now).await;
    }

    async fn look(&self) -> Findings {
        let (workspace, engine) = (self.handles.workspace.clone(), self.handles.engine.clone());
        let read = blocking(move || -> Result<_> {
            let read = workspace.configuration(&workspace.root(None))?;
            let models = engine.models(&read.configuration.settings);
            Ok((read, models))
        });
        let (read, models) = match read.await {
            Ok(read) => read,
            Err(error) => return Findings::error(error.to_string()),
        };
        let settings = &read.configuration.settings;
        let choice = match models.choice(settings) {
            Ok(choice) => choice,
            Err(text) => return Findings::error(text),
        };
        let chosen = models.choose(choice, settings).await;
        let model = chosen.map_err(|why| why.to_string()).and_then(|model| {
            models.open(&model, &settings.assistant, settings)?;
            Ok(model.to_string())
        });
        match model {
            Err(text) => Findings::error(text),
            Ok(model) if read.trusted => Findings {
                model: Some(model),
                ..Findings::default()
            },
            Ok(model) => Findings {
                health: Health::Warning,
                message: Some(NOT_TRUSTED.to_owned()),
                model: Some(model),
            },
        }
    }
}

impl Findings {
    fn error(text: String) -> Self {
        Self {
            health: Health::Error,
            message: Some(text),
            model: None,
        }
    }
}
