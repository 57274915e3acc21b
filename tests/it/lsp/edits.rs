//! Files that are open in the editor: read as they stand there, and changed there.

use serde_json::{Value, json};

use super::client::{Client, uri};
use crate::world::TestWorld;

/// What was there before, and what the model makes of it.
const OLD: &str = "one\ntwo\n";
const NEW: &str = "one\n2\n";

/// The model reads `a.txt` and puts `2` in the place of `two`.
const EDITS: &str = r#"
    read_file read { path = "a.txt" }
    edit_file edit { path = "a.txt", old_text = "two", new_text = "2" }
    "Done."
"#;

/// The model calls one tool.
fn calls(tool: &str, arguments: &str) -> String {
    format!("{tool} {tool} {arguments}\n'Done.'")
}

/// An editor with a workspace in which there is `a.txt`.
struct EditingClient {
    client: Client,
    world: TestWorld,
    uri: String,
}

impl EditingClient {
    fn new(script: &str, save: bool) -> Self {
        let world = TestWorld::new();
        world.write("a.txt", OLD);
        let capabilities = json!({
            "workspace": { "applyEdit": true },
            "experimental": { "aside": { "version": 1, "prompt": true, "save": save } },
        });
        let client = Client::start(&world, script, capabilities);
        Self {
            client,
            uri: uri(&world, "a.txt"),
            world,
        }
    }

    fn open(&mut self, path: &str, text: &str) {
        let document = json!({ "uri": uri(&self.world, path), "languageId": "text", "version": 1, "text": text });
        self.client
            .notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// `a.txt` has this text now.
    fn shows(&mut self, version: i32, text: &str) {
        let params = json!({
            "textDocument": { "uri": self.uri, "version": version },
            "contentChanges": [{ "text": text }],
        });
        self.client.notify("textDocument/didChange", params);
    }

    fn start(&mut self, mode: &str) {
        let params = json!({ "message": "Go", "mode": mode });
        self.client.request("aside/turn/start", params);
    }

    /// Waits for a prompt and says yes, once.
    #[track_caller]
    fn allow(&mut self) -> Value {
        let prompt = self.client.expect("aside/prompt");
        let yes = json!({ "action": "answer", "answer": "once" });
        self.client.reply(&prompt, yes);
        prompt["params"].clone()
    }

    /// Waits for a prompt and says no.
    #[track_caller]
    fn declined(&mut self) -> Value {
        let prompt = self.client.expect("aside/prompt");
        let no = json!({ "action": "answer", "answer": "no" });
        self.client.reply(&prompt, no);
        prompt["params"].clone()
    }

    /// Waits for an edit, checks that it makes `two` to `2` in this version, and does so.
    #[track_caller]
    fn applies(&mut self, version: i32, text: &str) {
        let request = self.client.expect("workspace/applyEdit");
        let edit = json!({
            "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 3 } },
            "newText": "2",
        });
        let document = json!({ "uri": self.uri, "version": version });
        let changes = json!([{ "textDocument": document, "edits": [edit] }]);
        assert_eq!(
            request["params"]["edit"],
            json!({ "documentChanges": changes })
        );
        self.shows(version + 1, text);
        self.client.reply(&request, json!({ "applied": true }));
    }

    /// Waits for the end of the turn. Returns what the model was told of the call.
    #[track_caller]
    fn told(&mut self, call: &str) -> String {
        let end = self.client.completed();
        assert_eq!(end["outcome"], "completed", "{end}");
        self.world.log().told(call).to_owned()
    }
}

#[test]
fn an_edit_of_what_the_user_did_not_save_asks_and_says_why() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", OLD);
    let typed = "one\ntwo\nmine\n";
    editor.shows(2, typed);
    editor.start("edits");
    let prompt = editor.allow();
    assert_eq!(
        prompt["context"],
        "a.txt has changes in the editor that are not saved"
    );
    let after = "one\n2\nmine\n";
    let diff =
        json!({ "kind": "diff", "uri": editor.uri, "version": 2, "old": typed, "new": after });
    assert_eq!(prompt["preview"], diff);
    editor.applies(2, after);
    assert_eq!(
        editor.client.update("edit")["changes"][0]["uri"],
        editor.uri
    );
    assert_eq!(
        editor.told("edit"),
        "Changed `a.txt`.\nIt is not saved in the editor: it has changes of the user's that are not saved."
    );
    assert_eq!(editor.world.read("a.txt"), OLD);
    let log = editor.world.log();
    assert_eq!(log.one("edit")["path"], "a.txt");
}

#[test]
fn what_was_unsaved_when_it_was_opened_is_the_users_too() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", "one\ntwo\nof yesterday\n");
    editor.start("edits");
    let prompt = editor.allow();
    assert_eq!(prompt["preview"]["version"], 1);
    editor.applies(1, "one\n2\nof yesterday\n");
    assert!(editor.told("edit").contains("not saved in the editor"));
}

