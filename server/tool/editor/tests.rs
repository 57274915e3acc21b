use std::sync::{Arc, Mutex};

use aside_base::digest::sha256;
use aside_turn::input::Preview;
use serde_json::{Value, json};

use super::*;
use crate::trial::ToolTrial;

/// An editor that has one file open, and does what it is told.
struct FakeEditor {
    name: &'static str,
    open: Mutex<OpenDocument>,
    /// What it says to each edit, in place of doing it.
    refuses: Option<EditError>,
    /// What the user types before the first edit comes.
    types: Mutex<Option<String>>,
    /// What is wrong with saving.
    unsaved: Option<&'static str>,
    /// The text that it made of each edit.
    made: Mutex<Vec<String>>,
}

impl FakeEditor {
    fn new(name: &'static str, text: &str) -> Self {
        let buffer = Buffer {
            uri: format!("editor:{name}"),
            version: 7,
            dirty: false,
            users: false,
            file: FileText::Alike,
        };
        let text = text.to_owned();
        Self {
            name,
            open: Mutex::new(OpenDocument { text, buffer }),
            refuses: None,
            types: Mutex::default(),
            unsaved: None,
            made: Mutex::default(),
        }
    }

    fn made(&self) -> Vec<String> {
        self.made.lock().unwrap().clone()
    }
}

impl Editor for FakeEditor {
    fn look(&self, path: &Path) -> EditorView {
        match path.ends_with(self.name) {
            true => EditorView::Document(self.open.lock().unwrap().clone()),
            false => EditorView::Closed,
        }
    }

