//! The environment of this process: what is read of it, and what child processes get of it.
//!
//! Every process of the same user can read the environment that a process was started with. So its secrets are taken
//! out of it at the start, before there is any child: they are kept here, and overwritten where they were.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    io,
    path::Path,
    sync::{Mutex, MutexGuard},
};

use crate::{
    lock,
    open_places::OpenPlaces,
    system::{self, environment::is_same, programs::VARIABLES},
};

/// Variables that a child process gets.
const FOR_CHILDREN: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "TMPDIR",
    "CI",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "JAVA_HOME",
    "VIRTUAL_ENV",
    "PYENV_ROOT",
    "NVM_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Variables that every child process has, for nobody sees what it would show or ask: an editor or a browser fails at
/// once, a pager prints, and a prompt is an error.
const UNSEEN: &[(&str, &str)] = &[
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("HGEDITOR", "false"),
    ("SVN_EDITOR", "false"),
    ("JJ_EDITOR", "false"),
    ("BZR_EDITOR", "false"),
    ("P4EDITOR", "false"),
    ("GH_EDITOR", "false"),
    ("GLAB_EDITOR", "false"),
    ("KUBE_EDITOR", "false"),
    ("SUDO_EDITOR", "false"),
    ("SYSTEMD_EDITOR", "false"),
    ("PSQL_EDITOR", "false"),
    ("FCEDIT", "false"),
    ("BROWSER", "false"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("GLAB_PAGER", "cat"),
    ("PSQL_PAGER", "cat"),
    ("BAT_PAGER", "cat"),
    ("DELTA_PAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("AWS_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SUDO_ASKPASS", "false"),
    ("GCM_INTERACTIVE", "never"),
    ("GH_PROMPT_DISABLED", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("COMPOSER_NO_INTERACTION", "1"),
];

/// Parts of names by which a variable is known to hold a secret.
const SECRET: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"];

/// Variables that were removed from the environment, by name.
static TAKEN: Mutex<BTreeMap<OsString, OsString>> = Mutex::new(BTreeMap::new());

/// A variable, also one that was taken out. None where it is not set or not UTF-8.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    let kept = taken().get(OsStr::new(name)).cloned();
    kept.or_else(|| env::var_os(name))?.into_string().ok()
}

/// All variables, also those that were taken out.
#[must_use]
pub fn variables() -> Vec<(OsString, OsString)> {
    let kept = taken();
    let all = env::vars_os();
    all.map(|(name, value)| {
        let value = kept.get(&name).cloned().unwrap_or(value);
        (name, value)
    })
    .collect()
}

/// Takes everything that looks like a secret out of the environment, and these variables. Called once, before there is
/// another thread or a child process.
///
/// # Errors
/// Where the kernel does not let a process change its own environment: then the secrets are still in it.
pub fn take_secrets(named: impl IntoIterator<Item = &'static str>) -> io::Result<()> {
    // Found now also where there is nothing to take out yet.
    system::environment::find_shown();
    let named: Vec<&str> = named.into_iter().collect();
    let is_secret = |name: &OsStr| {
        let name = name.to_str();
        name.is_none_or(|name| looks_secret(name) || named.contains(&name))
    };
    take(env::vars_os().filter(|(name, _)| is_secret(name)))
}

/// Takes variables out of the environment that hold secrets by what the user configured.
///
/// # Errors
/// As of [`take_secrets`].
pub fn take_named<'a>(names: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
    let known = |name: &str| taken().contains_key(OsStr::new(name));
    let names = names.into_iter().filter(|name| !known(name));
    take(names.filter_map(|name| Some((name.into(), env::var_os(name)?))))
}

/// The variables that a child process gets: some of these, and those by which no program waits for a person. Programs are found for it in absolute folders alone: a
/// relative one would be that of the workspace.
#[must_use]
pub fn for_children(
    all: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let given = all
        .into_iter()
        .filter(|(name, _)| name.to_str().is_some_and(is_for_children));
    let given = given.map(|(name, value)| match is_path(&name) {
        true => (name, absolute(&value)),
        false => (name, value),
    });
    let unseen = UNSEEN.iter();
    let unseen = unseen.map(|(name, value)| (name.into(), value.into()));
    given.chain(unseen).collect()
}

/// Keeps interpreters from taking code from the home, where that is an open place. Python is the one that does so for
/// every program.
const WITHOUT_HOME: (&str, &str) = ("PYTHONNOUSERSITE", "1");

/// The variables that a program outside the sandbox gets, out of those of [`for_children`]: its programs are found in
/// safe folders, and no variable but the home's leads it into an open place.
#[must_use]
pub fn for_outside(
    given: impl IntoIterator<Item = (OsString, OsString)>,
    places: &OpenPlaces,
) -> Vec<(OsString, OsString)> {
    let leads_in = |value: &OsStr| {
        let paths = env::split_paths(value);
        paths
            .into_iter()
            .any(|path| path.is_absolute() && places.hold(&path))
    };
    let given = given.into_iter().filter_map(|(name, value)| match &name {
        name if is_path(name) => Some((name.clone(), places.safe_path(&value))),
        name if is_same(name, "HOME".as_ref()) => Some((name.clone(), value)),
        _ => (!leads_in(&value)).then_some((name, value)),
    });
    let mut all: Vec<(OsString, OsString)> = given.collect();
    let mut homes = all
        .iter()
        .filter(|(name, _)| is_same(name, "HOME".as_ref()));
    if homes.any(|(_, home)| places.hold(Path::new(home))) {
        let (name, value) = WITHOUT_HOME;
        all.push((name.into(), value.into()));
    }
    all
}

/// Whether this is the variable with the folders of programs.
#[must_use]
pub fn is_path(name: &OsStr) -> bool {
    is_same(name, "PATH".as_ref())
}

fn is_for_children(name: &str) -> bool {
    let mut known = FOR_CHILDREN.iter().chain(VARIABLES);
    let is_known = known.any(|known| is_same(name.as_ref(), known.as_ref()));
    !looks_secret(name) && (is_known || name.starts_with("LC_"))
}

/// Whether a variable holds a secret, by its name.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let is_in = |name: &str| SECRET.iter().any(|word| name.contains(word));
    let upper = name.to_uppercase();
    // Where case does not tell names apart, it does not tell secrets either.
    is_in(name) || (is_same(name.as_ref(), upper.as_ref()) && is_in(&upper))
}

