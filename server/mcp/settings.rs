//! A server as it is configured.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use crate::tool::sandbox::Walls;

/// What stands in place of a secret.
const HIDDEN: &str = "[hidden]";
/// What is shorter is no secret, but could be any word.
const SHORT: usize = 8;

/// A server of the Model Context Protocol.
#[derive(Clone, Debug)]
pub struct McpDefinition {
    /// The name of the server, which its tools begin with.
    pub name: String,
    /// Where it is.
    pub place: ServerPlace,
    /// Which protocol is spoken with it.
    pub protocol: ProtocolChoice,
    /// How long it may take until its tools are known.
    pub startup: Duration,
    /// How long a call of a tool of it may run, where that is not what counts for all tools.
    pub call: Option<Duration>,
    /// Which of its tools are there, by the server's own names.
    pub offered: OfferedNames,
    /// Takes the secrets that the server is given out of what it says.
    pub hide: HideSecrets,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub enum ServerPlace {
    /// It is started here.
    Program(ServerProgram),
    /// It is on the network.
    Network(ServerAddress),
}

/// A server that is a program.
#[derive(Clone)]
pub struct ServerProgram {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder that it is started in: seen from the workspace, or a whole path; the workspace, where it is none.
    pub cwd: Option<PathBuf>,
    /// What its environment has beyond the allow-list. It may hold secrets.
    pub environment: Vec<(String, String)>,
    /// It is kept together with its processes where that can be.
    pub pid_namespace: bool,
}

/// Where servers that are programs are started, and what holds them.
#[derive(Clone, Debug)]
pub struct ServerGround {
    /// The root of the workspace.
    pub root: PathBuf,
    /// Holds child processes: `aside` itself.
    pub holder: PathBuf,
    /// What keeps each of them together with its processes; none, where nothing does.
    pub walls: Option<Walls>,
}

/// A server on the network.
#[derive(Clone, Debug)]
pub struct ServerAddress {
    /// Where requests go.
    pub url: Url,
    /// What every request says besides.
    pub headers: Vec<ServerHeader>,
    /// Sends the requests. It follows no redirects.
    pub client: reqwest::Client,
    /// The folder of the tokens that logins gave; none, where a header has a key.
    pub logins: Option<PathBuf>,
    /// What Aside is known as to who gives the tokens, where it cannot make itself known.
    pub client_id: Option<String>,
}

/// A header of every request to a server.
#[derive(Clone)]
pub struct ServerHeader {
    /// As in the configuration; `Authorization` takes the place of a login.
    pub name: HeaderName,
    /// What it says, which may be a secret.
    pub value: HeaderValue,
    /// The variable of the environment that the value is of. Approvals are bound to its name then.
    pub variable: Option<String>,
}

/// Which protocol is spoken with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// A program is asked for that of 2025-11-25, unless it wants the newer one; a server on the network for the newer
    /// one, unless it does not know it.
    #[default]
    Auto,
    /// That of 2025-11-25.
    Older,
    /// That of 2026-07-28.
    Newer,
}

/// Which tools of a server are there. In each name `*` stands for any characters.
#[derive(Clone, Debug, Default)]
pub struct OfferedNames {
    /// Only these; all, where it is none.
    pub only: Option<Vec<String>>,
    /// All but these.
    pub but: Vec<String>,
}

/// Takes secrets out of what a stranger says.
#[derive(Clone)]
pub struct HideSecrets {
    hide: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// Secrets that came later.
    later: Arc<Mutex<Vec<String>>>,
}

impl McpDefinition {
    /// SHA-256 of all that is said of the server: what is another one is connected anew.
    pub(super) fn key(&self) -> String {
        let Self {
            name: _,
            place,
            protocol,
            startup,
            call,
            offered,
            hide: _,
        } = self;
        let of_place = match place {
            ServerPlace::Program(program) => program.pid_namespace.to_string(),
            ServerPlace::Network(address) => format!("{:?}", address.client_id),
        };
        let rest = format!("{protocol:?} {startup:?} {call:?} {offered:?} {of_place}");
        aside_base::digest::of_parts(&[&self.hash(), &rest])
    }

