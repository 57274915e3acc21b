use std::{collections::BTreeMap, fs, path::PathBuf, sync::Mutex, time::Duration};

use aside_base::digest::sha256;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    session::{
        record::Edit,
        store::Store,
        undo::{Clash, Conflict},
    },
    tool::editor::{Buffer, BufferEdit, EditError, Editor, FileText, OpenDocument},
};

/// What an editor does when it is told to change a document.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    Makes,
    Refuses,
    /// Makes something else of it.
    Spoils,
    /// Makes it, and nobody sees that.
    Hides,
    /// Makes it, while somebody changes the file `closed`.
    Meanwhile,
    /// Makes it once, and refuses to make another edit.
    Once,
}

/// A document in an editor: how it answers, its text, and whether some of that is the user's own.
#[derive(Clone)]
struct Opened {
    answer: Answer,
    text: String,
    users: bool,
    version: i32,
}

/// An editor, in whose documents is what it is told to put there.
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
    fn document(&self, path: &Path) -> Option<OpenDocument> {
        let open = self.open.lock().unwrap();
        let document = open.get(&self.name(path))?;
        let dirty = fs::read_to_string(path).ok().as_ref() != Some(&document.text);
        Some(OpenDocument {
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

    fn apply(&self, edit: &BufferEdit<'_>, gone: &CancellationToken) -> Result<(), EditError> {
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
        Ok(())
    }

    fn save(&self, path: &Path, _: &CancellationToken) -> Result<(), String> {
        if !self.saves {
            return Err("it cannot".into());
        }
        let open = self.open.lock().unwrap();
        fs::write(path, &open[&self.name(path)].text).map_err(|why| why.to_string())
    }
}

/// A turn that made `new` of `old` in the files `a`, `b` and `closed`, of which the first two are open.
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

    /// Sets what is on disk, and what the editor has beside it.
    fn stands(self, path: &str, disk: &str, text: &str, users: bool) -> Self {
        fs::write(self.fake.root.join(path), disk).unwrap();
        let mut open = self.fake.open.lock().unwrap();
        let document = open.get_mut(path).unwrap();
        (document.text, document.users) = (text.into(), users);
        drop(open);
        self
    }

    /// Undoes the turn. What came of it, and then each file: what is on disk, and what is in the editor if that is
    /// something else.
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
            Err(failed) => failed.sentence(&which),
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
fn open_documents_are_put_back_in_the_editor_and_saved_and_the_rest_on_disk() {
    use Answer::Makes;
    let all = "a=old b=old closed=old";
    Trial::new(Makes, Makes).check("done", all);
    // Never saved: there it is as it was again.
    let trial = Trial::new(Makes, Makes).stands("a", "old", "new", false);
    trial.check("done", all);
    let mut trial = Trial::new(Makes, Makes).stands("a", "old", "new", false);
    trial.fake.saves = false;
    trial.check("done; unsaved: b", "a=old b=new/old closed=old");
    // What the user typed is the user's to save: here what was typed is gone again.
    let trial = Trial::new(Makes, Makes).stands("b", "old", "new", true);
    trial.check("done", all);
}

#[test]
fn where_one_cannot_be_put_back_all_stay_as_they_were() {
    use Answer::{Hides, Makes, Meanwhile, Once, Refuses, Spoils};
    let none = "a=new b=new closed=new";
    let refused =
        "turn 1 was not undone: the editor did not make the edit of b: it is locked".to_owned();
    let unconfirmed =
        "turn 1 was not undone: the editor did not confirm the edit of b; look at it there";
    let left = |files: &str| {
        format!(
            "; in the editor these are not as they were: {files}; put them back there with its own undo"
        )
    };
    Trial::new(Makes, Refuses).check(&refused, none);
    Trial::new(Makes, Hides).check(unconfirmed, none);
    Trial::new(Once, Refuses).check(&(refused + &left("a")), "a=new/old b=new closed=new");
    // What it is instead may be the user's.
    Trial::new(Makes, Spoils).check(unconfirmed, "a=new b=new/spoilt closed=new");
    // The disk says no when the editor has done its part.
    Trial::new(Makes, Meanwhile).check(
        "turn 1 was not undone, as these files were changed since: closed; \
         put them back yourself, or undo later turns first",
        "a=new b=new closed=mine",
    );
    let trial = Trial::new(Makes, Makes);
    trial.gone.cancel();
    trial.check(
        "turn 1 was not undone: the editor went before it made the edit of a",
        none,
    );
}

#[test]
fn every_file_that_is_in_the_way_is_named_with_what_to_do_about_it() {
    let conflict = |path: &str, clash| Conflict {
        path: path.into(),
        clash,
    };
    let failed = UndoFailure::from(UndoError::Conflicts(vec![
        conflict("a", Clash::Unsaved),
        conflict("b", Clash::OnDisk),
        conflict("c", Clash::Changed),
        conflict("d", Clash::Changed),
    ]));
    let which = UndoTarget {
        id: "t1".into(),
        name: "turn 1".into(),
    };
    assert_eq!(
        failed.sentence(&which),
        "turn 1 was not undone, as these files were changed since: c, d; put them back yourself, or undo later turns \
         first; and these files have another text on disk than in the editor, which is not the turn's: b; save them \
         there, or load them again; and these files are not saved in an editor that cannot be told to change them: a; \
         save them there"
    );
    assert_eq!(failed.conflicts(), ["a", "b", "c", "d"]);
}
