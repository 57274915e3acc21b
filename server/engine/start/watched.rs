//! The ground from which an MCP server starts: a change in open places since it was approved keeps the server from
//! starting.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use aside_base::{
    digest::{of_parts, sha256},
    open_places::{self, OpenPlaces},
};
use aside_config::trust::{ServerGrounds, TrustStore};
use aside_mcp::settings::{ServerProgram, StartCheck};

/// Files and folders that are looked at; with more a server cannot be watched.
const ENTRIES: usize = 50_000;

/// Extent of what is watched, of a file that is named in open places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchedExtent {
    /// The file alone: the project's server, of which the rest of the project is not watched.
    Named,
    /// The folder in which it lies.
    WithFolders,
}

/// The check before each start of a server in a workspace; None where it starts from no open place.
pub(super) fn check(
    server: &str,
    program: &ServerProgram,
    root: &Path,
    store: TrustStore,
    extent: WatchedExtent,
) -> Option<StartCheck> {
    let (server, root) = (server.to_owned(), root.to_owned());
    // A folder that cannot be used is an error of the start.
    let folder = program.folder(&root).ok()?;
    let places = open_places::known();
    let mut words = words(program);
    let settings = of_parts(&words.iter().map(String::as_str).collect::<Vec<_>>());
    if program.command.contains('/') {
        words.extend(open_places::first_lines(&folder.join(&program.command)));
    }
    if named(&words, &folder, &places, extent).is_empty() {
        return None;
    }
    Some(Arc::new(move || {
        let mut paths = BTreeMap::new();
        for path in named(&words, &folder, &places, extent) {
            let what = Tree::of(&path, &places).ok_or_else(|| {
                format!(
                    "{} has too many files to see whether they changed; set `may_change = true` in its table if it runs nothing of them",
                    path.display()
                )
            })?;
            paths.insert(path.display().to_string(), what);
        }
        let now = ServerGrounds {
            settings: settings.clone(),
            paths,
        };
        let changed = store.server_changes(&root, &server, now);
        let changed =
            changed.map_err(|error| format!("what it starts from cannot be looked up: {error}"))?;
        match changed.first() {
            None => Ok(()),
            Some(first) => Err(format!(
                "{first}, which it starts from, changed since you approved it; look at it, then run `aside trust`"
            )),
        }
    }))
}

/// The words by which a server is started.
fn words(program: &ServerProgram) -> Vec<String> {
    let cwd = program.cwd.iter();
    let cwd = cwd.map(|cwd| cwd.to_string_lossy().into_owned());
    let environment = program.environment.iter();
    // Programs are not found in open places whatever PATH says.
    let environment = environment.filter(|(name, _)| name != "PATH");
    let values = environment.map(|(name, value)| format!("{name}={value}"));
    let command = Some(&program.command).filter(|command| command.contains('/'));
    let command = command.into_iter().chain(&program.args).cloned();
    cwd.chain(command).chain(values).collect()
}

/// What words name in open places, to this extent.
fn named(
    words: &[String],
    folder: &Path,
    places: &OpenPlaces,
    extent: WatchedExtent,
) -> BTreeSet<PathBuf> {
    let from_folder = Some(folder.to_owned()).filter(|folder| places.hold(folder));
    let of_words = words.iter().flat_map(|word| places.all_named(word, folder));
    let above = |path: PathBuf| match path.is_dir() || extent == WatchedExtent::Named {
        true => path,
        false => path
            .parent()
            .filter(|it| places.hold(it))
            .map_or(path.clone(), Path::to_owned),
    };
    of_words.chain(from_folder).map(above).collect()
}

/// A walk through what lies at a path.
struct Tree<'a> {
    places: &'a OpenPlaces,
    seen: BTreeSet<PathBuf>,
    lines: Vec<String>,
}

impl<'a> Tree<'a> {
    /// A digest of all that lies at a path: another text when any of it was written. None where there is too much.
    fn of(path: &Path, places: &'a OpenPlaces) -> Option<String> {
        let mut tree = Self {
            places,
            seen: BTreeSet::new(),
            lines: Vec::new(),
        };
        tree.visit(path)?;
        tree.lines.sort_unstable();
        Some(sha256(tree.lines.join("\n").as_bytes()))
    }

    fn visit(&mut self, path: &Path) -> Option<()> {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            if self.lines.len() > ENTRIES {
                return None;
            }
            let Ok(about) = fs::symlink_metadata(&path) else {
                self.lines.push(format!("{} nothing", path.display()));
                continue;
            };
            // A folder changes with each file that is made in it, also one that counts for nothing.
            let when = match about.is_dir() {
                true => String::new(),
                false => format!(
                    "{}.{} {} {}",
                    about.ctime(),
                    about.ctime_nsec(),
                    about.ino(),
                    about.size()
                ),
            };
            self.lines
                .push(format!("{} {:o} {when}", path.display(), about.mode()));
            if about.is_symlink() {
                let target = fs::read_link(&path).unwrap_or_default();
                self.lines
                    .push(format!("{} -> {}", path.display(), target.display()));
            }
            let Ok(real) = fs::canonicalize(&path) else {
                continue;
            };
            // What a link leads to outside of open places no command writes.
            if !self.places.hold(&real) || !self.seen.insert(real.clone()) {
                continue;
            }
            if about.is_symlink() {
                left.push(real);
            } else if about.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                let entries = entries.filter(|entry| entry.file_name() != ".git");
                left.extend(entries.map(|entry| entry.path()));
            }
        }
        Some(())
    }
}
