//! Layers, merged key by key, each value with the layer that it comes from.

use std::{collections::BTreeMap, fmt, ops::Bound};

use serde_json::{Map, Value};

use super::names::dotted;

/// A key, part by part.
pub(crate) type Path = Vec<String>;

/// One value of a layer. It may be a secret, so there is no `Debug` from here to the settings.
#[derive(Clone, PartialEq)]
pub(crate) struct LayerValue {
    pub(crate) path: Path,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Origin of a value, weakest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The default that is compiled into Aside.
    BuiltIn,
    /// The user's `aside.toml`: path, line.
    UserFile(String, usize),
    /// The workspace's `aside.toml`: path, line.
    WorkspaceFile(String, usize),
    /// Settings that the client read in the workspace.
    WorkspaceConfig,
    /// The client's settings of the user's scope.
    ClientConfig,
    /// An environment variable.
    Environment(String),
    /// A flag, as given.
    Flag(String),
}

/// Fault of the configuration and its place. Never repeats a value, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", origin.place())]
pub struct Problem {
    origin: Origin,
    what: String,
}

/// All that is wrong with a configuration: at least one problem, each shown on a line of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

impl Problem {
    pub(crate) fn new(origin: Origin, what: impl Into<String>) -> Self {
        Self {
            origin,
            what: what.into(),
        }
    }

    /// The fault without its place.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl Origin {
    /// The place, as an error begins: `path:line` for files.
    fn place(&self) -> String {
        match self {
            Self::UserFile(path, 0) | Self::WorkspaceFile(path, 0) => path.clone(),
            Self::UserFile(path, line) | Self::WorkspaceFile(path, line) => {
                format!("{path}:{line}")
            }
            Self::Environment(name) => name.clone(),
            Self::Flag(flag) => flag.clone(),
            Self::BuiltIn | Self::WorkspaceConfig | Self::ClientConfig => self.to_string(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::UserFile(..) => write!(f, "user file {}", self.place()),
            Self::WorkspaceFile(..) => write!(f, "workspace file {}", self.place()),
            Self::WorkspaceConfig => f.write_str("the client's workspaceConfig"),
            Self::ClientConfig => f.write_str("the client's config"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// Values by key, one a key; no key is below another.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Merged(BTreeMap<Path, (Value, Origin)>);

impl Merged {
    /// Lays a stronger layer over what is there.
    pub(crate) fn lay(&mut self, entries: Vec<LayerValue>) {
        entries.into_iter().for_each(|entry| self.set(entry));
    }

    /// The value of a key, where it is set.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&Value> {
        let path: Path = path.iter().map(|part| (*part).to_owned()).collect();
        self.0.get(&path).map(|(value, _)| value)
    }

    /// The key itself and those below it, in order.
    pub(crate) fn below<'a>(
        &'a self,
        path: &'a [String],
    ) -> impl Iterator<Item = (&'a Path, &'a Value, &'a Origin)> {
        let from = (Bound::Included(path), Bound::Unbounded);
        self.0
            .range::<[String], _>(from)
            .take_while(move |(key, _)| key.starts_with(path))
            .map(|(key, (value, origin))| (key, value, origin))
    }

    /// All values as one table.
    pub(crate) fn to_value(&self) -> Value {
        let mut root = Map::new();
        for (path, (value, _)) in &self.0 {
            let Some((last, above)) = path.split_last() else {
                continue;
            };
            let mut table = &mut root;
            for part in above {
                let child = table
                    .entry(part)
                    .or_insert_with(|| Value::Object(Map::new()));
                let Value::Object(child) = child else {
                    unreachable!("no key is below another: {}", dotted(path))
                };
                table = child;
            }
            table.insert(last.clone(), value.clone());
        }
        Value::Object(root)
    }

    fn set(
        &mut self,
        LayerValue {
            path,
            value,
            origin,
        }: LayerValue,
    ) {
        let below: Vec<Path> = self.below(&path).map(|(key, ..)| key.clone()).collect();
        let is_empty_table = value.as_object().is_some_and(Map::is_empty);
        if is_empty_table && !below.is_empty() {
            return; // An empty table sets nothing; it only says that its name exists.
        }
        for key in below {
            self.0.remove(&key);
        }
        for end in 1..path.len() {
            self.0.remove(&path[..end]);
        }
        self.0.insert(path, (value, origin));
    }
}
