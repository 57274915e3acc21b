//! The walls of a command: what the user's settings, the protected places and the secrets make of a workspace.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use super::{
    Means, Missing, SandboxRules, WallKind, Walls, git, git_named,
    layout::{Layout, ReadOnlyPlace},
    mountinfo::{self, MountLine, paths_of},
    mounts::DEVICES,
    outside_sockets::{OutsideSockets, outside_sockets},
    place_search::{ListedFolders, guarded},
    places::{KnownPlaces, OpenGap, Places},
    real, second_wall,
};
use crate::workspace::protected::fixed_above;
use aside_base::{
    environment,
    homes::{home, homes},
    secrets::{names, secret_places},
};

/// Folders that are private to a command.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
/// Maximum number of arguments: those that bubblewrap counts, without some for the command. With more it ends.
const WORDS: usize = 8900;
/// Maximum number of links to what is missing.
const LINKS: usize = 40;
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
            program: means.bubblewrap.clone(),
            args,
            meant: layout.meant(&mounts),
            hosts: match self.network {
                true => Vec::new(),
                false => self.hosts.clone(),
            },
            has_unix: layout.has_unix,
            kind: WallKind::Sandbox,
        })
    }

    /// The protected places below the folders that commands can write in, and those that were known before.
    pub(crate) fn places(
        &self,
        root: &Path,
        known: &KnownPlaces,
        listed: &ListedFolders,
    ) -> Places {
        let writable = self.writable(root);
        let mut places = Places::default();
        for folder in &writable {
            places.merge(guarded(folder, &writable, listed));
        }
        for (path, fixed) in known {
            places.add(path.clone(), *fixed, &writable);
        }
        git_named::add(&mut places, root, &writable);
        let repositories = self.repositories(&places, &writable);
        let mut kept = Vec::new();
        for repository in &repositories {
            let (entries, is_whole) = git::kept(repository);
            kept.extend(entries);
            if !is_whole {
                places.gaps.insert(OpenGap::Many(repository.clone()));
            }
        }
        for place in kept {
            places.add(place, usize::MAX, &writable);
        }
        let all: Vec<PathBuf> = places.paths().cloned().collect();
        for repository in all.iter().filter(|place| git::is_repository(place)) {
            let (entries, _) = git::kept(repository);
            entries.iter().for_each(|entry| places.note_files(entry));
        }
        places.note_twofold(&writable);
        places.note_replaceable(&repositories, &writable);
        places.bound(&writable);
        if homes().is_empty() {
            places.gaps.insert(OpenGap::Homeless);
        }
        places
    }

    /// The protected places before a command runs, after creating those that the command must not create.
    pub(crate) fn places_before(
        &self,
        root: &Path,
        known: &KnownPlaces,
        listed: &ListedFolders,
    ) -> Places {
        let places = self.places(root, known, listed);
        let repositories = self.repositories(&places, &self.writable(root));
        if repositories.is_empty() {
            return places;
        }
        let open: Vec<PathBuf> = repositories
            .into_iter()
            .filter(|it| !git::close(it))
            .collect();
        let mut places = self.places(root, known, listed);
        places.gaps.extend(open.into_iter().map(OpenGap::Unclosed));
        places
    }

    /// The protected places after a command ran, including those of repositories that no longer look like one.
    pub(crate) fn places_after(
        &self,
        root: &Path,
        before: &Places,
        listed: &ListedFolders,
    ) -> Places {
        let mut places = self.places(root, &before.known(), listed);
        let hooks = before.paths().filter(|place| place.ends_with("hooks"));
        let repositories: Vec<&Path> = hooks.filter_map(|place| place.parent()).collect();
        let writable = self.writable(root);
        for kept in repositories.into_iter().flat_map(|it| git::kept(it).0) {
            places.add(kept, usize::MAX, &writable);
        }
        places
    }

    /// Takes back what commands made in Git repositories that makes Git run programs. Returns the places, each with what
    /// was done.
    pub(crate) fn take_back(&self, made: &[PathBuf]) -> BTreeMap<PathBuf, &'static str> {
        let taken = made.iter().filter_map(|place| {
            if git::take_away(place) {
                return Some((place.clone(), "which was taken away again"));
            }
            git::disarm(place).then(|| (place.clone(), "without the programs that it would run"))
        });
        taken.collect()
    }

    /// The repositories among these places that commands may write in: all, or those that are writable folders themselves.
    pub(super) fn repositories(&self, places: &Places, writable: &[PathBuf]) -> Vec<PathBuf> {
        let is_open = |place: &&PathBuf| self.git || writable.contains(place);
        let found = places.paths().filter(is_open);
        found
            .filter(|place| git::is_repository(place))
            .cloned()
            .collect()
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
        self.make_own(is_writable);
        let fresh = PRIVATE.map(PathBuf::from).into_iter();
        let fresh: Vec<_> = fresh.filter(|folder| is_real_folder(folder)).collect();
        let lies_in_fresh = |place: &PathBuf| fresh.iter().any(|it| place.starts_with(it));
        // Beside a writable folder is what is there, and read-only, wherever the folder lies.
        let shown = writable.iter().filter_map(|it| top_below(it, &fresh));
        let shown: Vec<PathBuf> = shown.collect();
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
            .filter_map(|place| fs::canonicalize(place).ok())
            .chain(paths)
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

    /// Makes the folders of Aside's own that lie where commands can write, so that no command can make them.
    fn make_own(&self, is_writable: impl Fn(&Path) -> bool) {
        let is_own = |path: &Path| self.own.iter().any(|own| own == path);
        let is_in_another = |own: &Path| own.ancestors().skip(1).any(is_own);
        for own in self.own.iter().filter(|own| !is_in_another(own)) {
            // A link on the way there may lead to where commands can write.
            let led = led_to(own, LINKS);
            if is_writable(&led) && !led.exists() {
                // If this fails, the command cannot create it either.
                let _ = fs::create_dir_all(led);
            }
        }
    }

    /// Canonical paths of the folders that commands can write in, the workspace first.
    pub(super) fn writable(&self, root: &Path) -> Vec<PathBuf> {
        let real = self
            .writable
            .iter()
            .filter_map(|folder| fs::canonicalize(folder).ok());
        let open: Vec<PathBuf> = real.chain([root.to_owned()]).collect();
        let more = self.writable.iter();
        let more = more.filter_map(|folder| led_safely(folder, &open));
        let more = more
            .filter(|folder| folder.is_dir() && folder.parent().is_some() && !is_inside(folder));
        let repository = self.git.then(|| git::of_worktree(root)).flatten();
        let own = std::iter::once(root.to_owned());
        own.chain(repository).chain(more).collect()
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

/// The folder to which a path leads. None where a link on the way lies in one of the open folders, as a command may have
/// put it there.
fn led_safely(path: &Path, open: &[PathBuf]) -> Option<PathBuf> {
    let is_open = |path: &Path| open.iter().any(|it| path != it && path.starts_with(it));
    let mut left: Vec<OsString> = path.iter().rev().map(OsStr::to_owned).collect();
    let (mut real, mut links) = (PathBuf::from("/"), LINKS);
    while let Some(name) = left.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        real.push(name);
        if let Ok(target) = fs::read_link(&real) {
            links = links.checked_sub(1).filter(|_| !is_open(&real))?;
            real.pop();
            left.extend(target.iter().rev().map(OsStr::to_owned));
        }
    }
    Some(real)
}

/// Whether a folder lies in a place that is protected or hidden, all of which it would open.
fn is_inside(folder: &Path) -> bool {
    let names: Vec<String> = names(folder).collect();
    let mut above = (1..names.len()).map(|end| &names[..end]);
    let mut secrets = secret_places()
        .into_iter()
        .filter_map(|it| fs::canonicalize(it).ok());
    above.any(|names| fixed_above(names).is_some())
        || secrets.any(|secret| folder != secret && folder.starts_with(secret))
}

/// The place to which a path leads, whether something is there or not, by so many links at most.
fn led_to(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let Some((above, name)) = path.parent().zip(path.file_name()) else {
        return path.to_owned();
    };
    match fs::read_link(path).ok().zip(links.checked_sub(1)) {
        Some((target, left)) => led_to(&above.join(target), left),
        None => led_to(above, links).join(name),
    }
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}
