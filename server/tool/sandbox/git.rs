//! Parts of a Git repository that stay read-only with `sandbox.git`: everything that makes Git run programs or find
//! settings.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use aside_base::{
    regular,
    system::folders::{self, canonical, name_of, open_file, open_plainly, remove_file},
};

/// Read-only entries of a repository and of its worktrees and submodules: settings, hooks, pointers to other parts,
/// remotes, and the state of an unfinished rebase.
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

/// Maximum size in bytes of a file that points to another part of a repository; Git takes no longer one.
const POINTER: u64 = 1 << 20;
/// Maximum size in bytes of the list of a rebase; a longer one is emptied.
const REBASE_LIST: u64 = 4 << 20;
/// The list of a rebase, in its folder.
const TODO: &str = "git-rebase-todo";
/// Maximum depth below the folder of submodules, whose names may have several parts.
const DEPTH: usize = 8;
/// Maximum number of folders that are searched.
const MOST: usize = 2000;

/// Whether a folder is a repository and not a link.
pub(super) fn is_repository(folder: &Path) -> bool {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    is_folder(folder)
        && folder.join("HEAD").exists()
        && is_folder(&folder.join("objects"))
        && is_folder(&folder.join("refs"))
}

/// Whether Git takes a folder among its submodules for a repository, whatever links lie in it, and wherever it keeps what
/// belongs to all of its worktrees.
fn may_be_repository(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// The names of read-only entries.
pub(super) fn kept_names() -> impl Iterator<Item = &'static str> {
    KEPT.into_iter()
}

/// The existing read-only entries of a repository, and whether these are all.
pub(super) fn kept(repository: &Path) -> (Vec<PathBuf>, bool) {
    let (folders, is_whole) = parts(repository);
    let places = folders.into_iter();
    let places = places.flat_map(|folder| KEPT.map(|name| folder.join(name)));
    let there = places.filter(|place| fs::symlink_metadata(place).is_ok());
    (there.collect(), is_whole)
}

/// Whether a file redirects the repository's settings. Git itself makes such a file only for worktrees.
fn is_strange(place: &Path) -> bool {
    let above = place.parent().and_then(Path::parent);
    place.ends_with("commondir") && !above.is_some_and(|it| it.ends_with("worktrees"))
}

/// Creates the folder `hooks` and empty settings of worktrees where they are missing, so that no command can create them.
/// Returns whether they are there.
pub(super) fn close(repository: &Path) -> bool {
    let close_part = |part: &PathBuf| {
        // A worktree has none of its own.
        let has_own = part == repository || is_repository(part);
        let has_hooks = !has_own || make_in(part, |folder| folders::make(folder, "hooks"));
        has_hooks
            && make_in(part, |folder| {
                folders::make_file(folder, "config.worktree").map(drop)
            })
    };
    parts(repository).0.iter().all(close_part)
}

/// Makes something in a folder. Returns whether it is there.
fn make_in(folder: &Path, make: impl Fn(&File) -> io::Result<()>) -> bool {
    match open_plainly(folder).map(|folder| make(&folder)) {
        Ok(Ok(())) => true,
        Ok(Err(error)) => error.kind() == io::ErrorKind::AlreadyExists,
        Err(_) => false,
    }
}

/// Takes away a file that redirects the repository's settings. Returns whether it was one, and is gone.
pub(super) fn take_away(place: &Path) -> bool {
    let folder = place
        .parent()
        .filter(|_| is_strange(place))
        .map(open_plainly);
    let (Some(Ok(folder)), Some(name)) = (folder, place.file_name()) else {
        return false;
    };
    remove_file(&folder, name).is_ok()
}

/// Takes the lines that run programs out of a rebase that a command left. Returns whether there were some.
pub(super) fn disarm(place: &Path) -> bool {
    if !place.ends_with("rebase-merge") {
        return false;
    }
    // Another command may exchange it, or the folder, for a link meanwhile: neither is followed.
    let Ok(folder) = open_plainly(place) else {
        return false;
    };
    let todo = open_file(&folder, TODO).ok();
    let todo = todo.filter(|file| file.metadata().is_ok_and(|about| about.is_file()));
    let mut text = Vec::new();
    let is_file = todo.is_some();
    let read = todo.map(|file| file.take(REBASE_LIST + 1).read_to_end(&mut text));
    if !matches!(read, Some(Ok(length)) if length as u64 <= REBASE_LIST) {
        text.clear();
    }
    let runs = |line: &&[u8]| {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|it| !it.is_empty());
        matches!(words.next(), Some(b"exec" | b"x"))
    };
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    if is_file && !text.is_empty() && !lines.iter().any(runs) {
        return false;
    }
    let rest: Vec<u8> = lines
        .into_iter()
        .filter(|line| !runs(line))
        .flatten()
        .copied()
        .collect();
    // A new file, as the old one may have another name or be a link.
    let made = remove_file(&folder, TODO).and_then(|()| folders::make_file(&folder, TODO));
    made.is_ok_and(|mut file| file.write_all(&rest).is_ok())
}

