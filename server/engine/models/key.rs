//! Source of a provider's key: a person who entered it, a variable, or a program that prints it. Keys are looked up when
//! they are needed, kept in memory only, and never printed.

use std::{
    collections::HashMap,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex as SyncMutex},
    time::Duration,
};

use aside_base::{homes::home, lock, open_places};
use aside_config::{
    hidden::is_variable,
    known::{BEARER, KnownProvider},
    settings::ProviderSettings,
};
use aside_provider::{FindKey, key::Key};
use aside_tool::process::{
    CommandEnd,
    quiet::{Quiet, read_quietly},
};
use tokio::sync::Mutex;

/// Time limit for a program that prints a key, which may have to ask the user.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Maximum number of bytes that such a program may print.
const MAX_KEY: usize = 8 * 1024;
/// Variables that such programs need in addition to those of every child process; none is a secret.
const KEY_PROGRAM_VARIABLES: [&str; 8] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "GNUPGHOME",
    "GPG_TTY",
    "PASSWORD_STORE_DIR",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// Reads a variable of the environment.
pub type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Keys that a person entered in an editor, by provider. They come before all others: nothing is more recent than what
/// somebody typed. Clones are the same keys.
#[derive(Clone, Debug, Default)]
pub struct EnteredKeys(Arc<SyncMutex<HashMap<String, Key>>>);

impl EnteredKeys {
    /// Keeps a provider's key in place of the one before, or forgets it.
    pub fn set(&self, provider: String, key: Option<Key>) {
        let mut all = lock(&self.0);
        match key {
            Some(key) => all.insert(provider, key),
            None => all.remove(&provider),
        };
    }

    /// The key that was entered for a provider.
    #[must_use]
    pub fn get(&self, provider: &str) -> Option<Key> {
        lock(&self.0).get(provider).cloned()
    }
}

/// Source of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// No key; the provider may need none.
    None,
    /// A person entered the key of this provider in the editor.
    Entered(String),
    /// The value of this variable.
    Variable(String),
    /// The output of a program, configured for a provider.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Name of the provider.
        provider: String,
    },
}

impl KeySource {
    /// Determines the source where no key was entered: as configured, else the provider's usual variable.
    ///
    /// # Errors
    /// A sentence that names the variable to set.
    pub fn of(
        provider: &str,
        own: Option<&ProviderSettings>,
        known: Option<&KnownProvider>,
        env: &Env,
    ) -> Result<Self, String> {
        let is_set = |name: &str| env(name).is_some_and(|key| !key.trim().is_empty());
        let configured = own.map(|own| (&own.api_key_env, &own.api_key_command));
        match configured {
            Some((Some(_), Some(_))) => Err(format!(
                "providers.{provider} has both api_key_env and api_key_command; keep one of them"
            )),
            Some((Some(name), None)) if is_set(name) => Ok(Self::Variable(name.clone())),
            // The text may be a key, so it is not repeated.
            Some((Some(name), None)) if !is_variable(name) => Err(format!(
                "providers.{provider}.api_key_env must name an environment variable, not hold the key; put the key into a \
                 variable, and the variable's name there"
            )),
            Some((Some(name), None)) => Err(format!(
                "there is no key for the provider {provider}: the variable {name} of its api_key_env is not set; set it"
            )),
            Some((None, Some(command))) => Ok(Self::Command {
                command: command.clone(),
                provider: provider.to_owned(),
            }),
            _ => {
                let usual = known.map_or(&[][..], |known| known.key_env);
                let found = usual.iter().find(|name| is_set(name));
                Ok(found.map_or(Self::None, |name| Self::Variable((*name).to_owned())))
            }
        }
    }

