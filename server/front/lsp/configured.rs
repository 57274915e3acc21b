//! `aside/config/read`, `aside/model/list`, `aside/workspace/trust`, and what a change of the configuration does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{sync::oneshot, time::timeout};
use tower_lsp::{jsonrpc, lsp_types::DidChangeConfigurationParams};

use super::{
    hub::{Hub, SharedHub, lock},
    params::Given,
    server::Server,
    settings::ClientSettings,
    start::folder,
};
use crate::{
    config::{self, ModelId, Sources, trust::TrustStore},
    engine::{assemble::tool_defaults, blocking, models::known},
    front::{
        error::{Result, internal, invalid},
        transport::in_order::let_next_begin,
        wire::requests::{
            ConfigReadParams, ConfigReadResult, ConfigValue, Empty, InitializationOptions,
            ModelItem, ModelsResult, PricesItem, TrustParams,
        },
    },
    provider::abilities::{Abilities, ReasoningKind},
};

/// How long a list of models waits for the providers.
const LISTED: Duration = Duration::from_secs(3);

impl Server {
    pub(super) async fn config_read(
        &self,
        params: Given<ConfigReadParams>,
    ) -> jsonrpc::Result<ConfigReadResult> {
        let params = params.read()?;
        let hub = self.hub.clone();
        let read = blocking(move || -> Result<_> {
            let effective = hub.configuration(&hub.root(None), Vec::new())?;
            let values = effective.configuration.values(params.key.as_deref());
            let values = values.map_err(|why| invalid(format!("key: {why}")))?;
            let value = |of: config::Effective| ConfigValue {
                key: of.key,
                value: of.value,
                from: of.origin.to_string(),
            };
            Ok(ConfigReadResult {
                values: values.into_iter().map(value).collect(),
            })
        });
        Ok(read.await?)
    }

    /// What the providers say when they are asked now, or said when they were asked last.
    pub(super) async fn model_list(&self, _: Given<Empty>) -> jsonrpc::Result<ModelsResult> {
        let hub = self.hub.clone();
        let (settings, models) = blocking(move || -> Result<_> {
            let effective = hub.configuration(&hub.root(None), Vec::new())?;
            let settings = effective.configuration.settings;
            let models = hub.models(&settings)?;
            Ok((settings, models))
        })
        .await?;
        let_next_begin();
        if let Some(asking) = Asking::begin(&self.hub.asking) {
            let (settings, models) = (settings.clone(), models.clone());
            let (tell, asked) = oneshot::channel::<()>();
            let over = self.hub.lsp().closed().clone();
            self.hub
                .tasks
                .spawn_until("list of models", over, async move {
                    known::ask_again(&settings, &models).await;
                    drop((asking, tell));
                });
            // Who is slower is known the next time.
            let _ = timeout(LISTED, asked).await;
        }
        let known =
            blocking(move || -> Result<_> { Ok(known::known_models(&settings, &models)) }).await?;
        let models = known.into_iter().map(|(id, can)| item(&id, &can)).collect();
        Ok(ModelsResult { models })
    }

    /// From the next turn on.
    pub(super) async fn workspace_trust(
        &self,
        params: Given<TrustParams>,
    ) -> jsonrpc::Result<Empty> {
        let TrustParams {
            folder: name,
            trusted,
        } = params.read()?;
        let root = folder(&name).map_err(|error| invalid(format!("folder: {}", error)))?;
        let root = self.hub.root(Some(&root));
        if !trusted && self.hub.roots().contains(&root) {
            lock(&self.hub.settings).trusted = false;
        }
        let hub = self.hub.clone();
        blocking(move || -> Result<_> {
            let store = TrustStore::new(&hub.state_dir()?);
            if !trusted {
                return store.revoke(&root).map_err(internal);
            }
            // What is trusted is what was read here: a file that changes meanwhile is not.
            let broken = |problems: config::Problems| invalid(problems.to_string());
            let sources = Sources::from_process(Some(&root)).map_err(broken)?;
            config::load(&sources, &tool_defaults()).map_err(broken)?;
            let (_, now) = hub.trust(&root, &sources)?;
            store.give(&root, now).map_err(internal)
        })
        .await?;
        self.hub.look_again();
        Ok(Empty {})
    }

