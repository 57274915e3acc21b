//! What a command made in Git repositories that makes Git run programs or write elsewhere, taken back after its end.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

#[cfg(unix)]
use super::git_ways::WaysOut;
use super::{git, git_ways};

/// Repositories in which a command may write, as they are before it runs.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct GitBefore {
    repositories: Vec<PathBuf>,
    /// What is read-only to the command.
    kept: BTreeSet<PathBuf>,
    ways: WaysOut,
}

#[cfg(unix)]
impl GitBefore {
    /// Looks at repositories.
    pub(crate) fn look(repositories: Vec<PathBuf>) -> Self {
        let (kept, ways) = state(&repositories);
        Self {
            repositories,
            kept,
            ways,
        }
    }

    /// Takes back what was made since.
    pub(crate) fn take_back(&self) {
        let (kept, ways) = state(&self.repositories);
        let made: Vec<PathBuf> = kept.difference(&self.kept).cloned().collect();
        take_back(&made, &ways.since(&self.ways));
    }
}

#[cfg(unix)]
fn state(repositories: &[PathBuf]) -> (BTreeSet<PathBuf>, WaysOut) {
    let (mut kept, mut ways) = (BTreeSet::new(), WaysOut::default());
    for repository in repositories {
        kept.extend(git::kept(repository).0);
        // Of more than can be seen, a person was told before.
        let _ = ways.add(repository);
    }
    (kept, ways)
}

/// Takes back places that commands made, and ways out of repositories. Returns them, each with what was done.
pub(crate) fn take_back(made: &[PathBuf], ways: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, String> {
    let all: BTreeSet<&PathBuf> = made.iter().chain(ways).collect();
    let taken = all.into_iter().filter_map(|place| {
        if git::take_away(place) {
            return Some((place.clone(), git_ways::GONE.to_owned()));
        }
        let way = ways.get(place);
        if let Some(done) = way.and_then(|way| git_ways::take_away(way)) {
            return Some((place.clone(), done));
        }
        let disarmed = "without the programs that it would run";
        git::disarm(place).then(|| (place.clone(), disarmed.to_owned()))
    });
    taken.collect()
}
