//! From the configuration of a model to the model itself: address, key and abilities.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use aside_base::{api::ApiKind, environment::looks_secret, lock};
use tokio::time::timeout;
use url::Url;

use super::{
    headers::headers,
    key::{EnteredKeys, Env, KeySource, Keys},
    listed::Lists,
};
use aside_config::{
    ModelChoice, ModelId, choose_model, key_is_there,
    known::{KNOWN, KnownProvider, known},
    settings::{AssistantSettings, ProviderSettings, Settings, TlsRoots},
    usable_providers,
};
use aside_provider::{
    self, Provider,
    abilities::{Abilities, Prices, StatedAbilities},
    client::{HttpClient, Roots},
    describe_models, list_models,
    models::{self, KnownReasoning},
    options::{CacheRetention, ModelOptions},
    rehearsal::Rehearsal,
    this_computer::is_this_computer,
};

/// Time limit for finding an Ollama that is not configured.
const OLLAMA_TIMEOUT: Duration = Duration::from_secs(3);
/// Default port of Ollama.
const OLLAMA_PORT: u16 = 11434;

/// Opens models. There is one for the process: clones share connections and keys.
#[derive(Clone)]
pub struct Models {
    client: HttpClient,
    env: Env,
    keys: Keys,
    state_dir: PathBuf,
    /// The model that an Ollama offered when it was last asked.
    first_of_ollama: Arc<Mutex<Option<ModelId>>>,
    /// Models whose servers were asked about their context windows.
    asked: Arc<Mutex<HashSet<String>>>,
}

/// A configured provider, with everything needed for requests.
#[derive(Clone)]
pub struct Endpoint {
    /// The API.
    pub kind: ApiKind,
    /// Address, key and further options. The model is ignored for requests that are not about one.
    pub options: ModelOptions,
    /// Source of the key.
    pub key: KeySource,
}

impl Endpoint {
    /// A warning for the user if the key is sent unencrypted over a network.
    #[must_use]
    pub fn exposed_key(&self) -> Option<String> {
        let base = &self.options.base;
        let is_read = base.scheme() == "http" && !is_this_computer(base);
        let has_key = !self.options.key_source.is_empty();
        (is_read && has_key).then(|| {
            format!(
                "The key in {} is sent to {} over plain http, where anybody on the way can read it; change the base_url of \
                 the provider {} to https, or remove the key.",
                self.options.key_source,
                base.host_str().unwrap_or_default(),
                self.options.provider
            )
        })
    }
}

impl Models {
    /// Uses the certificate authorities of the settings. `supervisor` is the executable that supervises child
    /// processes, `aside` itself; `state_dir` is the state directory.
    #[must_use]
    pub fn new(
        settings: &Settings,
        env: Env,
        entered: EnteredKeys,
        supervisor: PathBuf,
        state_dir: PathBuf,
    ) -> Self {
        let roots = match settings.tls_roots {
            TlsRoots::Embedded => Roots::Embedded,
            TlsRoots::System => Roots::System,
        };
        Self {
            client: HttpClient::new(roots),
            keys: Keys::new(env.clone(), entered, supervisor),
            env,
            state_dir,
            first_of_ollama: Arc::default(),
            asked: Arc::default(),
        }
    }

    /// HTTP client for requests that are not to a model. It shares connections, certificate authorities and proxies.
    ///
    /// # Errors
    /// A sentence if the client cannot be created.
    pub async fn http_client(&self, place: &Url) -> Result<reqwest::Client, String> {
        let client = self.client.plain(place).await;
        client.map_err(|why| format!("cannot create an HTTP client: {why}"))
    }

    /// The environment in which keys are looked up.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The state directory.
    #[must_use]
    pub fn state_dir(&self) -> &std::path::Path {
        &self.state_dir
    }

