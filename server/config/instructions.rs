//! `AGENTS.md`: what a workspace tells an assistant.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use aside_base::system::files::cautious_inside;
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};

/// Bytes of one file that are used; the rest is cut off, and the text says so.
const FILE_BYTES: u64 = 64 * 1024;
/// Folders below the root that are looked at.
const FOLDERS: usize = 32;
const FILE_NAME: &str = "AGENTS.md";

/// The instruction files from the workspace's root down to `folder`, which is in it: paths from the root, and
/// texts. What is not a file inside the workspace, links followed, or cannot be read, is passed over.
#[must_use]
pub fn instructions(root: &Path, folder: &Path) -> Vec<(PathBuf, String)> {
    let Ok(workspace) = Dir::open_ambient_dir(root, ambient_authority()) else {
        return Vec::new();
    };
    let below = folder.strip_prefix(root).unwrap_or(Path::new(""));
    let mut folders: Vec<&Path> = below.ancestors().collect();
    folders.reverse();
    let files = folders
        .into_iter()
        .take(FOLDERS + 1)
        .map(|folder| folder.join(FILE_NAME));
    files
        .filter_map(|path| Some((path.clone(), read(&workspace, &path).ok()?)))
        .collect()
}

fn read(workspace: &Dir, path: &Path) -> io::Result<String> {
    let is_file = |is_file: bool| match is_file {
        true => Ok(()),
        false => Err(io::Error::other("not a file")),
    };
    is_file(workspace.metadata(path)?.is_file())?;
    let file = workspace.open_with(path, cautious_inside(OpenOptions::new().read(true)))?;
    is_file(file.metadata()?.is_file())?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() as u64 > FILE_BYTES;
    if is_cut {
        bytes.pop();
    }
    let text = bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid())
        .collect::<String>();
    Ok(if is_cut {
        format!("{text}\n[cut at {} KiB]\n", FILE_BYTES / 1024)
    } else {
        text
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// What is found from the root to `a/b`, as `path: text`.
    fn check(files: &[(&str, &str)], link: Option<(&str, &Path)>, expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b/c")).unwrap();
        for (path, text) in files {
            fs::write(root.path().join(path), text).unwrap();
        }
        if let Some((path, target)) = link {
            symlink(target, root.path().join(path)).unwrap();
        }
        let found = instructions(root.path(), &root.path().join("a/b"));
        let found: Vec<String> = found
            .into_iter()
            .map(|(path, text)| format!("{}: {text}", path.display()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn files_count_from_the_root_to_the_folder() {
        check(
            &[
                ("AGENTS.md", "one"),
                ("a/AGENTS.md", "two"),
                ("a/b/c/AGENTS.md", "too deep"),
            ],
            None,
            &["AGENTS.md: one", "a/AGENTS.md: two"],
        );
        check(&[("README.md", "no")], None, &[]);
    }

    #[test]
    fn a_link_counts_inside_the_workspace_alone() {
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        fs::write(elsewhere.path(), "a key").unwrap();
        check(&[], Some(("AGENTS.md", elsewhere.path())), &[]);
        check(
            &[("b.md", "b")],
            Some(("AGENTS.md", Path::new("b.md"))),
            &["AGENTS.md: b"],
        );
        check(&[], Some(("AGENTS.md", Path::new("a"))), &[]);
    }

    #[test]
    fn a_long_file_is_cut_and_says_so() {
        let long = "x".repeat(64 * 1024);
        check(
            &[("AGENTS.md", &long)],
            None,
            &[&format!("AGENTS.md: {long}")],
        );
        let cut = format!("AGENTS.md: {long}\n[cut at 64 KiB]\n");
        check(&[("AGENTS.md", &format!("{long}y"))], None, &[&cut]);
    }
}