    /// SHA-256 of where the server is and what it is given. Secrets are in it and cannot be read from it.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut parts = vec![self.name.as_str()];
        match &self.place {
            ServerPlace::Program(program) => {
                parts.push(&program.command);
                parts.extend(program.args.iter().map(String::as_str));
                for (name, value) in &program.environment {
                    parts.extend([name.as_str(), value]);
                }
                let cwd = program.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
                // What was approved before there were folders is what it was.
                if let Some(cwd) = &cwd {
                    parts.extend(["in", cwd]);
                }
                aside_base::digest::of_parts(&parts)
            }
            ServerPlace::Network(address) => {
                parts.push(address.url.as_str());
                let digests: Vec<String> = address.headers.iter().map(ServerHeader::hash).collect();
                parts.extend(digests.iter().map(String::as_str));
                aside_base::digest::of_parts(&parts)
            }
        }
    }
}

impl ServerHeader {
    fn hash(&self) -> String {
        let value = match &self.variable {
            Some(variable) => variable.as_bytes(),
            None => self.value.as_bytes(),
        };
        let kind = match self.variable {
            Some(_) => "variable",
            None => "value",
        };
        let value = aside_base::digest::sha256(value);
        aside_base::digest::of_parts(&[self.name.as_str(), kind, &value])
    }
}

impl OfferedNames {
    /// Whether the tool of this name is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| is_like(name, pattern));
        self.only.as_deref().is_none_or(fits) && !fits(&self.but)
    }
}

/// Whether a name is like a pattern, in which `*` stands for any characters.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(mut name) = name.strip_prefix(begin) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = name.split_once(part) else {
            return false;
        };
        name = after;
    }
    name.ends_with(end)
}

impl HideSecrets {
    /// What `hide` leaves of a text.
    pub fn new(hide: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self {
            hide: Arc::new(hide),
            later: Arc::default(),
        }
    }

    /// From now on this is taken out too.
    pub(super) fn also(&self, secret: &str) {
        // Each change is one push.
        let mut later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.len() >= SHORT && !later.iter().any(|it| it == secret) {
            later.push(secret.to_owned());
        }
    }

    /// A text without the secrets.
    #[must_use]
    pub fn in_text(&self, text: &str) -> String {
        let text = (self.hide)(text);
        let later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        let hide = |text: String, secret: &String| text.replace(secret, HIDDEN);
        later.iter().fold(text, hide)
    }

    /// Takes them out of every text of a value, the names of members among them.
    pub fn in_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.in_text(text),
            Value::Array(list) => list.iter_mut().for_each(|it| self.in_json(it)),
            Value::Object(map) => {
                let members = std::mem::take(map).into_iter();
                *map = members
                    .map(|(name, mut value)| {
                        self.in_json(&mut value);
                        (self.in_text(&name), value)
                    })
                    .collect();
            }
            _ => {}
        }
    }
}

impl fmt::Debug for ServerProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerProgram")
            .field("command", &self.command)
            .field("args", &self.args)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHeader")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HideSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HideSecrets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_there_by_their_names() {
        let names = |only: Option<&[&str]>, but: &[&str]| OfferedNames {
            only: only.map(|only| only.iter().map(ToString::to_string).collect()),
            but: but.iter().map(ToString::to_string).collect(),
        };
        let all = names(None, &[]);
        assert!(all.has("anything"));
        let some = names(Some(&["get_*", "*_list", "a*b*c", "one"]), &["get_secret"]);
        for (name, is_there) in [
            ("get_", true),
            ("get_it", true),
            ("get_secret", false),
            ("file_list", true),
            ("axbyc", true),
            ("abxc", true),
            ("acb", false),
            ("one", true),
            ("ones", false),
        ] {
            assert_eq!(some.has(name), is_there, "{name}");
        }
    }

    #[test]
    fn secrets_are_taken_out_of_names_and_values() {
        let hide = HideSecrets::new(|text| text.replace("hunter2", "[hidden]"));
        let mut value = serde_json::json!({"a hunter2": ["hunter2", {"b": "x hunter2"}], "n": 2});
        hide.in_json(&mut value);
        let expected = serde_json::json!({"a [hidden]": ["[hidden]", {"b": "x [hidden]"}], "n": 2});
        assert_eq!(value, expected);
    }
}