    /// Opens the model of an assistant with that assistant's configuration.
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
        aside_provider::open(endpoint.kind, endpoint.options, self.client.clone(), find)
    }

    /// The endpoint of an assistant's model with that assistant's configuration.
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
            abilities: self.abilities(model, listed, settings),
            reasoning: assistant.reasoning,
            max_output: assistant.request.max_output_tokens.map(u64::from),
            cache: assistant.request.cache.unwrap_or_default(),
            ..endpoint.options
        };
        Ok(Endpoint {
            options,
            ..endpoint
        })
    }

    /// Abilities of a model: as it is known, as its provider's list said, as the user configured.
    pub fn abilities(
        &self,
        model: &ModelId,
        listed: Option<&StatedAbilities>,
        settings: &Settings,
    ) -> Abilities {
        models::abilities(model.api, &model.model, listed, stated(model, settings))
    }

    /// Known facts about a model's reasoning, from the same sources.
    pub fn reasoning(
        &self,
        model: &ModelId,
        listed: Option<&StatedAbilities>,
        settings: &Settings,
    ) -> KnownReasoning {
        models::reasoning(model.api, &model.model, listed, stated(model, settings))
    }

    /// Prices of a model, if known.
    #[must_use]
    pub fn prices(&self, model: &ModelId, settings: &Settings) -> Option<Prices> {
        let own = AssistantSettings::default();
        let endpoint = self.configured(model, &own, settings).ok()?;
        endpoint.options.abilities.prices
    }

    /// Address and key of a model's provider.
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
        let key = self.key_source(&model.provider, own, known)?;
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
                key_source: key.description(),
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

    fn key_source(
        &self,
        provider: &str,
        own: Option<&ProviderSettings>,
        known: Option<&KnownProvider>,
    ) -> Result<KeySource, String> {
        match self.keys.is_entered(provider) {
            true => Ok(KeySource::Entered(provider.to_owned())),
            false => KeySource::of(provider, own, known, &self.env),
        }
    }

    fn has_key(&self, provider: &str, settings: &Settings) -> bool {
        self.keys.is_entered(provider) || key_is_there(provider, settings, self.env.as_ref())
    }

    /// The model of the settings, or of the first provider that has a key.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the model that is set.
    pub fn choice(&self, settings: &Settings) -> Result<ModelChoice, String> {
        choose_model(settings, &|name| self.has_key(name, settings))
    }

    /// The names of the providers that could be asked.
    #[must_use]
    pub fn usable_providers(&self, settings: &Settings) -> Vec<String> {
        usable_providers(settings, &|name| self.has_key(name, settings))
    }

    /// The providers that can have a key, and where theirs comes from: those that need one, and those of the settings.
    #[must_use]
    pub fn key_sources(&self, settings: &Settings) -> Vec<(String, KeySource)> {
        let known_ones = KNOWN.iter().filter(|known| !known.local);
        let known_ones = known_ones.map(|known| known.name);
        let own = settings.providers.keys().map(String::as_str);
        let own = own.filter(|name| known(name).is_none_or(|known| known.local));
        let own = own.filter(|name| {
            ModelId::of_provider(name, settings).is_ok_and(|id| !id.api.is_script())
        });
        let source = |name: &str| {
            let source = self.key_source(name, settings.providers.get(name), known(name));
            (name.to_owned(), source.unwrap_or(KeySource::None))
        };
        known_ones.chain(own).map(source).collect()
    }

    /// Lists the models of a provider, with their listed abilities.
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
            .map_err(|failure| failure.sentence())
    }

    /// Asks the provider for details of these models, if its API has such a request.
    pub async fn describe(&self, endpoint: &Endpoint, models: &mut [(String, StatedAbilities)]) {
        let find = self.keys.find(endpoint.key.clone());
        let (options, client) = (endpoint.options.clone(), self.client.clone());
        describe_models(endpoint.kind, options, client, find, models).await;
    }

    /// Whether an Ollama is configured.
    #[must_use]
    pub fn expects_ollama(&self, settings: &Settings) -> bool {
        settings.providers.contains_key("ollama") || (self.env)("OLLAMA_HOST").is_some()
    }

    /// Resolves the choice of a model.
    ///
    /// # Errors
    /// A sentence that says what to set.
    pub async fn choose(
        &self,
        choice: ModelChoice,
        settings: &Settings,
    ) -> Result<ModelId, ChoiceError> {
        match choice {
            ModelChoice::Model(model) => Ok(model),
            ModelChoice::DefaultOf(provider) => {
                let model = models::default_model(provider).ok_or_else(|| {
                    ChoiceError::Unusable(format!("the provider {provider} has no default model"))
                })?;
                ModelId::parse(&format!("{provider}/{model}"), settings)
                    .map_err(ChoiceError::Unusable)
            }
            ModelChoice::FirstOfOllama => {
                // The address may be remote, or drop packets.
                let found = timeout(OLLAMA_TIMEOUT, self.ask_ollama(settings)).await;
                let found = found.ok().flatten();
                lock(&self.first_of_ollama).clone_from(&found);
                found.ok_or(ChoiceError::NothingFound)
            }
        }
    }

    /// The last result of [`ModelChoice::FirstOfOllama`], if a model was found.
    #[must_use]
    pub fn first_of_ollama(&self) -> Option<ModelId> {
        lock(&self.first_of_ollama).clone()
    }

    /// Whether nobody in the process has asked about the context window of this model before.
    pub(super) fn is_first_question(&self, model: &ModelId) -> bool {
        lock(&self.asked).insert(model.to_string())
    }

    async fn ask_ollama(&self, settings: &Settings) -> Option<ModelId> {
        let any = ModelId::of_provider("ollama", settings).ok()?;
        let listed = self.list(&self.endpoint(&any, settings).ok()?).await.ok()?;
        let mut listed = listed.into_iter();
        let (model, _) = listed.find(|(_, stated)| stated.tools == Some(true))?;
        Some(ModelId { model, ..any })
    }
}

