//! Settings outside repositories, and the paths that values of settings stand for.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use aside_base::{
    homes::{home, homes},
    system::{folders::canonical, users::home_of},
};

use crate::sandbox::git_config::GitSetting;

/// Most settings of variables that are read.
const VARIABLES: usize = 200;
/// Variables that name programs of Git's.
const PROGRAMS: &[&str] = &[
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
];

/// A path of a setting, from a folder. None if it cannot be told.
pub(super) fn expanded(value: &str, from: &Path) -> Option<PathBuf> {
    // What is no text may be any path.
    if value.contains('\u{fffd}') {
        return None;
    }
    if let Some(below) = value.strip_prefix("%(prefix)/") {
        let places: Vec<PathBuf> = prefixes().iter().map(|prefix| prefix.join(below)).collect();
        let there = places.iter().find(|path| path.exists());
        return there.or(places.first()).cloned();
    }
    let Some(rest) = value.strip_prefix('~') else {
        return Some(from.join(value));
    };
    let (user, below) = rest.split_once('/').unwrap_or((rest, ""));
    let home = match user {
        "" => home(),
        user => home_of(user),
    };
    Some(home?.join(below))
}

/// The folders in which Git may be installed. What is found in `PATH` may only start it.
fn prefixes() -> &'static [PathBuf] {
    static PREFIXES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    PREFIXES.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let programs = env::split_paths(&path).map(|folder| folder.join("git"));
        let real = programs.filter_map(|program| canonical(&program).ok());
        let found = real.filter_map(|program| Some(program.parent()?.parent()?.to_owned()));
        let usual = ["/usr", "/usr/local"].map(PathBuf::from);
        let all: BTreeSet<PathBuf> = found.chain(usual).collect();
        all.into_iter().collect()
    })
}

/// The settings of the user and of the system, which hold for every repository.
pub(super) fn of_the_user() -> impl Iterator<Item = PathBuf> {
    let homes = homes().into_iter();
    let usual = homes.flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
    let named = |name: &str| env::var_os(name).map(PathBuf::from);
    let all = [
        named("XDG_CONFIG_HOME").map(|config| config.join("git/config")),
        named("GIT_CONFIG_GLOBAL"),
        named("GIT_CONFIG_SYSTEM"),
        Some("/etc/gitconfig".into()),
    ];
    let installed = prefixes().iter().map(|prefix| prefix.join("etc/gitconfig"));
    usual.chain(all.into_iter().flatten()).chain(installed)
}

/// The settings that variables hold, and whether these are all.
pub(super) fn of_variables(value: impl Fn(&str) -> Option<OsString>) -> (Vec<GitSetting>, bool) {
    let text = |name: &str| value(name).map(|value| value.to_string_lossy().into_owned());
    let count = text("GIT_CONFIG_COUNT").and_then(|count| count.trim().parse().ok());
    let count: usize = count.unwrap_or(0);
    let mut numbered: Vec<(String, String)> = Vec::new();
    for at in 0..count.min(VARIABLES) {
        let key = text(&format!("GIT_CONFIG_KEY_{at}"));
        numbered.extend(key.zip(text(&format!("GIT_CONFIG_VALUE_{at}"))));
    }
    let words = text("GIT_CONFIG_PARAMETERS").and_then(|line| shlex::split(&line));
    let pairs = words.into_iter().flatten().filter_map(|word| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    });
    let programs = PROGRAMS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), text(name)?)));
    let all = numbered.into_iter().chain(pairs).chain(programs);
    let all = all.map(|(key, value)| GitSetting {
        key: without_middle(&key),
        value,
    });
    (all.collect(), count <= VARIABLES)
}

/// A key as settings of files have it: in lower case, without what stands between section and name.
fn without_middle(key: &str) -> String {
    let key = key.to_lowercase();
    match (key.split_once('.'), key.rsplit_once('.')) {
        (Some((section, _)), Some((_, name))) => format!("{section}.{name}"),
        _ => key,
    }
}
