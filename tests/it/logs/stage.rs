//! The program with the logs as its conversations, and a model on loopback that says `Done.` to everything.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use aside_model_server::{ServedApi, play::ModelReply, server::ModelServer};
use aside_session::{lines::read_all, replay};
use serde_json::{Value, json};

use super::{
    lines::{Log, MODEL},
    made::yes,
};
use crate::{
    asker::Asker,
    lsp::client::{Client, initialize},
    world::TestWorld,
};

#[test]
fn each_log_is_read_in_pages_and_goes_on() {
    let mut stage = Stage::new();
    for log in super::all() {
        let id = log.name().to_string();
        let folder = stage.put(&log);
        stage.is_read_in_pages(&id);
        let read = read_all(&folder).unwrap();
        let turns = replay::turns(&read.records);
        if turns.last().is_some_and(replay::Turn::is_interrupted) {
            stage.plays("aside/turn/resume", json!({ "conversationId": id }));
        }
        let message = json!({ "conversationId": id, "message": "What now?" });
        stage.plays("aside/turn/start", message);
        let after = read_all(&folder).unwrap();
        let is_torn = usize::from(read.faults.len() > after.faults.len());
        assert_eq!(after.faults[..], read.faults[..read.faults.len() - is_torn]);
    }
}

/// A server whose workspace can be put back to the files that a conversation began with.
struct Stage {
    client: Client,
    /// Where the conversations are.
    store: PathBuf,
    world: TestWorld,
    _model: ModelServer,
}

impl Stage {
    fn new() -> Self {
        let world = TestWorld::new();
        let replies = AtomicUsize::new(0);
        let model = ModelServer::start(move |_| {
            let number = replies.fetch_add(1, Ordering::Relaxed);
            let play = ModelReply::new("golden").number(number).model("model");
            play.text("Done.").reply(ServedApi::OpenaiChat)
        });
        let options = json!({ "trusted": true, "config": {
            "assistant": { "model": MODEL },
            "providers": { "golden": {
                "api": "openai-chat",
                "base_url": format!("http://{}/v1", model.address()),
            } },
        } });
        let capabilities = json!({ "experimental": { "aside": { "version": 1, "prompt": true, "secret": true } } });
        let mut client = Client::in_memory(&world, Asker::new());
        client.request("initialize", initialize(&world, capabilities, options));
        client.notify("initialized", json!({}));
        // Where conversations are kept is found by making one.
        let made = client.request("aside/conversation/create", json!({}));
        let store = world.conversations().remove(0).parent().unwrap().to_owned();
        client.request("aside/conversation/delete", made);
        Self {
            client,
            store,
            world,
            _model: model,
        }
    }

    /// Makes a conversation of a log, whose name is its id, on the files as they were at first.
    fn put(&self, log: &Log) -> PathBuf {
        let work = self.world.at("");
        fs::remove_dir_all(&work).unwrap();
        fs::create_dir(&work).unwrap();
        copy(&log.folder.join("work"), &work);
        let folder = self.store.join(log.name().to_string());
        fs::create_dir(&folder).unwrap();
        let lines = log.moved(self.world.folder());
        fs::write(folder.join("events.jsonl"), lines.concat()).unwrap();
        copy(&log.folder.join("blobs"), &folder.join("blobs"));
        folder
    }

    /// One turn after another is what all of them are.
    fn is_read_in_pages(&mut self, id: &str) {
        let whole = json!({ "conversationId": id });
        let whole = self.client.request("aside/conversation/read", whole);
        let (mut turns, mut after) = (Vec::new(), Value::Null);
        loop {
            let page = json!({ "conversationId": id, "limit": 1, "after": after });
            let mut page = self.client.request("aside/conversation/read", page);
            turns.append(page["turns"].as_array_mut().unwrap());
            after = page["next"].take();
            if after.is_null() {
                break;
            }
        }
        assert_eq!(Value::Array(turns), whole["turns"], "{id}");
    }

    /// A turn is started or goes on, and comes to its end; a person says yes to all that is asked.
    fn plays(&mut self, method: &str, params: Value) {
        let turn = self.client.request(method, params);
        let (_, end) = self.client.play(&turn, yes);
        assert_eq!(end["outcome"], "completed", "{turn}: {end}");
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten() {
        let entry = entry.unwrap();
        fs::create_dir_all(to).unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
