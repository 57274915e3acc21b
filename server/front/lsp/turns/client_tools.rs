//! Settings of the client's tools, which apply to running turns at once.

use std::{collections::BTreeMap, sync::Arc};

use aside_turn::rules::RunRule;

use crate::{
    engine::blocking,
    front::{error::Result, lsp::connection::LspConnection},
};

/// Applies the current settings of the client's tools to all running turns, in a task.
pub(in crate::front::lsp) fn apply_settings(at: &Arc<LspConnection>) {
    if at.client.tool_names().next().is_none() {
        return;
    }
    let (at, over) = (at.clone(), at.client.closed().clone());
    at.tasks.clone().spawn_until("settings of tools", over, async move {
        // Applied one after another, so that the newest settings are applied last.
        let _applying = at.applying.lock().await;
        for turn in at.engine.conversations().running().all() {
            match rules(&at, turn.conversation.clone()).await {
                Ok(rules) => turn.configure_client_tools(rules).await,
                Err(error) => {
                    tracing::warn!(%error, "a running turn keeps its settings of the client's tools");
                }
            }
        }
    });
}

/// The rules of the client's tools in the folder of a conversation.
async fn rules(
    at: &Arc<LspConnection>,
    conversation: String,
) -> Result<BTreeMap<String, Option<RunRule>>> {
    let at = at.clone();
    blocking(move || {
        let (_, root) = at.workspace.conversation(&conversation)?;
        let settings = at.workspace.configuration(&root)?.configuration.settings;
        let names = at.client.tool_names();
        Ok(names
            .map(|name| (name.to_owned(), settings.client_run(name)))
            .collect())
    })
    .await
}
