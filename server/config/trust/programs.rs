//! The programs that a workspace's `aside.toml` names, and what they are now.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    io::{self, Read},
    path::{Path, PathBuf},
};

use aside_base::{
    open_places, regular,
    system::{
        folders::{canonical, topmost},
        programs::is_path,
    },
};
use serde_json::Value;

use crate::tree::Node;

/// Bytes of all programs that are hashed; with larger ones a workspace cannot be trusted.
const PROGRAM_BYTES: u64 = 256 * 1024 * 1024;

/// Every word of every command in the file: of local tools, and of MCP servers with their arguments.
pub(super) fn command_words(text: &str) -> Vec<String> {
    let Ok(file) = Node::from_toml(text) else {
        return Vec::new();
    };
    let file = file.into_value();
    let each = |table: Option<&Value>| {
        let table = table.and_then(Value::as_object);
        table
            .into_iter()
            .flat_map(|table| table.values().cloned())
            .collect::<Vec<_>>()
    };
    let tools = each(file.pointer("/conversation/tools"));
    let servers = each(file.pointer("/mcp/servers"));
    let mut words = Vec::new();
    for value in tools
        .iter()
        .chain(&servers)
        .flat_map(|entry| [&entry["command"], &entry["args"]])
    {
        match value {
            Value::String(word) => words.push(word.clone()),
            Value::Array(list) => {
                words.extend(list.iter().filter_map(Value::as_str).map(ToOwned::to_owned))
            }
            _ => {}
        }
    }
    words
}

/// The values of the variables of the file's MCP servers.
pub(super) fn variable_values(text: &str) -> Vec<String> {
    let file = Node::from_toml(text).map(Node::into_value).ok();
    let servers = file.as_ref().and_then(|file| file.pointer("/mcp/servers"));
    let servers = servers.and_then(Value::as_object).into_iter().flatten();
    let variables = servers.filter_map(|(_, entry)| entry["env"].as_object());
    let values = variables.flat_map(|all| all.values().filter_map(Value::as_str));
    values.map(ToOwned::to_owned).collect()
}

/// The files that words of commands name, each looked at once.
pub(super) struct Programs<'a> {
    root: &'a Path,
    known: BTreeMap<PathBuf, String>,
    /// Bytes that may still be read.
    left: u64,
}

impl<'a> Programs<'a> {
    pub(super) fn of(root: &'a Path) -> Self {
        Self {
            root,
            known: BTreeMap::new(),
            left: PROGRAM_BYTES,
        }
    }

    /// Files of the workspace whose paths stand within a word, as in a line for a shell; from the root.
    pub(super) fn named_in(&self, word: &str) -> Vec<String> {
        let places = open_places::known().and(&[self.root.to_owned()]);
        let named = places.all_named(word, self.root).into_iter();
        let files = named.filter(|path| path.is_file());
        let inner = files.filter_map(|path| {
            let inner = path.strip_prefix(self.root).ok()?;
            Some(inner.to_string_lossy().into_owned())
        });
        inner.collect()
    }

    /// Path that a word names, from the root. A word that names nothing is watched too, because a file could appear.
    pub(super) fn look(&mut self, word: &str) -> io::Result<String> {
        let Ok(path) = canonical(&self.root.join(word)) else {
            return Ok("nothing".into());
        };
        if !path.starts_with(self.root) {
            return Ok(format!("outside: {}", path.display()));
        }
        if let Some(known) = self.known.get(&path) {
            return Ok(known.clone());
        }
        let about = path.metadata()?;
        let what = if about.is_dir() {
            "folder".into()
        } else if about.is_file() {
            self.digest(&path)?
        } else {
            "no file".into()
        };
        self.known.insert(path, what.clone());
        Ok(what)
    }

    fn digest(&mut self, path: &Path) -> io::Result<String> {
        let file = regular::open(path)?;
        let length = file.metadata()?.len();
        self.left = self.left.checked_sub(length).ok_or_else(|| {
            io::Error::other(
                "the files that commands in its aside.toml name cannot be watched: together they are over 256 MiB",
            )
        })?;
        aside_base::digest::of_reader(file.take(length))
    }
}

/// The program that each MCP server of the file is started by where its command is a name, under a key of its own.
pub(super) fn resolved(text: &str) -> BTreeMap<String, String> {
    let file = Node::from_toml(text).map(Node::into_value).ok();
    let servers = file.as_ref().and_then(|file| file.pointer("/mcp/servers"));
    let servers = servers.and_then(Value::as_object).into_iter().flatten();
    let found = servers.filter_map(|(server, entry)| {
        let command = entry["command"].as_str()?;
        let path = entry["env"]["PATH"].as_str().map(OsString::from);
        let program = program(command, path)?;
        let key = format!("the program {command} of the MCP server {server}");
        Some((key, program.display().to_string()))
    });
    found.collect()
}

/// The program that a name stands for when an MCP server is started. None for a path, and for one that is not found.
pub(crate) fn program(command: &str, path: Option<OsString>) -> Option<PathBuf> {
    if is_path(command.as_ref()) {
        return None;
    }
    let path = path.or_else(|| env::var_os("PATH")).unwrap_or_default();
    let found = open_places::known().program(command.as_ref(), &topmost(), &path);
    found.ok()
}
