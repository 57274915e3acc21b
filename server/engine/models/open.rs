//! From what is configured of a model to the model itself: where it is, with which key, what it can do.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aside_base::api::ApiKind;
use tokio::time::timeout;
use url::Url;

use super::{
    headers::headers,
    key::{Env, KeySource, Keys},
    listed::Lists,
};
use crate::{
    config::{
        ModelChoice, ModelId,
        known::{KnownProvider, known},
        settings::{
            self, AssistantSettings, CacheSetting, ProviderSettings, ReasoningSetting, Settings,
            TlsRoots,
        },
    },
    provider::{
        self, Provider,
        abilities::{Abilities, Prices, StatedAbilities},
        client::{HttpClient, Roots},
        describe_models, list_models,
        models::{self, KnownReasoning},
        options::{CacheRetention, ModelOptions, ReasoningEffort},
        rehearsal::Rehearsal,
        this_computer::is_this_computer,
    },
};

/// How long an Ollama is waited for where nobody said that there is one.
const OLLAMA: Duration = Duration::from_secs(3);
/// The port of Ollama.
const OLLAMA_PORT: u16 = 11434;

/// What models are opened with. One for the process: clones share connections and keys.
#[derive(Clone)]
pub struct Models {
    client: HttpClient,
    env: Env,
    keys: Keys,
    state_dir: PathBuf,
    /// The model that an Ollama had when it was last asked.
    first_of_ollama: Arc<Mutex<Option<ModelId>>>,
}

/// A provider as it is configured, and how it is asked.
pub struct Endpoint {
    /// What it speaks.
    pub kind: ApiKind,
    /// Where it is, its key, and what else requests say. The model may be any.
    pub options: ModelOptions,
    /// Where its key is.
    pub key: KeySource,
}

impl Endpoint {
    /// What the user is to know where anybody on the way to the provider can read the key.
    #[must_use]
    pub fn exposed_key(&self) -> Option<String> {
        let base = &self.options.base;
        let is_read = base.scheme() == "http" && !is_this_computer(base);
        let has_key = !self.options.key_source.is_empty();
        (is_read && has_key).then(|| {
            format!(
                "The key in {} goes to {} over plain http, where anybody on the way can read it; set the base_url of \
                 the provider {} to https, or leave the key out.",
                self.options.key_source,
                base.host_str().unwrap_or_default(),
                self.options.provider
            )
        })
    }
}

impl Models {
    /// With the certificate authorities that the settings name. `supervisor`: the program that holds child
    /// processes, `aside` itself; `state_dir`: where Aside keeps what it learned of models.
    #[must_use]
    pub fn new(settings: &Settings, env: Env, supervisor: PathBuf, state_dir: PathBuf) -> Self {
        let roots = match settings.tls_roots {
            TlsRoots::Embedded => Roots::Embedded,
            TlsRoots::System => Roots::System,
        };
        Self {
            client: HttpClient::new(roots),
            keys: Keys::new(env.clone(), supervisor),
            env,
            state_dir,
            first_of_ollama: Arc::default(),
        }
    }

    /// What sends requests to a place that is no model's: connections, certificate authorities and proxies are shared.
    ///
    /// # Errors
    /// Where it cannot be built, in words.
    pub async fn http_client(&self, place: &Url) -> Result<reqwest::Client, String> {
        let client = self.client.plain(place).await;
        client.map_err(|why| format!("no HTTP client can be made: {why}"))
    }

    /// The environment in which keys are looked for.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Where Aside keeps what it learned of models.
    #[must_use]
    pub fn state_dir(&self) -> &std::path::Path {
        &self.state_dir
    }

    /// The model of an assistant, as that assistant is configured.
    ///
    /// # Errors
    /// A sentence that says what to set.
    pub fn open(
        &self,
        model: &ModelId,
        assistant: &AssistantSettings,
        settings: &Settings,
    ) -> Result<Arc<dyn Provider>, String> {
        if model.api.is_script() {
            return Ok(Arc::new(Rehearsal::open(&model.model)?));
        }
        let endpoint = self.configured(model, assistant, settings)?;
        let find = self.keys.find(endpoint.key);
        provider::open(endpoint.kind, endpoint.options, self.client.clone(), find)
    }

    /// How the model of an assistant is asked, as that assistant is configured.
    ///
    /// # Errors
    /// A sentence that says what to set.
    pub fn configured(
        &self,
        model: &ModelId,
        assistant: &AssistantSettings,
        settings: &Settings,
    ) -> Result<Endpoint, String> {
        let endpoint = self.endpoint(model, settings)?;
        let listed = Lists::read(&self.state_dir);
        let base = endpoint.options.base.as_str();
        let listed = listed.get(&model.provider, base, &model.model);
        let options = ModelOptions {
            abilities: self.abilities(model, listed, settings)?,
            reasoning: assistant.reasoning.map(effort),
            max_output: assistant.request.max_output_tokens.map(u64::from),
            cache: keep(assistant.request.cache),
            ..endpoint.options
        };
        Ok(Endpoint {
            options,
            ..endpoint
        })
    }

