//! The ways in which the server can be wrong: what each of them changes.

use std::collections::{HashMap, VecDeque};

use aside_conformance::wire::{AnswerType, TurnUpdate, Update, settled};
use clap::ValueEnum;
use serde_json::{Value, json};

/// One way to break the protocol on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wrong {
    /// A prompt that was withdrawn is on record as answered.
    LateCounted,
    /// Each request to the client is sent twice.
    PromptTwice,
    /// Null is taken as yes.
    NullIsYes,
    /// A JSON-RPC error is taken as a person's no.
    ErrorIsAnswer,
    /// A title that was not offered is taken as the first that was.
    AnyTitleFits,
    /// A message over the text offers answers.
    AnswersOverText,
    /// An answer that does not fit is taken as one that does.
    AnyAnswerFits,
    /// An unknown prompt is answered without complaint.
    UnknownPromptAccepted,
    /// Each prompt is closed twice.
    ClosedTwice,
    /// No prompt is ever dismissed.
    NoDismiss,
    /// An update comes after `completed`.
    CompletedEarly,
    /// `completed` comes twice.
    CompletedTwice,
    /// `completed` is no JSON.
    Corrupted,
    /// The opening of a prompt has no label.
    FieldMissing,
    /// The opening of a prompt has a field that is not documented.
    FieldUnknown,
    /// The status says with a text whether a turn runs.
    FieldMistyped,
    /// The client is asked what it did not declare.
    Undeclared,
    /// `seq` skips numbers.
    SeqGaps,
    /// The opening of a prompt comes behind the message that follows it.
    Reordered,
    /// That a call runs is never told.
    UpdateLost,
    /// Each response comes twice.
    ResponseTwice,
    /// While a prompt is open, nothing but its reply is read.
    Blocks,
    /// An approval that was revoked still counts.
    RevokeForgotten,
    /// Trust is given to a workspace that is not the one that was shown.
    TrustUnseen,
    /// A client that vanished has said yes.
    VanishCompletes,
}

/// What a proxy has to send, and what it remembers.
pub(crate) struct Proxy {
    wrong: Wrong,
    pub(crate) to_client: Vec<Value>,
    pub(crate) to_server: Vec<Value>,
    /// The method of each request that the client sent.
    requests: HashMap<String, String>,
    /// Requests to the client without a reply.
    asked: HashMap<String, Value>,
    /// How far `seq` is ahead of the real one, and the last that was sent, by turn.
    seq: HashMap<String, (u64, u64)>,
    /// What the client sent while it was not read.
    unread: VecDeque<Value>,
    /// What is sent behind the next message.
    held: Option<Value>,
    /// The client is gone, and a turn goes on without it.
    is_alone: bool,
}

impl Proxy {
    pub(crate) fn new(wrong: Wrong) -> Self {
        Self {
            wrong,
            to_client: Vec::new(),
            to_server: Vec::new(),
            requests: HashMap::new(),
            asked: HashMap::new(),
            seq: HashMap::new(),
            unread: VecDeque::new(),
            held: None,
            is_alone: false,
        }
    }

    pub(crate) fn take_from_client(&mut self, message: Value) {
        let id = message["id"].to_string();
        match message["method"].as_str() {
            _ if id.starts_with("\"wrong") => return,
            None => match self.asked.remove(&id) {
                Some(asked) => {
                    let reply = self.reply(&asked, message);
                    self.to_server.push(reply);
                }
                None => self.to_server.push(message),
            },
            Some(_) if self.wrong == Wrong::Blocks && !self.asked.is_empty() => {
                self.unread.push_back(message);
            }
            Some("aside/approval/revoke") if self.wrong == Wrong::RevokeForgotten => {
                self.respond(&message["id"], json!({}));
            }
            Some(method) => {
                self.requests.insert(id, method.to_owned());
                self.to_server.push(message);
            }
        }
        while self.asked.is_empty()
            && let Some(message) = self.unread.pop_front()
        {
            self.take_from_client(message);
        }
    }

