//! The protected places of a workspace, and the folders in which commands may write there: what the user's settings, the
//! search for places and Git's own files make of it. A change of a file asks by them too, whether there are walls or not.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use aside_base::{
    homes::homes,
    secrets::{names, secret_places},
    system::folders::{canonical, topmost},
};

use super::{
    SandboxRules, env_named, git, git_named,
    package_folders::late_marks,
    place_search::{ListedFolders, guarded},
    places::{KnownPlaces, OpenGap, Places},
    walls::note_hidden,
};
use crate::workspace::protected::fixed_above;

/// Maximum number of links to what is missing.
const LINKS: usize = 40;

impl SandboxRules {
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
        let open = places.iter().filter(|(_, place)| place.fixed < usize::MAX);
        let marks = open.flat_map(|(path, _)| late_marks(path));
        let marks = marks.filter(|mark| writable.iter().any(|folder| mark.starts_with(folder)));
        for mark in marks.collect::<BTreeSet<_>>() {
            places.add(mark, 0, &writable);
        }
        for place in of_homes(&writable) {
            places.add(place, usize::MAX, &writable);
        }
        git_named::add(&mut places, root, &writable);
        env_named::add(&mut places, &writable);
        let repositories = self.repositories(&places, &writable);
        let mut kept = Vec::new();
        for repository in &repositories {
            let (entries, is_whole) = git::kept(repository);
            kept.extend(entries);
            places.add_ways(repository);
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
        let mut places = self.places(root, known, listed);
        let writable = self.writable(root);
        let repositories = self.repositories(&places, &writable);
        if !repositories.is_empty() {
            let open: Vec<PathBuf> = repositories
                .into_iter()
                .filter(|it| !git::close(it))
                .collect();
            places = self.places(root, known, listed);
            places.gaps.extend(open.into_iter().map(OpenGap::Unclosed));
        }
        note_hidden(&mut places, &writable);
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
        let gone = &before.ways.repositories - &places.ways.repositories;
        for repository in &gone {
            places.add_ways(repository);
        }
        places
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

    /// Canonical paths of the folders that commands can write in, the workspace first.
    pub(crate) fn writable(&self, root: &Path) -> Vec<PathBuf> {
        let real = self
            .writable
            .iter()
            .filter_map(|folder| canonical(folder).ok());
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

/// What lies at the top of the homes that commands can write in, and that programs take as settings or start: all that is
/// hidden, and the user's own programs.
fn of_homes(writable: &[PathBuf]) -> Vec<PathBuf> {
    let real = homes().into_iter().filter_map(|home| canonical(&home).ok());
    let open = real.filter(|home| writable.iter().any(|it| home.starts_with(it)));
    let entries = open.flat_map(|home| fs::read_dir(home).into_iter().flatten().flatten());
    let is_taken = |name: &OsStr| name.as_encoded_bytes().starts_with(b".") || name == "bin";
    let taken = entries.filter(|entry| is_taken(&entry.file_name()));
    taken.map(|entry| entry.path()).collect()
}

/// The folder to which a path leads. None where a link on the way lies in one of the open folders, as a command may have
/// put it there.
fn led_safely(path: &Path, open: &[PathBuf]) -> Option<PathBuf> {
    let is_open = |path: &Path| open.iter().any(|it| path != it && path.starts_with(it));
    let mut left: Vec<OsString> = path.iter().rev().map(OsStr::to_owned).collect();
    let (mut real, mut links) = (topmost(), LINKS);
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
        .filter_map(|it| canonical(&it).ok());
    above.any(|names| fixed_above(names).is_some())
        || secrets.any(|secret| folder != secret && folder.starts_with(secret))
}
