//! The walk of `list_files` and `search` through the workspace: in order of names, without ignored files, without
//! `.git`, and without following links.
//!
//! Each folder is opened in its parent, so that a folder that is exchanged meanwhile cannot lead outside.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    vec,
};

use aside_base::system::{
    folders::{EntryKind, entries, open as open_in},
    names::slashed,
};
use ignore::overrides::{Override, OverrideBuilder};
use tokio_util::sync::CancellationToken;

use super::{
    ignored::IgnoreRules,
    workspace::{Folder, PathError, Workspace},
};

/// Note for the model that some ignore rules were not applied.
pub(super) const RULES_CUT: &str =
    "[some rules of .gitignore were too many or too long and do not count]\n";

/// Maximum number of files of one walk.
const VISITED: usize = 500_000;
/// Maximum number of entries of one folder.
const ENTRIES: usize = 500_000;
/// Maximum depth of folders.
const DEPTH: usize = 200;

/// Reason why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkEnd {
    /// Every file was visited.
    Complete,
    /// The visitor stopped, or there were too many files.
    Cut,
    /// The walk was cancelled.
    Cancelled,
}

/// Report of a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkReport {
    pub(super) end: WalkEnd,
    /// Whether some ignore rules were not applied; see [`RULES_CUT`].
    pub(super) rules_cut: bool,
}

/// Start and filter of a walk.
pub struct FileWalk<'a> {
    workspace: &'a Workspace,
    /// A folder from the root.
    folder: &'a str,
    /// A glob as in `.gitignore`: `*.rs` anywhere, `src/**` beneath the folder.
    glob: Option<&'a str>,
    cancelled: &'a CancellationToken,
}

/// A file of a walk.
pub(super) struct WalkedFile<'a> {
    /// Path from the root, with `/`.
    pub(super) path: &'a str,
    /// The opened folder of the file.
    pub(super) folder: &'a Arc<File>,
    /// Name of the file in that folder.
    pub(super) name: &'a OsStr,
}

/// A folder that is being walked.
struct OpenFolder {
    folder: Arc<File>,
    path: PathBuf,
    entries: vec::IntoIter<(OsString, EntryKind)>,
}

