//! `aside.toml`: layers, where each value comes from, trust.
//!
//! | module | what lives there |
//! |---|---|
//! | [`settings`], `schema`, `shorthand` | every key of `aside.toml` as a type, and the JSON schema of them, with the shorter spellings |
//! | `sources`, `layers`, `tree` | what is read, and how the layers are merged key by key, each value with its origin |
//! | [`flags`], [`names`] | `--set`, `--answer` and their like; the nearest known name to a mistyped one |
//! | `rules`, `enable` | settings → the rules of a turn, and which tools are on |
//! | `model`, [`known`] | which model a name means; the providers that are known without configuration |
//! | `void` | settings that could not count, and why |
//! | [`hidden`] | values that may hold secrets, as they are shown |
//! | [`workspace`], [`trust`], [`preview`] | what a workspace may set, whether it is trusted, and what trusting it would run |
//! | [`import`] | MCP servers of other programs' files |
//!
//! Layers, weakest first: what is built in, the user's file, the workspace's file and what the client read in
//! the workspace, the client's settings, the environment, flags. They are merged key by key. What a workspace
//! may set is decided in [`workspace`] before its layers are laid over the user's.
//!
//! Environment: `ASIDE_ASSISTANT__MODEL=…` sets `assistant.model`; two underscores stand between keys, capitals
//! are read as small letters. A value is read as TOML where it is some that the key takes, else it is a text,
//! as with `--set KEY=VALUE`. `ASIDE_LOG` is not a setting.
//!
//! Invariant: [`load`] reads no file and no environment; [`Sources`] holds all that it sees. API keys are
//! never in it, only the names of variables and programs that have them.

mod enable;
pub mod flags;
pub mod hidden;
pub mod import;
pub mod known;
mod layers;
mod model;
pub mod names;
pub mod preview;
mod rules;
mod schema;
pub mod settings;
mod shorthand;
mod sources;
mod tree;
pub mod trust;
mod void;
pub mod workspace;

#[cfg(test)]
mod tests;

use std::{fmt, sync::LazyLock};

use serde_json::Value;

pub use self::sources::FILE_NAME;
pub use enable::{Toggle, enabled_tools};
pub use layers::{Origin, Problem, Problems};
pub use model::{ModelChoice, ModelId, choose_model, key_is_there, usable_providers};
pub use rules::{RunContext, ToolFacts};
pub use schema::{keys, schema};
pub use settings::Settings;
pub use sources::{Flag, SourceFile, Sources, user_file, user_folders};

use layers::{LayerValue, Merged};
use names::dotted;
use tree::Node;

/// A configuration: the settings, where each comes from, and what was left out.
#[derive(Clone, Default)]
pub struct Configuration {
    /// Merged and checked.
    pub settings: Settings,
    /// Sentences for the user: what of the workspace was ignored, and variables that are no settings.
    pub notices: Vec<String>,
    /// Keys of the workspace that were ignored, as they are written in TOML.
    pub ignored: Vec<String>,
    /// Tools and MCP servers that the workspace defines. Each needs the user's approval, by hash, before its
    /// program is started or its server is reached.
    pub definitions: Vec<workspace::Definition>,
    merged: Merged,
}

/// An effective value.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveValue {
    /// The key, as it is written in TOML.
    pub key: String,
    /// The value; a possible secret is hidden.
    pub value: Value,
    /// The layer that it comes from.
    pub origin: Origin,
}

