//! Checks of providers and their keys.

use std::{env, time::Duration};

use aside_base::{api::ApiKind, environment, open_places};
use aside_config::{ModelId, Settings, hidden};
use tokio::time::timeout;

use super::finding::Finding;
use crate::engine::models::{Models, key::KeySource};

/// Time limit for an answer of a server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Reports usable providers and the sources of their keys. Only Ollama is contacted.
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

/// Whether a program that prints a key could be started; it is not.
fn can_start(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = open_places::known();
    let found = places.program(program.as_ref(), &places.start_folder(), &path);
    found.is_ok_and(|file| open_places::is_program(&file))
}
