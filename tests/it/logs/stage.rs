//! The program, with the prefixes of a log as its conversations, and a model on loopback that says `Done.` to
//! everything and keeps what it is sent.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use aside_model_server::{
    ServedApi,
    play::{ModelReply, ReplyItem},
    server::ModelServer,
};
use serde_json::{Value, json};

use super::{
    events::{Appended, Names},
    lines::{Log, MODEL},
    made::yes,
};
use crate::{
    asker::Asker,
    lsp::client::{Client, initialize},
    world::TestWorld,
};

/// A server in a world with the files that the conversation began with.
pub(super) struct Stage {
    pub(super) world: TestWorld,
    pub(super) client: Client,
    model: ModelServer,
    /// Where the conversations are.
    store: PathBuf,
    files: PathBuf,
    blobs: PathBuf,
    lines: Vec<Vec<u8>>,
    pub(super) names: Names,
}

impl Stage {
    pub(super) fn new(log: &Log) -> Self {
        let world = TestWorld::new();
        let replies = AtomicUsize::new(0);
        let model = ModelServer::start(move |_| {
            let number = replies.fetch_add(1, Ordering::Relaxed);
            let play = ModelReply::new("golden").number(number).model("model");
            play.say(ReplyItem::text("Done."))
                .reply(ServedApi::OpenaiChat)
        });
        let address = model.address();
        world.user_config(&format!(
            "[providers.golden]\napi = 'openai-chat'\nbase_url = 'http://{address}/v1'\n"
        ));
        let is_asked = log.lines.iter().any(|line| {
            let line = String::from_utf8_lossy(line);
            line.contains("\"name\":\"asker\"")
        });
        let mut client = start(&world, is_asked);
        // Where conversations are kept is found by making one.
        let made = client.request("aside/conversation/create", json!({}));
        let store = world.conversations().remove(0).parent().unwrap().to_owned();
        client.request("aside/conversation/delete", made);
        let (lines, names) = log.moved(world.folder());
        Self {
            lines,
            names,
            files: log.folder.join("work"),
            blobs: log.folder.join("blobs"),
            world,
            client,
            model,
            store,
        }
    }

    /// Makes a conversation of this id of the log's first lines, and returns its folder.
    pub(super) fn conversation(&self, id: &str, lines: usize) -> PathBuf {
        let folder = self.store.join(id);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("events.jsonl"), self.lines[..lines].concat()).unwrap();
        copy(&self.blobs, &folder.join("blobs"));
        folder
    }

    /// The folder of a conversation.
    pub(super) fn folder(&self, id: &str) -> PathBuf {
        self.store.join(id)
    }

    /// Starts a turn in this conversation, or goes on with one, on the files as they were at first; a person answers what
    /// is asked. Returns what was asked, what the model was sent and what was recorded, or why there is no turn.
    pub(super) fn plays(&mut self, method: &str, params: Value, lines: usize) -> Vec<String> {
        let id = params["conversationId"].as_str().unwrap().to_owned();
        let folder = self.conversation(&id, lines);
        let work = self.world.at("");
        fs::remove_dir_all(&work).unwrap();
        fs::create_dir(&work).unwrap();
        copy(&self.files, &work);
        let sent = self.model.received().len();
        let request = self.client.ask(method, params);
        let reply = self.client.answer(request);
        if reply["error"] != Value::Null {
            let error = self.names.line(&reply["error"]);
            return vec![error.replace(&id, "this")];
        }
        let mut asked = Vec::new();
        self.client.play(&reply["result"], |prompt| {
            asked.push(without_conversation(prompt));
            yes(prompt)
        });
        let appended = Appended::read(&folder, lines);
        let names = self
            .names
            .with_new_prompts(&self.lines[..lines], &appended.events);
        // Which of several comes first is not always the same.
        for prompt in &mut asked {
            prompt.as_object_mut().unwrap().remove("position");
        }
        let mut seen: Vec<String> = asked
            .iter()
            .map(|it| format!("asked: {}", names.line(it)))
            .collect();
        seen.sort();
        for received in &self.model.received()[sent..] {
            seen.push("sent:".to_owned());
            // The first message is the system text.
            let messages = received.json["messages"].as_array().unwrap().iter().skip(1);
            seen.extend(messages.map(|it| names.line(it)));
        }
        seen.push("recorded:".to_owned());
        seen.extend(appended.lines(&names));
        seen
    }
}

/// A prompt without the id that the test gave its conversation.
pub(super) fn without_conversation(prompt: &Value) -> Value {
    let mut prompt = prompt.clone();
    prompt.as_object_mut().unwrap().remove("conversationId");
    prompt
}

/// A server that trusts the workspace; one that has the asking tool runs in this process.
fn start(world: &TestWorld, is_asked: bool) -> Client {
    let capabilities =
        json!({ "experimental": { "aside": { "version": 1, "prompt": true, "secret": true } } });
    let mut options = json!({ "trusted": true, "config": { "assistant": { "model": MODEL } } });
    if !is_asked {
        return Client::with(world, capabilities, options);
    }
    let own = fs::read_to_string(world.folder().join("config/aside/aside.toml")).unwrap();
    options["stateDir"] = json!(world.folder().join("state/aside"));
    options["config"]["providers"] = json!({ "golden": {
        "api": "openai-chat",
        "base_url": own.split('\'').nth(3).unwrap(),
    } });
    let mut client = Client::in_memory(world, Asker::new());
    client.request("initialize", initialize(world, capabilities, options));
    client.notify("initialized", json!({}));
    client
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten() {
        let entry = entry.unwrap();
        fs::create_dir_all(to).unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
