//! What a sandboxed command finds: the arguments that bubblewrap builds its world from.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The descriptor from which bubblewrap reads the filter of system calls.
pub(in crate::tool) const FILTER_FD: i32 = 3;
/// The descriptor to which bubblewrap writes how it went.
pub(in crate::tool) const STATUS_FD: i32 = 5;

/// The hidden first argument under which Aside opens a way to some hosts inside walls, and becomes the command.
pub(in crate::tool) const INSIDE: &str = "__inside";

/// By what programs find a proxy.
const PROXY_VARIABLES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];

/// Where a command finds the proxy to the hosts that it is let to, in a network of its own.
pub(in crate::tool) const PROXY_PORT: u16 = 3128;

/// The world of a command. All paths are real ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tool) struct Layout {
    /// Folders that the command may write in, the workspace first.
    pub(in crate::tool) writable: Vec<PathBuf>,
    /// Places below those that stay as they are.
    pub(in crate::tool) protected: BTreeSet<PathBuf>,
    /// Folders below those that can be written, and not be moved away.
    pub(in crate::tool) held: BTreeSet<PathBuf>,
    /// Folders that look empty.
    pub(in crate::tool) hidden: BTreeSet<PathBuf>,
    /// Files that look empty.
    pub(in crate::tool) masked: BTreeSet<PathBuf>,
    /// Folders that are the command's own, empty at first and gone afterwards.
    pub(in crate::tool) fresh: Vec<PathBuf>,
    /// Other places that can be read, below what is fresh.
    pub(in crate::tool) readable: Vec<PathBuf>,
    /// It may use the network.
    pub(in crate::tool) network: bool,
    /// The program that opens a way to some hosts before it becomes the command.
    pub(in crate::tool) opener: Option<PathBuf>,
    /// Where it runs.
    pub(in crate::tool) cwd: PathBuf,
}

impl Layout {
    /// The arguments for bubblewrap, up to the program.
    pub(in crate::tool) fn arguments(&self) -> Vec<OsString> {
        let mut all = Arguments::default();
        // The user namespace is named, since bubblewrap goes on without one where it only has to try.
        all.words(&["--unshare-user", "--unshare-ipc", "--unshare-pid"]);
        all.words(&["--unshare-uts", "--unshare-cgroup-try"]);
        if !self.network {
            all.words(&["--unshare-net"]);
        }
        all.words(&["--cap-drop", "ALL", "--die-with-parent", "--new-session"]);
        all.words(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        // Root inside is root outside, which may write what the kernel is set by.
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
            // Node reads the others only where it is told to.
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

    /// A folder that can be renamed takes what is mounted below it along, and another can be put in its place. A mount
    /// cannot be renamed, so each folder between a writable one and what is protected in it becomes one.
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
        // A folder comes before what is in it.
        for folder in pins {
            all.both("--bind", folder);
        }
    }
}

/// Arguments that grow.
#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn one(&mut self, word: &str, path: &Path) {
        self.0.extend([word.into(), path.into()]);
    }

    /// A place that is where it is outside.
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
