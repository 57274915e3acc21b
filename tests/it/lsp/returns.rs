//! Carriage returns within lines, in editors that count `\n` alone, in one of which nothing is known, and in one file of two
//! names.

use std::collections::HashMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::client::{Client, initialize, uri};
use crate::world::TestWorld;

/// Edits that are played; `ASIDE_FUZZ=10` plays ten times as many, others each time.
const EDITS: usize = 60;

/// An editor that counts `\n` alone, and tells of each change at its place.
struct NewlineEditor {
    client: Client,
    world: TestWorld,
    /// Text and version by URI.
    open: HashMap<String, (String, i32)>,
    /// It writes carriage returns of an edit as line ends, as Neovim itself does.
    drops_returns: bool,
}

/// The byte of a position in a text whose lines end at `\n` alone.
fn byte(text: &str, place: &Value) -> usize {
    let line = usize::try_from(place["line"].as_u64().unwrap()).unwrap();
    let mut lines = text.split_inclusive('\n');
    let start: usize = lines.by_ref().take(line).map(str::len).sum();
    let mut units = place["character"].as_u64().unwrap();
    let rest = text[start..].split('\n').next().unwrap();
    let mut at = start;
    for letter in rest.chars() {
        let wide = letter.len_utf16() as u64;
        if units < wide {
            break;
        }
        units -= wide;
        at += letter.len_utf8();
    }
    at
}

impl NewlineEditor {
    fn start(name: &str, speaks_aside: bool, world: TestWorld, script: &str) -> Self {
        let mut capabilities = json!({
            "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
        });
        if speaks_aside {
            capabilities["experimental"] =
                json!({ "aside": { "version": 1, "prompt": true, "save": true } });
        }
        let model = world.script(script);
        world.user_config(&format!(
            "assistant.model = '{model}'\nconversation.mode = 'edits'\n"
        ));
        world.aside(&["trust", "--yes"]).exits(0);
        let mut params = initialize(&world, capabilities, json!({}));
        params["clientInfo"] = json!({ "name": name });
        let mut client = Client::spawn(&world);
        client.request("initialize", params);
        client.notify("initialized", json!({}));
        Self {
            client,
            world,
            open: HashMap::new(),
            drops_returns: !speaks_aside && name == "Neovim",
        }
    }

    fn open(&mut self, path: &str, text: &str) {
        let uri = uri(&self.world, path);
        let document = json!({ "uri": uri, "languageId": "text", "version": 1, "text": text });
        self.client
            .notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.open.insert(uri, (text.to_owned(), 1));
    }

