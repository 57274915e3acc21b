//! File system, network and variables of a sandboxed command, for whatever builds its walls.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

#[cfg(target_os = "linux")]
pub(crate) mod bubblewrap;

/// The hidden first argument with which `aside` looks at its sandbox from the inside and becomes the command.
pub(crate) const INSIDE: &str = "__inside";
/// Argument: the socket of the proxy is opened first.
#[cfg(target_os = "linux")]
pub(crate) const PROXY: &str = "--proxy";

/// Variables by which programs find a proxy.
pub(crate) const PROXY_VARIABLES: [&str; 4] =
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];

/// Port of the proxy in the command's own network.
#[cfg(target_os = "linux")]
pub(crate) const PROXY_PORT: u16 = 3128;

/// Everything that a command can reach. All paths are canonical.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Writable folders, the workspace first.
    pub(crate) writable: Vec<PathBuf>,
    /// Read-only places below them.
    pub(crate) protected: BTreeMap<PathBuf, ReadOnlyPlace>,
    /// Links below them at protected names, by their numbers.
    #[cfg(target_os = "linux")]
    pub(crate) links: BTreeMap<PathBuf, u64>,
    /// Folders below them that can be written but not moved.
    pub(crate) held: BTreeSet<PathBuf>,
    /// Folders that appear empty.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// Files that appear empty.
    pub(crate) masked: BTreeSet<PathBuf>,
    /// Private folders, empty at first and deleted afterwards.
    #[cfg(target_os = "linux")]
    pub(crate) fresh: Vec<PathBuf>,
    /// Other readable places, below the private folders.
    #[cfg(target_os = "linux")]
    pub(crate) readable: Vec<PathBuf>,
    /// Whether the command may use the network.
    pub(crate) network: bool,
    /// Whether the command may make Unix sockets: all of those outside are out of its sight.
    #[cfg(target_os = "linux")]
    pub(crate) has_unix: bool,
    /// Whether a proxy leads to some hosts.
    #[cfg(target_os = "linux")]
    pub(crate) proxied: bool,
    /// The program that looks at the sandbox from the inside before it becomes the command.
    pub(crate) inside: PathBuf,
    /// Working directory.
    #[cfg(target_os = "linux")]
    pub(crate) cwd: PathBuf,
    /// Variables that name a cache, and the places of those.
    pub(crate) caches: Vec<(&'static str, PathBuf)>,
}

/// A place that is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadOnlyPlace {
    /// The number of the file that was found there.
    #[cfg(target_os = "linux")]
    pub(crate) number: Option<u64>,
    /// Number of the folders above it that cannot be moved.
    pub(crate) fixed: usize,
}

impl ReadOnlyPlace {
    /// A place above which no folder can be moved.
    pub(crate) const FIXED: Self = Self {
        #[cfg(target_os = "linux")]
        number: None,
        fixed: usize::MAX,
    };
}

impl Layout {
    /// All folders that become writable mounts, a folder before its content.
    #[cfg(target_os = "linux")]
    fn open(&self) -> BTreeSet<&Path> {
        let writable = self.writable.iter().map(PathBuf::as_path);
        writable.chain(self.pins()).collect()
    }

    /// The folders between a writable folder and a place that a command cannot move. It could otherwise rename the folder
    /// with the places below it and put another one there. For bubblewrap they become mounts, which cannot be renamed.
    pub(super) fn pins(&self) -> BTreeSet<&Path> {
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
