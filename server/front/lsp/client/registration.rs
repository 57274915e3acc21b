//! Requests for the client's settings and for notice of their changes.

use serde_json::Value;
use tower_lsp::lsp_types::{
    ConfigurationItem, ConfigurationParams, Registration, RegistrationParams,
    notification::{DidChangeConfiguration, Notification as _},
    request::{RegisterCapability, WorkspaceConfiguration},
};

use super::{LspClient, reply::ReplyError};

impl LspClient {
    /// Asks for the `aside` section of the client's settings. `None` if the client has none.
    pub(in super::super) async fn settings(&self) -> Option<Value> {
        if !self.can().has_settings() {
            return None;
        }
        let item = ConfigurationItem {
            scope_uri: None,
            section: Some("aside".into()),
        };
        let items = vec![item];
        let pulled = self.request::<WorkspaceConfiguration>(ConfigurationParams { items });
        pulled.await.ok()?.into_iter().next()
    }

    /// Registers for `workspace/didChangeConfiguration`, if the client supports dynamic registration.
    pub(in super::super) fn register_for_settings(&self) {
        if !self.can().registers_settings() {
            return;
        }
        let registration = Registration {
            id: "aside-configuration".into(),
            method: DidChangeConfiguration::METHOD.into(),
            register_options: None,
        };
        let registrations = vec![registration];
        let registered = self.request::<RegisterCapability>(RegistrationParams { registrations });
        self.tasks.spawn("registration", async move {
            if let Err(ReplyError::Failed(why)) = registered.await {
                tracing::warn!(%why, "the client does not tell of changed settings");
            }
        });
    }
}
