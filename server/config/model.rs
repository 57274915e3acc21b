//! Choice of a turn's model.

use aside_base::api::ApiKind;

use super::{
    known::{KNOWN, known as known_as},
    names::did_you_mean,
    settings::Settings,
};

/// A model and the provider that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelId {
    /// A provider that Aside knows, or a name under `[providers]`.
    pub provider: String,
    /// The model, as the provider calls it. It may have slashes.
    pub model: String,
    /// API of the provider.
    pub api: ApiKind,
}

/// The model of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// A model that is named.
    Model(ModelId),
    /// The default model of this provider, whose key is there.
    DefaultOf(&'static str),
    /// The first of a running Ollama that takes tools.
    FirstOfOllama,
}

/// Providers that have a default model, in the order in which they are looked at.
const WITH_DEFAULT: [&str; 3] = ["anthropic", "openai", "google"];

/// The model of `assistant.model`; without one the default of the first provider that `has_key`.
///
/// # Errors
/// A sentence that says what is wrong with the model that is set.
pub fn choose_model(
    settings: &Settings,
    has_key: &dyn Fn(&str) -> bool,
) -> Result<ModelChoice, String> {
    if let Some(id) = &settings.assistant.model {
        return ModelId::parse(id, settings).map(ModelChoice::Model);
    }
    let found = WITH_DEFAULT.into_iter().find(|name| has_key(name));
    Ok(found.map_or(ModelChoice::FirstOfOllama, ModelChoice::DefaultOf))
}

/// Whether there is a key for a provider: configured, or where it usually is.
pub fn key_is_there(
    provider: &str,
    settings: &Settings,
    env: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let is_set = |name: &str| env(name).is_some_and(|key| !key.trim().is_empty());
    if let Some(own) = settings.providers.get(provider) {
        if own.api_key_command.is_some() {
            return true;
        }
        if let Some(name) = &own.api_key_env {
            return is_set(name);
        }
    }
    let usual = known_as(provider).map_or(&[][..], |known| known.key_env);
    usual.iter().any(|name| is_set(name))
}

/// The names of providers that could be asked: those that `has_key`, those that the settings name, and Ollama, which
/// may run here.
pub fn usable_providers(settings: &Settings, has_key: &dyn Fn(&str) -> bool) -> Vec<String> {
    let known = KNOWN.iter().map(|known| known.name).filter(|name| {
        *name == "ollama" || settings.providers.contains_key(*name) || has_key(name)
    });
    let own = settings.providers.keys().map(String::as_str);
    let own = own.filter(|name| known_as(name).is_none());
    known
        .chain(own)
        .filter(|name| ModelId::of_provider(name, settings).is_ok_and(|id| !id.api.is_script()))
        .map(ToOwned::to_owned)
        .collect()
}

/// Providers by the first word of their models' names.
const FAMILIES: [(&str, &str); 3] = [
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("gemini", "google"),
];

/// The full name of a model that was given without its provider, or of a provider without its model; `None` if unknown.
fn whose(id: &str, settings: &Settings) -> Option<String> {
    let name = id.trim_end_matches('/');
    if settings.providers.contains_key(name) || known_as(name).is_some() {
        return Some(format!("{name}/model"));
    }
    let first = id.split('-').next()?;
    let (_, maker) = FAMILIES.iter().find(|(family, _)| *family == first)?;
    Some(format!("{maker}/{}", id.escape_debug()))
}

impl ModelId {
    /// Any model of a provider.
    ///
    /// # Errors
    /// A sentence that names the providers there are.
    pub fn of_provider(provider: &str, settings: &Settings) -> Result<Self, String> {
        Self::parse(&format!("{provider}/any"), settings)
    }