/// Reason why no model was chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No model is named and none was found. A front end with another way to name one says so.
    #[error("{NO_MODEL}")]
    NothingFound,
    /// The model that is named cannot be used, for this reason.
    #[error("{0}")]
    Unusable(String),
}

/// The sentence where no model is named and none is found.
const NO_MODEL: &str = "there is no model: none of ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, OPENAI_API_KEY, \
                            GOOGLE_API_KEY and GEMINI_API_KEY holds a key, and no Ollama answers that has a model \
                            which takes tools; set one of these keys, or `assistant.model` in your aside.toml, for \
                            example to `rehearsal/hello`, which asks no model and only greets";

/// Whether the known properties of a provider apply: only if its configured API is one of that provider's.
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
        format!("providers.{provider} has no address of its API; set its `base_url`")
    })?;
    address(text, "the built-in address")
}

/// Parses a base URL. The text is not repeated in errors, because it may contain a secret.
fn address(text: &str, source: &str) -> Result<Url, String> {
    let wrong = |why: &str| format!("{source} {why}; write it as https://host/path");
    let url = Url::parse(text.trim())
        .map_err(|error| wrong(&format!("is not a valid address ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("is not an http or https address"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("contains a name or password"));
    }
    if url.fragment().is_some() {
        return Err(wrong("has a fragment after its path"));
    }
    let is_key = |name: &str| looks_secret(&name.to_ascii_uppercase());
    if url.query_pairs().any(|(name, _)| is_key(&name)) {
        return Err(wrong("has a key in its query"));
    }
    Ok(url)
}

/// Completes `OLLAMA_HOST` to an address: scheme, host or port may be missing, and the host may be a listening address.
fn ollama_host(text: &str) -> String {
    let text = text.trim();
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    let (authority, path) = rest
        .split_once('/')
        .map_or((rest, ""), |(authority, path)| (authority, path));
    // The colons of an IPv6 address do not separate a port.
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

/// The user's word on what a model can do.
fn stated<'a>(model: &ModelId, settings: &'a Settings) -> Option<&'a StatedAbilities> {
    settings
        .providers
        .get(&model.provider)?
        .models
        .get(&model.model)
}

#[cfg(test)]
mod tests;