/// The repository to which a worktree belongs, if both point to each other. `None` if the repository is the
/// workspace's own.
pub(super) fn of_worktree(root: &Path) -> Option<PathBuf> {
    let own = root.join(".git");
    let part = root.join(pointer(&own, GITDIR).ok()?);
    let part = canonical(&part).ok()?;
    // Only Git, or a program that may write there anyway, can have made this pointer back.
    let back = part.join(pointer(&part.join("gitdir"), "").ok()?);
    if canonical(&back).ok()? != canonical(&own).ok()? {
        return None;
    }
    let repository = part.join(pointer(&part.join("commondir"), "").ok()?);
    let repository = canonical(&repository).ok()?;
    let fits = part.parent() == Some(&repository.join("worktrees")) && is_repository(&repository);
    (fits && !repository.starts_with(root)).then_some(repository)
}

/// How a file begins that points to a repository.
pub(super) const GITDIR: &str = "gitdir: ";

/// The path in a file that points to another part of a repository, behind this beginning. As for Git, ends of lines behind
/// it do not count, nor what follows a NUL.
///
/// # Errors
/// Fails if the file is not there, cannot be read, or begins otherwise.
pub(super) fn pointer(file: &Path, start: &str) -> io::Result<PathBuf> {
    let text = regular::read(file, POINTER)?;
    let path = text.strip_prefix(start.as_bytes());
    let path = path.ok_or(io::ErrorKind::InvalidData)?;
    let length = path.iter().rposition(|byte| !b"\r\n".contains(byte));
    let path = &path[..length.map_or(0, |last| last + 1)];
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(name_of(path).into())
}

/// The repository itself and the folders of its worktrees and submodules, and of theirs, and whether these are all.
pub(super) fn parts(repository: &Path) -> (Vec<PathBuf>, bool) {
    let (mut parts, mut are_all, mut at) = (vec![repository.to_owned()], true, 0);
    while at < parts.len() && parts.len() <= MOST {
        let (worktrees, is_whole) = folders_in(&parts[at].join("worktrees"));
        let (submodules, are_found) = submodules(&parts[at].join("modules"));
        are_all &= is_whole && are_found;
        parts.extend(worktrees.into_iter().chain(submodules));
        at += 1;
    }
    are_all &= parts.len() <= MOST;
    parts.truncate(MOST);
    (parts, are_all)
}

/// The repositories in a folder of submodules, whose names may have several parts, and whether these are all.
fn submodules(of: &Path) -> (Vec<PathBuf>, bool) {
    let (mut found, mut are_all) = (Vec::new(), true);
    let mut level = vec![of.to_owned()];
    for _ in 0..DEPTH {
        let mut below = Vec::new();
        for folder in &level {
            let (inner, is_whole) = folders_in(folder);
            below.extend(inner);
            are_all &= is_whole;
        }
        let (repositories, others) = below.into_iter().partition(|it| may_be_repository(it));
        found.extend(repositories);
        level = others;
        if found.len() + level.len() > MOST {
            break;
        }
    }
    // What is left may hold further ones.
    let is_empty = |folder: &PathBuf| folders_in(folder) == (Vec::new(), true);
    are_all &= level.iter().all(is_empty);
    (found, are_all)
}

/// The folders in a folder, and whether these are all. One that is not there has none.
fn folders_in(of: &Path) -> (Vec<PathBuf>, bool) {
    let entries = match fs::read_dir(of) {
        Ok(entries) => entries,
        Err(error) => return (Vec::new(), is_no_folder(&error)),
    };
    let (mut folders, mut are_all) = (Vec::new(), true);
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.file_type()?.is_dir(), entry.path()))) {
            Ok((true, _)) if folders.len() > MOST => return (folders, false),
            Ok((true, path)) => folders.push(path),
            Ok((false, _)) => {}
            Err(_) => are_all = false,
        }
    }
    (folders, are_all)
}

/// Whether a folder cannot be listed because there is none.
fn is_no_folder(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    kinds.contains(&error.kind())
}

