//! What `aside doctor` says of providers and their keys.

use std::{env, time::Duration};

use aside_base::{api::ApiKind, environment};
use tokio::time::timeout;

use super::finding::Finding;
use crate::{
    config::{self, ModelId, Settings},
    engine::models::{Models, key::KeySource},
};

/// How long a server is waited for.
const ANSWER: Duration = Duration::from_secs(3);

/// Which providers can be used, and where their keys are. Only an Ollama is asked whether it is there.
pub(super) async fn findings(settings: &Settings, models: &Models) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in config::usable_providers(settings, models.env().as_ref()) {
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
        let place = format!("{name} at {}", endpoint.options.base);
        let key = match &endpoint.key {
            KeySource::None => "without a key".to_owned(),
            source => format!("with the key from {}", source.words()),
        };
        if let KeySource::Variable(variable) = &endpoint.key
            && environment::is_exposed(variable)
        {
            findings.push(Finding::warning(of(&format!(
                "commands that run here can read the key in {variable}, as this system does not let a program take \
                 it out of its environment; use providers.{name}.api_key_command instead"
            ))));
        }
        if let KeySource::Command { command, .. } = &endpoint.key
            && let Some(program) = command.first()
            && !environment::can_start(program, env::var_os("PATH").as_deref())
        {
            findings.push(Finding::warning(of(&format!(
                "{place} has no key, since the program {program} of providers.{name}.api_key_command is not there or \
                 cannot be run; install it, or correct that command"
            ))));
            continue;
        }
        if endpoint.kind != ApiKind::Ollama {
            findings.push(Finding::ok(of(&format!("{place}, {key}"))));
            continue;
        }
        match timeout(ANSWER, models.list(&endpoint)).await {
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