    fn unsaved(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn applies_edits(&self) -> bool {
        true
    }

    fn apply(&self, edit: &BufferEdit<'_>, _: &CancellationToken) -> Result<Applied, EditError> {
        if let Some(no) = &self.refuses {
            return Err(no.clone());
        }
        let mut open = self.open.lock().unwrap();
        if let Some(typed) = self.types.lock().unwrap().take() {
            open.text = typed;
            open.buffer.version += 1;
            return Err(EditError::Refused(None));
        }
        assert_eq!(
            (edit.version, edit.base),
            (open.buffer.version, open.text.as_str())
        );
        open.text = edit.new.to_owned();
        open.buffer.version += 1;
        self.made.lock().unwrap().push(edit.new.to_owned());
        Ok(Applied::InDocument)
    }

    fn save(&self, _: &Path, _: &CancellationToken) -> Result<(), String> {
        self.unsaved.map_or(Ok(()), |why| Err(why.to_owned()))
    }
}

/// A workspace whose `a.txt` holds `disk` and is open in this editor.
fn trial(editor: FakeEditor) -> (ToolTrial, Arc<FakeEditor>) {
    let editor = Arc::new(editor);
    (
        ToolTrial::in_editor(&[("a.txt", "disk\n")], Some(editor.clone())),
        editor,
    )
}

fn write(text: &str) -> Value {
    json!({"path": "a.txt", "content": text})
}

#[cfg(unix)]
#[tokio::test]
async fn the_document_of_the_real_path_is_read() {
    let (trial, _) = trial(FakeEditor::new("a.txt", "typed\n"));
    trial.link("link", "a.txt");
    trial.put("b.txt", "other\n");
    for (path, text) in [
        ("a.txt", "ok: typed\n"),
        ("link", "ok: typed\n"),
        ("b.txt", "ok: other\n"),
    ] {
        trial.check("read_file", json!({"path": path}), text).await;
    }
}

#[tokio::test]
async fn a_document_whose_file_is_not_there_is_a_text_like_any_other() {
    let (trial, editor) = trial(FakeEditor::new("new.txt", "draft\n"));
    let args = json!({"path": "new.txt", "content": "final\n"});
    trial
        .check(
            "write_file",
            args.clone(),
            "error: `new.txt` was not read in this conversation; read the file first.",
        )
        .await;
    let read = json!({"path": "new.txt"});
    trial.check("read_file", read, "ok: draft\n").await;
    trial
        .check("write_file", args, "ok: Changed `new.txt`.")
        .await;
    assert_eq!(editor.made(), ["final\n"]);
    assert_eq!(trial.text("new.txt"), None, "saving it is the editor's");
}

#[tokio::test]
async fn a_text_takes_the_line_breaks_of_its_document() {
    for (old, new, made) in [
        ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"),
        ("a\r\nb\r\n", "x\r\ny\n", "x\r\ny\r\n"),
        ("a\nb\n", "x\r\ny\r\n", "x\ny\n"),
        ("a\r\nb\n", "x\ny\r\n", "x\ny\r\n"),
        ("a", "x\r\n", "x"),
        ("a\n", "x", "x\n"),
        ("a\r\nb\r\n", "x", "x\r\n"),
        ("a\n", "", ""),
        ("a", "x", "x"),
    ] {
        let (mut trial, editor) = trial(FakeEditor::new("a.txt", old));
        trial.call("read_file", json!({"path": "a.txt"})).await;
        let prepared = trial.prepared("write_file", write(new)).await;
        let Some(Preview::Diff { new: shown, .. }) = prepared.preview else {
            panic!("no diff: {prepared:?}");
        };
        assert_eq!(shown, made, "what is shown is what is made");
        trial.run("write_file", write(new)).await;
        assert_eq!(editor.made(), [made], "{old:?} to {new:?}");
        // A person's own text, too.
        trial.new_text = Some(format!("own {new}").into());
        trial.call("write_file", write("else")).await;
        let mixed = old == "a\r\nb\n";
        // It is fitted to what was shown, which has one kind.
        let own = if mixed {
            made.replace("x\n", "x\r\n")
        } else {
            made.to_owned()
        };
        assert_eq!(editor.made()[1], format!("own {own}"));
    }
}

#[tokio::test]
async fn the_model_is_told_what_came_of_its_edit() {
    let refused = |why: EditError| FakeEditor {
        refuses: Some(why),
        ..FakeEditor::new("a.txt", "old\n")
    };
    let unsaved = FakeEditor {
        unsaved: Some("it is read-only"),
        ..FakeEditor::new("a.txt", "old\n")
    };
    for (editor, told) in [
        (FakeEditor::new("a.txt", "old\n"), "ok: Changed `a.txt`."),
        (
            unsaved,
            "ok: Changed `a.txt`.\nIt is not saved in the editor: it is read-only.",
        ),
        (
            refused(EditError::Stale),
            "error: `a.txt` changed since you read it; read it again before you change it.",
        ),
        (
            refused(EditError::Refused(None)),
            "error: `a.txt`: the editor refused the edit.",
        ),
        (
            refused(EditError::Unconfirmed),
            "error: `a.txt`: the editor did not confirm the edit; read the file again.",
        ),
        (refused(EditError::Cancelled), "stopped"),
    ] {
        let (trial, _) = trial(editor);
        trial.call("read_file", json!({"path": "a.txt"})).await;
        trial.check("write_file", write("new\n"), told).await;
        assert_eq!(trial.text("a.txt").unwrap(), "disk\n");
        // On record before it happens, and so also where it did not.
        let edits = trial.edits.lock().unwrap();
        let hashes = |edit: &crate::FileEdit| (edit.before.clone(), edit.after.clone());
        let expected = (Some(sha256(b"old\n")), Some(sha256(b"new\n")));
        assert_eq!(
            edits
                .iter()
                .map(|(edit, _)| hashes(edit))
                .collect::<Vec<_>>(),
            [expected]
        );
    }
}

#[test]
fn a_change_is_carried_to_where_its_lines_are_now() {
    let base = "one\ntwo\nthree\nfour\n";
    for (new, now, expected) in [
        (
            "one\n2\nthree\nfour\n",
            "zero\none\ntwo\nthree\nfour\n",
            Some("zero\none\n2\nthree\nfour\n"),
        ),
        (
            "one\n2\nthree\nfour\n",
            "one\ntwo\nthree\nfour x\n",
            Some("one\n2\nthree\nfour x\n"),
        ),
        (
            "one\n2\nthree\nfour\n",
            "one\ntwo\n3\nfour\n",
            Some("one\n2\n3\nfour\n"),
        ),
        ("one\n2\nthree\nfour\n", base, Some("one\n2\nthree\nfour\n")),
        (
            "one\nthree\nfour\n",
            "one x\ntwo\nthree\nfour\n",
            Some("one x\nthree\nfour\n"),
        ),
        (
            "one\nand\ntwo\nthree\nfour\n",
            "one\ntwo\nthree\n",
            Some("one\nand\ntwo\nthree\n"),
        ),
        ("one\n2\nthree\nfour\n", "one\ntwo x\nthree\nfour\n", None),
        ("one\n2\nthree\nfour\n", "", None),
        (
            "one\nand\ntwo\nthree\nfour\n",
            "one\nor\ntwo\nthree\nfour\n",
            None,
        ),
    ] {
        let carried = carried(base, new, now);
        assert_eq!(carried.as_deref(), expected, "{new:?} {now:?}");
        if let Some(carried) = carried {
            assert!(is_kept(base, new, new), "{new:?}");
            let deletes = new == "one\nthree\nfour\n";
            assert!(
                is_kept(base, new, &carried) || deletes,
                "{new:?} {carried:?}"
            );
        }
        assert!(!is_kept(base, new, now), "{new:?} {now:?}");
    }
}

#[tokio::test]
async fn what_is_typed_between_the_plan_and_the_edit_stays() {
    let beside = "ok: Changed `a.txt`.\nThe user types in it, so it has other changes, too, and is not saved; read it \
                  again before you rely on other parts.";
    for (typed, text, told) in [
        ("zero\none\ntwo\n", "zero\none\n2\n", beside),
        (
            "one\ntwo x\n",
            "one\ntwo x\n",
            "error: `a.txt`: the editor refused the edit.",
        ),
    ] {
        let fake = FakeEditor::new("a.txt", "one\ntwo\n");
        *fake.types.lock().unwrap() = Some(typed.to_owned());
        let (trial, editor) = trial(fake);
        trial
            .check("read_file", json!({"path": "a.txt"}), "ok: one\ntwo\n")
            .await;
        let edit = json!({"path": "a.txt", "old_text": "two", "new_text": "2"});
        trial.check("edit_file", edit, told).await;
        assert_eq!(editor.open.lock().unwrap().text, text);
    }
}

#[test]
fn a_change_is_placed_by_the_lines_that_it_replaces() {
    let text = "one\ntwo\nthree\n";
    for (new, expected) in [
        ("one\n2\nthree\n", "line 2"),
        ("one\nthree\n", "line 2"),
        ("zero\none\ntwo\nthree\n", "line 1"),
        ("one\ntwo\nthree\nfour\n", "line 4"),
        ("1\ntwo\n3\n", "lines 1 to 3"),
        ("", "lines 1 to 3"),
    ] {
        assert_eq!(place_of(text, new), expected, "{new:?}");
    }
}
