//! Turns that are taken back while an editor has their files open.

mod undoing;

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;

use self::undoing::{UndoingClient, able, edits, turn};

#[test]
fn an_open_file_is_put_back_in_the_editor_and_saved() {
    let mut editor = UndoingClient::new(&edits(&["a"]), able(true), &["a"], 1);
    let turn = editor.starts("Go");
    editor.makes("a");
    editor.saves("a");
    editor.ends(&turn);
    assert_eq!(editor.files(), "a=new");
    let undo = editor.undoes(&turn);
    editor.makes("a");
    assert_eq!(editor.files(), "a=new/old", "the editor writes it");
    editor.saves("a");
    editor.undone(undo, &["a"]);
    assert_eq!(editor.files(), "a=old");
    assert_eq!(editor.world.log().one("undone")["files"], json!(["a"]));
    // There is nothing left to undo.
    let again = editor.undoes(&turn);
    editor.undone(again, &[]);
}

#[test]
fn what_an_editor_never_saved_is_undone_turn_by_turn() {
    let script = turn("First", &["a"], "old", "new") + &turn("Second", &["a"], "new", "newer");
    let mut editor = UndoingClient::new(&script, able(false), &["a"], 1);
    let first = editor.plays("First", &["a"]);
    let params =
        json!({ "message": "Second", "mode": "edits", "conversationId": first["conversationId"] });
    let second = editor.client.turn(params);
    editor.makes("a");
    editor.ends(&second);
    assert_eq!(editor.files(), "a=old/newer");
    // The later one first.
    let early = editor.undoes(&first);
    let why = editor.refused(early, "a");
    assert!(
        why.starts_with(", because these files were changed since: a;"),
        "{why}"
    );
    for (turn, files) in [(&second, "a=old/new"), (&first, "a=old")] {
        let undo = editor.undoes(turn);
        editor.makes("a");
        editor.undone(undo, &["a"]);
        assert_eq!(editor.files(), files);
    }
}

#[test]
fn what_the_user_changed_since_is_left_as_it_is() {
    let mut editor = UndoingClient::new(&edits(&["a", "b"]), able(false), &["a", "b"], 2);
    let turn = editor.plays("Go", &["a", "b"]);
    editor.shows("b", "one\nnew of mine\n");
    let undo = editor.undoes(&turn);
    let why = editor.refused(undo, "b");
    assert_eq!(
        why,
        ", because these files were changed since: b; restore them yourself, or undo later turns first"
    );
}

#[test]
fn what_changed_behind_the_editor_is_left_as_it_is() {
    let mut editor = UndoingClient::new(&edits(&["a", "b"]), able(false), &["a", "b"], 2);
    let turn = editor.plays("Go", &["a", "b"]);
    editor.world.write("b", "one\nmine\n");
    let undo = editor.undoes(&turn);
    let why = editor.refused(undo, "b");
    assert_eq!(
        why,
        ", because these files differ on disk and in the editor, and the turn did not cause that: b; \
         save or reload them in the editor"
    );
    assert_eq!(editor.files(), "a=old/new b=mine/new");
}

#[test]
fn where_the_editor_refuses_one_the_others_are_put_back() {
    let files = ["a", "b", "closed"];
    let mut editor = UndoingClient::new(&edits(&files), able(true), &files, 2);
    let turn = editor.starts("Go");
    for path in ["a", "b"] {
        editor.makes(path);
        editor.saves(path);
    }
    editor.ends(&turn);
    let undo = editor.undoes(&turn);
    editor.makes("a");
    let (request, _) = editor.told_to_edit("b");
    let no = json!({ "applied": false, "failureReason": "it is locked" });
    editor.client.reply(&request, no);
    editor.makes("a");
    let why = editor.refused(undo, "b");
    assert_eq!(why, ": the editor did not edit b: it is locked");
    assert_eq!(editor.files(), "a=new b=new closed=new");

    // The first cannot be put back either.
    let undo = editor.undoes(&turn);
    editor.makes("a");
    for path in ["b", "a"] {
        let (request, _) = editor.told_to_edit(path);
        editor.client.fail(&request, "busy");
    }
    let why = editor.refused(undo, "b");
    assert_eq!(
        why,
        ": the editor did not edit b: busy; \
         these files changed in the editor: a; undo them there"
    );
    assert_eq!(editor.files(), "a=new/old b=new closed=new");
}

