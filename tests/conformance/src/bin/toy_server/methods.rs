//! The requests of a client, each with its errors.

use std::{fs, path::PathBuf};

use aside_conformance::{methods::row, script::Script};
use serde_json::{Value, json};

use crate::{
    Toy,
    replies::{self, Given},
    store::{Conversation, Turn},
    wrong::Wrong,
};

/// A JSON-RPC error.
pub(crate) struct Refused {
    pub(crate) code: i64,
    pub(crate) message: String,
}

pub(crate) type Result<T = Value> = std::result::Result<T, Refused>;

pub(crate) fn refused<T>(code: i64, message: impl Into<String>) -> Result<T> {
    Err(Refused {
        code,
        message: message.into(),
    })
}

pub(crate) fn string(params: &Value, field: &str) -> Result<String> {
    match optional(params, field)? {
        Some(value) => Ok(value),
        None => refused(-32602, format!("`{field}` is missing")),
    }
}

pub(crate) fn optional(params: &Value, field: &str) -> Result<Option<String>> {
    match params.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(value)) => Ok(Some(value.clone())),
        Some(_) => refused(-32602, format!("`{field}` is not a string")),
    }
}

impl Toy {
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result {
        if method == "initialize" {
            return self.initialize(params);
        }
        if !self.ready {
            return refused(-32002, "`initialize` comes first");
        }
        let listed = row(method).is_some_and(|row| row.kind == "request" && row.to == "server");
        if method.starts_with("aside/") && !listed {
            return refused(-32601, format!("there is no method {method}"));
        }
        match method {
            "shutdown" => Ok(Value::Null),
            "workspace/executeCommand" => self.command(params),
            "aside/turn/start" => self.start(params),
            "aside/turn/resume" => self.resume(params),
            "aside/turn/steer" => {
                let text = string(params, "message")?;
                let turn = self.running(params)?;
                if let Some(turn) = self.store.turn(&turn) {
                    turn.steers.push(text.clone());
                }
                self.tell(&turn, json!({"kind": "steered", "text": text}));
                Ok(json!({}))
            }
            "aside/turn/cancel" => {
                let turn = self.running(params)?;
                self.cancel(&turn);
                Ok(json!({}))
            }
            "aside/turn/undo" => match self.store.turn(&string(params, "turnId")?) {
                Some(_) => Ok(json!({"files": [], "untracked": false})),
                None => refused(-32011, "there is no such turn"),
            },
            "aside/prompt/pending" => Ok(self.pending()),
            "aside/prompt/answer" => self.answer(params),
            "aside/conversation/list" => Ok(self.list()),
            _ => match self.consent_request(method, params) {
                Some(answered) => answered,
                None => self.conversation_request(method, params),
            },
        }
    }

    fn conversation_request(&mut self, method: &str, params: &Value) -> Result {
        let Some(what) = method.strip_prefix("aside/conversation/") else {
            return refused(-32601, format!("there is no method {method}"));
        };
        if !["read", "transcript", "fork", "rename", "delete"].contains(&what) {
            return refused(-32601, format!("there is no method {method}"));
        }
        let id = string(params, "conversationId")?;
        let fork = self.store.id("c");
        let Some(conversation) = self.store.conversation(&id) else {
            return refused(-32010, "there is no such conversation");
        };
        match what {
            "read" => {
                let turns: Vec<_> = conversation.turns.iter().map(read).collect();
                Ok(json!({"turns": turns}))
            }
            "transcript" => {
                let prompts: Vec<_> = conversation
                    .turns
                    .iter()
                    .map(|turn| turn.prompt.as_str())
                    .collect();
                Ok(json!({"text": prompts.join("\n\n")}))
            }
            "rename" => {
                conversation.title = string(params, "title")?;
                Ok(json!({}))
            }
            "fork" => {
                let copy = Conversation {
                    id: fork.clone(),
                    ..conversation.clone()
                };
                self.store.conversations.push(copy);
                Ok(json!({"conversationId": fork}))
            }
            _ => {
                self.store
                    .conversations
                    .retain(|conversation| conversation.id != id);
                Ok(json!({}))
            }
        }
    }