    /// Makes changes of its own or of the server, and tells of each at its place.
    fn change(&mut self, uri: &str, edits: &[Value]) {
        let (text, version) = self.open.get_mut(uri).unwrap();
        let mut changes = Vec::new();
        for edit in edits.iter().rev() {
            let mut new = edit["newText"].as_str().unwrap().to_owned();
            if self.drops_returns {
                new = new.replace("\r\n", "\n").replace('\r', "\n");
            }
            let range = &edit["range"];
            let span = byte(text, &range["start"])..byte(text, &range["end"]);
            text.replace_range(span, &new);
            changes.push(json!({ "range": range, "text": new }));
        }
        *version += 1;
        let document = json!({ "uri": uri, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.client.notify("textDocument/didChange", params);
    }

    /// Plays a turn to its end, and does what it is told.
    fn turn(&mut self) {
        self.client
            .request("aside/turn/start", json!({ "message": "Go" }));
        loop {
            let message = self.client.next("a message of the turn", |_| true);
            match message["method"].as_str().unwrap_or_default() {
                "workspace/applyEdit" => {
                    let change = &message["params"]["edit"]["documentChanges"][0];
                    let uri = change["textDocument"]["uri"].as_str().unwrap().to_owned();
                    let edits = change["edits"].as_array().unwrap().clone();
                    self.change(&uri, &edits);
                    self.client.reply(&message, json!({ "applied": true }));
                }
                "aside/document/save" => {
                    let uri = message["params"]["uri"].as_str().unwrap().to_owned();
                    let path = uri.strip_prefix("file://").unwrap();
                    std::fs::write(path, &self.open[&uri].0).unwrap();
                    let saved = json!({ "textDocument": { "uri": uri } });
                    self.client.notify("textDocument/didSave", saved);
                    self.client.reply(&message, json!({}));
                }
                "aside/turn/completed" => return,
                "aside/prompt" => panic!("somebody was asked: {message}"),
                _ if message["id"].is_null() => {}
                _ => self.client.reply(&message, Value::Null),
            }
        }
    }
}

fn edit(id: &str, path: &str, old: &str, new: &str) -> String {
    let (path, old, new) = (json!(path), json!(old), json!(new));
    format!("edit_file {id} {{ path = {path}, old_text = {old}, new_text = {new} }}\n")
}

const LOG: &str = "progress 1%\rprogress 100%\nalpha\nbeta\ngamma\n";

#[test]
fn an_edit_below_a_carriage_return_changes_the_line_that_was_named() {
    for name in ["Neovim", "helix"] {
        let world = TestWorld::new();
        world.write("log.txt", LOG);
        let script = format!(
            "read_file read {{ path = \"log.txt\" }}\n{}'Done.'",
            edit("edit", "log.txt", "beta", "BETA")
        );
        let mut editor = NewlineEditor::start(name, true, world, &script);
        editor.open("log.txt", LOG);
        editor.turn();
        assert_eq!(editor.world.read("log.txt"), LOG.replace("beta", "BETA"));
        assert_eq!(editor.world.log().told("edit"), "Changed `log.txt`.");
    }
}

#[test]
fn what_is_typed_below_a_carriage_return_is_read_where_it_stands() {
    let world = TestWorld::new();
    world.write("log.txt", LOG);
    let script = "read_file read { path = \"log.txt\" }\n'Done.'";
    let mut editor = NewlineEditor::start("Neovim", true, world, script);
    editor.open("log.txt", LOG);
    let uri = uri(&editor.world, "log.txt");
    let place = json!({ "line": 2, "character": 4 });
    let typed = json!({ "range": { "start": place, "end": place }, "newText": "xyz" });
    editor.change(&uri, &[typed]);
    editor.turn();
    let read = LOG.replace("beta", "betaxyz");
    assert_eq!(editor.world.log().told("read"), read);
}

#[test]
fn an_editor_of_which_nothing_is_known_is_told_no_place() {
    let world = TestWorld::new();
    world.write("log.txt", LOG);
    let script = format!(
        "read_file read {{ path = \"log.txt\" }}\n{}'Done.'",
        edit("edit", "log.txt", "beta", "BETA")
    );
    let mut editor = NewlineEditor::start("Some editor", true, world, &script);
    editor.open("log.txt", LOG);
    editor.turn();
    assert_eq!(editor.world.read("log.txt"), LOG);
    assert_eq!(
        editor.world.log().told("edit"),
        "`log.txt`: it has carriage returns within lines, and it is not known how the editor counts those; ask the user to close it there."
    );
}

#[test]
fn an_editor_that_would_write_other_line_ends_is_not_told_to() {
    let mixed = "a\r\nb\nc\r\nd\r\n";
    for (speaks_aside, after) in [(true, "a\r\nb\nc1\r\nc2\r\nd\r\n"), (false, mixed)] {
        let world = TestWorld::new();
        world.write("f.txt", mixed);
        let script = format!(
            "read_file read {{ path = \"f.txt\" }}\n{}'Done.'",
            edit("edit", "f.txt", "c", "c1\nc2")
        );
        let mut editor = NewlineEditor::start("Neovim", speaks_aside, world, &script);
        editor.open("f.txt", mixed);
        if speaks_aside {
            editor.turn();
            assert_eq!(editor.world.read("f.txt"), after);
            continue;
        }
        let ask = json!({ "command": "aside.server.ask", "arguments": [{ "message": "Go" }] });
        editor.client.request("workspace/executeCommand", ask);
        let shown = editor.client.next("the end", |it| {
            it["method"] == "window/showMessage" && it.to_string().contains("Done.")
        });
        assert!(shown["params"]["message"].is_string());
        let open = &editor.open[&uri(&editor.world, "f.txt")].0;
        assert_eq!(
            (open.as_str(), editor.world.read("f.txt").as_str()),
            (after, after)
        );
        let told = editor.world.log().told("edit").to_owned();
        assert!(
            told.contains("the editor would write other line ends"),
            "{told}"
        );
    }
}

/// The unsaved text of one name counts before the clean text of the other, in each order.
#[test]
fn of_two_names_of_a_file_the_unsaved_text_counts() {
    for unsaved_first in [true, false] {
        let world = TestWorld::new();
        world.write("real.txt", "alpha\nbeta\n");
        std::os::unix::fs::symlink("real.txt", world.at("link.txt")).unwrap();
        let script = "read_file read { path = \"real.txt\" }\n'Done.'";
        let mut editor = NewlineEditor::start("Neovim", true, world, script);
        let names = ["real.txt", "link.txt"];
        names
            .iter()
            .for_each(|name| editor.open(name, "alpha\nbeta\n"));
        let typed = names[usize::from(!unsaved_first)];
        let place = json!({ "line": 2, "character": 0 });
        let edit = json!({ "range": { "start": place, "end": place }, "newText": "unsaved\n" });
        let uri = uri(&editor.world, typed);
        editor.change(&uri, &[edit]);
        editor.turn();
        assert_eq!(editor.world.log().told("read"), "alpha\nbeta\nunsaved\n");
    }
}

/// A command changed an open file that nobody changed in the editor, which still shows the old text.
#[test]
fn a_file_that_is_newer_than_its_document_counts() {
    let world = TestWorld::new();
    world.write("f.txt", "alpha\nbeta\n");
    let script = format!(
        "read_file read {{ path = \"f.txt\" }}\nread_file again {{ path = \"f.txt\" }}\n{}'Done.'",
        edit("edit", "f.txt", "changed", "again")
    );
    let mut editor = NewlineEditor::start("Neovim", true, world, &script);
    editor.open("f.txt", "alpha\nbeta\n");
    // The server has read the file as the document was opened.
    editor.client.request("aside/prompt/pending", json!({}));
    editor.world.write("f.txt", "changed\nbeta\n");
    editor.turn();
    let log = editor.world.log();
    assert_eq!(
        log.told("read"),
        "changed\nbeta\n[the editor still shows an older text of this file]"
    );
    assert_eq!(log.told("edit"), "Changed `f.txt`.");
    assert_eq!(editor.world.read("f.txt"), "again\nbeta\n");
}

/// Random edits of random files that are open in an editor that counts `\n` alone, against the files on disk.
#[test]
fn fuzzed_edits_land_where_they_were_named() {
    let times = std::env::var("ASIDE_FUZZ").ok();
    let times: Option<usize> = times.map(|times| times.parse().expect("a number"));
    let mut random = times.map_or_else(|| Rng::with_seed(6), |_| Rng::new());
    let pieces = ["a", "bc", "é", "𝄞", "\u{2028}", "\u{c}", "1%\r2%", "\t"];
    let words = |random: &mut Rng| -> String {
        let count = random.usize(0..3);
        (0..count)
            .map(|_| pieces[random.usize(..pieces.len())])
            .collect()
    };
    for _ in 0..times.unwrap_or(1) {
        let world = TestWorld::new();
        let (mut script, mut files) = (String::new(), Vec::new());
        let mut edits = String::new();
        for case in 0..EDITS {
            let wide = random.bool();
            let mut text = String::new();
            for line in 0..random.usize(2..7) {
                let end = match wide {
                    _ if random.u8(..4) == 0 => "\n",
                    true => "\r\n",
                    false => "\n",
                };
                text += &format!("{}{line}{end}", words(&mut random));
            }
            // A line that occurs once, in which something is put in place of the word.
            text += &format!("named{case}\n");
            text += &words(&mut random);
            text += "end\n";
            let new = format!("{}.\n{}.", words(&mut random), words(&mut random));
            let path = format!("f{case}.txt");
            world.write(&path, &text);
            let lead = if case == 0 { "" } else { "+ " };
            script += &format!("{lead}read_file read{case} {{ path = \"{path}\" }}\n");
            edits += lead;
            edits += &edit(&format!("edit{case}"), &path, &format!("named{case}"), &new);
            files.push((path, text, new));
        }
        script += &edits;
        script += "'Done.'";
        let mut editor = NewlineEditor::start("Neovim", true, world, &script);
        for (path, text, _) in &files {
            editor.open(path, text);
        }
        editor.turn();
        for (case, (path, text, new)) in files.iter().enumerate() {
            let now = editor.world.read(path);
            let (before, after) = text.split_once(&format!("named{case}")).unwrap();
            let within = now
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after));
            let within = within.unwrap_or_else(|| panic!("{text:?} became {now:?}"));
            assert_eq!(
                within.replace("\r\n", "\n"),
                *new,
                "{text:?} became {now:?}"
            );
            let open = &editor.open[&uri(&editor.world, path)].0;
            assert_eq!(*open, now, "the buffer is the file");
        }
    }
}
