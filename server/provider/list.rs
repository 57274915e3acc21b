//! Lists a provider's models.

use std::time::Duration;

use aside_base::api::ApiKind;
use aside_turn::response::{Failure, FailureClass};
use tokio::time::timeout;

use super::{
    abilities::StatedAbilities,
    client::HttpClient,
    http::{FindKey, Http},
    open::http,
    options::ModelOptions,
    retry::ApiError,
};

/// Maximum number of models in a list; further ones are left out.
const MAX_MODELS: usize = 10_000;
/// Maximum number of pages of a list.
const MAX_PAGES: usize = 100;
/// Maximum number of models to ask details of. Only a remote server has that many.
const MAX_DESCRIBED: usize = 200;
/// Time limit of all pages together.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Asks a provider for its models and their abilities. `options` names the provider; its model is ignored.
///
/// # Errors
/// A [`Failure`] with a message for the user.
pub async fn list_models(
    kind: ApiKind,
    options: ModelOptions,
    client: HttpClient,
    key: FindKey,
) -> Result<Vec<(String, StatedAbilities)>, Failure> {
    let http = http(kind, options, client, key).map_err(|text| Failure {
        class: FailureClass::Other,
        text,
        advice: None,
        retry_after: None,
    })?;
    let late = || {
        let words = format!(
            "the list of models did not arrive within {} s",
            TIME_LIMIT.as_secs()
        );
        http.failure(&ApiError::connection(words))
    };
    timeout(TIME_LIMIT, pages(&http))
        .await
        .map_err(|_| late())?
}

/// Asks a provider for details of these models, if its API has such a request. Models that are not described in time
/// keep their values.
pub async fn describe_models(
    kind: ApiKind,
    options: ModelOptions,
    client: HttpClient,
    key: FindKey,
    models: &mut [(String, StatedAbilities)],
) {
    let Ok(http) = http(kind, options, client, key) else {
        return;
    };
    let all = async {
        for (model, stated) in models.iter_mut().take(MAX_DESCRIBED) {
            match http.describe(model).await {
                Some(Ok(more)) => *stated = more,
                // The failure is in the log.
                Some(Err(_)) => {}
                None => return,
            }
        }
    };
    let _ = timeout(TIME_LIMIT, all).await;
}

async fn pages(http: &Http) -> Result<Vec<(String, StatedAbilities)>, Failure> {
    let mut found = Vec::new();
    let mut page: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let text = http.list(page.as_deref()).await?;
        let (listed, next) = http
            .api
            .models(&text)
            .map_err(|why| http.failure(&ApiError::garbled(why)))?;
        let room = MAX_MODELS - found.len();
        let listed = listed.into_iter().take(room);
        found.extend(listed.map(|listed| (listed.model, listed.abilities)));
        // A page that names itself as the next one would never end.
        if next.is_none() || next == page || found.len() == MAX_MODELS {
            break;
        }
        page = next;
    }
    Ok(found)
}
