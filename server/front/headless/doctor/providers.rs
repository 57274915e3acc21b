//! What `aside doctor` says of providers and their keys.

use std::{env, ffi::OsStr, fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use tokio::time::timeout;

use super::finding::Finding;
use crate::{
    config::{self, ModelId, Settings},
    engine::models::{Models, key::KeySource},
    environment,
    provider::ApiKind,
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
            && !can_start(program, env::var_os("PATH").as_deref())
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

/// Whether a program of this name could be started; it is not. `path` is where programs are looked for.
fn can_start(program: &str, path: Option<&OsStr>) -> bool {
    let is_program = |file: &Path| {
        let about = fs::metadata(file);
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return is_program(Path::new(program));
    }
    let folders = path.into_iter().flat_map(env::split_paths);
    folders
        .into_iter()
        .any(|folder| is_program(&folder.join(program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_and_not_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Some(folder.path().as_os_str());
        let program = folder.path().join("keeper");
        let named = program.to_string_lossy().into_owned();
        let both = || (can_start("keeper", path), can_start(&named, None));
        assert_eq!(both(), (false, false));
        fs::write(&program, "exit 1").expect("written");
        assert_eq!(both(), (false, false), "nobody may run it");
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&program, mode).expect("its mode");
        assert_eq!(both(), (true, true));
        assert!(!can_start("keeper", None));
    }
}
