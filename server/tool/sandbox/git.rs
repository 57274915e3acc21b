//! What of Git's folders stays as it is where commands may write in them: all that Git runs programs by, or finds its
//! settings with.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use crate::regular;

/// What of a repository's folder, or of one of its worktrees' and submodules', commands do not change: settings, hooks,
/// where its other part lies, where it fetches from and pushes to, and what an unfinished rebase goes on with.
const KEPT: [&str; 9] = [
    "config",
    "config.worktree",
    "hooks",
    "commondir",
    "gitdir",
    "remotes",
    "branches",
    "rebase-merge",
    "rebase-apply",
];

/// Bytes of a file that says where another part of a repository lies.
const POINTER: u64 = 4096;
/// Folders below that of the submodules, whose names may have several parts.
const DEPTH: usize = 4;
/// Folders that are looked into.
const MOST: usize = 2000;

/// Whether a folder is one of Git's, itself and not by a link.
pub(super) fn is_repository(folder: &Path) -> bool {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    is_folder(folder)
        && folder.join("HEAD").exists()
        && is_folder(&folder.join("objects"))
        && is_folder(&folder.join("refs"))
}

/// What is there of it that stays as it is.
pub(super) fn kept(repository: &Path) -> Vec<PathBuf> {
    let folders = parts(repository).into_iter();
    let places = folders.flat_map(|folder| KEPT.map(|name| folder.join(name)));
    places
        .filter(|place| fs::symlink_metadata(place).is_ok())
        .collect()
}

/// Whether a file in a repository says that its settings lie elsewhere. Git itself makes such a file for worktrees alone.
pub(super) fn is_strange(place: &Path) -> bool {
    let above = place.parent().and_then(Path::parent);
    place.ends_with("commondir") && !above.is_some_and(|it| it.ends_with("worktrees"))
}

/// Makes the folder of hooks where there is none, so that no command can put one in its place.
pub(super) fn close(repository: &Path) {
    // Where this fails a command cannot make it either.
    let _ = fs::create_dir(repository.join("hooks"));
}

/// The repository of which a workspace is a worktree: the folder that has both, where each leads to the other. None where
/// that is the workspace's own.
pub(super) fn of_worktree(root: &Path) -> Option<PathBuf> {
    let own = root.join(".git");
    let part = root.join(pointer(&own)?.strip_prefix("gitdir:")?.trim());
    let part = part.canonicalize().ok()?;
    // Only Git, or who may write there anyway, made this one lead back.
    let back = part.join(pointer(&part.join("gitdir"))?.trim());
    if back.canonicalize().ok()? != own.canonicalize().ok()? {
        return None;
    }
    let repository = part.join(pointer(&part.join("commondir"))?.trim());
    let repository = repository.canonicalize().ok()?;
    let fits = part.parent() == Some(&repository.join("worktrees")) && is_repository(&repository);
    (fits && !repository.starts_with(root)).then_some(repository)
}

fn pointer(file: &Path) -> Option<String> {
    let mut text = String::new();
    let file = regular::open(file).ok()?;
    file.take(POINTER).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The repository itself, and what it has of its worktrees and submodules.
fn parts(repository: &Path) -> Vec<PathBuf> {
    let mut parts = vec![repository.to_owned()];
    parts.extend(folders(&repository.join("worktrees")));
    let mut level = vec![repository.join("modules")];
    for _ in 0..DEPTH {
        let below: Vec<PathBuf> = level.iter().flat_map(|it| folders(it)).take(MOST).collect();
        let (repositories, others) = below.into_iter().partition(|it| is_repository(it));
        parts.extend(repositories);
        level = others;
    }
    parts.truncate(MOST);
    parts
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn repository(path: &Path) {
        for file in [
            "HEAD",
            "objects/x",
            "refs/x",
            "config",
            "hooks/pre-commit",
            "index",
        ] {
            write(&path.join(file), "");
        }
    }

    #[test]
    fn what_git_runs_programs_by_stays() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        repository(&git);
        repository(&git.join("modules/a/b"));
        for file in ["commondir", "gitdir", "HEAD"] {
            write(&git.join("worktrees/w").join(file), "");
        }
        assert!(is_repository(&git));
        let kept = kept(&git);
        let kept: Vec<_> = kept
            .iter()
            .map(|it| it.strip_prefix(&git).unwrap().to_str().unwrap())
            .collect();
        let expected = [
            "config",
            "hooks",
            "worktrees/w/commondir",
            "worktrees/w/gitdir",
            "modules/a/b/config",
            "modules/a/b/hooks",
        ];
        assert_eq!(kept, expected);
        assert!(!is_strange(&git.join("worktrees/w/commondir")));
        assert!(is_strange(&git.join("commondir")));
        assert!(!is_strange(&git.join("config")));
        fs::remove_dir_all(git.join("hooks")).unwrap();
        close(&git);
        assert!(git.join("hooks").is_dir());
        fs::remove_file(git.join("HEAD")).unwrap();
        assert!(!is_repository(&git));
    }

    #[test]
    fn a_worktree_is_one_where_both_sides_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (root, git) = (folder.join("tree"), folder.join("main/.git"));
        repository(&git);
        let part = git.join("worktrees/tree");
        write(&root.join(".git"), &format!("gitdir: {}\n", part.display()));
        write(&part.join("commondir"), "../..\n");
        assert_eq!(of_worktree(&root), None, "it does not lead back");
        write(&part.join("gitdir"), "/elsewhere/.git\n");
        assert_eq!(of_worktree(&root), None, "it leads back to another one");
        write(
            &part.join("gitdir"),
            &format!("{}\n", root.join(".git").display()),
        );
        assert_eq!(of_worktree(&root), Some(git.clone()));
        write(&part.join("commondir"), "/\n");
        assert_eq!(of_worktree(&root), None, "it belongs to something else");
        assert_eq!(of_worktree(&folder), None);
    }
}
