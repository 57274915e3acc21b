//! Turns that are taken back while an editor has their files open.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::client::{Client, nobody, uri};
use crate::world::TestWorld;

/// A turn on the message `Go` that makes `old` to `new` in these files, one after another.
fn edits(paths: &[&str]) -> String {
    turn("Go", paths, "old", "new")
}

fn turn(user: &str, paths: &[&str], old: &str, new: &str) -> String {
    let mut script = String::new();
    let mut step = 0;
    let mut reply = |say: String| {
        step += 1;
        script +=
            &format!("[[reply]]\nwhen = {{ user = '{user}', step = {step} }}\nsay = [{say}]\n");
    };
    for path in paths {
        reply(format!(
            "{{ call = 'read_file', id = 'read {path}', arguments = {{ path = '{path}' }} }}"
        ));
        reply(format!(
            "{{ call = 'edit_file', id = 'edit {path}', arguments = \
             {{ path = '{path}', old_text = '{old}', new_text = '{new}' }} }}"
        ));
    }
    reply("{ text = 'Done.' }".into());
    script
}

/// What an editor that speaks the protocol can do.
fn able(save: bool) -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8", "utf-16"] },
        "workspace": { "applyEdit": true },
        "experimental": { "aside": { "version": 1, "prompt": true, "save": save } },
    })
}

/// An editor that makes the edits that it is told to make, from their positions.
struct UndoingClient {
    client: Client,
    world: TestWorld,
    /// The open documents: version and text.
    open: BTreeMap<&'static str, (i32, String)>,
    utf8: bool,
}

