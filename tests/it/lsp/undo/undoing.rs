//! An editor that makes the edits that it is told to make, and asks for turns to be taken back.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use crate::{
    lsp::client::{Client, nobody, uri},
    world::TestWorld,
};

/// A turn on the message `Go` that makes `old` to `new` in these files, one after another.
pub(super) fn edits(paths: &[&str]) -> String {
    turn("Go", paths, "old", "new")
}

pub(super) fn turn(user: &str, paths: &[&str], old: &str, new: &str) -> String {
    let mut says = Vec::new();
    for path in paths {
        says.push(format!("read_file read_{path} {{ path = '{path}' }}"));
        says.push(format!(
            "edit_file edit_{path} {{ path = '{path}', old_text = '{old}', new_text = '{new}' }}"
        ));
    }
    says.push("'Done.'".to_owned());
    let says = (1..).zip(says);
    says.map(|(step, says)| format!("{{ user = '{user}', step = {step} }} => {says}\n"))
        .collect()
}

/// What an editor that speaks the protocol can do.
pub(super) fn able(save: bool) -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8", "utf-16"] },
        "workspace": { "applyEdit": true },
        "experimental": { "aside": { "version": 1, "prompt": true, "save": save } },
    })
}

/// An editor that makes the edits that it is told to make, from their positions.
pub(super) struct UndoingClient {
    pub(super) client: Client,
    pub(super) world: TestWorld,
    /// The open documents: version and text.
    pub(super) open: BTreeMap<&'static str, (i32, String)>,
    utf8: bool,
}

impl UndoingClient {
    /// A workspace with these files, each with the same text, and an editor that has the first `open` of them open.
    pub(super) fn new(
        script: &str,
        capabilities: Value,
        files: &[&'static str],
        open: usize,
    ) -> Self {
        Self::with("one\nold\n", script, capabilities, files, open)
    }

    pub(super) fn with(
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
    pub(super) fn opens(&mut self, path: &'static str) {
        let text = self.world.read(path);
        let document = json!({ "uri": uri(&self.world, path), "languageId": "text", "version": 1, "text": text });
        self.client
            .notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.open.insert(path, (1, text));
    }

    /// A document has this text now.
    pub(super) fn shows(&mut self, path: &str, text: &str) {
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
    pub(super) fn told_to_edit(&mut self, path: &str) -> (Value, String) {
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
    pub(super) fn makes(&mut self, path: &str) {
        let (request, text) = self.told_to_edit(path);
        self.shows(path, &text);
        self.client.reply(&request, json!({ "applied": true }));
    }

    /// Waits until it is told to save a document, and does.
    #[track_caller]
    pub(super) fn saves(&mut self, path: &str) {
        let request = self.client.expect("aside/document/save");
        let uri = uri(&self.world, path);
        assert_eq!(request["params"], json!({ "uri": uri }));
        self.world.write(path, &self.open[path].1);
        let saved = json!({ "textDocument": { "uri": uri } });
        self.client.notify("textDocument/didSave", saved);
        self.client.reply(&request, json!({}));
    }

    /// Starts a turn.
    pub(super) fn starts(&mut self, prompt: &str) -> Value {
        let params = json!({ "message": prompt, "mode": "edits" });
        self.client.turn(params)
    }

    /// A turn that changes these open documents.
    #[track_caller]
    pub(super) fn plays(&mut self, prompt: &str, open: &[&str]) -> Value {
        let turn = self.starts(prompt);
        for path in open {
            self.makes(path);
        }
        self.ends(&turn);
        turn
    }

    #[track_caller]
    pub(super) fn ends(&mut self, turn: &Value) {
        let (_, end) = self.client.play(turn, nobody);
        assert_eq!(end["outcome"], "completed", "{end}");
    }

    /// Asks for the undo of a turn.
    pub(super) fn undoes(&mut self, turn: &Value) -> u64 {
        let params = json!({ "turnId": turn["turnId"] });
        self.client.ask("aside/turn/undo", params)
    }

    /// The undo is answered with these files.
    #[track_caller]
    pub(super) fn undone(&mut self, id: u64, files: &[&str]) {
        let files: Vec<String> = files.iter().map(|path| uri(&self.world, path)).collect();
        let expected = json!({ "files": files, "untracked": false });
        assert_eq!(self.client.result(id), expected);
    }

    /// The undo is refused for this file; the editor was told of nothing more, and nothing is on record. Returns why.
    #[track_caller]
    pub(super) fn refused(&mut self, id: u64, path: &str) -> String {
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
    pub(super) fn files(&self) -> String {
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