/// The absolute folders of a `PATH`.
fn absolute(path: &OsStr) -> OsString {
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    // None has a colon in it: they were split there.
    env::join_paths(folders).unwrap_or_default()
}

fn taken() -> MutexGuard<'static, BTreeMap<OsString, OsString>> {
    // What is done while it is held cannot panic halfway.
    lock(&TAKEN)
}

fn take(secrets: impl Iterator<Item = (OsString, OsString)>) -> io::Result<()> {
    let secrets = secrets.filter(|(_, value)| !value.is_empty());
    let secrets: BTreeMap<OsString, OsString> = secrets.collect();
    if secrets.is_empty() {
        return Ok(());
    }
    let names: Vec<OsString> = secrets.keys().cloned().collect();
    taken().extend(secrets);
    system::environment::overwrite(&names)
}

/// Whether other processes can read the value of a variable in what the kernel shows as our environment. True also
/// where that is not known.
#[must_use]
pub fn is_exposed(name: &str) -> bool {
    let Some(value) = variable(name).filter(|value| !value.is_empty()) else {
        return false;
    };
    system::environment::shows(name, &value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_get_what_is_listed_and_no_key() {
        let all = [
            "PATH",
            "LC_ALL",
            "LC_TOKEN",
            "ANTHROPIC_API_KEY",
            "LD_PRELOAD",
            "ASIDE_LOG",
            "HOME",
        ];
        let given = for_children(all.map(|name| (name.into(), "/x".into())));
        let names = given.iter().map(|(name, _)| name.to_str().unwrap());
        let (unseen, names): (Vec<_>, Vec<_>) =
            names.partition(|name| UNSEEN.iter().any(|(unseen, _)| unseen == name));
        assert_eq!(names, ["PATH", "LC_ALL", "HOME"]);
        assert_eq!(unseen.len(), UNSEEN.len());
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_found_in_absolute_folders_alone() {
        let check = |path: &str, expected: &str| {
            let given = for_children([("PATH".into(), path.into())]);
            assert_eq!(given[0], ("PATH".into(), expected.into()));
        };
        check("/usr/bin:/bin", "/usr/bin:/bin");
        check(".:/usr/bin:bin:~/bin::/bin:", "/usr/bin:/bin");
        check(".", "");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_leads_a_program_outside_into_an_open_place() {
        let places: OpenPlaces = ["/open"].into_iter().collect();
        let given = [
            ("PATH", "/open/bin:/usr/bin:relative"),
            ("HOME", "/open"),
            ("VIRTUAL_ENV", "/open/.venv"),
            ("GOPATH", "/go:/open/go"),
            ("LANG", "C"),
        ];
        let given = given.map(|(name, value)| (name.into(), value.into()));
        let given = for_outside(given, &places);
        let expected = [
            ("PATH", "/usr/bin"),
            ("HOME", "/open"),
            ("LANG", "C"),
            WITHOUT_HOME,
        ];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(given, expected);
    }
}
