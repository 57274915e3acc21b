use std::{fs, os::unix::fs::symlink, path::PathBuf, time::Duration};

use aside_base::under_way::FilesUnderWay;
use aside_turn::record::{CallKey, Event};

use super::{super::record::Undone, staged::stage, *};

mod documents;
use documents::open;

/// A workspace, and the log of what turns did to it.
struct UndoFixture {
    folder: tempfile::TempDir,
    records: Vec<Record>,
}

impl UndoFixture {
    /// A workspace with these files.
    fn new(files: &[(&str, &str)]) -> Self {
        let it = Self {
            folder: tempfile::tempdir().unwrap(),
            records: vec![],
        };
        fs::create_dir(it.root()).unwrap();
        files
            .iter()
            .for_each(|(path, text)| it.set(path, Some(text)));
        it
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn blobs(&self) -> Blobs {
        Blobs::of(self.folder.path())
    }

    /// Makes a file what somebody else makes it.
    fn set(&self, path: &str, text: Option<&str>) {
        let path = self.root().join(path);
        match text {
            Some(text) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            None => fs::remove_file(path).unwrap(),
        }
    }

    fn get(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    fn push(&mut self, turn: &str, entry: Entry) {
        let seq = self.records.len() as u64 + 1;
        self.records.push(Record {
            seq,
            time: Duration::ZERO,
            turn: Some(turn.into()),
            entry,
        });
    }

    /// Records an edit and does not make it.
    fn record(&mut self, turn: &str, path: &str, text: Option<&str>) {
        let before = self
            .get(path)
            .map(|text| self.blobs().keep(text.as_bytes()).unwrap());
        let after = text.map(|text| sha256(text.as_bytes()));
        let mode = before.as_ref().map(|_| {
            let about = fs::metadata(self.root().join(path)).unwrap();
            std::os::unix::fs::PermissionsExt::mode(&about.permissions())
        });
        let edit = Edit {
            call: 0,
            path: path.into(),
            before,
            after,
            mode,
        };
        self.push(turn, Entry::Edit(edit));
    }

    /// Records an edit and makes it.
    fn edit(&mut self, turn: &str, path: &str, text: Option<&str>) {
        self.record(turn, path, text);
        self.set(path, text);
    }

    fn plan(&self, turn: &str) -> Result<UndoPlan, UndoError> {
        self.plan_with(turn, None, |_| None)
    }

    fn plan_with(
        &self,
        turn: &str,
        only: Option<&[String]>,
        open: impl Fn(&str) -> Option<EditorDocument>,
    ) -> Result<UndoPlan, UndoError> {
        let wanted = UndoRequest {
            turn,
            root: &self.root(),
            blobs: &self.blobs(),
            only,
        };
        plan(&self.records, &wanted, |tool| tool == "run_command", open)
    }

    fn under_way(&self) -> FilesUnderWay {
        FilesUnderWay::of(self.folder.path())
    }

    /// Carries a plan out on disk.
    fn apply(&self, plan: &UndoPlan) -> Result<Vec<String>, UndoError> {
        let under_way = self.under_way();
        let staged = stage(plan, &self.root(), &self.blobs(), &under_way)?;
        staged.bring()?.put()?;
        Ok(plan.changes.iter().map(|it| it.path.clone()).collect())
    }

    /// Takes a turn back and records that.
    fn undo(&mut self, turn: &str) -> Result<Vec<String>, UndoError> {
        let files = self.apply(&self.plan(turn)?)?;
        let undone = Undone {
            undone: turn.into(),
            files: files.clone(),
        };
        self.records.push(Record {
            seq: 0,
            time: Duration::ZERO,
            turn: None,
            entry: Entry::Undone(undone),
        });
        Ok(files)
    }

    /// Undoing the turn leaves the workspace as it is and names these files.
    #[track_caller]
    fn check_conflicts(&mut self, turn: &str, expected: &[&str]) {
        match self.undo(turn) {
            Err(UndoError::Conflicts(conflicts)) => {
                let conflicts = conflicts.iter();
                let paths: Vec<&str> = conflicts.map(|it| it.path.as_str()).collect();
                assert_eq!(paths, expected);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_a_turn_changed_made_and_deleted_is_put_back() {
    let mut it = UndoFixture::new(&[("a", "1"), ("dir/b", "2"), ("untouched", "3")]);
    it.edit("t1", "a", Some("1a"));
    it.edit("t1", "dir/b", None);
    it.edit("t1", "new/c", Some("c"));
    it.edit("t1", "a", Some("1b"));
    assert_eq!(it.undo("t1").unwrap(), ["a", "dir/b", "new/c"]);
    let files = ["a", "dir/b", "new/c", "untouched"].map(|path| it.get(path));
    assert_eq!(
        files,
        [Some("1".into()), Some("2".into()), None, Some("3".into())]
    );
    assert!(it.undo("t1").unwrap().is_empty());
    let names = fs::read_dir(it.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["a", "dir", "new", "untouched"]);
}

#[test]
fn all_or_nothing() {
    let mut it = UndoFixture::new(&[("a", "1"), ("b", "2"), ("c", "3")]);
    for path in ["a", "b", "c"] {
        it.edit("t1", path, Some("new"));
    }
    it.set("a", Some("mine"));
    it.set("c", None);
    it.check_conflicts("t1", &["a", "c"]);
    assert_eq!(it.get("b").unwrap(), "new");
    let text = it.plan("t1").unwrap_err().to_string();
    assert_eq!(
        text,
        "changed since and left as they are: a, c; put them back yourself, or undo later turns first"
    );
}

#[test]
fn a_later_turn_is_undone_first() {
    let mut it = UndoFixture::new(&[("a", "1")]);
    it.edit("t1", "a", Some("2"));
    it.edit("t2", "a", Some("3"));
    it.check_conflicts("t1", &["a"]);
    it.undo("t2").unwrap();
    assert_eq!(it.get("a").unwrap(), "2");
    it.undo("t1").unwrap();
    assert_eq!(it.get("a").unwrap(), "1");
}

#[test]
fn what_was_changed_in_other_lines_stays() {
    let started = |now: &str| {
        let mut it = UndoFixture::new(&[("a", "one\ntwo\nthree\nfour\n")]);
        for (after, typed) in [
            ("one\n2\nthree\nfour\n", "mine\none\n2\nthree\nfour\n"),
            ("mine\none\n2\nthree\n4\n", now),
        ] {
            it.blobs().keep(after.as_bytes()).unwrap();
            it.edit("t1", "a", Some(after));
            it.set("a", Some(typed));
        }
        it
    };
    for (now, left) in [
        ("mine\none\n2\nthree\n4\n", "mine\none\ntwo\nthree\nfour\n"),
        (
            "mine\none\nand\n2\n3\n4\n",
            "mine\none\nand\ntwo\n3\nfour\n",
        ),
        // One of the changes was taken back already.
        ("one\ntwo\nthree\n4\n", "one\ntwo\nthree\nfour\n"),
    ] {
        let mut it = started(now);
        let document = |saved, editable| {
            let plan = it.plan_with("t1", None, |_| open(now, saved, editable));
            plan.map(|plan| (plan.changes[0].place, plan.changes[0].to.clone()))
                .map_err(|error| matches!(error, UndoError::Conflicts(it) if it[0].clash == Clash::Unsaved))
        };
        let to = Some(sha256(left.as_bytes()));
        assert_eq!(
            document(Saved::Yes, true),
            Ok((RestorePlace::Editor, to.clone()))
        );
        assert_eq!(document(Saved::Yes, false), Ok((RestorePlace::Disk, to)));
        assert_eq!(document(Saved::Alike, false), Err(true));
        it.undo("t1").unwrap();
        assert_eq!(it.get("a").unwrap(), left);
        assert!(it.undo("t1").unwrap().is_empty());
    }
    started("mine\none\nTWO\nthree\n4\n").check_conflicts("t1", &["a"]);
    // Unsaved beside what the disk had before the turn, and beside what nobody knows.
    let it = started("mine\none\n2\n3\n4\n");
    let typed = || open("mine\none\n2\n3\n4\n", Saved::No, true);
    it.set("a", Some("one\ntwo\nthree\nfour\n"));
    let plan = it.plan_with("t1", None, |_| typed()).unwrap();
    assert_eq!(plan.changes[0].place, RestorePlace::Editor);
    it.set("a", Some("other\n"));
    let clash = it.plan_with("t1", None, |_| typed()).unwrap_err();
    assert!(matches!(clash, UndoError::Conflicts(it) if it[0].clash == Clash::OnDisk));
    let users = open("mine\none\n2\n3\n4\n", Saved::Users, true);
    let plan = it.plan_with("t1", None, |_| users.clone()).unwrap();
    assert_eq!(plan.changes[0].place, RestorePlace::Editor);
}

#[test]
fn an_edit_on_record_that_was_never_made_counts_as_not_made() {
    let mut it = UndoFixture::new(&[("a", "1"), ("b", "1")]);
    it.edit("t1", "a", Some("2"));
    it.record("t1", "a", Some("3"));
    it.record("t1", "b", Some("2"));
    it.record("t1", "new", Some("2"));
    assert_eq!(it.undo("t1").unwrap(), ["a"]);
    assert_eq!(it.get("a").unwrap(), "1");
}

#[test]
fn a_change_by_somebody_else_between_two_edits_is_not_lost() {
    let mut it = UndoFixture::new(&[("a", "1")]);
    it.edit("t1", "a", Some("2"));
    it.set("a", Some("mine"));
    it.edit("t1", "a", Some("3"));
    it.check_conflicts("t1", &["a"]);
}

#[test]
fn an_edit_that_a_crash_left_half_made_is_put_back() {
    for (after, disk, is_ours) in [
        ("ONE\nTWO\n", "ONE\ntwo\n", true),
        ("ONE\nTWO\n", "ONE\ntWo\n", false),
        ("ONE\nTWO\n", "mine\n", false),
        // Cut off, or longer.
        ("ON\n", "ON\n\ntwo\n", true),
        ("ONE\nTWO\nTHREE\n", "ONE\nTWO\nTH", true),
        ("ONE\nTWO\nTHREE\n", "ONE\n", false),
    ] {
        let mut it = UndoFixture::new(&[("a", "one\ntwo\n")]);
        it.record("t1", "a", Some(after));
        it.blobs().keep(after.as_bytes()).unwrap();
        it.set("a", Some(disk));
        if is_ours {
            assert_eq!(it.undo("t1").unwrap(), ["a"]);
            assert_eq!(it.get("a").unwrap(), "one\ntwo\n");
        } else {
            it.check_conflicts("t1", &["a"]);
        }
    }
}

#[test]
fn what_a_file_is_besides_its_content_stays() {
    let mut it = UndoFixture::new(&[("a", "1"), ("dir/b", "1")]);
    let at = |it: &UndoFixture, path: &str| it.root().join(path);
    fs::hard_link(at(&it, "a"), at(&it, "second")).unwrap();
    it.edit("t1", "a", Some("2"));
    it.edit("t1", "dir/b", Some("2"));
    let number = |it: &UndoFixture, path: &str| {
        std::os::unix::fs::MetadataExt::ino(&fs::metadata(at(it, path)).unwrap())
    };
    let before = number(&it, "a");
    let read_only = std::os::unix::fs::PermissionsExt::from_mode(0o444);
    fs::set_permissions(at(&it, "dir/b"), read_only).unwrap();
    it.undo("t1").unwrap();
    assert_eq!(number(&it, "a"), before);
    assert_eq!(it.get("second").unwrap(), "1");
    let about = fs::metadata(at(&it, "dir/b")).unwrap();
    assert!(about.permissions().readonly());
    assert_eq!(it.get("dir/b").unwrap(), "1");
}

#[test]
fn some_files_of_a_turn_can_be_put_back_and_the_rest_later() {
    let mut it = UndoFixture::new(&[("a", "1"), ("b", "1")]);
    it.edit("t1", "a", Some("2"));
    it.edit("t1", "b", Some("2"));
    let only = ["b".to_owned()];
    let some = it.plan_with("t1", Some(&only), |_| None).unwrap();
    assert_eq!(it.apply(&some).unwrap(), ["b"]);
    let undone = Undone {
        undone: "t1".into(),
        files: only.to_vec(),
    };
    it.push("t2", Entry::Undone(undone));
    // What becomes of it afterwards is no concern of the turn's any more.
    it.set("b", Some("mine"));
    assert_eq!(it.undo("t1").unwrap(), ["a"]);
    assert_eq!(
        (it.get("a").unwrap(), it.get("b").unwrap()),
        ("1".into(), "mine".into())
    );
}

#[test]
fn permissions_stay() {
    let mut it = UndoFixture::new(&[("kept", "1"), ("deleted", "1")]);
    let mode = |it: &UndoFixture, path: &str| {
        let about = fs::metadata(it.root().join(path)).unwrap();
        std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777
    };
    for path in ["kept", "deleted"] {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o751);
        fs::set_permissions(it.root().join(path), permissions).unwrap();
    }
    it.edit("t1", "kept", Some("2"));
    it.edit("t1", "deleted", None);
    it.undo("t1").unwrap();
    assert_eq!((mode(&it, "kept"), mode(&it, "deleted")), (0o751, 0o751));
}

#[test]
fn nothing_outside_the_workspace_is_touched() {
    let mut it = UndoFixture::new(&[("dir/inside", "1")]);
    let outside = it.folder.path().join("outside");
    fs::write(&outside, "1").unwrap();
    it.edit("t1", "../outside", Some("2"));
    let error = it.undo("t1").unwrap_err();
    assert!(matches!(error, UndoError::Io { .. }), "{error}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "2");
}

#[test]
fn a_link_on_the_way_leads_to_another_file_which_is_left_as_it_is() {
    type Put = fn(&UndoFixture);
    let puts: [Put; 3] = [
        |it| {
            fs::rename(it.root().join("d/e"), it.root().join("d/f")).unwrap();
            symlink("../other", it.root().join("d/e")).unwrap();
        },
        |it| {
            fs::rename(it.root().join("d"), it.root().join("c")).unwrap();
            fs::create_dir_all(it.root().join("away/e")).unwrap();
            fs::write(it.root().join("away/e/file"), "2").unwrap();
            symlink("away", it.root().join("d")).unwrap();
        },
        |it| {
            fs::remove_file(it.root().join("d/e/file")).unwrap();
            symlink("../../other/file", it.root().join("d/e/file")).unwrap();
        },
    ];
    for put in puts {
        let mut it = UndoFixture::new(&[("d/e/file", "1"), ("other/file", "2")]);
        it.edit("t1", "d/e/file", Some("2"));
        put(&it);
        match it.undo("t1") {
            Err(UndoError::Conflicts(all)) => assert_eq!(all[0].clash, Clash::Elsewhere),
            other => panic!("{other:?}"),
        }
        assert_eq!(it.get("other/file").unwrap(), "2");
    }
}

#[test]
fn a_file_that_changes_after_the_plan_is_a_conflict_and_a_missing_blob_changes_nothing() {
    let mut it = UndoFixture::new(&[("a", "1"), ("b", "1")]);
    it.edit("t1", "a", Some("2"));
    it.edit("t1", "b", Some("2"));
    let plan = it.plan("t1").unwrap();
    it.set("b", Some("mine"));
    let changed = |error: UndoError| {
        let b = Conflict {
            path: "b".into(),
            clash: Clash::Changed,
        };
        assert!(matches!(error, UndoError::Conflicts(conflicts) if conflicts == [b]));
    };
    changed(it.apply(&plan).unwrap_err());
    it.set("b", Some("2"));
    // The editor may have been waited for since it was made ready.
    let under_way = it.under_way();
    let staged = stage(&plan, &it.root(), &it.blobs(), &under_way).unwrap();
    let ready = staged.bring().unwrap();
    it.set("b", Some("mine"));
    changed(ready.put().unwrap_err());
    assert_eq!(it.get("a").unwrap(), "2");
    drop(staged);
    assert_eq!(fs::read_dir(it.root()).unwrap().count(), 2);
    it.set("b", Some("2"));
    let elsewhere = Blobs::of(&it.root().join("elsewhere"));
    let error = stage(&plan, &it.root(), &elsewhere, &under_way)
        .err()
        .unwrap();
    assert!(matches!(error, UndoError::Io { path, .. } if path == "a"));
    assert_eq!(
        (it.get("a").unwrap(), it.get("b").unwrap()),
        ("2".into(), "mine".replace("mine", "2"))
    );
}

#[test]
fn what_ran_may_have_changed_more() {
    let mut it = UndoFixture::new(&[("a", "1")]);
    let call = |call, name: &str| {
        Event::ToolCall {
            call: CallKey(call),
            id: String::new(),
            name: name.into(),
            arguments: String::new(),
            opaque: None,
        }
        .into()
    };
    it.edit("t1", "a", Some("2"));
    it.push("t1", call(0, "edit_file"));
    it.push("t1", call(1, "run_command"));
    it.push(
        "t1",
        Event::CallStarted {
            call: CallKey(0),
            run: 1,
            title: String::new(),
        }
        .into(),
    );
    assert!(!it.plan("t1").unwrap().untracked);
    it.push(
        "t1",
        Event::CallStarted {
            call: CallKey(1),
            run: 1,
            title: String::new(),
        }
        .into(),
    );
    assert!(it.plan("t1").unwrap().untracked);
    assert!(matches!(it.plan("t2"), Err(UndoError::NoTurn(_))));
}
