//! All that a configuration is made from.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use aside_base::{
    environment,
    homes::{home, homes},
    regular,
    secrets::is_secret,
    system::{
        environment::{SETTINGS_VARIABLE, USUAL_SETTINGS},
        folders::canonical,
    },
};
use serde_json::Value;

use super::{
    LayerValue, Origin, Problem, Problems,
    schema::{self, elsewhere, entries},
    tree::Node,
};

/// Bytes of an `aside.toml` that are read; a longer one is an error.
const FILE_BYTES: u64 = 1024 * 1024;
/// The file, for users and in workspaces.
pub const FILE_NAME: &str = "aside.toml";
/// Variables of these names are not settings.
const RESERVED: [&str; 1] = ["ASIDE_LOG"];

/// All that a configuration is made from. Nothing else is read. There may be secrets in it, so it cannot be
/// printed.
#[derive(Clone, Default)]
pub struct Sources {
    /// The user's `aside.toml`.
    pub user_file: Option<SourceFile>,
    /// The workspace's `aside.toml`.
    pub workspace_file: Option<SourceFile>,
    /// Reason why the workspace's `aside.toml` cannot be read.
    pub workspace_problem: Option<Problem>,
    /// Settings that the client read in the workspace.
    pub workspace_config: Option<Value>,
    /// The client's settings of the user's scope.
    pub client_config: Option<Value>,
    /// The environment. Only names that begin with `ASIDE_` are looked at.
    pub environment: Vec<(String, String)>,
    /// Flags, in order; the last wins.
    pub flags: Vec<Flag>,
    /// The user trusts the workspace as it is now: its `aside.toml` counts.
    pub trusted: bool,
    /// The client says that the user trusts the workspace: `workspace_config` counts too, which is not among
    /// what `aside trust` watches.
    pub trusted_by_client: bool,
}

/// One of the workspace's layers, as it is before anything of it counts.
pub(super) struct WorkspaceSource {
    pub(super) entries: Vec<LayerValue>,
    /// Faults of the layer, for the user.
    pub(super) problems: Vec<Problem>,
    /// Whether the user trusts the layer.
    pub(super) trusted: bool,
}

/// A file that was read.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Name of the file, as it is shown.
    pub path: PathBuf,
    /// Content of the file.
    pub text: String,
}

/// A flag that sets something.
#[derive(Clone, PartialEq)]
pub enum Flag {
    /// `--set KEY=VALUE`; the value is TOML, or else a text.
    Set(String),
    /// A flag of its own, such as `--model`.
    Typed {
        /// Name that the user knows: `--model`.
        name: String,
        /// The key that it sets.
        key: String,
        /// The value that it is set to.
        value: Value,
    },
}

impl Sources {
    /// Reads the user's and the workspace's file and the environment of this process. Trust, the client's
    /// settings and flags are for the caller to add.
    ///
    /// # Errors
    /// A file of the user's that is there and cannot be read, is over 1 MiB or not UTF-8. What is wrong with that of
    /// the workspace is an error where the workspace is trusted.
    pub fn from_process(workspace_root: Option<&Path>) -> Result<Self, Problems> {
        let read = |path: PathBuf, origin: fn(String, usize) -> Origin| {
            read_text(&path).map_err(|error| {
                let what = format!("it cannot be read: {error}");
                Problem::new(origin(path.display().to_string(), 0), what)
            })
        };
        let user_file = match user_file() {
            None => None,
            Some(path) => {
                read(path, Origin::UserFile).map_err(|problem| Problems(vec![problem]))?
            }
        };
        let workspace_file = match workspace_root {
            None => Ok(None),
            Some(root) => match secret_behind(&root.join(FILE_NAME)) {
                Some(what) => {
                    let path = root.join(FILE_NAME).display().to_string();
                    Err(Problem::new(Origin::WorkspaceFile(path, 0), what))
                }
                None => read(root.join(FILE_NAME), Origin::WorkspaceFile),
            },
        };
        let (workspace_file, workspace_problem) = match workspace_file {
            Ok(file) => (file, None),
            Err(problem) => (None, Some(problem)),
        };
        let environment = environment::variables().into_iter();
        let environment = environment.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let environment = environment
            .filter(|(name, _)| name.starts_with("ASIDE_"))
            .collect();
        Ok(Self {
            user_file,
            workspace_file,
            workspace_problem,
            environment,
            ..Self::default()
        })
    }

    pub(super) fn user_entries(&self, problems: &mut Vec<Problem>) -> Vec<LayerValue> {
        file_entries(self.user_file.as_ref(), Origin::UserFile, problems)
    }