    /// Description for a person; empty if there is no key.
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Entered(_) => "the editor".to_owned(),
            Self::Variable(name) => name.clone(),
            Self::Command { provider, .. } => format!("providers.{provider}.api_key_command"),
        }
    }

    /// Whether the key is sent as `Authorization: Bearer`, whatever the API's own header is.
    #[must_use]
    pub fn bearer(&self) -> bool {
        matches!(self, Self::Variable(name) if name == BEARER)
    }
}

/// Looks up keys. Clones share what programs printed, so each program runs once.
#[derive(Clone)]
pub struct Keys {
    env: Env,
    entered: EnteredKeys,
    /// The executable that supervises child processes: `aside` itself.
    supervisor: PathBuf,
    printed: Arc<Mutex<HashMap<Vec<String>, Key>>>,
}

impl Keys {
    /// Looks up keys among those that were entered, and in this environment.
    #[must_use]
    pub fn new(env: Env, entered: EnteredKeys, supervisor: PathBuf) -> Self {
        Self {
            env,
            entered,
            supervisor,
            printed: Arc::default(),
        }
    }

    /// Whether a key was entered for a provider.
    #[must_use]
    pub fn is_entered(&self, provider: &str) -> bool {
        self.entered.get(provider).is_some()
    }

    /// Returns the function that looks up a key for each request.
    #[must_use]
    pub fn find(&self, source: KeySource) -> FindKey {
        let keys = self.clone();
        Arc::new(move || {
            let (keys, source) = (keys.clone(), source.clone());
            Box::pin(async move {
                match &source {
                    KeySource::None => Ok(None),
                    KeySource::Entered(provider) => keys.entered(provider).map(Some),
                    KeySource::Variable(name) => keys.variable(name).map(Some),
                    KeySource::Command { command, provider } => {
                        keys.command(command, provider).await.map(Some)
                    }
                }
            })
        })
    }

    fn entered(&self, provider: &str) -> Result<Key, String> {
        self.entered.get(provider).ok_or_else(|| {
            format!("the key of the provider {provider} was removed in the editor; enter one again")
        })
    }

    fn variable(&self, name: &str) -> Result<Key, String> {
        let key = (self.env)(name).map(|text| Key::new(&text));
        key.filter(|key| !key.is_empty())
            .ok_or_else(|| format!("the variable {name} with the key is no longer set; set it"))
    }

    async fn command(&self, command: &[String], provider: &str) -> Result<Key, String> {
        // Held while the program runs, so that it runs once for all waiting requests.
        let mut printed = self.printed.lock().await;
        if let Some(key) = printed.get(command) {
            return Ok(key.clone());
        }
        let key = self.run(command).await.map_err(|why| {
            format!("providers.{provider}.api_key_command {why}; run it yourself to see why")
        })?;
        printed.insert(command.to_owned(), key.clone());
        Ok(key)
    }

