//! Checks of providers and their keys.

use std::{env, time::Duration};

use aside_base::{api::ApiKind, environment, open_places};
use aside_config::{ModelId, Settings, hidden, known::known};
use tokio::time::timeout;
use url::Url;

use super::finding::Finding;
use crate::engine::models::{Endpoint, Models, key::KeySource};

/// Time limit for an answer of a server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Reports usable providers and the sources of their keys. Contacts Ollama, and addresses that the user chose.
pub(super) async fn findings(settings: &Settings, models: &Models) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in models.usable_providers(settings) {
        let of = |what: &str| format!("provider: {what}");
        let found =
            ModelId::of_provider(&name, settings).and_then(|id| models.endpoint(&id, settings));
        let endpoint = match found {
            Ok(endpoint) => endpoint,
            Err(what) => {
                findings.push(Finding::warning(of(&what)));
                continue;
            }
        };
        let place = format!(
            "{name} at {}",
            hidden::address(endpoint.options.base.as_str())
        );
        let key = match &endpoint.key {
            KeySource::None => "without a key".to_owned(),
            source => format!("with the key from {}", source.description()),
        };
        if let KeySource::Variable(variable) = &endpoint.key
            && environment::is_exposed(variable)
        {
            findings.push(Finding::warning(of(&format!(
                "commands can read the key in {variable}, because this system does not let a program remove it from its \
                 environment; use providers.{name}.api_key_command instead"
            ))));
        }
        if let KeySource::Command { command, .. } = &endpoint.key
            && let Some(program) = command.first()
            && !can_start(program)
        {
            findings.push(Finding::warning(of(&format!(
                "{place} has no key: the program {program} of providers.{name}.api_key_command does not exist or cannot be \
                 run; install it, or correct the command"
            ))));
            continue;
        }
        if let Some(other) = better_address(&name, &endpoint, settings, models).await {
            let other = hidden::address(other.as_str().trim_end_matches('/'));
            let source = source(&name, settings);
            let what = format!("{place} offers no API, but {other} does; set {source} to {other}");
            findings.push(Finding::error(of(&what)));
            continue;
        }
        if endpoint.kind != ApiKind::Ollama {
            findings.push(Finding::ok(of(&format!("{place}, {key}"))));
            continue;
        }
        match timeout(ANSWER_TIMEOUT, models.list(&endpoint)).await {
            Ok(Ok(listed)) => {
                let count = listed.len();
                findings.push(Finding::ok(of(&format!("{place}, {key}: {count} models"))));
            }
            _ if models.expects_ollama(settings) => {
                let what = format!("{place} does not answer; start it, or correct its address");
                findings.push(Finding::warning(of(&what)));
            }
            _ => {}
        }
    }
    findings
}

/// The other form of an address that the user chose, if models are listed there alone.
async fn better_address(
    name: &str,
    endpoint: &Endpoint,
    settings: &Settings,
    models: &Models,
) -> Option<Url> {
    // Other addresses are right, and a program that prints a key is not run to find that out.
    let is_asked = !matches!(endpoint.key, KeySource::Command { .. });
    if source(name, settings).is_empty() || !is_asked {
        return None;
    }
    if lists(models, endpoint).await {
        return None;
    }
    let mut other = endpoint.clone();
    other.options.base = other_form(&endpoint.options.base);
    lists(models, &other).await.then_some(other.options.base)
}

async fn lists(models: &Models, endpoint: &Endpoint) -> bool {
    matches!(
        timeout(ANSWER_TIMEOUT, models.list(endpoint)).await,
        Ok(Ok(_))
    )
}

/// Where the user chose the address of a provider; empty for a usual one.
fn source(name: &str, settings: &Settings) -> String {
    let own = settings.providers.get(name);
    if own.is_some_and(|own| own.base_url.is_some()) {
        return format!("providers.{name}.base_url");
    }
    let variable = known(name).and_then(|known| known.base_env);
    let set = variable.filter(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    set.unwrap_or_default().to_owned()
}

/// The address without the `/v1` at its end, or with one.
fn other_form(base: &Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = match path.strip_suffix("/v1") {
        Some(shorter) => shorter.to_owned(),
        None => format!("{path}/v1"),
    };
    let mut other = base.clone();
    other.set_path(&path);
    other
}

/// Whether a program that prints a key could be started; it is not.
fn can_start(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = open_places::known();
    let found = places.program(program.as_ref(), &places.start_folder(), &path);
    found.is_ok_and(|file| open_places::is_program(&file))
}
