//! Protected places in a folder: existing files that other programs execute, and Aside's own settings.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, FileType},
    path::{Path, PathBuf},
};

use aside_base::{system::files::number, visible::short_line};

use crate::workspace::{folded_name, is_guarded};

/// Maximum depth of folders below a root.
const DEPTH: usize = 8;
/// Maximum number of entries; a larger tree is searched from the top.
const ENTRIES: usize = 50_000;

/// Places that were found, each with the inode that identifies the file.
pub(crate) type Places = BTreeMap<PathBuf, u64>;

/// The places that are new or were replaced.
pub(crate) fn made(before: &Places, after: &Places) -> Vec<PathBuf> {
    let is_new = |(path, id): &(&PathBuf, &u64)| before.get(*path) != Some(id);
    after
        .iter()
        .filter(is_new)
        .map(|(path, _)| path.clone())
        .collect()
}

/// Maximum number of places that a message names, and of characters of each.
const NAMED: usize = 20;
const LETTERS: usize = 120;

/// Lists places by their path from the root, those at the top first, with the number of omitted ones. So a command
/// cannot hide a place by making others.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let mut names: Vec<&String> = names.into_iter().collect();
    names.sort_by_key(|name| (Path::new(name).components().count(), *name));
    let left = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let named = names.iter().map(|name| short_line(name, LETTERS));
    let named = named.collect::<Vec<_>>().join(", ");
    match left {
        0 => named,
        left => format!("{named} and {left} more"),
    }
}

/// Adds places to the set.
pub(crate) fn add(places: &mut Places, paths: impl IntoIterator<Item = PathBuf>) {
    for path in paths {
        let inode = fs::symlink_metadata(&path).map_or(0, |about| number(&about));
        places.insert(path, inode);
    }
}

/// Finds the protected places, level by level. Links are not followed, and only folders are opened.
pub(crate) fn guarded(root: &Path) -> Places {
    let mut found = Places::new();
    let mut left = ENTRIES;
    // The root itself may have a protected name, such as `.cargo`.
    let own = root.file_name().map(folded_name);
    let mut level = vec![(root.to_owned(), Vec::from_iter(own))];
    for depth in 0..=DEPTH {
        let mut next = Vec::new();
        for (folder, names) in level {
            let entries = entries(&folder, &mut left);
            let is_git = is_git_folder(&entries);
            if is_git {
                add(&mut found, [folder.clone()]);
                if depth > 0 {
                    continue;
                }
            }
            for (name, kind) in entries {
                // The folders of worktrees and submodules belong to the repository.
                if is_git && (name == *"worktrees" || name == *"modules") {
                    continue;
                }
                let mut names: Vec<String> = names.clone();
                names.push(folded_name(&name));
                let path = folder.join(&name);
                if is_guarded(&names) {
                    add(&mut found, [path]);
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

/// Whether Git recognises a folder with these entries as a repository.
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
            .keys()
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

    #[test]
    fn what_is_made_or_replaced_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in [".envrc", ".mcp.json"] {
            fs::write(root.join(name), "").unwrap();
        }
        let before = guarded(root);
        fs::create_dir_all(root.join("a/.git")).unwrap();
        fs::write(root.join(".mcp.json"), "changed by its owner").unwrap();
        fs::write(root.join("new"), "").unwrap();
        fs::rename(root.join("new"), root.join(".envrc")).unwrap();
        let made = made(&before, &guarded(root));
        assert_eq!(made, [root.join(".envrc"), root.join("a/.git")]);
    }
}
