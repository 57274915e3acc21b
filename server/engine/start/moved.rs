//! Files that are not as an interrupted turn left them.

use std::path::Path;

use aside_base::{
    digest::{of_reader, sha256},
    regular,
};
use aside_session::{record::Edit, replay};
use aside_tool::editor::Editor;

/// Paths of the files that the turn changed and that are other by now, in the order of the changes. The text of an open
/// document counts before the file. Blocks on files.
pub(super) fn moved(root: &Path, turn: &replay::Turn, editor: Option<&dyn Editor>) -> Vec<String> {
    let mut last: Vec<&Edit> = Vec::new();
    for edit in &turn.edits {
        last.retain(|it| it.path != edit.path);
        last.push(edit);
    }
    last.retain(|edit| !turn.undone.contains(&edit.path));
    let is_other = |edit: &&Edit| {
        let path = root.join(&edit.path);
        let document = editor.and_then(|editor| editor.document(&path));
        let is_open = document.map(|it| Some(sha256(it.text.as_bytes())));
        let now = is_open.unwrap_or_else(|| digest(&path));
        now != edit.after && digest(&path) != edit.after
    };
    let moved = last.into_iter().filter(is_other);
    moved.map(|edit| edit.path.clone()).collect()
}

/// The digest of a file; none where there is no file that can be read.
fn digest(path: &Path) -> Option<String> {
    of_reader(regular::open(path).ok()?).ok()
}
