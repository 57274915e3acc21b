//! File system, network and variables of a sandboxed command, as arguments for bubblewrap.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    file_mark::FileMark,
    mountinfo::MountLine,
    mounts::{MeantMounts, MountAccess},
};

/// The descriptor from which bubblewrap reads the filter of system calls.
pub(crate) const FILTER_FD: i32 = 3;
/// The descriptor to which bubblewrap writes its status.
pub(crate) const STATUS_FD: i32 = 5;

/// The hidden first argument with which `aside` looks at its sandbox from the inside and becomes the command.
pub(crate) const INSIDE: &str = "__inside";
/// Argument: the socket of the proxy is opened first.
pub(crate) const PROXY: &str = "--proxy";

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
    pub(crate) protected: BTreeMap<PathBuf, ReadOnlyPlace>,
    /// Links below them at protected names, by their numbers.
    pub(crate) links: BTreeMap<PathBuf, u64>,
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
    /// Whether the command may make Unix sockets: all of those outside are out of its sight.
    pub(crate) has_unix: bool,
    /// Whether a proxy leads to some hosts.
    pub(crate) proxied: bool,
    /// The program that looks at the sandbox from the inside before it becomes the command.
    pub(crate) inside: PathBuf,
    /// Working directory.
    pub(crate) cwd: PathBuf,
    /// Variables that name a cache, and the places of those.
    pub(crate) caches: Vec<(&'static str, PathBuf)>,
}

/// A place that is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadOnlyPlace {
    /// The number of the file that was found there.
    pub(crate) number: Option<u64>,
    /// Number of the folders above it that cannot be moved.
    pub(crate) fixed: usize,
}

