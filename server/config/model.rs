//! Which model a turn runs on.

use super::{
    names::did_you_mean,
    settings::{Api, Settings},
};

/// A model and the provider that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelId {
    /// A provider that Aside knows, or a name under `[providers]`.
    pub provider: String,
    /// The model, as the provider calls it. It may have slashes.
    pub model: String,
    /// What the provider speaks.
    pub api: Api,
}

/// A provider that Aside knows by name.
struct Known {
    name: &'static str,
    api: Api,
    /// Where its key usually is.
    key_env: Option<&'static str>,
    /// The model for users who name none, where the key is there. None until the provider can be used.
    default_model: Option<&'static str>,
}

/// In the order in which a default is looked for.
const KNOWN: [Known; 5] = [
    Known {
        name: "anthropic",
        api: Api::Anthropic,
        key_env: Some("ANTHROPIC_API_KEY"),
        default_model: None,
    },
    Known {
        name: "openai",
        api: Api::OpenaiResponses,
        key_env: Some("OPENAI_API_KEY"),
        default_model: None,
    },
    Known {
        name: "google",
        api: Api::Google,
        key_env: Some("GEMINI_API_KEY"),
        default_model: None,
    },
    Known {
        name: "ollama",
        api: Api::Ollama,
        key_env: None,
        default_model: None,
    },
    Known {
        name: "rehearsal",
        api: Api::Rehearsal,
        key_env: None,
        default_model: None,
    },
];

/// The model of `assistant.model`; without one the default of the first provider whose key is in `env`.
///
/// # Errors
/// A sentence that says what to set.
pub fn choose_model(
    settings: &Settings,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<ModelId, String> {
    choose(settings, env, &KNOWN)
}

impl ModelId {
    /// Reads `provider/model`.
    ///
    /// # Errors
    /// A sentence that names the providers there are.
    pub fn parse(id: &str, settings: &Settings) -> Result<Self, String> {
        parse(id, settings, &KNOWN)
    }
}

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

fn choose(
    settings: &Settings,
    env: &dyn Fn(&str) -> Option<String>,
    known: &[Known],
) -> Result<ModelId, String> {
    if let Some(id) = &settings.assistant.model {
        return parse(id, settings, known);
    }
    let has_key = |row: &&Known| {
        let usual = row.key_env.and_then(env).is_some_and(|key| !key.is_empty());
        let own = settings.providers.get(row.name);
        usual || own.is_some_and(|own| own.api_key_env.is_some() || own.api_key_command.is_some())
    };
    let default = known
        .iter()
        .filter(|row| row.default_model.is_some())
        .find(has_key);
    if let Some(Known {
        name,
        api,
        default_model: Some(model),
        ..
    }) = default
    {
        return Ok(ModelId {
            provider: (*name).into(),
            model: (*model).into(),
            api: *api,
        });
    }
    Err(
        "no model is configured; set `assistant.model` in aside.toml or give `--model`, \
         for example `rehearsal/<script>`, which plays a script"
            .into(),
    )
}

fn parse(id: &str, settings: &Settings, known: &[Known]) -> Result<ModelId, String> {
    let shown = id.escape_debug();
    let Some((provider, model)) = id.split_once('/').filter(|(_, model)| !model.is_empty()) else {
        return Err(format!(
            "`{shown}` is not a model; one is written `provider/model`"
        ));
    };
    let own = settings.providers.get(provider);
    let row = known.iter().find(|row| row.name == provider);
    let api = own.and_then(|own| own.api).or(row.map(|row| row.api));
    if let Some(api) = api {
        return Ok(ModelId {
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
    let mut names: Vec<&str> = known.iter().map(|row| row.name).collect();
    names.extend(settings.providers.keys().map(String::as_str));
    let near = did_you_mean(provider, names.iter().copied());
    let names = names.join(", ");
    Err(format!(
        "there is no provider for the model `{shown}` among {names}{near}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table in which providers have default models.
    const TABLE: [Known; 2] = [
        Known {
            name: "one",
            api: Api::Anthropic,
            key_env: Some("ONE"),
            default_model: Some("m1"),
        },
        Known {
            name: "two",
            api: Api::Google,
            key_env: Some("TWO"),
            default_model: Some("m2"),
        },
    ];

    /// `vars`: names of variables that are set.
    fn check(settings: &str, vars: &[&str], expected: &str) {
        let settings: Settings = toml::from_str(settings).unwrap();
        let env = |name: &str| vars.contains(&name).then(|| "key".to_owned());
        let found = choose(&settings, &env, &TABLE);
        assert_eq!(
            found.map_or_else(|error| error, |id| format!("{id} by {:?}", id.api)),
            expected
        );
    }

    #[test]
    fn without_a_model_the_first_provider_with_a_key_has_one() {
        check("", &["ONE", "TWO"], "one/m1 by Anthropic");
        check("", &["TWO"], "two/m2 by Google");
        check(
            "providers.two.api_key_env = 'MINE'",
            &[],
            "two/m2 by Google",
        );
        check(
            "",
            &[],
            "no model is configured; set `assistant.model` in aside.toml or give `--model`, \
             for example `rehearsal/<script>`, which plays a script",
        );
    }

    #[test]
    fn a_model_names_its_provider() {
        check("assistant.model = 'two/a/b'", &["ONE"], "two/a/b by Google");
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
            "assistant.model = 'tow/x'\nproviders.mine.api = 'google'",
            &[],
            "there is no provider for the model `tow/x` among one, two, mine; did you mean `two`?",
        );
        for id in ["two", "two/"] {
            let expected = format!("`{id}` is not a model; one is written `provider/model`");
            check(&format!("assistant.model = '{id}'"), &[], &expected);
        }
    }

    #[test]
    fn every_provider_that_is_known_can_be_named() {
        let settings = Settings::default();
        for name in ["anthropic", "openai", "google", "ollama", "rehearsal"] {
            assert_eq!(
                ModelId::parse(&format!("{name}/m"), &settings)
                    .unwrap()
                    .provider,
                name
            );
        }
    }
}