impl<'a> FileWalk<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        folder: &'a str,
        glob: Option<&'a str>,
        cancelled: &'a CancellationToken,
    ) -> Self {
        Self {
            workspace,
            folder,
            glob,
            cancelled,
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Passes each file to the visitor until it returns false.
    ///
    /// # Errors
    /// A sentence for the model, if the folder or the glob cannot be used.
    pub(super) fn each(
        &self,
        mut visit: impl FnMut(WalkedFile<'_>) -> bool,
    ) -> Result<WalkReport, String> {
        let (opened, folder) = self.workspace.open_folder(self.folder)?;
        let glob = self
            .glob
            .map(|glob| matcher(&folder.real, glob))
            .transpose()?;
        let counts = |path: &Path| {
            let matched = |glob: &Override| glob.matched(path, false).is_whitelist();
            glob.as_ref().is_none_or(matched)
        };
        let Some(mut rules) = self.rules_above(&folder) else {
            return Err(PathError::Missing(self.folder.to_owned()).into());
        };
        let mut end = WalkEnd::Complete;
        let mut open: Vec<OpenFolder> = Vec::new();
        let first = open_in(&opened, ".")
            .ok()
            .and_then(|it| OpenFolder::new(it, folder.real));
        open.extend(first.inspect(|it| rules.enter(&it.folder, &it.path)));
        let mut count = 0;
        loop {
            let depth = open.len();
            let Some(at) = open.last_mut() else {
                break;
            };
            if self.cancelled.is_cancelled() {
                end = WalkEnd::Cancelled;
                break;
            }
            let Some((name, kind)) = at.entries.next() else {
                open.pop();
                rules.leave();
                continue;
            };
            let path = at.path.join(&name);
            let is_folder = kind == EntryKind::Folder;
            if rules.leave_out(&path, is_folder) {
                continue;
            }
            if is_folder {
                if depth >= DEPTH {
                    end = WalkEnd::Cut;
                } else if !self.workspace.is_own_folder(&path)
                    && let Some(inner) = at.within(&name, path)
                {
                    rules.enter(&inner.folder, &inner.path);
                    open.push(inner);
                }
                continue;
            }
            count += 1;
            if count > VISITED {
                end = WalkEnd::Cut;
                break;
            }
            let from_root = path.strip_prefix(self.workspace.root());
            // A model cannot name a path that is not UTF-8.
            let Some(from_root) = from_root.ok().and_then(Path::to_str) else {
                continue;
            };
            let file = WalkedFile {
                path: &slashed(from_root),
                folder: &at.folder,
                name: &name,
            };
            if counts(&path) && !visit(file) {
                end = WalkEnd::Cut;
                break;
            }
        }
        Ok(WalkReport {
            end,
            rules_cut: rules.cut,
        })
    }

    /// The ignore rules of the folders above the start; `None` if one of them has gone. An ignored folder is walked if it
    /// is named as the start.
    fn rules_above(&self, folder: &Folder) -> Option<IgnoreRules> {
        let mut rules = IgnoreRules::new(self.workspace.root());
        let mut path = self.workspace.root().to_owned();
        let (mut at, _) = self.workspace.open_folder(".").ok()?;
        for name in Path::new(&folder.path) {
            rules.enter(&at, &path);
            path.push(name);
            at = cap_std::fs::Dir::from_std_file(open_in(&at, name).ok()?);
        }
        Some(rules)
    }

    /// Whether a file would be visited if it existed, by folder and glob alone.
    ///
    /// # Errors
    /// As of [`FileWalk::each`].
    pub(super) fn covers(&self, path: &str) -> Result<bool, String> {
        let folder = self.workspace.folder(self.folder)?;
        let glob = self.glob.map(|glob| matcher(&folder.real, glob));
        let glob = glob.transpose()?;
        let path = self.workspace.root().join(path);
        let counts = glob.is_none_or(|glob| glob.matched(&path, false).is_whitelist());
        Ok(counts && path.starts_with(&folder.real))
    }
}

impl OpenFolder {
    /// Lists the regular files and folders of a folder, in order. `None` if it cannot be read.
    fn new(folder: File, path: PathBuf) -> Option<Self> {
        let mut entries = entries(&folder, ENTRIES).ok()?;
        let is_walked = |kind: &EntryKind| matches!(kind, EntryKind::File | EntryKind::Folder);
        entries.retain(|(name, kind)| name != ".git" && is_walked(kind));
        entries.sort_by(|(one, _), (other, _)| {
            let bytes = OsStr::as_encoded_bytes;
            bytes(one).cmp(bytes(other))
        });
        Some(Self {
            folder: Arc::new(folder),
            path,
            entries: entries.into_iter(),
        })
    }

    /// The subfolder of this name, unless it was replaced meanwhile.
    fn within(&self, name: &OsString, path: PathBuf) -> Option<Self> {
        Self::new(open_in(&self.folder, name).ok()?, path)
    }
}

fn matcher(folder: &Path, glob: &str) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new(folder);
    let built = builder.add(glob).and_then(|builder| builder.build());
    built.map_err(|error| format!("`{glob}` is not a glob: {error}."))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// The paths that a walk shows where `inside` is exchanged for `outside` once `first` was shown.
    fn exchanged(first: &str, inside: &str) -> Vec<String> {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for path in ["a/one", "b/c/two", "b/three"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir(outside.path().join("c")).unwrap();
        fs::write(outside.path().join("c/secret"), "").unwrap();
        fs::write(outside.path().join("secret"), "").unwrap();
        let workspace = Workspace::open(root.path()).unwrap();
        let cancelled = CancellationToken::new();
        let walk = FileWalk::new(&workspace, ".", None, &cancelled);
        let mut shown = Vec::new();
        let walked = walk.each(|file| {
            if file.path == first {
                let inside = root.path().join(inside);
                fs::rename(&inside, outside.path().join("moved")).unwrap();
                symlink(outside.path(), &inside).unwrap();
            }
            shown.push(file.path.to_owned());
            true
        });
        assert_eq!(walked.unwrap().end, WalkEnd::Complete);
        shown
    }

    #[test]
    fn folders_that_are_exchanged_for_links_during_the_walk_show_no_name_from_outside() {
        // Before it is opened.
        assert_eq!(exchanged("a/one", "b"), ["a/one"]);
        // While a folder in it is walked: what was opened is looked at to its end.
        assert_eq!(exchanged("b/c/two", "b"), ["a/one", "b/c/two", "b/three"]);
        assert_eq!(exchanged("a/one", "b/c"), ["a/one", "b/three"]);
    }
}