impl UndoingClient {
    /// A workspace with these files, each with the same text, and an editor that has the first `open` of them open.
    fn new(script: &str, capabilities: Value, files: &[&'static str], open: usize) -> Self {
        Self::with("one\nold\n", script, capabilities, files, open)
    }

    fn with(
        text: &str,
        script: &str,
        capabilities: Value,
        files: &[&'static str],
        open: usize,
    ) -> Self {
        let world = TestWorld::new();
        for path in files {
            world.write(path, text);
        }
        let encodings = &capabilities["general"]["positionEncodings"];
        let utf8 = encodings.as_array().is_some_and(|it| it[0] == "utf-8");
        let mut editor = Self {
            client: Client::start(&world, script, capabilities),
            world,
            open: BTreeMap::new(),
            utf8,
        };
        for path in &files[..open] {
            editor.opens(path);
        }
        editor
    }

    /// Opens a file as it is on disk.
    fn opens(&mut self, path: &'static str) {
        let text = self.world.read(path);
        let document = json!({ "uri": uri(&self.world, path), "languageId": "text", "version": 1, "text": text });
        self.client
            .notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.open.insert(path, (1, text));
    }

    /// A document has this text now.
    fn shows(&mut self, path: &str, text: &str) {
        let uri = uri(&self.world, path);
        let document = self.open.get_mut(path).unwrap();
        *document = (document.0 + 1, text.to_owned());
        let params = json!({
            "textDocument": { "uri": uri, "version": document.0 },
            "contentChanges": [{ "text": text }],
        });
        self.client.notify("textDocument/didChange", params);
    }

    /// Waits for an edit of a document. Returns the request, and the text that it makes.
    #[track_caller]
    fn told_to_edit(&mut self, path: &str) -> (Value, String) {
        let request = self.client.expect("workspace/applyEdit");
        let changes = request["params"]["edit"]["documentChanges"].as_array();
        let [change] = changes.unwrap().as_slice() else {
            panic!("several documents: {request}")
        };
        let (version, text) = &self.open[path];
        let document = json!({ "uri": uri(&self.world, path), "version": version });
        assert_eq!(change["textDocument"], document);
        let mut text = text.clone();
        for edit in change["edits"].as_array().unwrap().iter().rev() {
            let at = |place: &str| offset(&text, &edit["range"][place], self.utf8);
            let range = at("start")..at("end");
            text.replace_range(range, edit["newText"].as_str().unwrap());
        }
        (request, text)
    }

    /// Waits for an edit of a document and makes it.
    #[track_caller]
    fn makes(&mut self, path: &str) {
        let (request, text) = self.told_to_edit(path);
        self.shows(path, &text);
        self.client.reply(&request, json!({ "applied": true }));
    }

    /// Waits until it is told to save a document, and does.
    #[track_caller]
    fn saves(&mut self, path: &str) {
        let request = self.client.expect("aside/document/save");
        let uri = uri(&self.world, path);
        assert_eq!(request["params"], json!({ "uri": uri }));
        self.world.write(path, &self.open[path].1);
        let saved = json!({ "textDocument": { "uri": uri } });
        self.client.notify("textDocument/didSave", saved);
        self.client.reply(&request, json!({}));
    }

    /// Starts a turn.
    fn starts(&mut self, prompt: &str) -> Value {
        let params = json!({ "message": prompt, "mode": "edits" });
        self.client.turn(params)
    }

    /// A turn that changes these open documents.
    #[track_caller]
    fn plays(&mut self, prompt: &str, open: &[&str]) -> Value {
        let turn = self.starts(prompt);
        for path in open {
            self.makes(path);
        }
        self.ends(&turn);
        turn
    }

    #[track_caller]
    fn ends(&mut self, turn: &Value) {
        let (_, end) = self.client.play(turn, nobody);
        assert_eq!(end["outcome"], "completed", "{end}");
    }

    /// Asks for the undo of a turn.
    fn undoes(&mut self, turn: &Value) -> u64 {
        let params = json!({ "turnId": turn["turnId"] });
        self.client.ask("aside/turn/undo", params)
    }

    /// The undo is answered with these files.
    #[track_caller]
    fn undone(&mut self, id: u64, files: &[&str]) {
        let files: Vec<String> = files.iter().map(|path| uri(&self.world, path)).collect();
        let expected = json!({ "files": files, "untracked": false });
        assert_eq!(self.client.result(id), expected);
    }

    /// The undo is refused for this file; the editor was told of nothing more, and nothing is on record. Returns why.
    #[track_caller]
    fn refused(&mut self, id: u64, path: &str) -> String {
        let error = self.client.answer(id)["error"].clone();
        assert_eq!(error["code"], -32017, "{error}");
        let conflicts = json!({ "conflicts": [uri(&self.world, path)] });
        assert_eq!(error["data"], conflicts);
        assert_eq!(self.client.came("workspace/applyEdit"), 0);
        assert_eq!(self.world.log().all("undone").len(), 0);
        let message = error["message"].as_str().unwrap();
        message
            .strip_prefix("turn 1 was not undone")
            .unwrap()
            .into()
    }

    /// Each file: what is on disk, and what is in the editor if that is something else.
    fn files(&self) -> String {
        let mut names: Vec<String> = fs::read_dir(self.world.at(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let second = |text: &str| text.lines().nth(1).unwrap_or("nothing").to_owned();
        let file = |name: &String| {
            let disk = second(&self.world.read(name));
            match self.open.get(name.as_str()) {
                Some((_, text)) if second(text) != disk => {
                    format!("{name}={disk}/{}", second(text))
                }
                _ => format!("{name}={disk}"),
            }
        };
        names.iter().map(file).collect::<Vec<_>>().join(" ")
    }
}

/// The byte of a position.
fn offset(text: &str, position: &Value, utf8: bool) -> usize {
    let number = |field: &str| usize::try_from(position[field].as_u64().unwrap()).unwrap();
    let before: usize = text
        .split_inclusive('\n')
        .take(number("line"))
        .map(str::len)
        .sum();
    let (mut at, mut left) = (before, number("character"));
    let mut letters = text[before..].chars();
    while left > 0 {
        let letter = letters.next().unwrap();
        at += letter.len_utf8();
        left -= if utf8 {
            letter.len_utf8()
        } else {
            letter.len_utf16()
        };
    }
    at
}

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
        why.starts_with(", as these files were changed since: a;"),
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
    editor.shows("b", "one\nnew\nmine\n");
    let undo = editor.undoes(&turn);
    let why = editor.refused(undo, "b");
    assert_eq!(
        why,
        ", as these files were changed since: b; put them back yourself, or undo later turns first"
    );
    // Changed behind the editor.
    editor.shows("b", "one\nnew\n");
    editor.world.write("b", "one\nmine\n");
    let undo = editor.undoes(&turn);
    let why = editor.refused(undo, "b");
    assert_eq!(
        why,
        ", as these files have another text on disk than in the editor, which is not the turn's: b; \
         save them there, or load them again"
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
    assert_eq!(why, ": the editor did not make the edit of b: it is locked");
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
        ": the editor did not make the edit of b: busy; \
         in the editor these are not as they were: a; put them back there with its own undo"
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
    assert_eq!(why, ": the editor did not make the edit of b");
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
        ": the editor did not confirm the edit of a; look at it there"
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
        ", as these files are not saved in an editor that cannot be told to change them: a; save them there"
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
