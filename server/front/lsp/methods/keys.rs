//! `aside/key/…`: keys of providers that a person entered in the editor, kept in memory only.

use std::sync::Arc;

use super::super::connection::LspConnection;
use crate::{
    engine::models::key::KeySource,
    front::{
        error::{Result, invalid},
        wire::requests::{Empty, KeyItem, KeySetParams, KeysResult},
    },
};

/// Serves the method `aside/key/list`.
pub(in super::super) async fn list(at: Arc<LspConnection>, _: Empty) -> Result<KeysResult> {
    let (workspace, engine) = (at.workspace.as_of_now(), at.engine.clone());
    let sources = at
        .disk
        .of_all(move || {
            let read = workspace.configuration(&workspace.root(None))?;
            let settings = read.configuration.settings;
            Ok(engine.models(&settings).key_sources(&settings))
        })
        .await?;
    let item = |(provider, source): (String, KeySource)| KeyItem {
        provider,
        from: (source != KeySource::None).then(|| source.description()),
    };
    Ok(KeysResult {
        providers: sources.into_iter().map(item).collect(),
    })
}

/// Serves the method `aside/key/set`. The key counts for the next request to the provider.
pub(in super::super) async fn set(at: Arc<LspConnection>, params: KeySetParams) -> Result<Empty> {
    let KeySetParams { provider, key } = params;
    if provider.is_empty() {
        return Err(invalid("provider: it is empty"));
    }
    if key
        .as_ref()
        .is_some_and(|key| key.is_empty() || !key.is_sendable())
    {
        return Err(invalid(
            "key: it is empty, or has characters that no key has; copy it again",
        ));
    }
    at.engine.entered_keys().set(provider, key);
    at.status.look_again();
    Ok(Empty {})
}