    /// What a model can do: as it is known, as its provider's list said, as the user configured.
    ///
    /// # Errors
    /// Where what is configured cannot be read.
    pub fn abilities(
        &self,
        model: &ModelId,
        listed: Option<&StatedAbilities>,
        settings: &Settings,
    ) -> Result<Abilities, String> {
        let own = settings.providers.get(&model.provider);
        let own = own.and_then(|own| own.models.get(&model.model));
        let own = own.map(stated).transpose()?;
        Ok(models::abilities(
            model.api,
            &model.model,
            listed,
            own.as_ref(),
        ))
    }

    /// What is known of a model's reasoning, by the same sources.
    ///
    /// # Errors
    /// Where the configuration of the model cannot be used.
    pub fn reasoning(
        &self,
        model: &ModelId,
        listed: Option<&StatedAbilities>,
        settings: &Settings,
    ) -> Result<KnownReasoning, String> {
        let own = settings.providers.get(&model.provider);
        let own = own.and_then(|own| own.models.get(&model.model));
        let own = own.map(stated).transpose()?;
        Ok(models::reasoning(
            model.api,
            &model.model,
            listed,
            own.as_ref(),
        ))
    }

    /// What requests to a model cost, where that is known.
    #[must_use]
    pub fn prices(&self, model: &ModelId, settings: &Settings) -> Option<Prices> {
        let own = AssistantSettings::default();
        let endpoint = self.configured(model, &own, settings).ok()?;
        endpoint.options.abilities.prices
    }

    /// Where the provider of a model is, and its key.
    ///
    /// # Errors
    /// A sentence that says what to set.
    pub fn endpoint(&self, model: &ModelId, settings: &Settings) -> Result<Endpoint, String> {
        if model.api.is_script() {
            return Err(format!(
                "{model} is a script, which has no address and no key"
            ));
        }
        let own = settings.providers.get(&model.provider);
        let known = known(&model.provider).filter(|known| speaks(known, model.api));
        let base = base(&model.provider, model.api, own, known, &self.env)?;
        let key = KeySource::of(&model.provider, own, known, &self.env)?;
        let default = known.and_then(|known| Url::parse(known.base_url).ok());
        if let (KeySource::None, Some(known)) = (&key, known)
            && !known.local
            && default.as_ref() == Some(&base)
        {
            let name = known.name;
            let variable = known.key_env.first().unwrap_or(&"a variable");
            return Err(format!(
                "there is no key for the provider {name}; set {variable}, \
                 or providers.{name}.api_key_env or api_key_command in your aside.toml"
            ));
        }
        Ok(Endpoint {
            kind: model.api,
            options: ModelOptions {
                provider: model.provider.clone(),
                model: model.model.clone(),
                base,
                key_source: key.words(),
                bearer: key.bearer(),
                headers: headers(&model.provider, own, known, &self.env)?,
                abilities: models::built_in(model.api, &model.model),
                reasoning: None,
                max_output: None,
                cache: CacheRetention::default(),
            },
            key,
        })
    }

    /// The models that the provider at a place has, and what it says of each.
    ///
    /// # Errors
    /// A sentence for the user.
    pub async fn list(
        &self,
        endpoint: &Endpoint,
    ) -> Result<Vec<(String, StatedAbilities)>, String> {
        let find = self.keys.find(endpoint.key.clone());
        let (options, client) = (endpoint.options.clone(), self.client.clone());
        list_models(endpoint.kind, options, client, find)
            .await
            .map_err(|failure| failure.text)
    }

    /// Asks the provider for what its list does not say of these models, where there is such a thing.
    pub async fn describe(&self, endpoint: &Endpoint, models: &mut [(String, StatedAbilities)]) {
        let find = self.keys.find(endpoint.key.clone());
        let (options, client) = (endpoint.options.clone(), self.client.clone());
        describe_models(endpoint.kind, options, client, find, models).await;
    }

    /// Whether somebody said that there is an Ollama.
    #[must_use]
    pub fn expects_ollama(&self, settings: &Settings) -> bool {
        settings.providers.contains_key("ollama") || (self.env)("OLLAMA_HOST").is_some()
    }

    /// The model that was chosen.
    ///
    /// # Errors
    /// A sentence that says what to set.
    pub async fn choose(
        &self,
        choice: ModelChoice,
        settings: &Settings,
    ) -> Result<ModelId, String> {
        match choice {
            ModelChoice::Model(model) => Ok(model),
            ModelChoice::DefaultOf(provider) => {
                let model = models::default_model(provider)
                    .ok_or_else(|| format!("the provider {provider} has no default model"))?;
                ModelId::parse(&format!("{provider}/{model}"), settings)
            }
            ModelChoice::FirstOfOllama => {
                // Somewhere else it may be far, or gone without a word.
                let found = timeout(OLLAMA, self.ask_ollama(settings)).await;
                let found = found.ok().flatten();
                self.remembered().clone_from(&found);
                found.ok_or_else(|| NO_MODEL.to_owned())
            }
        }
    }