#[test]
fn an_open_file_without_changes_is_changed_in_the_editor_and_saved() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", OLD);
    editor.start("edits");
    editor.applies(1, NEW);
    let save = editor.client.expect("aside/document/save");
    assert_eq!(save["params"], json!({ "uri": editor.uri }));
    assert_eq!(editor.world.read("a.txt"), OLD, "the editor writes it");
    editor.world.write("a.txt", NEW);
    let saved = json!({ "textDocument": { "uri": editor.uri } });
    editor.client.notify("textDocument/didSave", saved);
    editor.client.reply(&save, json!({}));
    assert_eq!(
        editor.client.update("edit")["changes"][0]["uri"],
        editor.uri
    );
    assert_eq!(editor.told("edit"), "Changed `a.txt`.");
}

#[test]
fn an_editor_that_formats_when_it_saves_is_noticed() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", OLD);
    editor.start("edits");
    editor.applies(1, NEW);
    let save = editor.client.expect("aside/document/save");
    editor.shows(3, "one\n2\n\n");
    // An answer that comes after what was sent before it.
    editor.client.request("aside/prompt/pending", json!({}));
    editor.client.reply(&save, json!({}));
    assert_eq!(
        editor.told("edit"),
        "Changed `a.txt`.\nThe editor changed it when it saved it; read the file again before you change it."
    );
}

#[test]
fn an_editor_that_cannot_be_told_to_save_is_not_asked_about_the_tools_own_changes() {
    let script = r#"
        read_file read { path = "a.txt" }
        edit_file edit { path = "a.txt", old_text = "two", new_text = "2" }
        edit_file again { path = "a.txt", old_text = "2", new_text = "two" }
        run_command run { command = "cat a.txt" }
        "Done."
    "#;
    let mut editor = EditingClient::new(script, false);
    editor.open("a.txt", OLD);
    editor.start("edits");
    editor.applies(1, NEW);
    let request = editor.client.expect("workspace/applyEdit");
    editor.shows(3, "one\ntwo\n!\n");
    editor.client.reply(&request, json!({ "applied": false }));
    let prompt = editor.allow();
    assert_eq!(prompt["tool"]["name"], "run_command");
    let told = editor.told("edit");
    assert_eq!(
        told,
        "Changed `a.txt`.\nIt is not saved in the editor: this editor cannot be told to save."
    );
    let log = editor.world.log();
    assert_eq!(log.told("again"), "`a.txt`: the editor refused the edit.");
    let run = log.told("run");
    assert!(run.starts_with("Unsaved in the editor: a.txt\n"), "{run}");
    assert!(run.ends_with("two"), "the command sees the file: {run}");
}

#[test]
fn a_file_that_is_not_open_is_changed_on_disk() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("b.txt", OLD);
    editor.start("edits");
    assert_eq!(editor.told("edit"), "Changed `a.txt`.");
    assert_eq!(editor.world.read("a.txt"), NEW);
}

#[test]
fn a_file_that_was_closed_again_is_changed_on_disk() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", "other\n");
    let closed = json!({ "textDocument": { "uri": editor.uri } });
    editor.client.notify("textDocument/didClose", closed);
    editor.start("edits");
    assert_eq!(editor.told("edit"), "Changed `a.txt`.");
    assert_eq!(editor.world.read("a.txt"), NEW);
}

#[test]
fn an_edit_that_the_editor_refuses_is_an_error() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", OLD);
    editor.start("edits");
    let request = editor.client.expect("workspace/applyEdit");
    let no = json!({ "applied": false, "failureReason": "it is locked" });
    editor.client.reply(&request, no);
    assert_eq!(
        editor.told("edit"),
        "`a.txt`: the editor refused the edit: it is locked."
    );
    assert_eq!(editor.world.read("a.txt"), OLD);
}

#[test]
fn an_edit_that_is_not_seen_is_not_believed() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", OLD);
    editor.start("edits");
    let request = editor.client.expect("workspace/applyEdit");
    editor.client.reply(&request, json!({ "applied": true }));
    assert_eq!(
        editor.told("edit"),
        "`a.txt`: the editor did not confirm the edit; read the file again."
    );
}

#[test]
fn an_approval_is_for_the_text_that_was_shown() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", OLD);
    editor.shows(2, "two\n");
    editor.shows(3, OLD);
    editor.start("ask");
    let prompt = editor.client.expect("aside/prompt");
    assert_eq!(prompt["params"]["preview"]["version"], 3);
    editor.shows(4, "one\ntwo or three\n");
    let yes = json!({ "action": "answer", "answer": "once" });
    editor.client.reply(&prompt, yes);
    let told = editor.told("edit");
    assert!(
        told.starts_with("What this call would do changed"),
        "{told}"
    );
}