#[test]
fn an_editor_may_end_the_last_line_of_what_it_saves() {
    let text = "one\nold";
    let files = ["a", "b"];
    let mut editor = UndoingClient::with(text, &edits(&files), able(true), &files, 2);
    let turn = editor.starts("Go");
    for path in files {
        editor.makes(path);
        editor.saves(path);
        editor.world.write(path, "one\nnew\n");
    }
    editor.ends(&turn);
    let undo = editor.undoes(&turn);
    editor.makes("a");
    let (request, _) = editor.told_to_edit("b");
    editor.client.reply(&request, json!({ "applied": false }));
    editor.makes("a");
    let why = editor.refused(undo, "b");
    assert_eq!(why, ": the editor did not edit b");
    let undo = editor.undoes(&turn);
    for path in files {
        editor.makes(path);
    }
    for path in files {
        editor.saves(path);
    }
    editor.undone(undo, &files);
    assert_eq!(editor.files(), "a=old b=old");
}

#[test]
fn an_edit_that_is_said_to_be_made_and_is_not_seen_is_not_believed() {
    let files = ["a", "closed"];
    let mut editor = UndoingClient::new(&edits(&files), able(false), &files, 1);
    let turn = editor.plays("Go", &["a"]);
    let undo = editor.undoes(&turn);
    let (request, _) = editor.told_to_edit("a");
    editor.client.reply(&request, json!({ "applied": true }));
    let why = editor.refused(undo, "a");
    assert_eq!(
        why,
        ": the editor did not confirm the edit of a; check it there"
    );
    assert_eq!(editor.files(), "a=old/new closed=new");
}

#[test]
fn other_messages_are_handled_while_the_editor_is_waited_for() {
    let files = ["a", "closed"];
    let mut editor = UndoingClient::new(&edits(&files), able(false), &files, 1);
    let turn = editor.plays("Go", &["a"]);
    let undo = editor.undoes(&turn);
    let (request, text) = editor.told_to_edit("a");
    assert_eq!(editor.world.read("closed"), "one\nnew\n", "not yet");
    let client = &mut editor.client;
    client.request("aside/prompt/pending", json!({}));
    let id = &turn["conversationId"];
    let start = json!({ "conversationId": id, "message": "Go" });
    let rename = json!({ "conversationId": id, "title": "x" });
    let again = json!({ "turnId": turn["turnId"] });
    for (method, params) in [
        ("aside/turn/start", start),
        ("aside/conversation/rename", rename),
        ("aside/turn/undo", again),
    ] {
        assert_eq!(client.refused(method, params).0, -32013, "{method}");
    }
    assert!(!client.is_answered(undo));
    editor.shows("a", &text);
    editor.client.reply(&request, json!({ "applied": true }));
    editor.undone(undo, &["a", "closed"]);
    assert_eq!(editor.files(), "a=old closed=old");
    // And a turn begins again.
    let params = json!({ "conversationId": turn["conversationId"], "message": "Other" });
    editor.client.request("aside/turn/start", params);
}

