//! The ground from which an MCP server starts: a change in open places since it was approved keeps the server from
//! starting.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use aside_base::{
    digest::{of_parts, sha256},
    environment,
    open_places::{self, OpenPlaces},
    system::{
        files::{FileFacts, mode, number, touched},
        folders::canonical,
        programs::is_path,
    },
};
use aside_config::trust::{ServerGrounds, TrustStore};
use aside_mcp::settings::{ServerProgram, StartCheck};

/// Files and folders that are looked at; with more a server cannot be watched.
const ENTRIES: usize = 50_000;

/// What programs of these names read of the folders above the one in which they start. A shell may start any of them.
#[rustfmt::skip]
const READ_ABOVE: [(&[&str], &[&str]); 5] = [
    (&["bun", "bunx", "deno", "node", "nodejs", "npm", "npx", "pnpm", "pnpx", "ts-node", "tsx", "yarn"], &[
        ".npmrc", ".pnp.cjs", ".pnp.loader.mjs", ".yarnrc.yml", "bunfig.toml", "deno.json", "deno.jsonc", "node_modules",
        "package-lock.json", "package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "tsconfig.json", "yarn.lock",
    ]),
    (&["pdm", "pipenv", "poetry", "uv", "uvx"], &[
        ".python-version", ".venv", "Pipfile", "pdm.lock", "poetry.lock", "pyproject.toml", "setup.cfg", "setup.py", "uv.lock",
        "uv.toml",
    ]),
    (&["cargo", "rustup"], &[".cargo", "Cargo.lock", "Cargo.toml", "rust-toolchain", "rust-toolchain.toml"]),
    (&["go"], &["go.mod", "go.sum", "go.work", "vendor"]),
    (&["bundle", "ruby"], &[".bundle", ".ruby-version", "Gemfile", "Gemfile.lock"]),
];
const SHELLS: [&str; 10] = [
    "bash", "dash", "env", "fish", "just", "ksh", "make", "mise", "sh", "zsh",
];
/// Names in watched folders that nothing loads: what tools keep beside packages.
const UNREAD: [&str; 4] = [".cache", ".git", ".vite", ".vite-temp"];

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
    if is_path(program.command.as_ref()) {
        words.extend(open_places::first_lines(&folder.join(&program.command)));
    }
    let reads = read_above(words.iter().chain([&program.command]));
    let named = move || {
        let mut all = named(&words, &folder, &places, extent);
        if extent == WatchedExtent::WithFolders {
            let above: Vec<PathBuf> = all
                .iter()
                .flat_map(|it| above(it, &reads, &places))
                .collect();
            all.extend(above);
        }
        all
    };
    if named().is_empty() {
        return None;
    }
    let places = open_places::known();
    Some(Arc::new(move || {
        let mut paths = BTreeMap::new();
        for path in named() {
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
    let environment = environment.filter(|(name, _)| !environment::is_path(name.as_ref()));
    let values = environment.map(|(name, value)| format!("{name}={value}"));
    let command = Some(&program.command).filter(|command| is_path(command.as_ref()));
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

/// Names that programs with these words read of the folders above the one in which they start.
fn read_above<'a>(words: impl Iterator<Item = &'a String>) -> Vec<&'static str> {
    // A word may be a line for a shell.
    let is_end = |it: char| it.is_whitespace() || ";&|()'\"".contains(it);
    let names = words.flat_map(|word| word.split(is_end)).map(|part| {
        let name = Path::new(part)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let name = name.trim_end_matches(".exe").trim_end_matches(".cmd");
        name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.')
            .to_owned()
    });
    let names: BTreeSet<String> = names.collect();
    let has = |programs: &[&str]| programs.iter().any(|it| names.contains(*it));
    let read = READ_ABOVE
        .iter()
        .filter(|(programs, _)| has(programs) || has(&SHELLS));
    read.flat_map(|(_, names)| names.iter().copied()).collect()
}

/// What lies above a path in open places under these names, be it there or not.
fn above(path: &Path, names: &[&'static str], places: &OpenPlaces) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1).take_while(|it| places.hold(it));
    folders
        .flat_map(|folder| names.iter().map(|name| folder.join(name)))
        .collect()
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
            let Ok(about) = FileFacts::itself(&path) else {
                self.lines.push(format!("{} nothing", path.display()));
                continue;
            };
            // A folder changes with each file that is made in it, also one that counts for nothing.
            let when = match about.is_dir() {
                true => String::new(),
                false => {
                    let (seconds, rest) = touched(&about);
                    format!("{seconds}.{rest} {} {}", number(&about), about.len())
                }
            };
            self.lines
                .push(format!("{} {:o} {when}", path.display(), mode(&about)));
            if about.is_symlink() {
                let target = fs::read_link(&path).unwrap_or_default();
                self.lines
                    .push(format!("{} -> {}", path.display(), target.display()));
            }
            let Ok(real) = canonical(&path) else {
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
                let is_read = |name: &OsStr| !UNREAD.iter().any(|it| name == *it);
                let entries = entries.filter(|entry| is_read(&entry.file_name()));
                left.extend(entries.map(|entry| entry.path()));
            }
        }
        Some(())
    }
}
