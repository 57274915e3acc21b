//! Requests for the client's settings, and registrations for changes of settings and files.

use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    ConfigurationItem, ConfigurationParams, Registration, RegistrationParams,
    notification::{DidChangeConfiguration, DidChangeWatchedFiles, Notification},
    request::{RegisterCapability, WorkspaceConfiguration},
};

use super::{LspClient, reply::ReplyError};

/// The pages that a person writes in.
const PAGES: &str = "**/pages/{answer,ask}-*.txt";

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
        if self.can().registers_settings() {
            self.register::<DidChangeConfiguration>("aside-configuration", None);
        }
    }

    /// Registers for saves of pages that the person writes in, if the client watches files. A client may edit a page
    /// without attaching the server to it.
    pub(in super::super) fn register_for_pages(&self) {
        if self.can().watches_files() {
            let watchers = json!({ "watchers": [{ "globPattern": PAGES }] });
            self.register::<DidChangeWatchedFiles>("aside-pages", Some(watchers));
        }
    }

    fn register<M: Notification>(&self, id: &str, register_options: Option<Value>) {
        let registration = Registration {
            id: id.into(),
            method: M::METHOD.into(),
            register_options,
        };
        let registrations = vec![registration];
        let registered = self.request::<RegisterCapability>(RegistrationParams { registrations });
        self.tasks.spawn("registration", async move {
            if let Err(ReplyError::Failed(why)) = registered.await {
                tracing::warn!(%why, method = M::METHOD, "the client refused a registration");
            }
        });
    }
}