    async fn run(&self, command: &[String]) -> Result<Key, String> {
        let Some((program, args)) = command.split_first() else {
            return Err("names no program".to_owned());
        };
        let kept = |name: &&str| Some((OsString::from(name), OsString::from((self.env)(name)?)));
        let named = (self.env)("HOME").map(PathBuf::from);
        let home = named.filter(|home| home.is_absolute()).or_else(home);
        let program = Quiet {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            cwd: open_places::known().start_folder_of(home),
            env: KEY_PROGRAM_VARIABLES.iter().filter_map(kept).collect(),
            time: TIME_LIMIT,
            most: MAX_KEY,
            walls: None,
        };
        let (how, output) = read_quietly(program, &self.supervisor)
            .await
            .map_err(|error| format!("could not be started: {error}"))?;
        match how {
            CommandEnd::Exit(0) => {}
            CommandEnd::Exit(code) => return Err(format!("ended with exit status {code}")),
            CommandEnd::NotStarted(why) => return Err(format!("could not be started: {why}")),
            CommandEnd::TimedOut => {
                return Err(format!("took more than {} s", TIME_LIMIT.as_secs()));
            }
            _ => return Err("was killed".to_owned()),
        }
        let text = String::from_utf8(output)
            .map_err(|_| "printed output that is not valid UTF-8".to_owned())?;
        let key = Key::new(&text);
        if key.is_empty() {
            return Err("printed no key".to_owned());
        }
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use aside_config::known::known;

    use super::*;

    fn env(set: &'static [(&'static str, &'static str)]) -> Env {
        Arc::new(move |name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn source(provider: &str, own: &str, set: &'static [(&'static str, &'static str)]) -> String {
        let own: ProviderSettings = toml::from_str(own).unwrap();
        match KeySource::of(provider, Some(&own), known(provider), &env(set)) {
            Ok(source) if source.bearer() => format!("{} as bearer", source.description()),
            Ok(source) => source.description(),
            Err(error) => error,
        }
    }

    #[test]
    fn configured_key_sources_precede_the_usual_ones() {
        let check = |provider, own, set, expected: &str| {
            assert_eq!(source(provider, own, set), expected);
        };
        check("anthropic", "", &[], "");
        check(
            "anthropic",
            "",
            &[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_API_KEY", "k")],
            "ANTHROPIC_API_KEY",
        );
        check(
            "anthropic",
            "",
            &[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_API_KEY", " ")],
            "ANTHROPIC_AUTH_TOKEN as bearer",
        );
        check(
            "google",
            "",
            &[("GEMINI_API_KEY", "a"), ("GOOGLE_API_KEY", "b")],
            "GOOGLE_API_KEY",
        );
        check("ollama", "", &[("OLLAMA_API_KEY", "k")], "OLLAMA_API_KEY");
        check("mine", "", &[("OPENAI_API_KEY", "k")], "");
        check("mine", "api_key_env = 'MINE'", &[("MINE", "k")], "MINE");
        check(
            "openai",
            "api_key_env = 'MINE'",
            &[("OPENAI_API_KEY", "k")],
            "there is no key for the provider openai: the variable MINE of its api_key_env is not set; set it",
        );
        check(
            "openai",
            "api_key_command = ['pass', 'x']",
            &[("OPENAI_API_KEY", "k")],
            "providers.openai.api_key_command",
        );
        check(
            "openai",
            "api_key_command = ['pass', 'x']\napi_key_env = 'MINE'",
            &[],
            "providers.openai has both api_key_env and api_key_command; keep one of them",
        );
    }

    #[tokio::test]
    async fn key_variables_are_read_on_use() {
        let env = env(&[("SET", " key\n"), ("EMPTY", "")]);
        let keys = Keys::new(env, EnteredKeys::default(), PathBuf::new());
        let find = |name: &str| keys.find(KeySource::Variable(name.into()))();
        assert_eq!(find("SET").await, Ok(Some(Key::new("key"))));
        for name in ["EMPTY", "UNSET"] {
            assert_eq!(
                find(name).await,
                Err(format!(
                    "the variable {name} with the key is no longer set; set it"
                ))
            );
        }
        assert_eq!(keys.find(KeySource::None)().await, Ok(None));
    }

    #[tokio::test]
    async fn entered_keys_count_until_they_are_removed() {
        let entered = EnteredKeys::default();
        let keys = Keys::new(env(&[]), entered.clone(), PathBuf::new());
        let find = || keys.find(KeySource::Entered("mistral".into()))();
        entered.set("mistral".into(), Some(Key::new("one")));
        entered.set("openai".into(), Some(Key::new("two")));
        assert!(keys.is_entered("mistral") && !keys.is_entered("google"));
        assert_eq!(find().await, Ok(Some(Key::new("one"))));
        entered.set("mistral".into(), None);
        assert!(!keys.is_entered("mistral"));
        assert_eq!(
            find().await,
            Err(
                "the key of the provider mistral was removed in the editor; enter one again"
                    .to_owned()
            )
        );
        assert!(!format!("{entered:?}").contains("two"));
    }
}
