//! Named pipes of programs outside, in folders where the second wall does not hold them.
//!
//! That wall lets a command write beneath a private folder, and what is mounted there lies beneath it: a rule reaches from
//! a mount to the folder on which it is mounted. No mount holds a pipe either, however read-only.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    sync::atomic::AtomicUsize,
};

use aside_base::system::folders::{EntryKind, listed};

use super::{
    listed_folder::{Unseen, is_hindrance, take},
    outside_sockets::can_be_entered,
    places::OpenGap,
};

/// Maximum number of entries that are looked at.
const ENTRIES: usize = 500_000;

/// Named pipes that a command could write into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NamedPipes {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Folders of which not all was seen.
    pub(super) gaps: BTreeSet<OpenGap>,
}

/// The named pipes in these folders, but for what lies in a writable one. Links are not followed.
pub(super) fn named_pipes(folders: &[PathBuf], writable: &[PathBuf]) -> NamedPipes {
    search(folders, writable, ENTRIES)
}

fn search(folders: &[PathBuf], writable: &[PathBuf], entries: usize) -> NamedPipes {
    let mut found = NamedPipes::default();
    for top in folders {
        let left = AtomicUsize::new(entries);
        let mut next = vec![top.clone()];
        while let Some(folder) = next.pop().filter(|it| !writable.contains(it)) {
            // Which folders are left when there are too many entries differs each time, so the gap is that of the topmost.
            let gap = match found.list(&folder, &mut next, &left) {
                None => continue,
                Some(Unseen::Many) => OpenGap::ManyForPipes(top.clone()),
                Some(Unseen::Unread) => OpenGap::UnreadForPipes(folder),
            };
            let is_full = matches!(gap, OpenGap::ManyForPipes(_));
            found.gaps.insert(gap);
            if is_full {
                break;
            }
        }
    }
    found
}

impl NamedPipes {
    /// Takes the pipes of a folder, and puts its folders on the list. Returns the reason if not all of it was seen.
    fn list(
        &mut self,
        folder: &Path,
        next: &mut Vec<PathBuf>,
        left: &AtomicUsize,
    ) -> Option<Unseen> {
        let entries = match listed(folder) {
            Ok(entries) => entries,
            // What cannot be listed may still be reached by name.
            Err(error) => {
                let is_open = is_hindrance(&error, folder) || can_be_entered(folder);
                return is_open.then_some(Unseen::Unread);
            }
        };
        for entry in entries {
            let Ok((name, kind)) = entry else {
                return Some(Unseen::Unread);
            };
            if !take(left) {
                return Some(Unseen::Many);
            }
            let path = folder.join(name);
            match kind {
                EntryKind::Folder => next.push(path),
                EntryKind::Other if is_pipe(&path) => {
                    self.paths.insert(path);
                }
                _ => {}
            }
        }
        None
    }
}

fn is_pipe(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_fifo())
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn pipe(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    #[test]
    fn pipes_are_found_at_any_depth_but_where_commands_may_write() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (workspace, beside) = (root.join("a/work"), root.join("a/node_modules/b"));
        for folder in [&workspace, &beside, &root.join("elsewhere")] {
            pipe(&folder.join("pipe"));
        }
        fs::write(beside.join("file"), "").unwrap();
        std::os::unix::fs::symlink(root.join("elsewhere"), beside.join("link")).unwrap();
        let found = |entries| search(&[root.join("a")], std::slice::from_ref(&workspace), entries);
        // What lies in the workspace is not even looked at.
        let (all, most) = (found(6), found(5));
        assert_eq!(all.paths, [beside.join("pipe")].into());
        assert_eq!(all.gaps, BTreeSet::new());
        assert_eq!(most.gaps, [OpenGap::ManyForPipes(root.join("a"))].into());
    }
}
