//! The settings that a workspace may change. Policy is the user's alone.
//!
//! Before the user trusts it, only its instructions count, and its model where the user's own file names that
//! model. After, also how the assistant speaks, which tools are on and how they look, definitions of tools and
//! servers of its own, and whatever makes policy tighter. Never where requests go, with which key, how
//! commands are confined, who answers inquiries, or what runs unasked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use aside_base::visible::short_line;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LayerValue, Problem, layers::Merged, names::dotted};

/// Keys that a notice names; the rest are counted.
const NAMED: usize = 20;
/// Characters of a problem that a notice names.
const WIDTH: usize = 200;

/// A tool or a server that the workspace defines.
#[derive(Clone, PartialEq)]
pub struct Definition {
    /// Kind of the definition.
    pub kind: DefinitionKind,
    /// The name of the tool or server that is defined.
    pub name: String,
    /// Keys and values, as written.
    pub value: Value,
    /// SHA-256 of kind, name and value, for the approval. What its program's file holds is not in it: that
    /// ends trust.
    pub hash: String,
}

/// Kind of a definition in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DefinitionKind {
    /// A tool under `conversation.tools`.
    Tool,
    /// A server under `mcp.servers`.
    McpServer,
}

/// Values of weaker layers that restrict a workspace.
pub(crate) struct Weaker<'a> {
    /// The merged values of the weaker layers.
    pub(crate) merged: &'a Merged,
    /// Names of the built-in tools.
    pub(crate) builtin: &'a BTreeSet<String>,
    /// Models that the user's own file names.
    pub(crate) models: &'a BTreeSet<String>,
}

/// The part of a workspace's layer that counts.
#[derive(Default)]
pub(crate) struct WorkspaceLayer {
    pub(crate) entries: Vec<LayerValue>,
    pub(crate) ignored: Vec<String>,
    pub(crate) definitions: Vec<Definition>,
}

/// Keeps what a workspace may set.
pub(crate) fn filter(
    entries: Vec<LayerValue>,
    trusted: bool,
    weaker: &Weaker<'_>,
) -> WorkspaceLayer {
    let mut kept = WorkspaceLayer::default();
    let mut defined: BTreeMap<(DefinitionKind, String), Value> = BTreeMap::new();
    for entry in entries {
        let path: Vec<&str> = entry.path.iter().map(String::as_str).collect();
        match weaker.verdict(&path, &entry.value, trusted) {
            KeyVerdict::Keep => kept.entries.push(entry),
            KeyVerdict::Define(kind, name) => {
                let key = dotted(&entry.path[3..]);
                let value = defined
                    .entry((kind, name.into()))
                    .or_insert_with(|| json!({}));
                value[key] = entry.value.clone();
                kept.entries.push(entry);
            }
            KeyVerdict::Drop => {}
            KeyVerdict::Ignore => kept.ignored.push(dotted(&entry.path)),
        }
    }
    let definitions = defined.into_iter();
    kept.definitions = definitions
        .map(|((kind, name), value)| define(kind, name, value))
        .collect();
    kept
}

/// The models that a user's layer names, whoever uses them there.
pub(crate) fn models(user: &[LayerValue]) -> BTreeSet<String> {
    let named = user
        .iter()
        .filter(|entry| entry.path.last().is_some_and(|key| key == "model"));
    named
        .filter_map(|entry| entry.value.as_str().map(ToOwned::to_owned))
        .collect()
}

/// The sentence that names what is wrong with a workspace that is not trusted, if there is anything: it keeps nobody
/// from working.
pub(crate) fn passed_over(problems: &[Problem]) -> Option<String> {
    let mut named: Vec<String> = problems
        .iter()
        .take(NAMED)
        .map(|problem| short_line(&problem.to_string(), WIDTH))
        .collect();
    if problems.len() > NAMED {
        named.push(format!("and {} more", problems.len() - NAMED));
    }
    (!problems.is_empty()).then(|| {
        format!(
            "The workspace is not trusted, so what is wrong with its settings is passed over: {}",
            named.join("; ")
        )
    })
}

/// The sentence that names ignored keys, if there are any.
pub(crate) fn notice(ignored: &[String], trusted: bool) -> Option<String> {
    if ignored.is_empty() {
        return None;
    }
    let mut keys = ignored
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if ignored.len() > NAMED {
        keys += &format!(" and {} more", ignored.len() - NAMED);
    }
    Some(if trusted {
        format!("Only you can set these keys, so the workspace's are ignored: {keys}.")
    } else {
        format!(
            "The workspace is not trusted, so these keys of it are ignored: {keys}. \
             Read them, then trust it, in the editor or with `aside trust`, to let it set what a workspace may."
        )
    })
}

