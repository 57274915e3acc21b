//! Walking the workspace as `list_files` and `search` do: without what `.gitignore` names, without `.git`,
//! without following links, in order of names.

use std::path::Path;

use ignore::{
    WalkBuilder,
    overrides::{Override, OverrideBuilder},
};
use tokio_util::sync::CancellationToken;

use super::{change::sentence, workspace::Workspace};

/// Files that are looked at in one walk.
const VISITED: usize = 500_000;

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkEnd {
    /// Every file was seen.
    Complete,
    /// The visitor had enough, or there were too many.
    Cut,
    /// It was cancelled.
    Cancelled,
}

/// Where to walk, and which files count.
pub(super) struct FileWalk<'a> {
    pub(super) workspace: &'a Workspace,
    /// A folder from the root.
    pub(super) folder: &'a str,
    /// In the manner of `.gitignore`: `*.rs` anywhere, `src/**` beneath the folder.
    pub(super) glob: Option<&'a str>,
    pub(super) cancelled: &'a CancellationToken,
}

impl FileWalk<'_> {
    /// Shows the visitor the path of each file, from the root, until it says false.
    ///
    /// # Errors
    /// The sentence for the model: the folder or the glob cannot be used.
    pub(super) fn each(&self, mut visit: impl FnMut(&str) -> bool) -> Result<WalkEnd, String> {
        let folder = self.workspace.folder(self.folder).map_err(sentence)?;
        let glob = self
            .glob
            .map(|glob| matcher(&folder.real, glob))
            .transpose()?;
        let mut builder = WalkBuilder::new(&folder.real);
        builder
            .hidden(false)
            .follow_links(false)
            .require_git(false)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(|entry| entry.file_name() != ".git");
        let files = builder
            .build()
            .flatten()
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        for (count, entry) in files.enumerate() {
            if self.cancelled.is_cancelled() {
                return Ok(WalkEnd::Cancelled);
            }
            if count >= VISITED {
                return Ok(WalkEnd::Cut);
            }
            let counts = |glob: &Override| glob.matched(entry.path(), false).is_whitelist();
            let path = entry
                .path()
                .strip_prefix(self.workspace.root())
                .ok()
                .and_then(Path::to_str);
            // What is not UTF-8 cannot be named by a model either.
            let Some(path) = path.filter(|_| glob.as_ref().is_none_or(counts)) else {
                continue;
            };
            if !visit(path) {
                return Ok(WalkEnd::Cut);
            }
        }
        Ok(WalkEnd::Complete)
    }

    /// Whether a file would be shown if it were there, by folder and glob alone.
    ///
    /// # Errors
    /// As of [`FileWalk::each`].
    pub(super) fn covers(&self, path: &str) -> Result<bool, String> {
        let folder = self.workspace.folder(self.folder).map_err(sentence)?;
        let glob = self.glob.map(|glob| matcher(&folder.real, glob));
        let glob = glob.transpose()?;
        let path = self.workspace.root().join(path);
        let counts = glob.is_none_or(|glob| glob.matched(&path, false).is_whitelist());
        Ok(counts && path.starts_with(&folder.real))
    }
}

fn matcher(folder: &Path, glob: &str) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new(folder);
    let built = builder.add(glob).and_then(|builder| builder.build());
    built.map_err(|error| format!("`{glob}` is not a glob: {error}."))
}
