//! The list of models that a provider has.

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

/// Models of a list, at the most; the rest is left out.
const MOST: usize = 10_000;
/// Pages of a list, at the most.
const PAGES: usize = 100;
/// Models that more is asked of, at the most: there are so many only where they are not on this computer.
const DESCRIBED: usize = 200;
/// How long all pages may take together.
const TIME: Duration = Duration::from_secs(30);

/// Asks a provider which models it has, and what it says of each. `options` name the provider; their model does not
/// matter.
///
/// # Errors
/// A [`Failure`] in words for a person.
pub async fn list_models(
    kind: ApiKind,
    options: ModelOptions,
    client: HttpClient,
    key: FindKey,
) -> Result<Vec<(String, StatedAbilities)>, Failure> {
    let http = http(kind, options, client, key).map_err(|text| Failure {
        class: FailureClass::Other,
        text,
        retry_after: None,
    })?;
    let late = || {
        let words = format!("the list was not there after {} s", TIME.as_secs());
        http.failure(&ApiError::connection(words))
    };
    timeout(TIME, pages(&http)).await.map_err(|_| late())?
}

/// Asks a provider for more than its list says of these models, where it is an API that has more to say. What is not
/// told in time, or at all, is left as it was.
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
        for (model, stated) in models.iter_mut().take(DESCRIBED) {
            match http.describe(model).await {
                Some(Ok(more)) => *stated = more,
                // Why is in the log.
                Some(Err(_)) => {}
                None => return,
            }
        }
    };
    let _ = timeout(TIME, all).await;
}

async fn pages(http: &Http) -> Result<Vec<(String, StatedAbilities)>, Failure> {
    let mut found = Vec::new();
    let mut page: Option<String> = None;
    for _ in 0..PAGES {
        let text = http.list(page.as_deref()).await?;
        let (listed, next) = http
            .api
            .models(&text)
            .map_err(|why| http.failure(&ApiError::garbled(why)))?;
        let room = MOST - found.len();
        let listed = listed.into_iter().take(room);
        found.extend(listed.map(|listed| (listed.model, listed.abilities)));
        // A page that names itself as the next one would go on for ever.
        if next.is_none() || next == page || found.len() == MOST {
            break;
        }
        page = next;
    }
    Ok(found)
}