    /// The workspace's layers.
    pub(super) fn workspace_layers(&self) -> [WorkspaceSource; 2] {
        let mut problems: Vec<Problem> = self.workspace_problem.iter().cloned().collect();
        let file = self.workspace_file.as_ref();
        let file = WorkspaceSource {
            entries: file_entries(file, Origin::WorkspaceFile, &mut problems),
            problems,
            trusted: self.trusted || self.trusted_by_client,
        };
        let mut problems = Vec::new();
        let config = self.workspace_config.as_ref();
        let config = WorkspaceSource {
            entries: json_entries(config, &Origin::WorkspaceConfig, &mut problems),
            problems,
            trusted: self.trusted_by_client,
        };
        [file, config]
    }

    pub(super) fn client_entries(&self, problems: &mut Vec<Problem>) -> Vec<LayerValue> {
        json_entries(self.client_config.as_ref(), &Origin::ClientConfig, problems)
    }

    pub(super) fn environment_entries(
        &self,
        problems: &mut Vec<Problem>,
        notices: &mut Vec<String>,
    ) -> Vec<LayerValue> {
        let mut found = Vec::new();
        for (name, text) in &self.environment {
            let Some(key) = name.strip_prefix("ASIDE_") else {
                continue;
            };
            if RESERVED.contains(&name.as_str()) {
                continue;
            }
            let path: Vec<String> = key.split("__").map(str::to_ascii_lowercase).collect();
            // Without `__` it may be anybody's variable, such as the one that holds a provider's key.
            if path.len() == 1 && schema::at(&path).is_none() {
                notices.extend(elsewhere(&path[0]).map(|key| {
                    let meant = key.to_ascii_uppercase().replace('.', "__");
                    format!("{name} is not a setting; did you mean ASIDE_{meant}?")
                }));
                continue;
            }
            let origin = Origin::Environment(name.clone());
            found.extend(entries(
                text_node(&path, text),
                &|_| origin.clone(),
                problems,
            ));
        }
        found
    }

    pub(super) fn flag_entries(&self, problems: &mut Vec<Problem>) -> Vec<LayerValue> {
        let mut found = Vec::new();
        for flag in &self.flags {
            let origin = Origin::Flag(flag.name());
            match flag.node() {
                Ok(node) => found.extend(entries(node, &|_| origin.clone(), problems)),
                Err(what) => problems.push(Problem::new(origin, what)),
            }
        }
        found
    }
}

impl Flag {
    fn name(&self) -> String {
        match self {
            // The value stays out of sight: it may be a secret.
            Self::Set(text) => format!(
                "--set {}",
                text.split_once('=')
                    .map_or(text.as_str(), |(key, _)| key.trim_end())
            ),
            Self::Typed { name, .. } => name.clone(),
        }
    }

    fn node(&self) -> Result<Node, String> {
        match self {
            Self::Set(text) => {
                let (key, value) = text
                    .split_once('=')
                    .ok_or("it is written --set KEY=VALUE")?;
                Ok(text_node(&parse_key(key)?, value))
            }
            Self::Typed { key, value, .. } => Ok(Node::from_json(value).under(&parse_key(key)?)),
        }
    }
}

