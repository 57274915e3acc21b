//! Folders of package managers, in which no places are protected.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Folders of package managers. Nothing in them is executed by an editor, a shell or Git by itself, and what a package
/// manager installs it also moves and removes.
const PACKAGES: [&str; 6] = [
    "node_modules",
    "bower_components",
    "site-packages",
    "__pycache__",
    ".tox",
    ".nox",
];
/// Such folders whose names people use too, each with a file that is made together with the folder.
const MARKED: &[(&str, &str)] = &[
    (".venv", "pyvenv.cfg"),
    ("venv", "pyvenv.cfg"),
    ("env", "pyvenv.cfg"),
    ("target", "CACHEDIR.TAG"),
];
/// Such folders whose file is made at any time, by a command too. Repositories in them count.
const LATE: &[(&str, &str)] = &[("vendor", "modules.txt"), ("vendor", "autoload.php")];
/// Maximum time between a folder and the file that is made together with it.
const TOGETHER: Duration = Duration::from_secs(60);

/// The names of folders that are a package manager's whole, whatever lies in them.
#[cfg(any(target_os = "macos", all(test, target_os = "linux")))]
pub(super) fn package_names() -> [&'static str; PACKAGES.len()] {
    PACKAGES
}

/// How much of a folder is a package manager's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackageShare {
    None,
    AllButRepositories,
    All,
}

/// How much of a folder with this name is a package manager's.
pub(super) fn package_share(path: &Path, name: &OsStr) -> PackageShare {
    let is_together =
        |(it, mark): &(&str, &str)| name == *it && are_together(born(path), born(&path.join(mark)));
    if PACKAGES.iter().any(|it| name == *it) || MARKED.iter().any(is_together) {
        return PackageShare::All;
    }
    let mut late = LATE.iter();
    match late.any(|(it, mark)| name == *it && path.join(mark).exists()) {
        true => PackageShare::AllButRepositories,
        false => PackageShare::None,
    }
}

/// Whether a folder is a package manager's whole, or lies in one, below this root.
pub(super) fn is_packaged(folder: &Path, root: &Path) -> bool {
    let mut below = folder.ancestors().take_while(|it| *it != root);
    let is_whole = |it: &Path| {
        it.file_name()
            .is_some_and(|name| package_share(it, name) == PackageShare::All)
    };
    folder.starts_with(root) && below.any(is_whole)
}

/// The files by which a folder above a place is a package manager's, although they may be made at any time. A command that
/// makes one opens the places that are there.
pub(super) fn late_marks(place: &Path) -> Vec<PathBuf> {
    let above = place.ancestors().skip(1);
    let marks = above.flat_map(|folder| {
        let own = LATE.iter().filter(|(it, _)| folder.ends_with(it));
        own.map(|(_, mark)| folder.join(mark))
    });
    marks.filter(|mark| mark.exists()).collect()
}

/// Whether files in a folder of this name tell whether it is a package manager's.
pub(super) fn may_be_marked(name: &OsStr) -> bool {
    let mut marked = MARKED.iter().chain(LATE);
    marked.any(|(it, _)| name == *it)
}

/// The time at which a file was made, which no program can set. A link is not followed.
fn born(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.created().ok()
}

/// Whether two files were made at about the same time. A command that makes one of them later does not pass the other off
/// as a package manager's.
fn are_together(one: Option<SystemTime>, other: Option<SystemTime>) -> bool {
    let both = one.zip(other);
    both.is_some_and(|(one, other)| {
        let apart = other.duration_since(one).unwrap_or_else(|it| it.duration());
        apart < TOGETHER
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_is_made_later_makes_no_folder_a_package_manager_s() {
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert!(are_together(at(1000), at(1000)) && are_together(at(1000), at(1059)));
        assert!(!are_together(at(1000), at(1060)) && !are_together(at(1060), at(1000)));
        assert!(!are_together(at(1000), None) && !are_together(None, None));
        let folder = tempfile::tempdir().unwrap();
        let share = |name: &str, mark: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(mark), "").unwrap();
            package_share(&path, name.as_ref())
        };
        assert_eq!(share("target", "x"), PackageShare::None);
        assert_eq!(share("target", "CACHEDIR.TAG"), PackageShare::All);
        assert_eq!(share("vendor", "x"), PackageShare::None);
        let late = share("vendor", "autoload.php");
        assert_eq!(late, PackageShare::AllButRepositories);
        assert_eq!(share("node_modules", "x"), PackageShare::All);
    }
}
