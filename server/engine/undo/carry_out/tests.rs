use std::{collections::BTreeMap, fs, path::PathBuf, sync::Mutex, time::Duration};

use aside_base::digest::sha256;
use aside_session::{
    record::Edit,
    store::Store,
    undo::{Clash, Conflict},
};
use aside_tool::editor::{
    Applied, Buffer, BufferEdit, EditError, Editor, EditorView, FileText, OpenDocument,
};
use tokio_util::sync::CancellationToken;

use super::*;

/// Behaviour of an editor that is told to change a document.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    Makes,
    Refuses,
    /// Makes a different change.
    Spoils,
    /// Makes the change, but does not confirm it.
    Hides,
    /// Makes the change while somebody modifies the file `closed`.
    Meanwhile,
    /// Makes one change and refuses the next.
    Once,
}

/// A document in an editor: behaviour, text, and whether it has unsaved changes of the user.
#[derive(Clone)]
struct Opened {
    answer: Answer,
    text: String,
    users: bool,
    version: i32,
}

/// An editor that applies changes to its documents.
struct Fake {
    root: PathBuf,
    open: Mutex<BTreeMap<String, Opened>>,
    saves: bool,
}

impl Fake {
    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap();
        inside.to_str().unwrap().to_owned()
    }
}

impl Editor for Fake {
    fn look(&self, path: &Path) -> EditorView {
        let open = self.open.lock().unwrap();
        let Some(document) = open.get(&self.name(path)) else {
            return EditorView::Closed;
        };
        let dirty = fs::read_to_string(path).ok().as_ref() != Some(&document.text);
        EditorView::Document(OpenDocument {
            text: document.text.clone(),
            buffer: Buffer {
                uri: String::new(),
                version: document.version,
                dirty,
                users: dirty && document.users,
                file: match dirty {
                    true => FileText::Older,
                    false => FileText::Alike,
                },
            },
        })
    }

    fn unsaved(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn applies_edits(&self) -> bool {
        true
    }

    fn apply(&self, edit: &BufferEdit<'_>, gone: &CancellationToken) -> Result<Applied, EditError> {
        let mut open = self.open.lock().unwrap();
        let document = open.get_mut(&self.name(edit.path)).unwrap();
        if (edit.version, edit.base) != (document.version, document.text.as_str()) {
            return Err(EditError::Stale);
        }
        if gone.is_cancelled() {
            return Err(EditError::Cancelled);
        }
        let first = document.version == 1;
        document.version += 1;
        match document.answer {
            Answer::Refuses => return Err(EditError::Refused(Some("it is locked".into()))),
            Answer::Once if !first => return Err(EditError::Refused(None)),
            Answer::Spoils => {
                document.text = "spoilt".into();
                return Err(EditError::Unconfirmed);
            }
            _ => document.text = edit.new.to_owned(),
        }
        match document.answer {
            Answer::Hides if first => return Err(EditError::Unconfirmed),
            Answer::Meanwhile if first => fs::write(self.root.join("closed"), "mine").unwrap(),
            _ => {}
        }
        Ok(Applied::InDocument)
    }

    fn save(&self, path: &Path, _: &CancellationToken) -> Result<(), String> {
        if !self.saves {
            return Err("it cannot".into());
        }
        let open = self.open.lock().unwrap();
        fs::write(path, &open[&self.name(path)].text).map_err(|why| why.to_string())
    }
}

/// A turn that changed `old` to `new` in the files `a`, `b` and `closed`. The first two are open.
struct Trial {
    _folder: tempfile::TempDir,
    conversation: Conversation,
    fake: Fake,
    gone: CancellationToken,
}

impl Trial {
    fn new(a: Answer, b: Answer) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let store = Store::open(&folder.path().join("state"), &root).unwrap();
        let conversation = store.create(None, Duration::ZERO).unwrap();
        let mut log = conversation.log(Duration::ZERO).unwrap();
        for path in ["a", "b", "closed"] {
            let edit = Edit {
                call: 0,
                path: path.into(),
                before: Some(conversation.blobs().keep(b"old").unwrap()),
                after: Some(sha256(b"new")),
                mode: None,
            };
            log.append(Duration::ZERO, Some("t1"), &Entry::Edit(edit))
                .unwrap();
            fs::write(root.join(path), "new").unwrap();
        }
        let opened = |answer| Opened {
            answer,
            text: "new".into(),
            users: false,
            version: 1,
        };
        let open = [("a".to_owned(), opened(a)), ("b".to_owned(), opened(b))];
        Self {
            _folder: folder,
            conversation,
            fake: Fake {
                root,
                open: Mutex::new(open.into()),
                saves: true,
            },
            gone: CancellationToken::new(),
        }
    }

    /// Sets the text on disk, and the text in the editor.
    fn stands(self, path: &str, disk: &str, text: &str, users: bool) -> Self {
        fs::write(self.fake.root.join(path), disk).unwrap();
        let mut open = self.fake.open.lock().unwrap();
        let document = open.get_mut(path).unwrap();
        (document.text, document.users) = (text.into(), users);
        drop(open);
        self
    }

