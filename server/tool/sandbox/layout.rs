//! File system, network and variables of a sandboxed command, as arguments for bubblewrap.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The descriptor from which bubblewrap reads the filter of system calls.
pub(crate) const FILTER_FD: i32 = 3;
/// The descriptor to which bubblewrap writes its status.
pub(crate) const STATUS_FD: i32 = 5;

/// The hidden first argument with which `aside` opens the proxy's socket inside the sandbox and becomes the command.
pub(crate) const INSIDE: &str = "__inside";

/// Variables by which programs find a proxy.
const PROXY_VARIABLES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];

/// Port of the proxy in the command's own network.
pub(crate) const PROXY_PORT: u16 = 3128;

/// Everything that a command can reach. All paths are canonical.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Writable folders, the workspace first.
    pub(crate) writable: Vec<PathBuf>,
    /// Read-only places below them.
    pub(crate) protected: BTreeSet<PathBuf>,
    /// Folders below them that can be written but not moved.
    pub(crate) held: BTreeSet<PathBuf>,
    /// Folders that appear empty.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// Files that appear empty.
    pub(crate) masked: BTreeSet<PathBuf>,
    /// Private folders, empty at first and deleted afterwards.
    pub(crate) fresh: Vec<PathBuf>,
    /// Other readable places, below the private folders.
    pub(crate) readable: Vec<PathBuf>,
    /// Whether the command may use the network.
    pub(crate) network: bool,
    /// The program that opens the proxy's socket before it becomes the command.
    pub(crate) opener: Option<PathBuf>,
    /// Working directory.
    pub(crate) cwd: PathBuf,
}

impl Layout {
    /// The arguments for bubblewrap, up to the program.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut all = Arguments::default();
        // `--unshare-user` is explicit, because bubblewrap continues without a user namespace if it only tries.
        all.words(&["--unshare-user", "--unshare-ipc", "--unshare-pid"]);
        all.words(&["--unshare-uts", "--unshare-cgroup-try"]);
        if !self.network {
            all.words(&["--unshare-net"]);
        }
        all.words(&["--cap-drop", "ALL", "--die-with-parent", "--new-session"]);
        all.words(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        // Root inside is root outside and could change kernel settings.
        all.words(&["--remount-ro", "/proc"]);
        for folder in &self.fresh {
            all.one("--tmpfs", folder);
        }
        for place in &self.readable {
            all.both("--ro-bind", place);
        }
        for folder in &self.writable {
            all.both("--bind", folder);
        }
        self.pins(&mut all);
        for place in &self.protected {
            all.both("--ro-bind", place);
        }
        for folder in &self.hidden {
            all.one("--tmpfs", folder);
            all.one("--remount-ro", folder);
        }
        for file in &self.masked {
            all.words(&["--ro-bind", "/dev/null"]);
            all.0.push(file.into());
        }
        all.words(&["--unsetenv", "XDG_RUNTIME_DIR"]);
        all.words(&["--setenv", "TMPDIR", "/tmp"]);
        if self.opener.is_some() {
            let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
            for name in PROXY_VARIABLES {
                all.words(&["--setenv", name, &proxy]);
            }
            // Node uses the proxy variables only if this is set.
            all.words(&["--setenv", "NODE_USE_ENV_PROXY", "1"]);
        }
        all.one("--chdir", &self.cwd);
        all.words(&["--seccomp", &FILTER_FD.to_string()]);
        all.words(&["--json-status-fd", &STATUS_FD.to_string(), "--"]);
        if let Some(opener) = &self.opener {
            all.0.extend([opener.into(), INSIDE.into()]);
        }
        all.0
    }