impl ReadOnlyPlace {
    /// A place above which no folder can be moved.
    pub(crate) const FIXED: Self = Self {
        number: None,
        fixed: usize::MAX,
    };
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
        for folder in self.open() {
            all.both("--bind", folder);
        }
        for place in self.protected.keys() {
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
        for (name, place) in &self.caches {
            all.words(&["--setenv", name]);
            all.0.push(place.into());
        }
        if self.proxied {
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
        all.0.extend([self.inside.clone().into(), INSIDE.into()]);
        if self.proxied {
            all.words(&[PROXY]);
        }
        all.0
    }

    /// The mounts that are expected inside, given those outside.
    pub(crate) fn meant(&self, mounts: &[MountLine]) -> MeantMounts {
        let mut all = MeantMounts::default();
        let protected = &self.protected;
        let is_out_of_sight =
            |place: &Path| self.hidden.contains(place) || self.masked.contains(place);
        let is_covered = |place: &Path| protected.contains_key(place) || is_out_of_sight(place);
        for folder in self.open().into_iter().filter(|it| !is_covered(it)) {
            all.expect(mounts, MountAccess::Write, folder, None);
        }
        for (place, about) in protected.iter().filter(|(it, _)| !is_out_of_sight(it)) {
            all.expect(mounts, MountAccess::Read, place, about.number);
        }
        for (link, number) in &self.links {
            all.expect_link(link, *number);
        }
        for folder in &self.hidden {
            all.expect_own(MountAccess::Empty, folder);
        }
        for file in &self.masked {
            all.expect(mounts, MountAccess::Null, file, None);
        }
        for folder in &self.fresh {
            all.expect_own(MountAccess::Fresh, folder);
        }
        for folder in &self.writable {
            all.allow_below(mounts, folder);
        }
        all
    }

    /// The masked files below writable folders, each with its identity; none if it is gone.
    pub(crate) fn masked_below(&self) -> Vec<(PathBuf, Option<FileMark>)> {
        let is_below = |file: &&PathBuf| self.writable.iter().any(|it| file.starts_with(it));
        let below = self.masked.iter().filter(is_below);
        below
            .map(|file| (file.clone(), FileMark::at(file).ok()))
            .collect()
    }

    /// All folders that become writable mounts, a folder before its content.
    fn open(&self) -> BTreeSet<&Path> {
        let writable = self.writable.iter().map(PathBuf::as_path);
        writable.chain(self.pins()).collect()
    }

    /// The folders between a writable folder and a place that become mounts. A command could otherwise rename the
    /// folder with the mounts below it and put another one in its place; a mount cannot be renamed.
    fn pins(&self) -> BTreeSet<&Path> {
        let fixed = |place| (place, usize::MAX);
        let protected = self.protected.iter();
        let places = protected
            .map(|(place, about)| (place, about.fixed))
            .chain(self.hidden.iter().map(fixed))
            .chain(self.masked.iter().map(fixed))
            .chain(self.held.iter().map(fixed))
            .chain(self.writable.iter().map(fixed));
        let is_open = |folder: &Path| self.writable.iter().any(|it| it == folder);
        // What lies in a read-only place stays there by itself.
        let is_kept = |place: &Path| {
            let mut above = place.ancestors().skip(1);
            above.any(|it| self.protected.contains_key(it))
        };
        let held = self.held.iter().map(PathBuf::as_path);
        let held = held.filter(|folder| !is_open(folder) && !is_kept(folder));
        let mut pins: BTreeSet<&Path> = held.collect();
        for (place, fixed) in places.filter(|(place, _)| !is_kept(place)) {
            let mut open = self.writable.iter();
            if open.any(|it| place != it && place.starts_with(it)) {
                let above = place.ancestors().skip(1).take(fixed);
                pins.extend(above.take_while(|folder| !is_open(folder)));
            }
        }
        pins
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

    fn fixed(places: &[&str]) -> BTreeMap<PathBuf, ReadOnlyPlace> {
        let places = places.iter();
        places.map(|it| (it.into(), ReadOnlyPlace::FIXED)).collect()
    }

    #[test]
    fn what_lies_above_settings_stays_movable() {
        let place = |fixed| ReadOnlyPlace {
            number: None,
            fixed,
        };
        let layout = Layout {
            writable: vec!["/w".into()],
            protected: [
                ("/w/packages/web/.npmrc".into(), place(0)),
                ("/w/packages/api/.cargo/config.toml".into(), place(1)),
            ]
            .into(),
            ..Layout::default()
        };
        let pins: Vec<&Path> = layout.pins().into_iter().collect();
        assert_eq!(pins, [Path::new("/w/packages/api/.cargo")]);
    }

    #[test]
    fn the_walls_of_a_command() {
        let layout = Layout {
            writable: vec!["/w".into()],
            protected: fixed(&["/w/.git", "/w/a/b/.git"]),
            hidden: ["/home/u/.state"].map(PathBuf::from).into(),
            masked: ["/home/u/.netrc"].map(PathBuf::from).into(),
            fresh: vec!["/tmp".into()],
            cwd: "/w/a".into(),
            inside: "/aside".into(),
            ..Layout::default()
        };
        let expected = "--unshare-user\n--unshare-ipc\n--unshare-pid\n--unshare-uts\n--unshare-cgroup-try\n\
            --unshare-net\n--cap-drop ALL\n--die-with-parent\n--new-session\n--ro-bind / /\n--dev /dev\n\
            --proc /proc\n--remount-ro /proc\n--tmpfs /tmp\n--bind /w /w\n--bind /w/a /w/a\n--bind /w/a/b /w/a/b\n\
            --ro-bind /w/.git /w/.git\n--ro-bind /w/a/b/.git /w/a/b/.git\n--tmpfs /home/u/.state\n\
            --remount-ro /home/u/.state\n--ro-bind /dev/null /home/u/.netrc\n--unsetenv XDG_RUNTIME_DIR\n\
            --setenv TMPDIR /tmp\n--chdir /w/a\n--seccomp 3\n--json-status-fd 5\n-- /aside __inside";
        assert_eq!(text(&layout), expected);
    }

    #[test]
    fn what_is_hidden_in_a_read_only_place_needs_no_mounts_above_it() {
        let layout = Layout {
            writable: vec!["/home/u".into()],
            protected: fixed(&["/home/u/.local"]),
            held: ["/home/u/.local/share/x/.git"].map(PathBuf::from).into(),
            hidden: ["/home/u/.local/state/aside"].map(PathBuf::from).into(),
            ..Layout::default()
        };
        assert!(layout.pins().is_empty());
    }

    #[test]
    fn nothing_above_what_can_be_written_becomes_a_mount() {
        let layout = Layout {
            writable: vec!["/w".into(), "/main/.git".into()],
            held: ["/main/.git", "/w/sub/.git"].map(PathBuf::from).into(),
            protected: fixed(&["/main/.git/config"]),
            ..Layout::default()
        };
        let text = text(&layout);
        let binds: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("--bind"))
            .collect();
        let expected = [
            "--bind /main/.git /main/.git",
            "--bind /w /w",
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