    /// Undoes the turn and compares the outcome, then each file: the text on disk, and the text in the editor if it
    /// differs.
    #[track_caller]
    fn check(&self, told: &str, files: &str) {
        let which = UndoTarget {
            id: "t1".into(),
            name: "turn 1".into(),
        };
        let undoing = TurnUndo {
            which: &which,
            conversation: &self.conversation,
            root: &self.fake.root,
            editor: Some(ConnectedEditor {
                editor: &self.fake,
                gone: &self.gone,
            }),
        };
        let mut log = self.conversation.log(Duration::ZERO).unwrap();
        let lines = self.conversation.read_all().unwrap();
        let plan = undoing.plan(&lines, None).map_err(UndoFailure::from);
        let done = plan.and_then(|plan| undoing.carry_out(&plan, &mut log));
        let said = match &done {
            Ok(done) if done.unsaved.is_empty() => "done".to_owned(),
            Ok(done) => format!("done; unsaved: {}", listed(done.unsaved.iter())),
            Err(failed) => failed.message(&which),
        };
        assert_eq!(said, told);
        assert_eq!(self.files(), files);
        let records = self.conversation.read_all().unwrap().records;
        let recorded = records.len() > lines.records.len();
        assert_eq!(recorded, done.is_ok(), "on record");
    }

    fn files(&self) -> String {
        let open = self.fake.open.lock().unwrap();
        let mut names: Vec<_> = fs::read_dir(&self.fake.root).unwrap().collect();
        names.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
        let files = names.into_iter().map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let disk = fs::read_to_string(self.fake.root.join(&name)).unwrap();
            match open.get(&name) {
                Some(document) if document.text != disk => {
                    format!("{name}={disk}/{}", document.text)
                }
                _ => format!("{name}={disk}"),
            }
        });
        files.collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn open_documents_are_restored_in_the_editor_and_others_on_disk() {
    use Answer::Makes;
    let all = "a=old b=old closed=old";
    Trial::new(Makes, Makes).check("done", all);
    // Never saved: the document is restored in the editor.
    let trial = Trial::new(Makes, Makes).stands("a", "old", "new", false);
    trial.check("done", all);
    let mut trial = Trial::new(Makes, Makes).stands("a", "old", "new", false);
    trial.fake.saves = false;
    trial.check("done; unsaved: b", "a=old b=new/old closed=old");
    // Undo does not save the user's own changes: here it reverts exactly them.
    let trial = Trial::new(Makes, Makes).stands("b", "old", "new", true);
    trial.check("done", all);
}

#[test]
fn undo_is_all_or_nothing() {
    use Answer::{Hides, Makes, Meanwhile, Once, Refuses, Spoils};
    let none = "a=new b=new closed=new";
    let refused = "turn 1 was not undone: the editor did not edit b: it is locked".to_owned();
    let unconfirmed =
        "turn 1 was not undone: the editor did not confirm the edit of b; check it there";
    let left =
        |files: &str| format!("; these files changed in the editor: {files}; undo them there");
    Trial::new(Makes, Refuses).check(&refused, none);
    Trial::new(Makes, Hides).check(unconfirmed, none);
    Trial::new(Once, Refuses).check(&(refused + &left("a")), "a=new/old b=new closed=new");
    // The different text may be the user's.
    Trial::new(Makes, Spoils).check(unconfirmed, "a=new b=new/spoilt closed=new");
    // The write to disk fails after the editor's part.
    Trial::new(Makes, Meanwhile).check(
        "turn 1 was not undone, because these files were changed since: closed; \
         restore them yourself, or undo later turns first",
        "a=new b=new closed=mine",
    );
    let trial = Trial::new(Makes, Makes);
    trial.gone.cancel();
    trial.check(
        "turn 1 was not undone: the editor disconnected before it edited a",
        none,
    );
}

#[test]
fn every_obstacle_is_named_with_advice() {
    let conflict = |path: &str, clash| Conflict {
        path: path.into(),
        clash,
    };
    let failed = UndoFailure::from(UndoError::Conflicts(vec![
        conflict("a", Clash::Unsaved),
        conflict("b", Clash::OnDisk),
        conflict("c", Clash::Changed),
        conflict("d", Clash::Changed),
        conflict("e", Clash::Elsewhere),
    ]));
    let which = UndoTarget {
        id: "t1".into(),
        name: "turn 1".into(),
    };
    assert_eq!(
        failed.message(&which),
        "turn 1 was not undone, because these files were changed since: c, d; restore them yourself, or undo later \
         turns first; and a link that was put on the way to these files leads to others: e; take it away; and these files differ on disk and in the editor, and the turn did not cause that: b; save or \
         reload them in the editor; and these files are unsaved in an editor that does not support edits: a; save \
         them there"
    );
    assert_eq!(failed.conflicts(), ["a", "b", "c", "d", "e"]);
}