    /// Mounts each folder between a writable folder and a protected place onto itself. A command could otherwise rename
    /// the folder with the mounts below it and put another one in its place; a mount cannot be renamed.
    fn pins(&self, all: &mut Arguments) {
        let places = self
            .protected
            .iter()
            .chain(&self.hidden)
            .chain(&self.masked);
        let is_below = |folder: &&PathBuf| !self.writable.contains(folder);
        let held = self.held.iter().filter(is_below).map(PathBuf::as_path);
        let mut pins: BTreeSet<&Path> = held.collect();
        for place in places.chain(&self.held) {
            let above = place.ancestors().skip(1);
            let inside = above.take_while(|folder| !self.writable.iter().any(|it| it == folder));
            let inside: Vec<_> = inside.collect();
            let is_below = self
                .writable
                .iter()
                .any(|it| place != it && place.starts_with(it));
            if is_below {
                pins.extend(inside);
            }
        }
        // A folder precedes its content.
        for folder in pins {
            all.both("--bind", folder);
        }
    }
}

/// A list of arguments under construction.
#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn one(&mut self, word: &str, path: &Path) {
        self.0.extend([word.into(), path.into()]);
    }

    /// Adds a place that has the same path inside and outside.
    fn both(&mut self, word: &str, path: &Path) {
        self.0.extend([word.into(), path.into(), path.into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(layout: &Layout) -> String {
        let words = layout.arguments();
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ").replace(" --", "\n--")
    }

    #[test]
    fn the_walls_of_a_command() {
        let layout = Layout {
            writable: vec!["/w".into()],
            protected: ["/w/.git", "/w/a/b/.git"].map(PathBuf::from).into(),
            hidden: ["/home/u/.state"].map(PathBuf::from).into(),
            masked: ["/home/u/.netrc"].map(PathBuf::from).into(),
            fresh: vec!["/tmp".into()],
            cwd: "/w/a".into(),
            ..Layout::default()
        };
        let expected = "--unshare-user\n--unshare-ipc\n--unshare-pid\n--unshare-uts\n--unshare-cgroup-try\n\
            --unshare-net\n--cap-drop ALL\n--die-with-parent\n--new-session\n--ro-bind / /\n--dev /dev\n\
            --proc /proc\n--remount-ro /proc\n--tmpfs /tmp\n--bind /w /w\n--bind /w/a /w/a\n--bind /w/a/b /w/a/b\n\
            --ro-bind /w/.git /w/.git\n--ro-bind /w/a/b/.git /w/a/b/.git\n--tmpfs /home/u/.state\n\
            --remount-ro /home/u/.state\n--ro-bind /dev/null /home/u/.netrc\n--unsetenv XDG_RUNTIME_DIR\n\
            --setenv TMPDIR /tmp\n--chdir /w/a\n--seccomp 3\n--json-status-fd 5\n--";
        assert_eq!(text(&layout), expected);
    }

    #[test]
    fn nothing_above_what_can_be_written_becomes_a_mount() {
        let layout = Layout {
            writable: vec!["/w".into(), "/main/.git".into()],
            held: ["/main/.git", "/w/sub/.git"].map(PathBuf::from).into(),
            protected: ["/main/.git/config"].map(PathBuf::from).into(),
            ..Layout::default()
        };
        let text = text(&layout);
        let binds: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("--bind"))
            .collect();
        let expected = [
            "--bind /w /w",
            "--bind /main/.git /main/.git",
            "--bind /w/sub /w/sub",
            "--bind /w/sub/.git /w/sub/.git",
        ];
        assert_eq!(binds, expected);
    }

    #[test]
    fn what_is_hidden_in_the_workspace_cannot_be_moved_away() {
        let layout = Layout {
            writable: vec!["/home/u".into(), "/home/u/.cache".into()],
            hidden: ["/home/u/.local/state/aside"].map(PathBuf::from).into(),
            network: true,
            ..Layout::default()
        };
        let text = text(&layout);
        assert!(text.contains(
            "--bind /home/u /home/u\n--bind /home/u/.cache /home/u/.cache\n\
             --bind /home/u/.local /home/u/.local\n--bind /home/u/.local/state /home/u/.local/state\n\
             --tmpfs /home/u/.local/state/aside\n"
        ));
        assert!(!text.contains("--unshare-net"));
    }
}
