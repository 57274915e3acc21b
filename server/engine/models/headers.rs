//! Configured headers for every request to a provider. Their values are never printed.

use aside_config::{known::KnownProvider, settings::ProviderSettings};
use aside_provider::key::Key;
use http::HeaderName;

use super::key::Env;

/// Headers of a provider: those of the configuration, overridden by those of the environment.
///
/// # Errors
/// A sentence that says what to correct.
pub(super) fn headers(
    provider: &str,
    own: Option<&ProviderSettings>,
    known: Option<&KnownProvider>,
    env: &Env,
) -> Result<Vec<(HeaderName, Key)>, String> {
    let mut headers = Vec::new();
    for (name, value) in own.into_iter().flat_map(|own| &own.headers) {
        let header = header(name, value).ok_or_else(|| {
            format!(
                "providers.{provider}.headers.{name:?} is not a valid header; correct its name or its value in your aside.toml"
            )
        })?;
        headers.push(header);
    }
    let variable = known.and_then(|known| known.headers_env);
    if let Some((variable, text)) = variable.and_then(|name| Some((name, env(name)?))) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let of_environment: Option<Vec<_>> = lines
            .map(|line| {
                let (name, value) = line.split_once(':')?;
                header(name, value)
            })
            .collect();
        headers.extend(of_environment.ok_or_else(|| {
            format!("{variable}: every line must have the form `Name: value`; correct or unset it")
        })?);
    }
    Ok(headers)
}

fn header(name: &str, value: &str) -> Option<(HeaderName, Key)> {
    let value = Key::new(value);
    value
        .is_sendable()
        .then_some((name.trim().parse().ok()?, value))
}
