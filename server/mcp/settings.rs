//! The configuration of a server.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use aside_base::{lock, open_places, system::folders::canonical, visible::short_line};
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use aside_tool::sandbox::Walls;

/// Replacement for a secret.
const HIDDEN: &str = "[hidden]";
/// Minimum length of a secret that is hidden: a shorter one could be an ordinary word.
const MIN_HIDDEN: usize = 8;

/// A configured MCP server.
#[derive(Clone, Debug)]
pub struct McpDefinition {
    /// Name of the server, and prefix of its tools.
    pub name: String,
    /// Location of the server.
    pub place: ServerPlace,
    /// Protocol version to speak.
    pub protocol: ProtocolChoice,
    /// Time limit until its tools are known.
    pub startup: Duration,
    /// Time limit of a call, if it differs from the one of all tools.
    pub call: Option<Duration>,
    /// Tools to offer, by the server's own names.
    pub offered: OfferedNames,
    /// Removes the server's secrets from everything that it sends.
    pub hide: HideSecrets,
}

/// Location of a server.
#[derive(Clone, Debug)]
pub enum ServerPlace {
    /// A local program that is started.
    Program(ServerProgram),
    /// A remote server.
    Network(ServerAddress),
}

/// A local server.
#[derive(Clone)]
pub struct ServerProgram {
    /// Name or path of the program.
    pub command: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Working directory: absolute, or relative to the workspace; `None` for the user's home.
    pub cwd: Option<PathBuf>,
    /// Environment beyond the allow-list. Values may be secrets.
    pub environment: Vec<(String, String)>,
    /// Whether to run it in a PID namespace if possible.
    pub pid_namespace: bool,
    /// A look before each start at what it starts from.
    pub check: Option<StartCheck>,
}

/// A look at what a server starts from, on a blocking thread: the reason why it must not start, as a clause.
pub type StartCheck = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Environment in which local servers are started.
#[derive(Clone, Debug)]
pub struct ServerGround {
    /// The root of the workspace.
    pub root: PathBuf,
    /// The state directory.
    pub state: PathBuf,
    /// The executable that supervises child processes: `aside` itself.
    pub holder: PathBuf,
    /// The sandbox that provides the PID namespace; `None` if there is none.
    pub walls: Option<Walls>,
}

/// A remote server.
#[derive(Clone, Debug)]
pub struct ServerAddress {
    /// Address of the server.
    pub url: Url,
    /// Additional headers of every request.
    pub headers: Vec<ServerHeader>,
    /// HTTP client for the requests. It follows no redirects.
    pub client: reqwest::Client,
    /// Folder of the tokens of logins; `None` if a header carries a key.
    pub logins: Option<PathBuf>,
    /// OAuth client id, for issuers without dynamic registration.
    pub client_id: Option<String>,
}

/// A header of every request to a server.
#[derive(Clone)]
pub struct ServerHeader {
    /// Name of the header; `Authorization` replaces a login.
    pub name: HeaderName,
    /// Value of the header, which may be a secret.
    pub value: HeaderValue,
    /// Environment variable of the value. If set, approvals depend on its name instead of the value.
    pub variable: Option<String>,
}

/// Protocol version to speak with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Local servers are asked for version 2025-11-25, unless they require the newer one. Remote servers are asked for
    /// the newer one, unless they do not support it.
    #[default]
    Auto,
    /// Version 2025-11-25.
    Older,
    /// Version 2026-07-28.
    Newer,
}

/// Filter for the tools of a server. `*` in a name matches any characters.
#[derive(Clone, Debug, Default)]
pub struct OfferedNames {
    /// Only these tools; `None` for all.
    pub only: Option<Vec<String>>,
    /// Tools to exclude.
    pub but: Vec<String>,
}

/// Removes secrets from text of a server.
#[derive(Clone)]
pub struct HideSecrets {
    hide: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// Secrets that were added later, such as tokens.
    later: Arc<Mutex<Vec<String>>>,
}

impl McpDefinition {
    /// SHA-256 of the whole configuration. A changed server is started anew.
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

    /// SHA-256 of the server's location and secrets. The secrets cannot be recovered from it.
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
                // Without a `cwd` the hash stays that of older approvals.
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

impl ServerProgram {
    /// The folder that the server starts in. That is the home, and not the workspace, whose files must not be taken for
    /// programs of the user. A relative `cwd` must not lead out of the workspace, not even through links.
    ///
    /// # Errors
    /// A folder that is not there, or that a relative `cwd` must not lead to.
    pub fn folder(&self, root: &Path) -> Result<PathBuf, String> {
        let Some(cwd) = &self.cwd else {
            return Ok(open_places::known().start_folder());
        };
        let named = short_line(&cwd.to_string_lossy(), 80);
        let found = canonical(&root.join(cwd)).ok().filter(|it| it.is_dir());
        let Some(found) = found else {
            return Err(format!(
                "the folder `{named}` does not exist; create it, or correct the server's `cwd`"
            ));
        };
        let is_inside = canonical(root).is_ok_and(|root| found.starts_with(root));
        match cwd.is_absolute() || is_inside {
            true => Ok(found),
            false => Err(format!(
                "`{named}` leads out of the workspace; set the server's `cwd` to an absolute path"
            )),
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
    /// Whether the filter includes this tool.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| is_like(name, pattern));
        self.only.as_deref().is_none_or(fits) && !fits(&self.but)
    }
}

/// Whether a name matches a pattern, in which `*` matches any characters.
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
    /// Hides secrets with a function from text to text without secrets.
    pub fn new(hide: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self {
            hide: Arc::new(hide),
            later: Arc::default(),
        }
    }

    /// Hides a further secret from now on.
    pub(super) fn also(&self, secret: &str) {
        // Each change is one push.
        let mut later = lock(&self.later);
        if secret.len() >= MIN_HIDDEN && !later.iter().any(|it| it == secret) {
            later.push(secret.to_owned());
        }
    }

    /// The text without secrets.
    #[must_use]
    pub fn in_text(&self, text: &str) -> String {
        let text = (self.hide)(text);
        let later = lock(&self.later);
        let hide = |text: String, secret: &String| text.replace(secret, HIDDEN);
        later.iter().fold(text, hide)
    }

    /// Removes secrets from all strings of a value, including the names of members.
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
    fn tool_names_are_filtered_by_pattern() {
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
    fn secrets_are_removed_from_names_and_values() {
        let hide = HideSecrets::new(|text| text.replace("hunter2", "[hidden]"));
        let mut value = serde_json::json!({"a hunter2": ["hunter2", {"b": "x hunter2"}], "n": 2});
        hide.in_json(&mut value);
        let expected = serde_json::json!({"a [hidden]": ["[hidden]", {"b": "x [hidden]"}], "n": 2});
        assert_eq!(value, expected);
    }
}
