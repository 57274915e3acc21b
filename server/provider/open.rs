//! Opens a model behind an API.

use std::sync::Arc;

use aside_base::api::ApiKind;

use super::{
    apis::{Opens, traits},
    client::HttpClient,
    http::{FindKey, Http},
    options::ModelOptions,
    request::Provider,
};

/// Opens a model behind an API. Sends nothing yet.
///
/// # Errors
/// A sentence with the reason why the model cannot be used.
pub fn open(
    kind: ApiKind,
    options: ModelOptions,
    client: HttpClient,
    key: FindKey,
) -> Result<Arc<dyn Provider>, String> {
    Ok(Arc::new(http(kind, options, client, key)?))
}

/// Like [`open`], but returns the type that can also list models.
pub(super) fn http(
    kind: ApiKind,
    options: ModelOptions,
    client: HttpClient,
    key: FindKey,
) -> Result<Http, String> {
    let Opens::Http(api) = traits(kind).opens else {
        return Err("a rehearsal script has no provider to ask".to_owned());
    };
    let api = api(&options.base);
    let model = options.to_model();
    Ok(Http {
        api,
        options,
        model,
        client,
        key,
        sent: Arc::default(),
    })
}