/// Merges the layers. `tool_defaults` is what goes into the built-in layer as `conversation.tools`: a table for
/// each built-in tool, if only an empty one, so that a workspace cannot define a tool of that name.
///
/// # Errors
/// All unknown keys, values of a wrong type and broken files of every layer that the user answers for. Those of a
/// workspace that is not trusted are named in notices and passed over.
pub fn load(sources: &Sources, tool_defaults: &toml::Table) -> Result<Configuration, Problems> {
    let mut problems = Vec::new();
    let mut merged = DEFAULTS.clone();
    let tools = serde_json::to_value(tool_defaults).unwrap_or_default();
    let tools = Node::from_json(&tools).under(&["conversation".into(), "tools".into()]);
    merged.lay(schema::entries(tools, &built_in, &mut problems));
    let user = sources.user_entries(&mut problems);
    let models = workspace::models(&user);
    let builtin = tool_defaults.keys().cloned().collect();
    merged.lay(user);

    let mut configuration = Configuration::default();
    for layer in sources.workspace_layers() {
        match layer.trusted {
            true => problems.extend(layer.problems),
            false => {
                let passed_over = workspace::passed_over(&layer.problems);
                configuration.notices.extend(passed_over);
            }
        }
        let weaker = workspace::Weaker {
            merged: &merged,
            builtin: &builtin,
            models: &models,
        };
        let kept = workspace::filter(layer.entries, layer.trusted, &weaker);
        configuration.ignored.extend(kept.ignored);
        configuration.definitions.extend(kept.definitions);
        merged.lay(kept.entries);
    }
    merged.lay(sources.client_entries(&mut problems));
    merged.lay(sources.environment_entries(&mut problems, &mut configuration.notices));
    merged.lay(sources.flag_entries(&mut problems));

    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let settings = serde_json::from_value(merged.to_value());
    configuration.settings = settings
        .map_err(|error| Problems(vec![Problem::new(Origin::BuiltIn, error.to_string())]))?;
    configuration.merged = merged;
    let is_trusted = sources.trusted || sources.trusted_by_client;
    configuration
        .notices
        .extend(workspace::notice(&configuration.ignored, is_trusted));
    Ok(configuration)
}

impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configuration")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for EffectiveValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} = {}  # from {}",
            self.key,
            inline(&self.value),
            self.origin
        )
    }
}

impl Configuration {
    /// The effective values, a line each with its layer: all, or the key and what is below it.
    ///
    /// # Errors
    /// A sentence where the key is not one that can be set.
    pub fn show(&self, key: Option<&str>) -> Result<String, String> {
        let values = self.values(key)?;
        if let (true, Some(key)) = (values.is_empty(), key) {
            return Ok(format!(
                "# {} is not set\n",
                dotted(&sources::parse_key(key)?)
            ));
        }
        Ok(values.iter().map(|of| format!("{of}\n")).collect())
    }

    /// The same as values.
    ///
    /// # Errors
    /// A sentence where the key is not one that can be set.
    pub fn values(&self, key: Option<&str>) -> Result<Vec<EffectiveValue>, String> {
        let path = key.map_or(Ok(Vec::new()), sources::parse_key)?;
        if schema::at(&path).is_none() {
            return Err(unknown(&path));
        }
        let set = self.merged.below(&path);
        let set =
            set.filter(|(_, value, _)| !value.as_object().is_some_and(serde_json::Map::is_empty));
        let effective = |(path, value, origin): (&Vec<String>, &Value, &Origin)| EffectiveValue {
            key: dotted(path),
            value: hidden::shown(path, value, origin),
            origin: origin.clone(),
        };
        Ok(set.map(effective).collect())
    }

    /// Origin of a key's value, if it is set.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<Origin> {
        let path = sources::parse_key(key).ok()?;
        self.merged
            .below(&path)
            .next()
            .map(|(_, _, origin)| origin.clone())
    }
}

/// The built-in settings but for tools. Each turn lays its layers over them.
static DEFAULTS: LazyLock<Merged> = LazyLock::new(|| {
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let mut problems = Vec::new();
    let mut entries = schema::entries(Node::from_json(&defaults), &built_in, &mut problems);
    debug_assert_eq!(problems, [], "the defaults fit their schema");
    let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    entries.retain(|entry| !is_empty(&entry.value));
    let mut merged = Merged::default();
    merged.lay(entries);
    merged
});

fn built_in(_line: usize) -> Origin {
    Origin::BuiltIn
}

fn unknown(path: &[String]) -> String {
    let mut problems = Vec::new();
    let node = Node::Leaf(Value::Bool(true)).under(path);
    schema::entries(node, &built_in, &mut problems);
    let problem = problems.into_iter().next();
    problem.map_or_else(
        || format!("unknown key `{}`", dotted(path)),
        |problem| problem.what().into(),
    )
}

/// A value as TOML has it, on one line.
fn inline(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::String(text) => names::quoted(text),
        Value::Array(items) => format!("[{}]", list(items.iter().map(inline).collect())),
        Value::Object(members) => {
            let member =
                |(key, value)| format!("{} = {}", dotted(&[String::clone(key)]), inline(value));
            format!("{{ {} }}", list(members.iter().map(member).collect()))
        }
        other => other.to_string(),
    }
}
