//! Changes of files, made from the texts that the conversation keeps: for a turn that runs, and for one that is read from
//! its log.

use std::{io, path::PathBuf, sync::Arc};

use aside_base::diff::unified;
use aside_session::{blobs::Blobs, record::Edit};
use aside_tool::workspace::file_uri;
use aside_turn::effect::ChangedTexts;
use tokio::task::spawn_blocking;

use super::{ShownChange, Update};

/// Maximum size in bytes of a text that a client is shown whole.
const LARGE: usize = 2 << 20;

/// The texts that a conversation keeps of changed files.
#[derive(Clone, Debug)]
pub struct KeptTexts {
    /// Root of the workspace.
    pub root: PathBuf,
    /// Blobs of the conversation.
    pub blobs: Blobs,
    /// Whether clients are shown both texts, if they are not too large, in place of a diff.
    pub whole: bool,
}

impl KeptTexts {
    /// The update for the changes of a call.
    pub async fn edited(self: Arc<Self>, call_id: String, edits: Vec<Edit>) -> Update {
        let changes = move || edits.iter().map(|edit| self.change(edit)).collect();
        // After a panic, which reports itself, nothing is shown.
        let changes = spawn_blocking(changes).await.unwrap_or_default();
        Update::Edit { call_id, changes }
    }

    /// A change as it is shown. Blocks on the disk.
    pub fn change(&self, edit: &Edit) -> ShownChange {
        let mut change = ShownChange {
            uri: file_uri(&self.root.join(&edit.path)),
            diff: None,
            missing: None,
            whole: None,
        };
        let text = |blob: &Option<String>| blob.as_deref().map(|blob| self.text(blob)).transpose();
        let (old, new) = match (text(&edit.before), text(&edit.after)) {
            (Ok(old), Ok(new)) => (old, new.unwrap_or_default()),
            (Err(error), _) | (_, Err(error)) => {
                let path = &edit.path;
                change.missing = Some(format!(
                    "the change of {path} cannot be shown, because its texts are no longer kept ({error})"
                ));
                return change;
            }
        };
        if self.whole && old.as_ref().is_none_or(|old| old.len() <= LARGE) && new.len() <= LARGE {
            change.whole = Some(ChangedTexts { old, new });
        } else {
            let diff = unified(&edit.path, old.as_deref().unwrap_or_default(), &new);
            change.diff = Some(match old {
                Some(_) => diff,
                // Else a new file could not be told from one that was empty.
                None => diff.replacen(&format!("--- a/{}", edit.path), "--- /dev/null", 1),
            });
        }
        change
    }

    fn text(&self, blob: &str) -> io::Result<String> {
        let bytes = self.blobs.read_whole(blob, self.blobs.size(blob)?)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_is_shown_from_the_kept_texts_or_is_said_to_be_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::of(folder.path());
        let edit = Edit {
            call: 0,
            path: "a.txt".into(),
            before: Some(blobs.keep(b"one\ntwo\n").expect("kept")),
            after: Some(blobs.keep(b"one\n2\n").expect("kept")),
            mode: None,
        };
        let kept = |whole| KeptTexts {
            root: "/work".into(),
            blobs: blobs.clone(),
            whole,
        };
        let shown = kept(false).change(&edit);
        assert_eq!(shown.uri, "file:///work/a.txt");
        let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
        assert_eq!(shown.diff.as_deref(), Some(diff));
        assert_eq!((shown.missing, shown.whole), (None, None));

        let shown = kept(true).change(&edit);
        let texts = ChangedTexts {
            old: Some("one\ntwo\n".into()),
            new: "one\n2\n".into(),
        };
        assert_eq!((shown.diff, shown.whole), (None, Some(texts)));

        fs::remove_dir_all(folder.path().join("blobs")).expect("removed");
        for whole in [false, true] {
            let shown = kept(whole).change(&edit);
            assert_eq!((shown.diff, shown.whole), (None, None));
            let why = shown.missing.expect("a sentence");
            assert!(why.contains("the change of a.txt cannot be shown"), "{why}");
        }
    }
}