#[cfg(test)]
#[cfg(unix)]
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
    fn nothing_is_made_or_taken_away_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        write(&folder.join("outside/commondir"), "x");
        std::os::unix::fs::symlink("outside", folder.join(".git")).unwrap();
        assert!(!close(&folder.join(".git")) && !take_away(&folder.join(".git/commondir")));
        let left: Vec<_> = fs::read_dir(folder.join("outside")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(take_away(&folder.join("outside/commondir")));
        assert!(!folder.join("outside/commondir").exists());
        assert!(close(&folder.join("outside")));
        assert!(
            folder.join("outside/hooks").is_dir()
                && folder.join("outside/config.worktree").is_file()
        );
        fs::remove_dir(folder.join("outside/hooks")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.join("outside/hooks")).unwrap();
        assert!(
            close(&folder.join("outside")),
            "a link is a place of its own"
        );
    }

    #[test]
    fn a_rebase_is_disarmed_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("outside/git-rebase-todo"), "exec mine\n");
        std::os::unix::fs::symlink(at("outside"), at("rebase-merge")).unwrap();
        assert!(!disarm(&at("rebase-merge")));
        fs::remove_file(at("rebase-merge")).unwrap();
        fs::create_dir(at("rebase-merge")).unwrap();
        let todo = at("rebase-merge/git-rebase-todo");
        std::os::unix::fs::symlink(at("outside/git-rebase-todo"), &todo).unwrap();
        assert!(disarm(&at("rebase-merge")));
        assert!(!todo.is_symlink() && fs::read(&todo).unwrap().is_empty());
        fs::write(&todo, "pick 1\n exec theirs\nx theirs\n").unwrap();
        assert!(disarm(&at("rebase-merge")));
        assert_eq!(fs::read_to_string(&todo).unwrap(), "pick 1\n");
        assert!(!disarm(&at("rebase-merge")));
        let mine = fs::read_to_string(at("outside/git-rebase-todo")).unwrap();
        assert_eq!(mine, "exec mine\n");
    }

    #[test]
    fn a_pointer_is_read_as_git_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".git");
        let check = |text: &[u8], expected: Option<&[u8]>| {
            fs::write(&file, text).unwrap();
            let read = pointer(&file, GITDIR).ok();
            let read = read
                .as_ref()
                .map(|path| path.as_os_str().as_encoded_bytes());
            assert_eq!(read, expected, "{}", String::from_utf8_lossy(text));
        };
        check(b"gitdir: ../x\r\n\n", Some(b"../x"));
        check(b"gitdir: b\xfc cher \n", Some(b"b\xfc cher "));
        check(b"gitdir:  x", Some(b" x"));
        check(b"gitdir: x\0/y\n", Some(b"x"));
        let long = [b"gitdir: ".as_slice(), &b"./".repeat(5000), b"x"].concat();
        check(&long, Some(&long[8..]));
        check(b"gitdir:x", None);
        check(&b" ".repeat(POINTER as usize + 1), None);
        fs::remove_file(&file).unwrap();
        assert!(pointer(&file, GITDIR).is_err());
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
        let (kept, is_whole) = kept(&git);
        assert!(is_whole);
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
        write(&git.join("modules/1/2/3/4/5/6/7/8/9/x"), "");
        assert!(!super::kept(&git).1, "deeper than is searched");
        fs::remove_dir_all(git.join("modules/1")).unwrap();
        for number in 0..=MOST {
            fs::create_dir(git.join(format!("worktrees/{number}"))).unwrap();
        }
        assert!(!super::kept(&git).1, "more than are searched");
        fs::remove_dir_all(git.join("worktrees")).unwrap();
        fs::remove_dir_all(git.join("hooks")).unwrap();
        assert!(close(&git) && close(&git));
        assert!(git.join("hooks").is_dir());
        fs::remove_file(git.join("HEAD")).unwrap();
        assert!(!is_repository(&git));
    }

    #[test]
    fn a_rebase_that_a_command_left_runs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(".git/rebase-merge");
        let todo = place.join("git-rebase-todo");
        let check = |text: &str, expected: &str, disarmed: bool| {
            write(&todo, text);
            assert_eq!(disarm(&place), disarmed, "{text:?}");
            assert_eq!(fs::read_to_string(&todo).unwrap(), expected);
        };
        check("pick 1 a\n# exec x\n", "pick 1 a\n# exec x\n", false);
        check(
            "pick 1 a\nexec ./x\n \tx y\npick 2 x\n",
            "pick 1 a\npick 2 x\n",
            true,
        );
        write(&folder.path().join("list"), "exec x\n");
        fs::remove_file(&todo).unwrap();
        std::os::unix::fs::symlink("../../list", &todo).unwrap();
        assert!(disarm(&place));
        assert_eq!(fs::read_to_string(&todo).unwrap(), "");
        assert!(!todo.is_symlink());
        assert!(!disarm(folder.path()));
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