enum KeyVerdict<'a> {
    Keep,
    /// Kept, as a part of a definition.
    Define(DefinitionKind, &'a str),
    /// The value is left out without a word.
    Drop,
    Ignore,
}

impl From<bool> for KeyVerdict<'_> {
    fn from(may: bool) -> Self {
        if may { Self::Keep } else { Self::Ignore }
    }
}

impl Weaker<'_> {
    fn verdict<'a>(&self, path: &[&'a str], value: &Value, trusted: bool) -> KeyVerdict<'a> {
        match path {
            _ if value == &json!({}) => KeyVerdict::Drop,
            ["assistant", "instructions"] => KeyVerdict::Keep,
            ["assistant", "model"] => (trusted
                || value
                    .as_str()
                    .is_some_and(|model| self.models.contains(model)))
            .into(),
            _ if !trusted => KeyVerdict::Ignore,
            ["assistant", "system_prompt" | "reasoning" | "tool_choice"] => KeyVerdict::Keep,
            ["conversation", "tools", "defaults", key @ ..] => {
                self.is_tightening("defaults", key, value).into()
            }
            ["conversation", "tools", tool, key @ ..] => self.tool(tool, key, value),
            // What goes with a request may be a secret of the user's, and the place is the workspace's; so may each
            // variable of the user's be. What holds a server is the user's business. The files that a command names are watched from the root of the workspace.
            [
                "mcp",
                "servers",
                _,
                "headers" | "headers_env" | "bearer_token_env" | "oauth_client_id" | "env_vars"
                | "cwd" | "pid_namespace",
                ..,
            ] => KeyVerdict::Ignore,
            // The user's switch counts for a server of the workspace, too, and does not make it the user's.
            ["mcp", "servers", _, "enabled"] if self.is_set(path) => KeyVerdict::Ignore,
            ["mcp", "servers", name, ..] if !self.has_server(name) => {
                KeyVerdict::Define(DefinitionKind::McpServer, name)
            }
            _ => KeyVerdict::Ignore,
        }
    }

    fn tool<'a>(&self, tool: &'a str, key: &[&str], value: &Value) -> KeyVerdict<'a> {
        match key {
            ["style", _] | ["summary"] => KeyVerdict::Keep,
            // What the user fixed stays: a file cannot bring back what even the user's flags cannot.
            ["enable", _] => {
                (self.of_tool(tool, &["enable", "allow_toggle"]) != Some("never")).into()
            }
            ["source"] if value == "builtin" => KeyVerdict::Ignore,
            [
                "source" | "command" | "parameters" | "description" | "options",
                ..,
            ] if !self.is_defined(tool) => KeyVerdict::Define(DefinitionKind::Tool, tool),
            _ => self.is_tightening(tool, key, value).into(),
        }
    }

    fn is_tightening(&self, tool: &str, key: &[&str], value: &Value) -> bool {
        match key {
            ["run"] => match value.as_str() {
                Some("deny") => true,
                Some("ask") => self.of_tool(tool, &["run"]) != Some("deny"),
                _ => false,
            },
            ["result"] => value == "ask",
            ["detached", _] => value == "deny",
            ["questions", _, "exclusive"] => value == true,
            ["questions", _, "target"] => value == "user",
            _ => false,
        }
    }

    /// The current value for a tool: its own, or that of all tools.
    fn of_tool(&self, tool: &str, key: &[&str]) -> Option<&str> {
        let of = |name| {
            self.merged
                .get(&[&["conversation", "tools", name], key].concat())
        };
        of(tool).or_else(|| of("defaults"))?.as_str()
    }

    /// Somebody else's tool has this name.
    fn is_defined(&self, tool: &str) -> bool {
        let of = |key| self.is_set(&["conversation", "tools", tool, key]);
        self.builtin.contains(tool) || of("source") || of("command")
    }

    /// Somebody else's server has this name.
    fn has_server(&self, name: &str) -> bool {
        let path = ["mcp", "servers", name].map(str::to_owned);
        let mut keys = self.merged.below(&path);
        keys.any(|(path, ..)| path.get(3).is_none_or(|key| key != "enabled"))
    }

    fn is_set(&self, path: &[&str]) -> bool {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        self.merged.below(&path).next().is_some()
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            name,
            value: _,
            hash,
        } = self;
        let mut shown = f.debug_struct("Definition");
        shown
            .field("kind", kind)
            .field("name", name)
            .field("hash", hash)
            .finish_non_exhaustive()
    }
}

fn define(kind: DefinitionKind, name: String, value: Value) -> Definition {
    let hash = aside_base::digest::sha256(format!("{kind:?}\n{name}\n{value}").as_bytes());
    Definition {
        kind,
        name,
        value,
        hash,
    }
}
