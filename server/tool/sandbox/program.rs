//! Search for programs of the sandbox outside of folders that commands can write in.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Finds a program in the absolute folders of a `PATH`. Its canonical path must not lie in one of `outside_of`.
pub(crate) fn find(name: &str, path: &OsStr, outside_of: &[PathBuf]) -> Option<PathBuf> {
    let is_outside = |path: &Path| !outside_of.iter().any(|folder| path.starts_with(folder));
    env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| {
            let parent = file.parent().map(fs::canonicalize);
            let folder_is_outside = matches!(parent, Some(Ok(parent)) if is_outside(&parent));
            folder_is_outside
                && fs::canonicalize(file).is_ok_and(|real| is_outside(&real) && is_program(&real))
        })
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_program_is_not_taken_from_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for at in ["work/bin", "safe", "data"] {
            fs::create_dir_all(root.join(at)).unwrap();
        }
        for (file, mode) in [
            ("work/bin/sh", 0o755),
            ("safe/sh", 0o755),
            ("data/sh", 0o644),
        ] {
            fs::write(root.join(file), "").unwrap();
            fs::set_permissions(root.join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(root.join("work/bin"), root.join("innocent")).unwrap();
        fs::create_dir(root.join("linked")).unwrap();
        symlink(root.join("work/bin/sh"), root.join("linked/sh")).unwrap();
        symlink(root.join("safe/sh"), root.join("work/bin/link")).unwrap();
        let work = [root.join("work")];
        let check = |name: &str, folders: &[&str], found: Option<&str>| {
            let folders = folders.iter().map(|it| match it.starts_with('.') {
                true => PathBuf::from(it),
                false => root.join(it),
            });
            let path = env::join_paths(folders).unwrap();
            assert_eq!(
                find(name, &path, &work),
                found.map(|it| root.join(it)),
                "{path:?}"
            );
        };
        check("sh", &["work/bin", "safe"], Some("safe/sh"));
        check(
            "sh",
            &["./bin", "innocent", "linked", "data", "safe"],
            Some("safe/sh"),
        );
        check("sh", &["work/bin"], None);
        check("link", &["work/bin"], None);
    }
}
