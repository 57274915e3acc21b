//! The environment of this process: what is read of it, and what child processes get of it.
//!
//! Every process of the same user can read the environment that a process was started with. So its secrets are taken
//! out of it at the start, before there is any child: they are kept here, and overwritten where they were.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::unix::{ffi::OsStrExt, fs::FileExt},
    sync::{Mutex, MutexGuard, OnceLock},
};

use crate::{lock, open_places::OpenPlaces};

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

/// Bytes of an environment that is looked through.
const MOST: u64 = 8 << 20;

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
    let _ = shown();
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
    let given = given.map(|(name, value)| match name == *"PATH" {
        true => (name, absolute(&value)),
        false => (name, value),
    });
    let unseen = UNSEEN.iter();
    let unseen = unseen.map(|(name, value)| (name.into(), value.into()));
    given.chain(unseen).collect()
}

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
    let given = given
        .into_iter()
        .filter_map(|(name, value)| match name.to_str() {
            Some("PATH") => Some((name, places.safe_path(&value))),
            Some("HOME") => Some((name, value)),
            _ => (!leads_in(&value)).then_some((name, value)),
        });
    given.collect()
}

fn is_for_children(name: &str) -> bool {
    !looks_secret(name) && (FOR_CHILDREN.contains(&name) || name.starts_with("LC_"))
}

/// Whether a variable holds a secret, by its name.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    SECRET.iter().any(|word| name.contains(word))
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
    shown()?.overwrite(&names)
}

/// The memory that the kernel shows others as our environment.
struct ShownEnvironment {
    memory: File,
    start: u64,
    length: usize,
}

/// Opened while the process may still be looked into: later, not even it itself may open its memory.
static SHOWN: OnceLock<Option<ShownEnvironment>> = OnceLock::new();

fn shown() -> io::Result<&'static ShownEnvironment> {
    let shown = SHOWN.get_or_init(|| ShownEnvironment::open().ok());
    let unknown = || io::Error::other("the environment cannot be found in memory");
    shown.as_ref().ok_or_else(unknown)
}

impl ShownEnvironment {
    fn open() -> io::Result<Self> {
        let extent = extent(&fs::read("/proc/self/stat")?);
        let length = extent.and_then(|(start, end)| end.checked_sub(start));
        let length = length.filter(|length| *length <= MOST);
        let (Some((start, _)), Some(length)) = (extent, length) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        Ok(Self {
            memory: File::options()
                .read(true)
                .write(true)
                .open("/proc/self/mem")?,
            start,
            length: usize::try_from(length).map_err(io::Error::other)?,
        })
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut block = vec![0; self.length];
        self.memory.read_exact_at(&mut block, self.start)?;
        Ok(block)
    }

    /// Overwrites the values of these variables.
    fn overwrite(&self, names: &[OsString]) -> io::Result<()> {
        let mut at = 0;
        for entry in self.read()?.split_inclusive(|byte| *byte == 0) {
            let text = entry.strip_suffix(&[0]).unwrap_or(entry);
            if let Some(equals) = text.iter().position(|byte| *byte == b'=')
                && names.iter().any(|name| name.as_bytes() == &text[..equals])
            {
                let place = self.start + (at + equals + 1) as u64;
                let value = vec![0; text.len() - equals - 1];
                self.memory.write_all_at(&value, place)?;
            }
            at += entry.len();
        }
        Ok(())
    }
}

/// From where to where the environment lies in memory, as `/proc/self/stat` tells it: its fields 50 and 51, counted
/// from 1. The second one, the program's name, stands in parentheses and may hold anything.
fn extent(stat: &[u8]) -> Option<(u64, u64)> {
    let name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace().skip(50 - 3);
    let mut next = || fields.next()?.parse().ok().filter(|address| *address != 0);
    Some((next()?, next()?))
}

/// Whether other processes can read the value of a variable in what the kernel shows as our environment. True also
/// where that is not known.
#[must_use]
pub fn is_exposed(name: &str) -> bool {
    let Some(value) = variable(name).filter(|value| !value.is_empty()) else {
        return false;
    };
    let entry = format!("{name}={value}").into_bytes();
    let block = shown().and_then(ShownEnvironment::read);
    let is_in = |block: Vec<u8>| block.split(|byte| *byte == 0).any(|other| other == entry);
    block.map_or(true, is_in)
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
        let expected = [("PATH", "/usr/bin"), ("HOME", "/open"), ("LANG", "C")];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(given, expected);
    }

    #[test]
    fn the_environment_is_found_in_what_the_kernel_tells() {
        let mut fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b) {}", fields.join(" "));
        assert_eq!(extent(stat.as_bytes()), Some((50, 51)));
        fields[50 - 3] = "0".into();
        let stat = format!("7 (a) {}", fields.join(" "));
        assert_eq!(extent(stat.as_bytes()), None, "it is not told");
        assert_eq!(extent(b"7 (a) S 1"), None);
        let (start, end) = extent(&fs::read("/proc/self/stat").unwrap()).unwrap();
        assert!(start < end);
    }
}
