//! The layout of a command as arguments for bubblewrap, and as the mounts that they make.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{INSIDE, Layout, PROXY, PROXY_PORT, PROXY_VARIABLES};
use crate::sandbox::{
    file_mark::FileMark,
    mountinfo::MountLine,
    mounts::{MeantMounts, MountAccess},
};

/// The descriptor from which bubblewrap reads the filter of system calls.
pub(crate) const FILTER_FD: i32 = 3;
/// The descriptor to which bubblewrap writes its status.
pub(crate) const STATUS_FD: i32 = 5;

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
    use std::collections::BTreeMap;

    use super::{super::ReadOnlyPlace, *};

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
