//! Programs that the sandbox needs, found outside of folders that commands can write in, and advice for the user if one
//! is missing or does not work.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use aside_base::{
    open_places,
    system::{
        folders::topmost,
        shells::{SHELLS, Shell},
    },
};

/// Programs that the sandbox needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    /// The program that builds walls: bubblewrap, or `sandbox-exec` on macOS.
    pub(crate) builder: PathBuf,
    /// The shell that reads command lines.
    pub(crate) shell: PathBuf,
    /// The program that supervises commands: `aside` itself.
    pub(crate) holder: PathBuf,
}

/// The reason why there is no sandbox, and advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The reason as a clause: "bubblewrap is not installed".
    pub why: String,
    /// Advice as a clause in the imperative.
    pub mend: String,
}

/// The reason on systems on which nothing builds walls.
pub(super) fn elsewhere() -> Missing {
    Missing {
        why: "Aside has one on Linux and macOS alone".to_owned(),
        mend: "there is nothing to install: let commands ask, or run Aside on Linux".to_owned(),
    }
}

pub(super) fn os_release() -> String {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    let read = |file: &&str| fs::read_to_string(file).ok();
    files.iter().find_map(read).unwrap_or_default()
}

/// The command that installs bubblewrap on the system that `os_release` describes.
pub(crate) fn install(os_release: &str) -> String {
    let lines = os_release.lines();
    let ids = lines.filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key == "ID" || key == "ID_LIKE").then(|| value.trim_matches('"'))
    });
    let ids: Vec<&str> = ids.flat_map(str::split_whitespace).collect();
    let command = [
        ("debian", "apt-get install bubblewrap"),
        ("ubuntu", "apt-get install bubblewrap"),
        ("fedora", "dnf install bubblewrap"),
        ("rhel", "dnf install bubblewrap"),
        ("arch", "pacman -S bubblewrap"),
        ("alpine", "apk add bubblewrap"),
        ("suse", "zypper install bubblewrap"),
        ("opensuse", "zypper install bubblewrap"),
        ("void", "xbps-install bubblewrap"),
        ("gentoo", "emerge sys-apps/bubblewrap"),
    ]
    .into_iter()
    .find(|(id, _)| ids.contains(id));
    match command {
        Some((_, command)) => format!("install it as root with `{command}`"),
        None => "install the package bubblewrap".to_owned(),
    }
}

/// Advice for a bubblewrap that is installed and does not work, from its error message and the kernel's settings.
pub(crate) fn mend(said: &str, setting: impl Fn(&str) -> Option<String>) -> String {
    let is = |file: &str, value: &str| setting(file).is_some_and(|text| text.trim() == value);
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return "let users make namespaces with `sysctl user.max_user_namespaces=15000`".to_owned();
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return "let users make namespaces with `sysctl kernel.unprivileged_userns_clone=1`"
            .to_owned();
    }
    if is(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ) {
        return "let bwrap make namespaces: give it an AppArmor profile with `userns,`, such as \
                /usr/share/apparmor/extra-profiles/bwrap-userns-restrict, or set \
                `sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
            .to_owned();
    }
    let in_container = setting("/.dockerenv").is_some() || setting("/run/.containerenv").is_some();
    if in_container && said.contains("proc") {
        return "let the container mount a /proc of its own: start it with \
                `--security-opt systempaths=unconfined`"
            .to_owned();
    }
    if in_container {
        return "let the container make namespaces: start it with `--security-opt seccomp=unconfined \
                --security-opt apparmor=unconfined`"
            .to_owned();
    }
    "run `bwrap --unshare-user --ro-bind / / true` to see what hinders it".to_owned()
}

/// A setting of the kernel: the content of a file, if it exists.
pub(crate) fn setting(file: &str) -> Option<String> {
    fs::read_to_string(file).ok()
}

/// The shell that reads command lines, and its program, found outside the workspace.
pub(crate) fn shell(root: &Path) -> (Shell, OsString) {
    let own = [root.to_owned()];
    let found = |shell: &Shell| Some((*shell, program_outside(shell.program(), &own)?.into()));
    let last = SHELLS[SHELLS.len() - 1];
    let found = SHELLS.iter().find_map(found);
    found.unwrap_or_else(|| (last, last.program().into()))
}

/// The words by which models are told of the shell.
pub(crate) fn named_shell() -> &'static str {
    static NAMED: OnceLock<&str> = OnceLock::new();
    NAMED.get_or_init(|| {
        let there = |shell: &&Shell| program_outside(shell.program(), &[]).is_some();
        let last = &SHELLS[SHELLS.len() - 1];
        SHELLS.iter().find(there).unwrap_or(last).named()
    })
}

/// A program that lies neither in one of these folders nor in another open place.
pub(super) fn program_outside(name: &str, writable: &[PathBuf]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = open_places::known().and(writable);
    let found = places.program(name.as_ref(), &topmost(), &path);
    found.ok()
}
