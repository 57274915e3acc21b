//! The places in a folder from which other programs take code, or Aside its settings, as far as they are there.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, FileType},
    path::{Path, PathBuf},
};

use crate::tool::workspace::{folded_name, is_guarded};

/// Folders below a root that are looked into.
const DEPTH: usize = 8;
/// Entries that are looked at, at the most: a larger tree is looked at from the top.
const ENTRIES: usize = 50_000;

/// Finds them, level by level. Nothing is followed or opened but folders.
pub(in crate::tool) fn guarded(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut left = ENTRIES;
    let mut level = vec![(root.to_owned(), Vec::new())];
    for _ in 0..=DEPTH {
        let mut next = Vec::new();
        for (folder, names) in level {
            let entries = entries(&folder, &mut left);
            if !names.is_empty() && is_git_folder(&entries) {
                found.insert(folder);
                continue;
            }
            for (name, kind) in entries {
                let mut names: Vec<String> = names.clone();
                names.push(folded_name(&name));
                let path = folder.join(&name);
                if is_guarded(&names) {
                    found.insert(path);
                } else if kind.is_dir() {
                    next.push((path, names));
                }
            }
        }
        level = next;
    }
    found
}

fn entries(folder: &Path, left: &mut usize) -> BTreeMap<OsString, FileType> {
    let listed = fs::read_dir(folder).into_iter().flatten().flatten();
    let entries: BTreeMap<_, _> = listed
        .take(*left)
        .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?)))
        .collect();
    *left -= entries.len().min(*left);
    entries
}

/// Whether Git takes a folder with these entries for one of its own.
fn is_git_folder(entries: &BTreeMap<OsString, FileType>) -> bool {
    let has = |name: &str| entries.contains_key(&OsString::from(name));
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_at_any_depth_and_not_beneath_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for at in [
            ".git/hooks/pre-commit",
            "aside.toml",
            "src/main.rs",
            "vendor/x/.git/config",
            "vendor/x/.cargo/config.toml",
            "vendor/x/.cargo/registry/a",
            "fixtures/bare/HEAD",
            "fixtures/bare/objects/a",
            "fixtures/bare/refs/a",
            "a/b/c/d/e/f/g/h/.envrc",
            "a/b/c/d/e/f/g/h/i/.envrc",
            "not/HEAD",
        ] {
            let path = root.join(at);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("/etc", root.join(".vscode")).unwrap();
        let found = guarded(root);
        let found: Vec<_> = found
            .iter()
            .map(|path| path.strip_prefix(root).unwrap().display().to_string())
            .collect();
        assert_eq!(
            found,
            [
                ".git",
                ".vscode",
                "a/b/c/d/e/f/g/h/.envrc",
                "aside.toml",
                "fixtures/bare",
                "vendor/x/.cargo/config.toml",
                "vendor/x/.git",
            ]
        );
    }
}