/// A key with dots and, where a part needs them, quotes.
///
/// # Errors
/// Fails with a sentence that says what is wrong with the key.
pub(super) fn parse_key(key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{}` is not a key", key.escape_debug());
    if key.contains('\n') {
        return Err(wrong());
    }
    let mut node = Node::from_toml(&format!("{key} = 0")).map_err(|_| wrong())?;
    let mut path = Vec::new();
    while let Node::Table(mut children) = node {
        let (part, _, child) = children.pop().ok_or_else(wrong)?;
        path.push(part);
        node = child;
    }
    Ok(path)
}

/// A text as the value of a key: as TOML where the key takes that, else as it is.
fn text_node(path: &[String], text: &str) -> Node {
    let plain = Node::Leaf(Value::from(text));
    let Some(node) = Node::from_text(text) else {
        return plain.under(path);
    };
    let takes = |node: &Node| {
        schema::at(path).is_some_and(|schema| schema::fits(schema, &node.clone().into_value()))
    };
    let node = if takes(&plain) && !takes(&node) {
        plain
    } else {
        node
    };
    node.under(path)
}

fn file_entries(
    file: Option<&SourceFile>,
    origin: fn(String, usize) -> Origin,
    problems: &mut Vec<Problem>,
) -> Vec<LayerValue> {
    let Some(file) = file else { return Vec::new() };
    let origin = |line| origin(file.path.display().to_string(), line);
    match Node::from_toml(&file.text) {
        Ok(node) => entries(node, &origin, problems),
        Err((line, what)) => {
            problems.push(Problem::new(
                origin(line),
                format!("it is not TOML: {what}"),
            ));
            Vec::new()
        }
    }
}

fn json_entries(
    config: Option<&Value>,
    origin: &Origin,
    problems: &mut Vec<Problem>,
) -> Vec<LayerValue> {
    match config {
        None | Some(Value::Null) => Vec::new(),
        Some(value @ Value::Object(_)) => {
            entries(Node::from_json(value), &|_| origin.clone(), problems)
        }
        Some(_) => {
            problems.push(Problem::new(origin.clone(), "it must be a table"));
            Vec::new()
        }
    }
}

/// The folders, and the file, from which the user's settings are read: as the environment is now, and as it usually
/// is. They need not be there.
#[must_use]
pub fn user_folders() -> Vec<PathBuf> {
    let usual = homes().into_iter();
    let usual = usual.filter_map(|home| user_path(None, Some(home)));
    let files: BTreeSet<PathBuf> = user_file().into_iter().chain(usual).collect();
    let all = files.into_iter().flat_map(|file| {
        let folder = file.parent().map(Path::to_owned);
        folder.into_iter().chain([file])
    });
    all.collect()
}

/// Path of the user's `aside.toml`, whether it exists or not. `None` without a home.
#[must_use]
pub fn user_file() -> Option<PathBuf> {
    user_path(env::var_os(SETTINGS_VARIABLE), home())
}

/// Path of the user's file.
fn user_path(named: Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let folder = named
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    let usual = || Some(home?.join(USUAL_SETTINGS));
    Some(folder.or_else(usual)?.join("aside").join(FILE_NAME))
}

/// The sentence for a link to a file that may hold secrets, which messages about settings would repeat.
fn secret_behind(path: &Path) -> Option<String> {
    let real = canonical(path).ok().filter(|real| is_secret(real))?;
    Some(format!(
        "it leads to {}, which may hold secrets; remove the link",
        real.display()
    ))
}

/// A file that is not there is none, but for a link that leads nowhere: something was meant to count. A folder, a pipe or a device is an error rather than a long wait.
fn read_text(path: &Path) -> io::Result<Option<SourceFile>> {
    let bytes = match regular::read(path, FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match path.is_symlink() {
                true => Err(io::Error::other("it is a link to a file that is not there")),
                false => Ok(None),
            };
        }
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(io::Error::other("it is over 1 MiB"));
        }
        Err(error) => return Err(error),
    };
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))?;
    Ok(Some(SourceFile {
        path: path.to_owned(),
        text,
    }))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_user_s_file_is_in_the_configuration_folder() {
        let check = |xdg: Option<&str>, home: Option<&str>, expected: Option<&str>| {
            let found = user_path(xdg.map(OsString::from), home.map(PathBuf::from));
            assert_eq!(found.as_deref(), expected.map(Path::new));
        };
        check(Some("/x"), Some("/h"), Some("/x/aside/aside.toml"));
        check(None, Some("/h"), Some("/h/.config/aside/aside.toml"));
        check(Some(""), Some("/h"), Some("/h/.config/aside/aside.toml"));
        check(
            Some("relative"),
            Some("/h"),
            Some("/h/.config/aside/aside.toml"),
        );
        check(None, None, None);
    }

    #[test]
    fn a_link_to_a_secret_is_not_read() {
        for secret in [
            ".env",
            "id_rsa",
            ".netrc",
            "server.key",
            ".npmrc",
            ".aws/credentials",
        ] {
            let root = tempfile::tempdir().unwrap();
            let target = root.path().join(secret);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(&target, "canary").unwrap();
            std::os::unix::fs::symlink(&target, root.path().join(FILE_NAME)).unwrap();
            let sources = Sources::from_process(Some(root.path())).unwrap();
            assert!(sources.workspace_file.is_none(), "{secret}");
            let problem = sources.workspace_problem.unwrap().to_string();
            assert!(problem.contains("may hold secrets") && !problem.contains("canary"));
        }
    }

    #[test]
    fn a_file_is_read_whole_or_is_an_error() {
        let check = |bytes: Option<&[u8]>, expected: &str| {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join(FILE_NAME);
            match bytes {
                Some(b"a folder") => fs::create_dir(&path).unwrap(),
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => {}
            }
            let found = Sources::from_process(Some(root.path()));
            let sources = found.unwrap();
            let found = match (&sources.workspace_file, &sources.workspace_problem) {
                (Some(file), None) => file.text.clone(),
                (None, None) => "none".to_owned(),
                (_, Some(problem)) => problem
                    .to_string()
                    .replace(&path.display().to_string(), "FILE"),
            };
            assert_eq!(found, expected);
        };
        check(None, "none");
        check(Some(b"sandbox = 'off'"), "sandbox = 'off'");
        check(
            Some(b"a folder"),
            "FILE: it cannot be read: it is not a file",
        );
        check(Some(b"\xff"), "FILE: it cannot be read: it is not UTF-8");
        let most = vec![b'#'; 1024 * 1024];
        check(Some(&most), std::str::from_utf8(&most).unwrap());
        check(
            Some(&[&most[..], b"#"].concat()),
            "FILE: it cannot be read: it is over 1 MiB",
        );
    }
}