    fn initialize(&mut self, params: &Value) -> Result {
        let model = params["initializationOptions"]["config"]["assistant"]["model"]
            .as_str()
            .unwrap_or_default();
        let path = model.strip_prefix("rehearsal/").unwrap_or_default();
        let read = fs::read_to_string(path).map_err(|error| error.to_string());
        let script = read
            .and_then(|text| toml::from_str::<Script>(&text).map_err(|error| error.to_string()));
        self.script = match script {
            Ok(script) => script,
            Err(error) => {
                return refused(
                    -32016,
                    format!("the script {path} cannot be played: {error}"),
                );
            }
        };
        let root = params["workspaceFolders"][0]["uri"]
            .as_str()
            .unwrap_or_default();
        self.root = PathBuf::from(root.strip_prefix("file://").unwrap_or_default());
        self.knows = params["capabilities"]["experimental"]["aside"]["prompt"] == true;
        self.beside = params["clientInfo"]["name"] == "Visual Studio Code";
        self.ready = true;
        let commands = ["ask", "cancel", "answer", "undo", "resume", "transcript"]
            .map(|name| format!("aside.server.{name}"));
        Ok(json!({"capabilities": {
            "positionEncoding": "utf-8",
            "textDocumentSync": {"openClose": true, "change": 2, "save": true},
            "codeActionProvider": true,
            "executeCommandProvider": {"commands": commands},
            "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": true}},
            "experimental": {"aside": {"version": 1, "server": env!("CARGO_PKG_VERSION")}},
        }}))
    }

    fn command(&mut self, params: &Value) -> Result {
        match params["command"].as_str() {
            Some("aside.server.ask") => self.start(&params["arguments"][0]).map(|_| Value::Null),
            Some("aside.server.answer") => {
                let given = &params["arguments"][0];
                let answer = match given.get("answer") {
                    Some(answer) => Given::Answer(answer.clone(), None),
                    None if given["dismiss"] == true => Given::Dismissed(None),
                    None => {
                        self.show_again();
                        return Ok(Value::Null);
                    }
                };
                let prompt = string(given, "promptId")?;
                if !self.is_open(&prompt) {
                    return refused(-32012, "this prompt is not open");
                }
                self.settle(&prompt, answer);
                self.show_fallback();
                Ok(Value::Null)
            }
            _ => refused(-32602, "`command` is not one of this server's"),
        }
    }

    fn start(&mut self, params: &Value) -> Result {
        let prompt = string(params, "message")?;
        let mode = optional(params, "mode")?;
        if mode.is_some_and(|mode| !["ask", "edits", "plan", "auto"].contains(&mode.as_str())) {
            return refused(-32602, "`mode` is not one that there is");
        }
        let conversation = match optional(params, "conversationId")? {
            Some(id) => id,
            None => {
                let id = self.store.id("c");
                let conversation = Conversation {
                    id: id.clone(),
                    title: prompt.clone(),
                    turns: Vec::new(),
                };
                self.store.conversations.push(conversation);
                id
            }
        };
        let id = optional(params, "turnId")?.unwrap_or_else(|| self.store.id("t"));
        let Some(found) = self.store.conversation(&conversation) else {
            return refused(-32010, "there is no such conversation");
        };
        if found
            .turns
            .iter()
            .any(|turn| self.live.contains_key(&turn.id))
        {
            return refused(-32013, "a turn is running in this conversation");
        }
        found.turns.push(Turn {
            id: id.clone(),
            prompt,
            ..Turn::default()
        });
        self.live.insert(id.clone(), 0);
        self.step(&id);
        Ok(json!({"conversationId": conversation, "turnId": id}))
    }

    fn resume(&mut self, params: &Value) -> Result {
        let id = string(params, "conversationId")?;
        let Some(conversation) = self.store.conversation(&id) else {
            return refused(-32010, "there is no such conversation");
        };
        let Some(turn) = conversation
            .turns
            .last()
            .filter(|turn| turn.outcome.is_none())
            .map(|turn| turn.id.clone())
        else {
            return refused(-32011, "no turn of this conversation was interrupted");
        };
        if self.live.insert(turn.clone(), 0).is_some() {
            return refused(-32013, "a turn is running in this conversation");
        }
        self.show(&turn);
        self.advance(&turn);
        Ok(json!({"turnId": turn}))
    }

    /// The turn that is named, if it runs.
    fn running(&self, params: &Value) -> Result<String> {
        let turn = string(params, "turnId")?;
        if self.live.contains_key(&turn) {
            return Ok(turn);
        }
        refused(-32011, "this turn does not run")
    }

    fn pending(&mut self) -> Value {
        let mut prompts = Vec::new();
        for open in self.open_prompts() {
            let Some(mut prompt) = self.prompt(&open.prompt) else {
                continue;
            };
            if !self.live.contains_key(&open.turn) {
                prompt["resumable"] = json!(true);
            }
            prompts.push(prompt);
        }
        json!({"prompts": prompts})
    }

    fn answer(&mut self, params: &Value) -> Result {
        let prompt = string(params, "promptId")?;
        let Some(answer) = params.get("answer") else {
            return refused(-32602, "`answer` is missing");
        };
        if !self.is_open(&prompt) {
            let known = self.store.turn_of_prompt(&prompt).is_some();
            if self.is(Wrong::UnknownPromptAccepted) && !known {
                return Ok(json!({}));
            }
            return refused(-32012, "this prompt is not open");
        }
        let given = replies::read(answer);
        let fits = match &given {
            Given::Answer(answer, _) => self
                .store
                .call(&prompt)
                .is_some_and(|call| call.fits(answer)),
            given => !matches!(given, Given::Unfit(_)),
        };
        if !fits {
            return refused(-32602, "`answer` does not fit");
        }
        self.elsewhere.insert(prompt.clone());
        if self.knows && !self.is(Wrong::NoDismiss) {
            self.send(
                "aside/prompt/dismiss",
                json!({"promptId": prompt, "reason": "answered"}),
            );
        }
        self.settle(&prompt, given);
        Ok(json!({}))
    }

    fn list(&self) -> Value {
        let items: Vec<_> = self
            .store
            .conversations
            .iter()
            .rev()
            .map(|conversation| self.item(conversation))
            .collect();
        json!({"items": items})
    }

    fn item(&self, conversation: &Conversation) -> Value {
        let open = conversation.turns.iter().flat_map(Turn::open).count();
        let last = conversation
            .turns
            .last()
            .filter(|turn| turn.outcome.is_none());
        let status = match last {
            None => "idle",
            Some(turn) if !self.live.contains_key(&turn.id) => "interrupted",
            Some(_) if open > 0 => "waiting",
            Some(_) => "running",
        };
        json!({
            "conversationId": conversation.id, "title": conversation.title, "createdAt": "2000-01-01T00:00:00Z",
            "updatedAt": "2000-01-01T00:00:00Z", "turns": conversation.turns.len(), "status": status, "prompts": open,
        })
    }
}

fn read(turn: &Turn) -> Value {
    let mut read = json!({
        "turnId": turn.id, "startedAt": "2000-01-01T00:00:00Z", "message": turn.prompt, "updates": turn.updates,
    });
    if let Some(outcome) = &turn.outcome {
        read["outcome"] = json!(outcome);
    }
    read
}