    /// The model of [`ModelChoice::FirstOfOllama`] when it was last looked for, if there was one.
    #[must_use]
    pub fn first_of_ollama(&self) -> Option<ModelId> {
        self.remembered().clone()
    }

    fn remembered(&self) -> MutexGuard<'_, Option<ModelId>> {
        // What is done while it is held cannot panic halfway.
        let remembered = self.first_of_ollama.lock();
        remembered.unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask_ollama(&self, settings: &Settings) -> Option<ModelId> {
        let any = ModelId::of_provider("ollama", settings).ok()?;
        let listed = self.list(&self.endpoint(&any, settings).ok()?).await.ok()?;
        let mut listed = listed.into_iter();
        let (model, _) = listed.find(|(_, stated)| stated.tools == Some(true))?;
        Some(ModelId { model, ..any })
    }
}

/// What is said where no model is named and none is found. Who knows another way to name one says so.
pub const NO_MODEL: &str = "there is no model: none of ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, OPENAI_API_KEY, \
                            GOOGLE_API_KEY and GEMINI_API_KEY holds a key, and no Ollama answers that has a model \
                            which takes tools; set one of these keys, or `assistant.model` in aside.toml, for example \
                            to `rehearsal/demo`, which plays a script";

/// What is known of a provider by its name counts where it speaks an API of that provider.
fn speaks(known: &KnownProvider, api: ApiKind) -> bool {
    known.api == api || known.other_api == Some(api)
}

fn base(
    provider: &str,
    api: ApiKind,
    own: Option<&ProviderSettings>,
    known: Option<&KnownProvider>,
    env: &Env,
) -> Result<Url, String> {
    if let Some(text) = own.and_then(|own| own.base_url.as_deref()) {
        return address(text, &format!("providers.{provider}.base_url"));
    }
    let variable = known.and_then(|known| known.base_env);
    let set = variable.and_then(|name| Some((name, env(name)?)));
    if let Some((name, text)) = set.filter(|(_, text)| !text.trim().is_empty()) {
        let text = if api == ApiKind::Ollama {
            ollama_host(&text)
        } else {
            text
        };
        return address(&text, name);
    }
    let usual = known.map(|known| known.base_url).or(api.base_url());
    let text = usual.ok_or_else(|| {
        format!("providers.{provider} does not say where its API is; set its `base_url`")
    })?;
    address(text, "the built-in address")
}

/// An address as requests can be sent to. What stands in it is not repeated: it may be a secret.
fn address(text: &str, source: &str) -> Result<Url, String> {
    let wrong = |why: &str| format!("{source} {why}; write it as https://host/path");
    let url =
        Url::parse(text.trim()).map_err(|error| wrong(&format!("is no address ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("is no address of a web server"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has a name or password in it"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("goes on after its path"));
    }
    Ok(url)
}

/// `OLLAMA_HOST` as an address: it may lack scheme, host or port, and may be the address that a server listens on.
fn ollama_host(text: &str) -> String {
    let text = text.trim();
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    let (authority, path) = rest
        .split_once('/')
        .map_or((rest, ""), |(authority, path)| (authority, path));
    // The colons of an address of version 6 are no port's.
    let bare = authority.matches(':').count() > 1 && !authority.starts_with('[');
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !bare && !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let host = match host {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" | "[::]" => "[::1]".to_owned(),
        host if bare => format!("[{host}]"),
        host => host.to_owned(),
    };
    let port = match (port, scheme) {
        (Some(port), _) => format!(":{port}"),
        (None, Some(_)) => String::new(),
        (None, None) => format!(":{OLLAMA_PORT}"),
    };
    format!("{}://{host}{port}/{path}", scheme.unwrap_or("http"))
}

/// The keys are the same.
fn stated(model: &settings::ModelSettings) -> Result<StatedAbilities, String> {
    serde_json::to_value(model)
        .and_then(serde_json::from_value)
        .map_err(|error| format!("what is configured of a model cannot be read: {error}"))
}

fn effort(reasoning: ReasoningSetting) -> ReasoningEffort {
    match reasoning {
        ReasoningSetting::Off => ReasoningEffort::Off,
        ReasoningSetting::Low => ReasoningEffort::Low,
        ReasoningSetting::Medium => ReasoningEffort::Medium,
        ReasoningSetting::High => ReasoningEffort::High,
        ReasoningSetting::Max => ReasoningEffort::Max,
    }
}

fn keep(cache: Option<CacheSetting>) -> CacheRetention {
    match cache {
        None => CacheRetention::default(),
        Some(CacheSetting::Off) => CacheRetention::Off,
        Some(CacheSetting::Short) => CacheRetention::Short,
        Some(CacheSetting::Long) => CacheRetention::Long,
    }
}

#[cfg(test)]
mod tests;
