//! Models of usable providers: known at once, or listed again by the providers.

use std::{collections::BTreeMap, time::Duration};

use aside_config::{
    ModelId, Settings, known::known as known_provider, settings::AssistantSettings,
};
use aside_provider::{abilities::Abilities, models::known};
use futures_util::future::join_all;
use tokio::time::timeout;
use url::Url;

use super::{
    listed::Lists,
    open::{Endpoint, Models},
};

/// Time that a turn waits to hear of a model's context window.
const WINDOW_TIME: Duration = Duration::from_secs(3);

/// Known models of all usable providers, without asking any of them: from the last lists, else the built-in table, and
/// from the configuration. Sorted by provider and name.
#[must_use]
pub fn known_models(settings: &Settings, models: &Models) -> Vec<(ModelId, Abilities)> {
    let lists = Lists::read(models.state_dir());
    let names = models.usable_providers(settings);
    let of = |name: &String| of_provider(name, &lists, settings, models).unwrap_or_default();
    names.iter().flat_map(of).collect()
}

fn of_provider(
    name: &str,
    lists: &Lists,
    settings: &Settings,
    models: &Models,
) -> Result<Vec<(ModelId, Abilities)>, String> {
    let any = ModelId::of_provider(name, settings)?;
    let endpoint = models.endpoint(&any, settings)?;
    let listed = lists.all(name, endpoint.options.base.as_str());
    let mut names: BTreeMap<&str, _> = listed
        .iter()
        .flat_map(|listed| listed.iter())
        .map(|(model, stated)| (model.as_str(), Some(stated)))
        .collect();
    // The built-in models of an API exist only at the provider that they belong to.
    if listed.is_none() && aside_provider::models::default_model(name).is_some() {
        names.extend(known(endpoint.kind).map(|model| (model, None)));
    }
    let own = settings.providers.get(name);
    for model in own.iter().flat_map(|own| own.models.keys()) {
        names.entry(model).or_insert(None);
    }
    let model = |(model, stated): (&str, _)| {
        let id = ModelId {
            model: model.to_owned(),
            ..any.clone()
        };
        let abilities = models.abilities(&id, stated, settings);
        Ok((id, abilities))
    };
    names.into_iter().map(model).collect()
}

/// Asks a server of the user's own for its models where the context window of this one is unknown, once in the process.
/// Without it no conversation with the model would be summarised in time. A server that does not say it leaves it unknown.
pub async fn learn_window(model: &ModelId, settings: &Settings, models: &Models) {
    let own = AssistantSettings::default();
    let Ok(endpoint) = models.configured(model, &own, settings) else {
        return;
    };
    let is_known = endpoint.options.abilities.context_window.is_some();
    if is_known || is_makers(model, &endpoint) || !models.is_first_question(model) {
        return;
    }
    match timeout(WINDOW_TIME, hear(model, &endpoint, models)).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => tracing::info!(%model, %why, "the model's context window is not known"),
        Err(_) => tracing::info!(%model, "the model's context window was not heard in time"),
    }
}

/// Whether the model is where its maker serves it: the names of models there are not the user's own.
fn is_makers(model: &ModelId, endpoint: &Endpoint) -> bool {
    let maker = known_provider(&model.provider).filter(|known| !known.local);
    maker.is_some_and(|maker| {
        Url::parse(maker.base_url).is_ok_and(|base| base == endpoint.options.base)
    })
}

/// Keeps the server's list of models, unless the model is in one already.
async fn hear(model: &ModelId, endpoint: &Endpoint, models: &Models) -> Result<(), String> {
    let (provider, base) = (&model.provider, endpoint.options.base.as_str());
    let listed = Lists::read(models.state_dir());
    if listed.get(provider, base, &model.model).is_some() {
        return Ok(());
    }
    let all = models.list(endpoint).await?;
    // Others may have written meanwhile.
    let mut lists = Lists::read(models.state_dir());
    lists.set(provider, base, &all);
    let kept = lists.write(models.state_dir());
    kept.map_err(|error| format!("cannot keep the list of models: {error}"))
}

/// Asks all usable providers for their lists and stores them. Providers that do not answer keep their earlier lists.
pub async fn ask_again(settings: &Settings, models: &Models) {
    let names = models.usable_providers(settings);
    let ask = async |name: &String| {
        let any = ModelId::of_provider(name, settings)?;
        let endpoint = models.endpoint(&any, settings)?;
        let listed = models.list(&endpoint).await?;
        Ok::<_, String>((endpoint.options.base.to_string(), listed))
    };
    let answers = join_all(names.iter().map(ask)).await;
    let mut lists = Lists::read(models.state_dir());
    let before = lists.clone();
    for (name, answer) in names.iter().zip(answers) {
        match answer {
            Ok((base, listed)) => lists.set(name, &base, &listed),
            Err(why) => tracing::info!(%name, %why, "the provider's models are not known"),
        }
    }
    if lists != before
        && let Err(error) = lists.write(models.state_dir())
    {
        tracing::warn!(%error, "what the providers said of their models cannot be kept");
    }
}
