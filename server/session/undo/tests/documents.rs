//! Undo of files that are open in an editor.

use super::*;

/// What is to be done to `a`, which the turn made from `1` to `2` and `3` after another turn had made it from `0`.
fn step(disk: Option<&str>, document: Option<EditorDocument>) -> String {
    let mut it = UndoFixture::new(&[("a", "0")]);
    it.edit("t0", "a", Some("1"));
    it.edit("t1", "a", Some("2"));
    it.edit("t1", "a", Some("3"));
    it.set("a", disk);
    it.told("t1", document)
}

/// What is to be done to `a`, which the turn made new as `2`, and `3`.
fn step_of_new(disk: Option<&str>, document: Option<EditorDocument>) -> String {
    let mut it = UndoFixture::new(&[]);
    it.edit("t1", "a", Some("2"));
    it.edit("t1", "a", Some("3"));
    it.set("a", disk);
    it.told("t1", document)
}

impl UndoFixture {
    /// What is to be done to `a`, in words; `nothing` stands for what has no name, too.
    fn told(&self, turn: &str, document: Option<EditorDocument>) -> String {
        let names = ["0", "1", "2", "3", "mine"];
        let name = |hash: &Option<String>| {
            let is = |name: &&&str| Some(sha256(name.as_bytes())) == *hash;
            names.iter().find(is).map_or("nothing", |name| name)
        };
        match self.plan_with(turn, None, |_| document.clone()) {
            Ok(plan) => match plan.changes.as_slice() {
                [] => "nothing to do".into(),
                [it] => format!("{:?}: {} to {}", it.place, name(&it.now), name(&it.to)),
                more => panic!("{more:?}"),
            },
            Err(UndoError::Conflicts(conflicts)) => format!("{:?}", conflicts[0].clash),
            Err(other) => panic!("{other}"),
        }
    }
}

pub(super) fn open(text: &str, saved: Saved, editable: bool) -> Option<EditorDocument> {
    Some(EditorDocument {
        text: text.into(),
        saved,
        editable,
    })
}

#[test]
fn what_a_file_is_now_is_its_document_else_the_disk() {
    let check = |disk: Option<&str>, document: Option<EditorDocument>, expected: &str| {
        let told = step(disk, document.clone());
        assert_eq!(told, expected, "{disk:?} and {document:?}");
    };
    check(Some("3"), None, "Disk: 3 to 1");
    check(Some("mine"), None, "Changed");

    check(Some("3"), open("3", Saved::Yes, true), "Editor: 3 to 1");
    check(Some("3"), open("3", Saved::Yes, false), "Disk: 3 to 1");
    check(Some("1"), open("1", Saved::Yes, true), "nothing to do");
    check(Some("mine"), open("mine", Saved::Yes, true), "Changed");
    // The editor ended the last line when it saved the file, and some of it was changed and put back since.
    check(
        Some("mine"),
        open("3", Saved::Alike, true),
        "Editor: 3 to 1",
    );
    check(Some("mine"), open("3", Saved::Alike, false), "Unsaved");
    check(Some("3"), open("mine", Saved::Alike, true), "Changed");
    check(Some("mine"), open("mine", Saved::Yes, false), "Changed");
    // The editor left something out when it opened the file.
    check(Some("3"), open("mine", Saved::Yes, true), "Disk: 3 to 1");

    // Saved after every edit of the turn, after some, after none, or not even after those of turns before.
    for disk in ["3", "2", "1", "0"] {
        check(Some(disk), open("3", Saved::No, true), "Editor: 3 to 1");
        check(Some(disk), open("3", Saved::No, false), "Unsaved");
        check(Some(disk), open("mine", Saved::No, true), "Changed");
    }
    // The second edit was never made.
    check(Some("1"), open("2", Saved::No, true), "Editor: 2 to 1");
    check(Some("3"), open("1", Saved::No, true), "nothing to do");
    check(Some("mine"), open("3", Saved::No, true), "OnDisk");
    check(None, open("3", Saved::No, true), "OnDisk");
    check(
        Some("mine"),
        open("3", Saved::Users, true),
        "Editor: 3 to 1",
    );
    check(Some("mine"), open("3", Saved::Users, false), "OnDisk");
}

#[test]
fn a_file_that_the_turn_made_goes_from_the_disk_and_stays_in_the_editor() {
    let check = |disk: Option<&str>, document: Option<EditorDocument>, expected: &str| {
        let told = step_of_new(disk, document.clone());
        assert_eq!(told, expected, "{disk:?} and {document:?}");
    };
    check(Some("3"), None, "Disk: 3 to nothing");
    check(Some("3"), open("3", Saved::Yes, true), "Disk: 3 to nothing");
    check(
        Some("3"),
        open("3", Saved::Yes, false),
        "Disk: 3 to nothing",
    );
    check(Some("2"), open("3", Saved::No, true), "Disk: 2 to nothing");
    check(Some("3"), open("3", Saved::No, false), "Unsaved");
    check(None, open("3", Saved::No, true), "nothing to do");
    check(Some("3"), open("mine", Saved::No, true), "Changed");
    check(Some("mine"), open("3", Saved::No, true), "OnDisk");
    check(Some("mine"), open("3", Saved::Users, true), "OnDisk");
}

#[test]
fn what_is_no_text_is_never_put_into_an_editor() {
    let mut it = UndoFixture::new(&[]);
    fs::write(it.root().join("a"), b"\xff").unwrap();
    let before = Some(it.blobs().keep(b"\xff").unwrap());
    let edit = Edit {
        call: 0,
        path: "a".into(),
        before,
        after: Some(sha256(b"3")),
        mode: None,
    };
    it.push("t1", Entry::Edit(edit));
    it.set("a", Some("3"));
    let told = |saved| it.told("t1", open("3", saved, true));
    assert_eq!(told(Saved::Yes), "Disk: 3 to nothing");
    assert_eq!(told(Saved::No), "Unsaved");
}