#[test]
fn what_the_user_types_in_other_lines_is_in_no_edits_way() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", OLD);
    editor.start("ask");
    let prompt = editor.client.expect("aside/prompt");
    editor.shows(2, "one\ntwo\nthree\n");
    let yes = json!({ "action": "answer", "answer": "once" });
    editor.client.reply(&prompt, yes);
    // Typed before the editor made the edit: it refuses, and is told of the same edit in the text as it is now.
    let request = editor.client.expect("workspace/applyEdit");
    editor.shows(3, "one\ntwo\nthree\nfour\n");
    let no = json!({ "applied": false, "failureReason": "it was changed meanwhile" });
    editor.client.reply(&request, no);
    // Told of together with what was typed next.
    editor.applies(3, "one\n2\nthree\nfour\nfive\n");
    let told = editor.told("edit");
    assert!(
        told.starts_with("Changed `a.txt`.\nThe user types in it"),
        "{told}"
    );
    assert_eq!(
        editor.world.read("a.txt"),
        OLD,
        "nothing is saved that the user types"
    );
}

#[test]
fn a_file_that_the_user_changed_elsewhere_since_it_was_read_is_edited() {
    let mut editor = EditingClient::new(EDITS, true);
    editor.open("a.txt", OLD);
    editor.start("ask");
    let prompt = editor.client.expect("aside/prompt");
    editor.shows(2, "zero\none\ntwo\n");
    let yes = json!({ "action": "answer", "answer": "once" });
    editor.client.reply(&prompt, yes);
    let request = editor.client.expect("workspace/applyEdit");
    editor.shows(3, "zero\none\n2\n");
    editor.client.reply(&request, json!({ "applied": true }));
    let told = editor.told("edit");
    assert!(told.starts_with("Changed `a.txt`."), "{told}");
}

#[test]
fn tools_read_what_stands_in_the_editor() {
    let script = r#"
        read_file read { path = "a.txt" }
        + read_file new { path = "new.txt" }
        + search search { pattern = "unsaved|two" }
        "Done."
    "#;
    let mut editor = EditingClient::new(script, true);
    editor.open("a.txt", OLD);
    editor.shows(2, "one\nunsaved\n");
    editor.open("new.txt", "unsaved, too\n");
    editor.start("ask");
    assert_eq!(editor.told("read"), "one\nunsaved\n");
    let log = editor.world.log();
    assert_eq!(log.told("new"), "unsaved, too\n");
    assert_eq!(
        log.told("search"),
        "a.txt:2:unsaved\nnew.txt:1:unsaved, too\n"
    );
}

#[test]
fn what_stands_in_the_editor_is_no_way_round_the_gate() {
    let mut editor = EditingClient::new(&calls("read_file", r#"{ path = ".env" }"#), true);
    editor.open(".env", "KEY=1\n");
    editor.start("edits");
    let prompt = editor.allow();
    assert_eq!(prompt["context"], ".env may hold secrets");
    assert_eq!(editor.told("read_file"), "KEY=1\n");

    let write = calls("write_file", r#"{ path = ".git/config", content = "" }"#);
    let mut editor = EditingClient::new(&write, true);
    editor.start("edits");
    let prompt = editor.declined();
    assert_eq!(prompt["context"], ".git/config can make Git run commands");

    let write = calls("write_file", r#"{ path = "aside.toml", content = "" }"#);
    let mut editor = EditingClient::new(&write, true);
    editor.open("aside.toml", "mine\n");
    editor.start("edits");
    assert!(editor.told("write_file").contains("is protected"));
}

#[test]
fn a_command_is_told_of_unsaved_files_of_the_workspace() {
    let mut editor =
        EditingClient::new(&calls("run_command", r#"{ command = "cat a.txt" }"#), true);
    editor.open("a.txt", OLD);
    editor.shows(2, "typed\n");
    editor.open("../outside.txt", "typed\n");
    editor.open("sub.txt", "typed\n");
    editor.start("ask");
    let prompt = editor.allow();
    let context = prompt["context"].as_str().unwrap();
    assert!(
        context.ends_with("\nUnsaved in the editor: a.txt, sub.txt"),
        "no rule is suggested for what may read anything: {context}"
    );
    let told = editor.told("run_command");
    assert!(
        told.starts_with("Unsaved in the editor: a.txt, sub.txt\n"),
        "{told}"
    );
    assert!(told.ends_with("one\ntwo"), "{told}");
}

#[test]
fn an_editor_that_does_not_apply_edits_is_not_told_to() {
    let world = TestWorld::new();
    world.write("a.txt", OLD);
    let capabilities = json!({ "experimental": { "aside": { "version": 1, "prompt": true } } });
    let mut editor = EditingClient {
        client: Client::start(&world, EDITS, capabilities),
        uri: uri(&world, "a.txt"),
        world,
    };
    editor.open("a.txt", OLD);
    editor.start("edits");
    assert_eq!(
        editor.told("edit"),
        "`a.txt`: it is open in an editor that cannot be told to change it; ask the user to close it there."
    );
}
