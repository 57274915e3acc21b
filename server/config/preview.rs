//! The effects of trust in a workspace: the settings that begin to count, and all that may be started then.
//!
//! Nothing is shortened or hidden, because a person trusts what was shown. Only values of the user's own that may be
//! secrets are hidden.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Configuration, EffectiveValue, Origin, Problems, Sources,
    trust::programs::program,
    workspace::{Definition, DefinitionKind},
};

/// Effects of trust in a workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrustPreview {
    /// The workspace's `aside.toml`, if it has one.
    pub file: Option<PathBuf>,
    /// Programs and connections that this configuration can start, sorted by kind and name.
    pub starts: Vec<Startable>,
    /// The keys that begin to count, in the order of the file.
    pub settings: Vec<TrustedSetting>,
    /// Keys that only the user can set: they never count.
    pub ignored: Vec<String>,
}

/// A local tool or an MCP server that the workspace defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Startable {
    /// Whether this is a tool or a server.
    pub kind: DefinitionKind,
    /// The name of what would be started.
    pub name: String,
    /// The program and its arguments; empty where it is a server that runs elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The address of a server that runs elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The environment variables that the definition sets, as `NAME=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// The program that the name of a server's command stands for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
}

/// A setting of the workspace that counts once it is trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustedSetting {
    /// The setting as it would be, with where it comes from.
    pub setting: EffectiveValue,
    /// A layer of the user's sets the same key, so that this value does not show.
    pub is_overruled: bool,
}

impl TrustPreview {
    /// Compares the configuration of a workspace that nobody trusts with that of a trusted one.
    ///
    /// # Errors
    /// A broken configuration.
    pub fn of(sources: &Sources, tool_defaults: &toml::Table) -> Result<Self, Problems> {
        let load = |trusted| {
            let sources = Sources {
                trusted,
                // What a client read in the workspace is trusted by the client, not here.
                trusted_by_client: false,
                workspace_config: None,
                ..sources.clone()
            };
            super::load(&sources, tool_defaults)
        };
        let (before, after) = (load(false)?, load(true)?);
        let counts = before
            .ignored
            .iter()
            .filter(|key| !after.ignored.contains(key));
        let settings = counts.flat_map(|key| settings(&after, key)).collect();
        let mut starts: Vec<Startable> =
            after.definitions.iter().filter_map(Startable::of).collect();
        starts.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        Ok(Self {
            file: sources
                .workspace_file
                .as_ref()
                .map(|file| file.path.clone()),
            starts,
            settings,
            ignored: after.ignored,
        })
    }
}

fn settings(configuration: &Configuration, key: &str) -> Vec<TrustedSetting> {
    let settings = configuration.values(Some(key)).unwrap_or_default();
    let settings = settings.into_iter().map(|setting| TrustedSetting {
        is_overruled: !matches!(setting.origin, Origin::WorkspaceFile(..)),
        setting,
    });
    settings.collect()
}

impl Startable {
    /// The program or connection of a definition. `None` if it names neither a program nor an address.
    fn of(definition: &Definition) -> Option<Self> {
        let mut command = strings(definition.value.get("command"));
        command.extend(strings(definition.value.get("args")));
        let url = definition.value.get("url").and_then(Value::as_str);
        if command.is_empty() && url.is_none() {
            return None;
        }
        let keys = definition.value.as_object().into_iter().flatten();
        let variables = keys.flat_map(|(key, value)| match (key.as_str(), value) {
            ("env", Value::Object(variables)) => variables.clone().into_iter().collect(),
            (key, value) => match key.strip_prefix("env.") {
                Some(name) => vec![(name.to_owned(), value.clone())],
                None => Vec::new(),
            },
        });
        let text = |value: &Value| value.as_str().map_or(value.to_string(), ToOwned::to_owned);
        let environment: Vec<(String, String)> = variables
            .map(|(name, value)| (name, text(&value)))
            .collect();
        let named = command
            .first()
            .filter(|_| definition.kind == DefinitionKind::McpServer);
        let path = environment
            .iter()
            .find(|(name, _)| aside_base::environment::is_path(name.as_ref()));
        let path = path.map(|(_, value)| value.into());
        Some(Self {
            kind: definition.kind,
            name: definition.name.clone(),
            program: named.and_then(|command| program(command, path)),
            command,
            url: url.map(ToOwned::to_owned),
            environment: environment
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
        })
    }
}

/// A word, or several.
fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(word)) => vec![word.clone()],
        Some(Value::Array(words)) => words
            .iter()
            .filter_map(Value::as_str)
            .map(ToOwned::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceFile;

    #[test]
    fn all_that_could_be_started_is_there_whole() {
        let long = "x".repeat(5000);
        let sources = Sources {
            workspace_file: Some(SourceFile {
                path: "/app/aside.toml".into(),
                text: format!(
                    "conversation.tools.lint.command = ['sh', '{long}']\n\
                     conversation.tools.lint.description = 'Lints.'\n\
                     conversation.tools.read_file.summary = 'Reads.'\n\
                     providers.anthropic.api_key_command = ['steal']\n\
                     [mcp.servers.db]\ncommand = 'bin/db'\nargs = ['db.ini']\nenv.KEY = 'hunter2'\n\
                     [mcp.servers.docs]\nurl = 'https://docs.example.org/mcp'\n"
                ),
            }),
            ..Sources::default()
        };
        let built_in: toml::Table = toml::from_str("[read_file]").unwrap();
        let preview = TrustPreview::of(&sources, &built_in).unwrap();
        let startable = |kind, name: &str, command: &[&str], url: Option<&str>, env: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
            Startable {
                kind,
                name: name.into(),
                command: owned(command),
                url: url.map(ToOwned::to_owned),
                environment: owned(env),
                program: None,
            }
        };
        assert_eq!(
            preview.starts,
            [
                startable(DefinitionKind::Tool, "lint", &["sh", &long], None, &[]),
                startable(
                    DefinitionKind::McpServer,
                    "db",
                    &["bin/db", "db.ini"],
                    None,
                    &["KEY=hunter2"]
                ),
                startable(
                    DefinitionKind::McpServer,
                    "docs",
                    &[],
                    Some("https://docs.example.org/mcp"),
                    &[]
                ),
            ]
        );
        assert_eq!(preview.ignored, ["providers.anthropic.api_key_command"]);
        let keys: Vec<&str> = preview
            .settings
            .iter()
            .map(|it| it.setting.key.as_str())
            .collect();
        assert!(
            keys.contains(&"conversation.tools.read_file.summary"),
            "{keys:?}"
        );
        // What stands in a workspace's file is no secret, and decides what is started.
        assert!(keys.contains(&"mcp.servers.db.env.KEY"), "{keys:?}");
    }
}
