//! The walls of a command: what the user's settings, the protected places and the secrets make of a workspace.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{
    Means, Missing, SandboxRules, WallKind, Walls,
    layout::{Layout, ReadOnlyPlace},
    mountinfo::{self, MountLine, paths_of},
    mounts::DEVICES,
    named_pipes::{NamedPipes, named_pipes},
    outside_sockets::{OutsideSockets, outside_sockets},
    own_folders,
    places::Places,
    real, second_wall,
    secret_links::secret_links,
};
use aside_base::{
    environment,
    homes::{home, homes},
    secrets::secret_places,
    system::folders::canonical,
};

/// Folders that are private to a command.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
/// Maximum number of arguments: those that bubblewrap counts, without some for the command. With more it ends.
const WORDS: usize = 8900;
/// Variables that name a cache, and its folder among those of the user.
const CACHES: [(&str, &str); 2] = [("GOCACHE", "go-build"), ("UV_CACHE_DIR", "uv")];

impl SandboxRules {
    /// The confinement of a command that runs in a folder of the workspace. `places` are read-only. Creates missing
    /// folders of Aside's own, so that no command can create them.
    ///
    /// # Errors
    /// Fails if it is not known what is mounted outside, or if there are more places than bubblewrap can mount.
    pub(crate) fn walls(
        &self,
        means: &Means,
        root: &Path,
        cwd: &Path,
        places: &Places,
    ) -> Result<Walls, Missing> {
        let mounts = mountinfo::mounts().map_err(|error| Missing {
            why: format!("its mounts cannot be looked up: {error}"),
            mend: "mount /proc".to_owned(),
        })?;
        let layout = self.layout(means, root, cwd, places, &mounts);
        let args = layout.arguments();
        if args.len() > WORDS {
            return Err(Missing {
                why: "more files are protected or hidden than bubblewrap can mount".to_owned(),
                mend: "open a folder further down".to_owned(),
            });
        }
        Ok(Walls {
            program: means.builder.clone(),
            args,
            meant: layout.meant(&mounts),
            hosts: match self.network {
                true => Vec::new(),
                false => self.hosts.clone(),
            },
            has_unix: layout.has_unix,
            repositories: self.repositories(places, &layout.writable),
            masked: layout.masked_below(),
            kind: WallKind::Sandbox,
        })
    }

    pub(super) fn layout(
        &self,
        means: &Means,
        root: &Path,
        cwd: &Path,
        places: &Places,
        mounts: &[MountLine],
    ) -> Layout {
        let writable = self.writable(root);
        let is_writable = |path: &Path| writable.iter().any(|folder| path.starts_with(folder));
        let is_above = |path: &Path| writable.iter().any(|folder| folder.starts_with(path));
        let repositories = self.repositories(places, &writable);
        // Aside starts this program outside of the sandbox.
        let holder = (means.holder.clone(), ReadOnlyPlace::FIXED);
        let protected = read_only(places, &repositories)
            .chain([holder])
            .flat_map(|(place, about)| {
                let names = paths_of(&place, mounts).into_iter();
                names.map(move |name| (name, about))
            })
            .filter(|(place, _)| is_writable(place) && !is_above(place));
        own_folders::make(&self.own, is_writable);
        let fresh = private();
        let lies_in_fresh = |place: &PathBuf| fresh.iter().any(|it| place.starts_with(it));
        let shown = shown(&writable, &fresh);
        let is_shown = |place: &PathBuf| shown.iter().any(|it| place.starts_with(it));
        let secrets = secret_places().into_iter();
        let is_private = |place: &Path| {
            let place = place.to_owned();
            (lies_in_fresh(&place) || place.starts_with(DEVICES))
                && !is_writable(&place)
                && !is_shown(&place)
        };
        let OutsideSockets { paths, are_all } = outside_sockets(mounts, is_private);
        // The content of a folder that appears empty need not be hidden.
        let hidden: BTreeSet<PathBuf> = secrets
            .chain(self.own.iter().cloned())
            .chain(places.secrets.iter().cloned())
            .filter_map(|place| canonical(&place).ok())
            .chain(paths)
            .chain(places.pipes.iter().cloned())
            .flat_map(|place| paths_of(&place, mounts))
            .filter(|place| !is_above(place))
            .filter(|place| is_writable(place) || is_shown(place) || !lies_in_fresh(place))
            .collect();
        let is_seen = |place: &PathBuf| !place.ancestors().skip(1).any(|it| hidden.contains(it));
        let seen = hidden.iter().filter(|place| is_seen(place)).cloned();
        let (folders, files) = seen.partition(|place| place.is_dir());
        let names = self.network.then(|| real(Path::new("/etc/resolv.conf")));
        let caches = caches(is_writable);
        let readable = names.into_iter().chain([means.holder.clone()]);
        let readable = readable.filter(|it| lies_in_fresh(it) && !is_shown(it));
        Layout {
            protected: protected.filter(|(place, _)| is_seen(place)).collect(),
            links: links(places).filter(|(link, _)| is_seen(link)).collect(),
            held: repositories.into_iter().filter(is_seen).collect(),
            hidden: folders,
            masked: files,
            readable: shown.iter().cloned().chain(readable).collect(),
            fresh: fresh.clone(),
            network: self.network,
            // In the network of the machine there are sockets without a place in the file system.
            has_unix: are_all && (!self.network || second_wall::holds_names()),
            proxied: !self.network && !self.hosts.is_empty(),
            inside: means.holder.clone(),
            cwd: cwd.to_owned(),
            caches,
            writable,
        }
    }
}