#[test]
fn an_undo_goes_on_to_its_end_where_the_request_is_taken_back() {
    let files = ["a", "closed"];
    let mut editor = UndoingClient::new(&edits(&files), able(false), &files, 1);
    let turn = editor.plays("Go", &["a"]);
    let undo = editor.undoes(&turn);
    let (request, text) = editor.told_to_edit("a");
    editor
        .client
        .notify("$/cancelRequest", json!({ "id": undo }));
    assert_eq!(editor.client.answer(undo)["error"]["code"], -32800);
    editor.shows("a", &text);
    editor.client.reply(&request, json!({ "applied": true }));
    // Until it is done the conversation is taken; then nothing is left to undo.
    let left = loop {
        let again = editor.undoes(&turn);
        let answer = editor.client.answer(again);
        match answer["error"]["code"].as_i64() {
            None => break answer["result"]["files"].clone(),
            code => assert_eq!(code, Some(-32013), "{answer}"),
        }
    };
    assert_eq!(left, json!([]));
    assert_eq!(editor.files(), "a=old closed=old");
    let files = json!(["a", "closed"]);
    assert_eq!(editor.world.log().one("undone")["files"], files);
}

#[test]
fn where_the_client_goes_meanwhile_nothing_is_left_half_done_on_disk() {
    for says_so in [false, true] {
        let files = ["a", "closed"];
        let mut editor = UndoingClient::new(&edits(&files), able(false), &files, 1);
        let turn = editor.plays("Go", &["a"]);
        editor.undoes(&turn);
        let (request, _) = editor.told_to_edit("a");
        if says_so {
            editor.client.reply(&request, json!({ "applied": true }));
        }
        let begin = Instant::now();
        editor.client.leave();
        // The editor would be waited for for 2 s.
        assert!(begin.elapsed() < Duration::from_millis(1500), "{says_so}");
        let names = fs::read_dir(editor.world.at("")).unwrap().count();
        let closed = editor.world.read("closed");
        assert_eq!((names, closed.as_str()), (2, "one\nnew\n"), "{says_so}");
        assert_eq!(editor.world.log().all("undone").len(), 0);
    }
}

#[test]
fn a_file_that_the_turn_made_goes_and_its_document_stays() {
    let script = "[[reply]]\nwhen = { step = 1 }\n\
                  say = [{ call = 'write_file', id = 'it', arguments = { path = 'a', content = \"one\\nnew\\n\" } }]\n\
                  [[reply]]\nsay = [{ text = 'Done.' }]";
    let mut editor = UndoingClient::new(script, able(true), &[], 0);
    let turn = editor.plays("Go", &[]);
    editor.opens("a");
    editor.shows("a", "one\nmine\n");
    let undo = editor.undoes(&turn);
    editor.refused(undo, "a");
    editor.shows("a", "one\nnew\n");
    let undo = editor.undoes(&turn);
    editor.undone(undo, &["a"]);
    assert_eq!(editor.files(), "");
    assert_eq!(editor.client.came("workspace/applyEdit"), 0);
}

#[test]
fn with_an_editor_that_makes_no_edits_what_is_saved_is_put_back_on_disk() {
    let able = json!({ "experimental": { "aside": { "version": 1, "prompt": true } } });
    let mut editor = UndoingClient::new(&edits(&["a"]), able, &["a"], 0);
    let turn = editor.plays("Go", &[]);
    editor.opens("a");
    editor.world.write("a", "one\nold\n");
    editor.shows("a", "one\nnew\n");
    let undo = editor.undoes(&turn);
    let why = editor.refused(undo, "a");
    assert_eq!(
        why,
        ", because these files are unsaved in an editor that does not support edits: a; save them there"
    );
    editor.world.write("a", "one\nnew\n");
    let undo = editor.undoes(&turn);
    editor.undone(undo, &["a"]);
    assert_eq!(editor.files(), "a=old/new", "the editor loads it again");
}

#[test]
fn positions_are_those_of_the_editor() {
    let mut able = able(false);
    able["general"]["positionEncodings"] = json!(["utf-16"]);
    let text = "one\n🦀🦀 old 𝄞 €\n";
    let mut editor = UndoingClient::with(text, &edits(&["a"]), able, &["a"], 1);
    let turn = editor.plays("Go", &["a"]);
    assert_eq!(editor.open["a"].1, text.replace("old", "new"));
    let undo = editor.undoes(&turn);
    editor.makes("a");
    editor.undone(undo, &["a"]);
    assert_eq!(editor.open["a"].1, text);
}