    /// Reads `provider/model`.
    ///
    /// # Errors
    /// A sentence that names the providers there are.
    pub fn parse(id: &str, settings: &Settings) -> Result<Self, String> {
        let shown = id.escape_debug();
        let Some((provider, model)) = id.split_once('/').filter(|(_, model)| !model.is_empty())
        else {
            let written = whose(id, settings).unwrap_or_else(|| "provider/model".into());
            return Err(format!(
                "`{shown}` is not a model; one is written `{written}`, and `aside model list` shows those that you have"
            ));
        };
        let own = settings.providers.get(provider);
        let known = known_as(provider);
        let api = own.and_then(|own| own.api).or(known.map(|known| known.api));
        if let Some(api) = api {
            return Ok(Self {
                provider: provider.into(),
                model: model.into(),
                api,
            });
        }
        if own.is_some() {
            return Err(format!(
                "providers.{provider} does not say which API it speaks; set its `api`"
            ));
        }
        let mut names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
        names.extend(settings.providers.keys().map(String::as_str));
        let near = did_you_mean(provider, names.iter().copied());
        let names = names.join(", ");
        let next = match near.is_empty() {
            true => "; take one of them, or add yours to `providers` in your aside.toml",
            false => "",
        };
        Err(format!(
            "there is no provider for the model `{shown}` among {names}{near}{next}"
        ))
    }
}

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `vars`: names of variables that are set.
    fn check(settings: &str, vars: &[&str], expected: &str) {
        let settings: Settings = toml::from_str(settings).unwrap();
        let env = |name: &str| vars.contains(&name).then(|| "key".to_owned());
        let found = match choose_model(&settings, &|name| key_is_there(name, &settings, &env)) {
            Ok(ModelChoice::Model(id)) => format!("{id} by {:?}", id.api),
            Ok(ModelChoice::DefaultOf(provider)) => format!("default of {provider}"),
            Ok(ModelChoice::FirstOfOllama) => "first of ollama".to_owned(),
            Err(error) => error,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn without_a_model_the_first_provider_with_a_key_has_one() {
        check("", &[], "first of ollama");
        check("", &["OPENAI_API_KEY"], "default of openai");
        check("", &["GEMINI_API_KEY"], "default of google");
        check("", &["GOOGLE_API_KEY"], "default of google");
        check("", &["ANTHROPIC_AUTH_TOKEN"], "default of anthropic");
        let all = ["GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"];
        check("", &all, "default of anthropic");
        check("", &["MISTRAL_API_KEY"], "first of ollama");
        check(
            "providers.openai.api_key_env = 'MINE'",
            &["GEMINI_API_KEY", "MINE"],
            "default of openai",
        );
        check(
            "providers.openai.api_key_env = 'MINE'",
            &["GEMINI_API_KEY", "OPENAI_API_KEY"],
            "default of google",
        );
        check(
            "providers.google.api_key_command = ['pass', 'google']",
            &[],
            "default of google",
        );
    }

    #[test]
    fn providers_with_a_key_or_settings_can_be_asked() {
        let check = |settings: &str, vars: &[&str], expected: &str| {
            let settings: Settings = toml::from_str(settings).unwrap();
            let env = |name: &str| vars.contains(&name).then(|| "key".to_owned());
            let has_key = |name: &str| key_is_there(name, &settings, &env);
            assert_eq!(usable_providers(&settings, &has_key).join(" "), expected);
        };
        check("", &[], "ollama");
        check(
            "providers.llamacpp = {}\nproviders.mine.api = 'google'\nproviders.unclear = {}",
            &["MISTRAL_API_KEY", "OPENAI_API_KEY"],
            "openai ollama mistral llamacpp mine",
        );
        check(
            "providers.rehearsal = {}\nproviders.play.api = 'rehearsal'",
            &[],
            "ollama",
        );
    }

    #[test]
    fn a_model_names_its_provider() {
        check(
            "assistant.model = 'google/a/b'",
            &["OPENAI_API_KEY"],
            "google/a/b by Google",
        );
        check(
            "assistant.model = 'openrouter/deepseek/v4'",
            &[],
            "openrouter/deepseek/v4 by OpenaiChat",
        );
        check(
            "assistant.model = 'openai/x'\nproviders.openai.api = 'openai-chat'",
            &[],
            "openai/x by OpenaiChat",
        );
        check(
            "assistant.model = 'mine/x'\nproviders.mine.api = 'openai-chat'",
            &[],
            "mine/x by OpenaiChat",
        );
        check(
            "assistant.model = 'mine/x'\nproviders.mine.base_url = 'http://localhost'",
            &[],
            "providers.mine does not say which API it speaks; set its `api`",
        );
        check(
            "assistant.model = 'opnai/x'\nproviders.mine.api = 'google'",
            &[],
            "there is no provider for the model `opnai/x` among anthropic, openai, google, ollama, openrouter, \
             deepseek, mistral, cerebras, llamacpp, vllm, lmstudio, rehearsal, mine; did you mean `openai`?",
        );
        check(
            "assistant.model = 'zzzzzz/x'",
            &[],
            "there is no provider for the model `zzzzzz/x` among anthropic, openai, google, ollama, openrouter, \
             deepseek, mistral, cerebras, llamacpp, vllm, lmstudio, rehearsal; take one of them, or add yours to \
             `providers` in your aside.toml",
        );
        for (id, written) in [
            ("openai", "openai/model"),
            ("openai/", "openai/model"),
            ("claude-opus-5-5", "anthropic/claude-opus-5-5"),
            ("nothing", "provider/model"),
        ] {
            let expected = format!(
                "`{id}` is not a model; one is written `{written}`, and `aside model list` shows those that you have"
            );
            check(&format!("assistant.model = '{id}'"), &[], &expected);
        }
    }
}