/// The places as they are mounted read-only, but for repositories in which commands may write. They are not looked up
/// again: what is there now may be something else.
fn read_only(
    places: &Places,
    repositories: &[PathBuf],
) -> impl Iterator<Item = (PathBuf, ReadOnlyPlace)> {
    let found = places
        .iter()
        .filter(|(path, _)| !repositories.contains(path));
    found.filter_map(|(path, place)| match &place.leads_to {
        Some((real, mark)) => Some((real.clone(), fixed(mark.number, usize::MAX))),
        None if place.mark.is_link() => None,
        None => Some((path.clone(), fixed(place.mark.number, place.fixed))),
    })
}

/// The links among the places.
fn links(places: &Places) -> impl Iterator<Item = (PathBuf, u64)> {
    let links = places.iter().filter(|(_, place)| place.mark.is_link());
    links.map(|(path, place)| (path.clone(), place.mark.number))
}

/// Caches that are empty at first, for programs that do nothing without one: those whose usual place is read-only.
fn caches(is_writable: impl Fn(&Path) -> bool) -> Vec<(&'static str, PathBuf)> {
    let usual = |name: &str, folder: &str| {
        let base = || match environment::variable("XDG_CACHE_HOME") {
            Some(base) => Some(PathBuf::from(base)),
            None => Some(home()?.join(".cache")),
        };
        let own = environment::variable(name).map(PathBuf::from);
        own.or_else(|| Some(base()?.join(folder)))
    };
    let is_held = |(name, folder): &(&str, &str)| {
        usual(name, folder).is_none_or(|usual| !is_writable(&real(&usual)))
    };
    let held = CACHES.into_iter().filter(is_held);
    held.map(|(name, folder)| (name, Path::new(PRIVATE[0]).join(folder)))
        .collect()
}

/// Notes what walls have to hide besides the places themselves, and what may be missing of that.
pub(super) fn note_hidden(places: &mut Places, writable: &[PathBuf]) {
    let NamedPipes { paths, gaps } = named_pipes(&shown(writable, &private()), writable);
    places.gaps.extend(gaps);
    places.pipes = paths;
    let (led, gaps) = secret_links(&secret_places(), &homes());
    places.gaps.extend(gaps);
    places.secrets = led;
}

/// The folders that are private to a command on this machine.
fn private() -> Vec<PathBuf> {
    let folders = PRIVATE.map(PathBuf::from).into_iter();
    folders.filter(|folder| is_real_folder(folder)).collect()
}

/// The folders of private ones that are shown all the same: beside a writable folder is what is there, and read-only,
/// wherever it lies.
fn shown(writable: &[PathBuf], private: &[PathBuf]) -> Vec<PathBuf> {
    let tops = writable.iter().filter_map(|it| top_below(it, private));
    let tops: BTreeSet<PathBuf> = tops.collect();
    tops.into_iter().collect()
}

/// The topmost folder of a private one that leads to a folder, if that is not the folder itself.
fn top_below(folder: &Path, private: &[PathBuf]) -> Option<PathBuf> {
    let private = private.iter().find(|it| folder.starts_with(it))?;
    let mut below = folder.strip_prefix(private).ok()?.components();
    let top = private.join(below.next()?);
    below.next().map(|_| top)
}

/// A read-only place with this number.
fn fixed(number: u64, fixed: usize) -> ReadOnlyPlace {
    ReadOnlyPlace {
        number: Some(number),
        fixed,
    }
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}