    /// Whether the server may hear of it at once.
    pub(crate) fn client_is_gone(&mut self) -> bool {
        if self.wrong != Wrong::VanishCompletes || self.asked.is_empty() {
            return true;
        }
        for (_, asked) in self.asked.drain() {
            self.to_server
                .push(json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes(&asked)}));
        }
        self.is_alone = true;
        false
    }

    /// Whether nothing more is to come from the client.
    pub(crate) fn take_from_server(&mut self, mut message: Value) -> bool {
        let held = self.held.take();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if !method.is_empty() && !message["id"].is_null() {
            self.asked
                .insert(message["id"].to_string(), message.clone());
        }
        match method.as_str() {
            "" => self.response(message),
            "aside/turn/update" => self.update(message),
            "aside/turn/completed" => self.completed(message),
            "aside/prompt/dismiss" if self.wrong == Wrong::NoDismiss => {}
            "aside/status" if self.wrong == Wrong::FieldMistyped => {
                message["params"]["busy"] = json!("yes");
                self.to_client.push(message);
            }
            "session/update" if self.wrong == Wrong::FieldUnknown => {
                message["params"]["update"]["mood"] = json!("good");
                self.to_client.push(message);
            }
            "window/showMessageRequest" if self.wrong == Wrong::AnswersOverText => {
                message["params"]["actions"] = json!([{"title": "Yes"}, {"title": "No"}]);
                self.to_client.push(message);
            }
            _ if self.wrong == Wrong::PromptTwice && !message["id"].is_null() => {
                // Over the Agent Client Protocol a request is known by its id.
                let mut again = message.clone();
                if method == "aside/prompt" {
                    again["id"] = json!("wrong-again");
                }
                self.to_client.extend([message, again]);
            }
            _ => self.to_client.push(message),
        }
        self.to_client.extend(held);
        self.is_alone && method == "aside/turn/completed"
    }

    fn respond(&mut self, id: &Value, result: Value) {
        self.to_client
            .push(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// The reply that the server is told in place of this one.
    fn reply(&self, asked: &Value, mut reply: Value) -> Value {
        let is_message = asked["method"] == "window/showMessageRequest";
        let is_error = reply.get("error").is_some();
        let result = &reply["result"];
        let counts = match self.wrong {
            Wrong::NullIsYes if !is_error && result.is_null() => Some(yes(asked)),
            Wrong::ErrorIsAnswer if is_error && is_message => Some(Value::Null),
            Wrong::ErrorIsAnswer if is_error => Some(json!({"action": "decline"})),
            Wrong::AnyTitleFits if is_message && !result.is_null() => {
                let offered = asked["params"]["actions"].as_array();
                let is_offered =
                    offered.is_some_and(|all| all.iter().any(|it| it["title"] == result["title"]));
                (!is_offered).then(|| yes(asked))
            }
            Wrong::AnyAnswerFits if result["action"] == "answer" => {
                let fits = answer_type(asked).is_none_or(|it| it.accept(&result["answer"]).is_ok());
                (!fits).then(|| yes(asked))
            }
            _ => None,
        };
        if let Some(result) = counts
            && let Some(members) = reply.as_object_mut()
        {
            members.shift_remove("error");
            members.insert("result".into(), result);
        }
        reply
    }

    fn response(&mut self, mut message: Value) {
        let id = message["id"].clone();
        let method = self.requests.get(&id.to_string()).cloned();
        let code = message["error"]["code"].as_i64();
        match (self.wrong, method.as_deref().unwrap_or_default(), code) {
            (Wrong::UnknownPromptAccepted, _, Some(-32012))
            | (Wrong::TrustUnseen, "aside/workspace/trust", Some(_)) => {
                self.respond(&id, json!({}));
                return;
            }
            (Wrong::LateCounted, "aside/conversation/read", None) => {
                each_update(&mut message["result"], |update| {
                    if update["outcome"] == "cancelled" {
                        *update = json!({
                            "kind": "question", "promptId": update["promptId"], "outcome": "answered", "by": "user",
                            "answer": true, "text": "yes (you)",
                        });
                    }
                });
            }
            (Wrong::ResponseTwice, ..) => self.to_client.push(message.clone()),
            _ => {}
        }
        self.to_client.push(message);
    }

    fn update(&mut self, mut message: Value) {
        let Ok(TurnUpdate {
            turn_id,
            seq,
            update,
            ..
        }) = serde_json::from_value(message["params"].clone())
        else {
            self.to_client.push(message);
            return;
        };
        let ahead = self.seq.get(&turn_id).map_or(0, |(ahead, _)| *ahead);
        let ahead = if seq == 1 { 0 } else { ahead };
        let closing = settled(&update);
        let is_opening = matches!(update, Update::Question(_)) && closing.is_none();
        message["params"]["seq"] = json!(seq + ahead);
        let inner = &mut message["params"]["update"];
        let mut more = 0;
        match self.wrong {
            Wrong::FieldMissing if is_opening => {
                if let Some(members) = inner.as_object_mut() {
                    members.shift_remove("label");
                }
            }
            Wrong::FieldUnknown if is_opening => inner["mood"] = json!("good"),
            Wrong::SeqGaps if is_opening => more = 1,
            _ => {}
        }
        let is_running = inner["kind"] == "toolCall" && inner["status"] == "running";
        match self.wrong {
            Wrong::UpdateLost if is_running => {}
            Wrong::Reordered if is_opening => self.held = Some(message),
            Wrong::ClosedTwice if closing.is_some() => {
                let mut again = message.clone();
                again["params"]["seq"] = json!(seq + ahead + 1);
                more = 1;
                self.to_client.extend([message, again]);
            }
            _ => self.to_client.push(message),
        }
        self.seq.insert(turn_id, (ahead + more, seq + ahead + more));
    }

    fn completed(&mut self, message: Value) {
        match self.wrong {
            Wrong::CompletedTwice => self.to_client.push(message.clone()),
            Wrong::Undeclared => self.to_client.push(
                json!({"jsonrpc": "2.0", "id": "wrong-request", "method": "workspace/applyEdit", "params": {"edit": {}}}),
            ),
            _ => {}
        }
        let params = &message["params"];
        let turn = params["turnId"].as_str().unwrap_or_default();
        let last = self.seq.get(turn).map_or(0, |(_, last)| *last);
        let update = json!({"jsonrpc": "2.0", "method": "aside/turn/update", "params": {
            "conversationId": params["conversationId"], "turnId": turn, "seq": last + 1,
            "update": {"kind": "notice", "level": "info", "text": "One more thing."},
        }});
        self.to_client.push(message);
        if self.wrong == Wrong::CompletedEarly {
            self.to_client.push(update);
        }
    }
}

/// Changes each update of the turns of a conversation.
fn each_update(result: &mut Value, change: impl Fn(&mut Value)) {
    let turns = result["turns"].as_array_mut().into_iter().flatten();
    let updates = turns.filter_map(|turn| turn["updates"].as_array_mut());
    updates.flatten().for_each(change);
}

fn answer_type(asked: &Value) -> Option<AnswerType> {
    serde_json::from_value(asked["params"]["answerType"].clone()).ok()
}

/// What a person says who agrees to whatever is asked.
fn yes(asked: &Value) -> Value {
    if asked["method"] == "elicitation/create" {
        return json!({"action": "accept", "content": {"answer": "yes"}});
    }
    let Some(answer_type) = answer_type(asked) else {
        return asked["params"]["actions"][0].clone();
    };
    let answer = match answer_type {
        AnswerType::Boolean => json!(true),
        AnswerType::Select { options } => json!(options[0]),
        AnswerType::MultiSelect {
            options, minimum, ..
        } => json!(options[..minimum.unwrap_or(1) as usize]),
        AnswerType::Number { minimum, .. } => minimum.map_or(json!(1), Value::Number),
        AnswerType::Text {
            format: Some(_), ..
        } => json!("2000-01-01"),
        AnswerType::Text { minimum, .. } => json!("x".repeat(minimum.unwrap_or(1) as usize)),
        AnswerType::Secret => json!("x"),
    };
    json!({"action": "answer", "answer": answer})
}
