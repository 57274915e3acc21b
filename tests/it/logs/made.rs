//! How the conversations came about: with the program, in a world of their own.

pub(super) mod changed;
pub(super) mod model;
pub(super) mod permission;
pub(super) mod plain;
pub(super) mod question;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::lines::{Log, shortened};
use crate::{
    asker::Asker,
    lsp::client::{Client, initialize, prompts},
    world::{ProgramResult, TestWorld},
};

/// A conversation in the making.
pub(super) struct Making {
    pub(super) world: TestWorld,
    files: BTreeMap<&'static str, String>,
    script: String,
}

impl Making {
    /// Makes a conversation.
    pub(super) fn of(make: fn(&mut Self)) -> Self {
        let mut making = Self {
            world: TestWorld::new(),
            files: BTreeMap::new(),
            script: String::new(),
        };
        make(&mut making);
        making
    }

    /// A file that is there before the conversation begins.
    pub(super) fn file(&mut self, path: &'static str, text: &str) {
        self.world.write(path, text);
        self.files.insert(path, text.to_owned());
    }

    /// The script of the whole conversation. Returns its model.
    pub(super) fn script(&mut self, script: &str) -> String {
        script.clone_into(&mut self.script);
        self.world.script(script)
    }

    /// A turn of the script on the message `Go`, in a new conversation.
    #[track_caller]
    pub(super) fn go(&mut self, script: &str, args: &[&str]) -> ProgramResult {
        let model = self.script(script);
        self.world
            .aside(&[&["run", "-m", &model, "--trust", "Go"], args].concat())
    }

    /// A turn of the script on this message, in the same conversation.
    pub(super) fn say(&self, message: &str, args: &[&str]) -> ProgramResult {
        let model = self.world.script(&self.script);
        self.world.aside(
            &[
                &["run", "-m", &model, "--trust", "--continue", message],
                args,
            ]
            .concat(),
        )
    }

    /// The interrupted turn goes on, with answers to the prompts that it was parked at: each is for the first open
    /// one.
    pub(super) fn resume(&self, answers: &[&str], args: &[&str]) -> ProgramResult {
        let mut given = Vec::new();
        for (prompt, answer) in self.open().iter().zip(answers) {
            given.extend(["--answer".to_owned(), format!("{prompt}={answer}")]);
        }
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        self.world
            .aside(&[&["run", "--resume", "--trust"], args, &given].concat())
    }

    /// The prompts that are open in the log.
    fn open(&self) -> Vec<String> {
        let mut open: Vec<String> = Vec::new();
        let mut pairs = BTreeMap::new();
        for event in self.world.log().events() {
            let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            match event["type"].as_str().unwrap() {
                "prompt_opened" => {
                    open.retain(|it| *it != text("prompt"));
                    open.push(text("prompt"));
                    pairs.insert(text("inquiry"), text("prompt"));
                }
                "prompt_closed" => open.retain(|it| *it != text("prompt")),
                "inquiry_response" => open.retain(|it| Some(it) != pairs.get(&text("id"))),
                _ => {}
            }
        }
        open
    }

    /// An editor that plays the script.
    pub(super) fn editor(&mut self, script: &str) -> Client {
        script.clone_into(&mut self.script);
        Client::start(&self.world, script, prompts())
    }

    /// The same, in this process and with the asking tool.
    pub(super) fn asking_editor(&mut self, script: &str) -> Client {
        let options = json!({
            "trusted": true,
            "stateDir": self.world.folder().join("state/aside"),
            "config": { "assistant": { "model": self.script(script) } },
        });
        let capabilities = json!({ "experimental": { "aside": { "version": 1, "prompt": true, "secret": true } } });
        let mut client = Client::in_memory(&self.world, Asker::new());
        client.request("initialize", initialize(&self.world, capabilities, options));
        client.notify("initialized", json!({}));
        client
    }

    /// Changes lines of the log, which are the program's no more.
    pub(super) fn damage(&self, change: impl FnOnce(&mut Vec<String>)) {
        let log = self.world.conversations().remove(0).join("events.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let mut lines = text.split_inclusive('\n').map(str::to_owned).collect();
        change(&mut lines);
        fs::write(&log, lines.concat()).unwrap();
    }

    /// The lines of the only conversation there is, without most of what its requests begin with.
    pub(super) fn lines(&self) -> Vec<Vec<u8>> {
        let log = Log::read(&self.folder());
        log.lines.iter().map(|line| shortened(line)).collect()
    }

    fn folder(&self) -> PathBuf {
        let mut all = self.world.conversations();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// Writes the conversation, and the files that it began with.
    pub(super) fn keep(&self, folder: &Path) {
        if folder.exists() {
            fs::remove_dir_all(folder).unwrap();
        }
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("events.jsonl"), self.lines().concat()).unwrap();
        for (path, text) in &self.files {
            fs::create_dir_all(folder.join("work")).unwrap();
            fs::write(folder.join("work").join(path), text).unwrap();
        }
        for blob in fs::read_dir(self.folder().join("blobs"))
            .into_iter()
            .flatten()
        {
            let blob = blob.unwrap();
            fs::create_dir_all(folder.join("blobs")).unwrap();
            fs::copy(blob.path(), folder.join("blobs").join(blob.file_name())).unwrap();
        }
    }
}

/// What a person does who says yes, and takes what is offered first.
pub(super) fn yes(prompt: &Value) -> Value {
    let of = &prompt["answerType"];
    let answer = match of["type"].as_str().unwrap() {
        "boolean" => json!(true),
        "select" => of["options"][0].clone(),
        _ => json!("blue"),
    };
    json!({ "action": "answer", "answer": answer })
}
