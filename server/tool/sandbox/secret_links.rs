//! What links in the user's folders of secrets lead to, as with settings that are kept in a repository of their own: the
//! folders appear empty, so what lies elsewhere has to be hidden there.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use aside_base::system::folders::canonical;

use super::places::OpenGap;

/// Maximum depth below a folder of secrets at which links are looked at.
const DEPTH: usize = 2;
/// Maximum number of entries that are looked at in one folder of secrets.
const ENTRIES: usize = 20_000;

/// The files and folders in these homes to which links in folders of secrets lead, and the folders of which not all
/// links were seen.
pub(super) fn secret_links(
    secrets: &[PathBuf],
    homes: &[PathBuf],
) -> (BTreeSet<PathBuf>, BTreeSet<OpenGap>) {
    let (mut found, mut gaps) = (BTreeSet::new(), BTreeSet::new());
    for folder in secrets {
        let mut links = Vec::new();
        let mut left = ENTRIES;
        if !list(folder, DEPTH, &mut left, &mut links) {
            gaps.insert(OpenGap::ManySecrets(folder.clone()));
        }
        let led = links.iter().filter_map(|link| canonical(link).ok());
        let is_own = |real: &PathBuf| {
            let lies_in = |home: &PathBuf| real.starts_with(home) && real != home;
            homes.iter().any(lies_in) && !homes.iter().any(|home| home.starts_with(real))
        };
        found.extend(led.filter(is_own));
    }
    (found, gaps)
}

/// Adds the links in a folder, down to a depth. Returns whether all were seen.
fn list(folder: &Path, depth: usize, left: &mut usize, links: &mut Vec<PathBuf>) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // A place may also be a file, or belong to somebody else.
        Err(error) => {
            let kinds = [
                io::ErrorKind::NotADirectory,
                io::ErrorKind::NotFound,
                io::ErrorKind::PermissionDenied,
            ];
            return kinds.contains(&error.kind());
        }
    };
    for entry in entries {
        let Some((entry, less)) = entry.ok().zip(left.checked_sub(1)) else {
            return false;
        };
        *left = less;
        let kind = entry.file_type();
        match kind {
            Ok(kind) if kind.is_symlink() => links.push(entry.path()),
            Ok(kind)
                if kind.is_dir() && depth > 0 && !list(&entry.path(), depth - 1, left, links) =>
            {
                return false;
            }
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_links_in_a_folder_of_secrets_lead_to_is_found_in_the_home_alone() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let secrets = home.join(".ssh");
        for name in [".ssh/deep/deeper", "dot/keys"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for name in ["dot/id", "dot/deep"] {
            fs::write(home.join(name), "").unwrap();
        }
        symlink("../dot/id", secrets.join("id")).unwrap();
        symlink("../dot/keys", secrets.join("keys")).unwrap();
        symlink(home.join("dot/deep"), secrets.join("deep/deeper/id")).unwrap();
        symlink("/etc/hosts", secrets.join("hosts")).unwrap();
        symlink("..", secrets.join("home")).unwrap();
        symlink("nowhere", secrets.join("none")).unwrap();
        let (found, gaps) =
            secret_links(std::slice::from_ref(&secrets), std::slice::from_ref(&home));
        let expected = ["dot/deep", "dot/id", "dot/keys"].map(|it| home.join(it));
        assert_eq!((found, gaps), (expected.into(), BTreeSet::new()));
        let mut links = Vec::new();
        assert!(!list(&secrets, DEPTH, &mut 5, &mut links));
    }
}
