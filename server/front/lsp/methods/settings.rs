//! The client's settings, and `aside/config/read`.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::lsp_types::DidChangeConfigurationParams;

use super::super::{
    connection::LspConnection, settings::ClientSettings, turns::client_tools::apply_settings,
};
use crate::front::{
    error::{Result, invalid},
    wire::{
        introduction::InitializationOptions,
        requests::{ConfigReadParams, ConfigReadResult, ConfigValue},
    },
};
use aside_config;

/// Serves the method `aside/config/read`.
pub(in super::super) async fn read(
    at: Arc<LspConnection>,
    params: ConfigReadParams,
) -> Result<ConfigReadResult> {
    let workspace = at.workspace.as_of_now();
    at.disk
        .of_all(move || {
            let read = workspace.configuration(&workspace.root(None))?;
            let values = read.configuration.values(params.key.as_deref());
            let values = values.map_err(|why| invalid(format!("key: {why}")))?;
            let value = |of: aside_config::EffectiveValue| ConfigValue {
                key: of.key,
                value: of.value,
                from: of.origin.to_string(),
            };
            Ok(ConfigReadResult {
                values: values.into_iter().map(value).collect(),
            })
        })
        .await
}

/// Handles `initialized`: asks the client for its settings, or has a fallback client watch its pages. The configuration is checked with the first document or
/// turn, so that an unused server stays small.
pub(in super::super) fn initialized(at: &Arc<LspConnection>) {
    at.client.register_for_settings();
    if at.client.can().speaks_aside() {
        pull(at);
    } else {
        at.client.register_for_pages();
    }
}

/// Handles `workspace/didChangeConfiguration`: takes the settings, or asks for them if they are not included.
pub(in super::super) fn changed(at: &Arc<LspConnection>, params: DidChangeConfigurationParams) {
    match settings_of(params.settings) {
        Some(settings) => take(at, settings),
        None => pull(at),
    }
}

/// Takes new settings from the client, from the next turn on. Those of the client's tools apply to running turns, too.
fn take(at: &Arc<LspConnection>, settings: Value) {
    let read: Result<InitializationOptions, _> = serde_path_to_error::deserialize(settings);
    let options = match read {
        Ok(options) => options,
        Err(error) => {
            // The message repeats no values, because they may be secrets.
            let field = error.path();
            tracing::warn!(%field, "the client's settings cannot be read and are left as they were");
            return;
        }
    };
    let speaks_aside = at.client.can().speaks_aside();
    at.workspace.take(ClientSettings::of(options, speaks_aside));
    at.status.look_again();
    apply_settings(at);
}

/// Asks the client for its settings and takes them when they arrive.
fn pull(at: &Arc<LspConnection>) {
    let connection = at.clone();
    at.tasks.spawn("settings", async move {
        if let Some(settings) = connection.client.settings().await.and_then(settings_of) {
            take(&connection, settings);
        }
    });
}

/// Aside's part of an editor's settings, given directly or under `aside`.
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