    pub(super) fn configuration_changed(&self, params: DidChangeConfigurationParams) {
        match settings_of(params.settings) {
            Some(changed) => self.hub.take_settings(changed),
            None => self.hub.pull(),
        }
    }
}

impl Hub {
    /// The connection stands: what the client has to say of settings is asked for. What there is, is looked at with
    /// the first document or turn: a server that nobody uses stays small.
    pub(super) fn begin(self: &SharedHub) {
        self.lsp().register_for_settings();
        if self.speaks_aside() {
            self.pull();
        }
    }

    /// Takes new settings from the client, from the next turn on. An editor that knows nothing of Aside may read
    /// them in the workspace, so they are no more than that, and do not speak for the user.
    fn take_settings(self: &SharedHub, changed: Value) {
        let read: Result<InitializationOptions, _> = serde_path_to_error::deserialize(changed);
        let options = match read {
            Ok(options) => options,
            Err(error) => {
                // The values may be secrets.
                let field = error.path();
                tracing::warn!(%field, "the client's settings cannot be read and are left as they were");
                return;
            }
        };
        {
            let mut settings = lock(&self.settings);
            if self.speaks_aside() {
                *settings = client_settings(options);
            } else {
                settings.workspace_config = options.workspace_config.or(options.config);
            }
        }
        self.look_again();
    }

    /// Asks the client for its settings, where it has them, and takes them when they come.
    fn pull(self: &SharedHub) {
        let hub = self.clone();
        self.tasks.spawn("settings", async move {
            if let Some(settings) = hub.lsp().settings().await.and_then(settings_of) {
                hub.take_settings(settings);
            }
        });
    }
}

/// The part of an editor's settings that is Aside's, if it is there: by itself or under `aside`.
fn settings_of(settings: Value) -> Option<Value> {
    let Value::Object(mut members) = settings else {
        return None;
    };
    if let Some(own @ Value::Object(_)) = members.remove("aside") {
        return Some(own);
    }
    let ours = ["config", "workspaceConfig", "trusted"];
    let is_ours = ours.iter().any(|key| members.contains_key(*key));
    is_ours.then_some(Value::Object(members))
}

pub(super) fn client_settings(options: InitializationOptions) -> ClientSettings {
    ClientSettings {
        config: options.config,
        workspace_config: options.workspace_config,
        trusted: options.trusted,
    }
}

fn item(id: &ModelId, can: &Abilities) -> ModelItem {
    ModelItem {
        id: id.to_string(),
        context_window: can.context_window,
        max_output: can.max_output,
        reasoning: Some(can.reasoning != ReasoningKind::None),
        prices: can.prices.as_ref().map(|prices| PricesItem {
            input: prices.input,
            output: prices.output,
            cache_read: prices.cache_read,
            cache_write: prices.cache_write,
        }),
    }
}

/// Providers are asked for their models, once at a time.
struct Asking(Arc<AtomicBool>);

impl Asking {
    fn begin(asking: &Arc<AtomicBool>) -> Option<Self> {
        let first = !asking.swap(true, Ordering::Relaxed);
        first.then(|| Self(asking.clone()))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Shared with [`Hub`].
pub(super) type IsAsking = Arc<AtomicBool>;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_found_by_themselves_and_under_their_name() {
        let own = json!({"config": {"sandbox": "off"}, "trusted": true});
        let check = |settings: Value, expected: Option<Value>| {
            assert_eq!(settings_of(settings.clone()), expected, "{settings}");
        };
        check(own.clone(), Some(own.clone()));
        check(json!({"aside": own, "rust": {}}), Some(own.clone()));
        check(json!({"aside": {}}), Some(json!({})));
        check(json!({}), None);
        check(json!({"rust": {"trusted": true}}), None);
        check(json!({"aside": null}), None);
        check(Value::Null, None);
    }
}
