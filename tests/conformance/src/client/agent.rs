//! Sessions, prompts and what a person is asked, as a client of the Agent Client Protocol handles them.

use std::path::Path;

use serde_json::{Value, json};

use super::{Client, Message};
use crate::{Failure, Step, check};

/// What the agent asks of the person.
#[derive(Clone, Debug)]
pub struct Asked {
    /// For the reply.
    pub request: Value,
    /// Whether it is a form; else it is a permission.
    pub is_form: bool,
    /// As they came.
    pub params: Value,
}

impl Asked {
    /// The property of a form that holds the answer.
    pub fn property(&self) -> &Value {
        &self.params["requestedSchema"]["properties"]["answer"]
    }

    /// What a form asks: the last line of its message.
    pub fn text(&self) -> &str {
        let message = self.params["message"].as_str().unwrap_or_default();
        message.lines().last().unwrap_or_default()
    }
}

impl Client {
    /// `initialize`, as a client with forms that speaks this version.
    pub fn introduce(&mut self, version: u16) -> Step<Value> {
        let can = json!({"elicitation": {"form": {}}, "session": {"notices": {}}});
        let info = json!({"name": "conformance", "version": env!("CARGO_PKG_VERSION")});
        let params =
            json!({"protocolVersion": version, "clientInfo": info, "clientCapabilities": can});
        self.call("initialize", params)
    }

    /// Opens a session in this folder.
    pub fn open(&mut self, folder: &Path) -> Step<String> {
        let result = self.call("session/new", json!({"cwd": folder, "mcpServers": []}))?;
        let id = result["sessionId"].as_str().map(str::to_owned);
        id.ok_or_else(|| Failure("the result of `session/new` has no sessionId".into()))
    }

    /// Trusts a folder as it is, by the command that Aside has for it.
    pub fn trust(&mut self, folder: &Path) -> Step {
        let session = self.open(folder)?;
        let prompt = self.say(&session, "/trust");
        self.stopped(prompt)?;
        let shown = self.words(&session);
        let code = shown
            .split("/trust ")
            .nth(1)
            .and_then(|it| it.split('`').next());
        let Some(code) = code else {
            return Err(Failure(format!("`/trust` gave no code: {shown}")));
        };
        let prompt = self.say(&session, &format!("/trust {code}"));
        self.stopped(prompt)?;
        self.call("session/delete", json!({"sessionId": session}))
            .map(drop)
    }

    /// Sends a prompt, and gives the id of the request.
    pub fn say(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        )
    }

    /// Cancels what runs in a session.
    pub fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", json!({"sessionId": session}));
    }

    /// Waits for the end of a prompt, and gives its stop reason.
    pub fn stopped(&mut self, prompt: i64) -> Step<String> {
        let ended = self.response(prompt, "`session/prompt`")?;
        let ended = ended.map_err(|error| {
            Failure(format!(
                "the prompt ended with {}: {}",
                error.code, error.message
            ))
        })?;
        Ok(ended["stopReason"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits for the end of a prompt, which has to be cancelled.
    pub fn is_cancelled(&mut self, prompt: i64) -> Step {
        let reason = self.stopped(prompt)?;
        check(
            reason == "cancelled",
            format!("the prompt ended with {reason:?} where `cancelled` was due"),
        )
    }

    /// Waits for the end of a prompt, and the agent has to have said this.
    pub fn completes(&mut self, session: &str, prompt: i64, says: &str) -> Step {
        let reason = self.stopped(prompt)?;
        let words = self.words(session);
        check(
            reason == "end_turn" && words == says,
            format!(
                "the prompt ended with {reason:?} and the words {words:?}, where {says:?} was due"
            ),
        )
    }

    /// What the agent said in a session until now.
    pub fn words(&mut self, session: &str) -> String {
        let mut words = String::new();
        while let Some(piece) = self.take(&|message: &_| {
            let update = update(message, session, "agent_message_chunk")?;
            Some(
                update["content"]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            )
        }) {
            words += &piece;
        }
        words
    }

    /// Waits for an update of a session of this kind that is `wanted`.
    pub fn told(
        &mut self,
        session: &str,
        kind: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Step<Value> {
        self.wait(&format!("an update {kind}"), |message| {
            update(message, session, kind)
                .filter(|it| wanted(it))
                .cloned()
        })
    }

    /// Waits until the person is asked something.
    pub fn asked(&mut self) -> Step<Asked> {
        self.wait("a form or a permission", asked)
    }

    /// The same, or the end of a prompt: then its stop reason.
    pub fn asked_or_end(&mut self, prompt: i64) -> Step<Result<Asked, String>> {
        self.wait(
            "a form, a permission or the end of the prompt",
            |message| match message {
                Message::Response(id, result) if *id == prompt => {
                    let reason = result.as_ref().map(|it| it["stopReason"].as_str());
                    Some(Err(reason.ok().flatten().unwrap_or_default().to_owned()))
                }
                _ => asked(message).map(Ok),
            },
        )
    }

    /// What the person is asked among what has come already.
    pub fn asked_already(&mut self) -> Option<Asked> {
        self.take(&asked)
    }

    /// The person sends a form with this answer.
    pub fn accept(&mut self, asked: &Asked, answer: &Value) {
        self.respond(
            &asked.request,
            json!({"action": "accept", "content": {"answer": answer}}),
        );
    }

    /// The person chooses this option of a permission.
    pub fn choose(&mut self, asked: &Asked, option: &str) {
        let outcome = json!({"outcome": "selected", "optionId": option});
        self.respond(&asked.request, json!({ "outcome": outcome }));
    }

    /// Waits until the agent wants no answer to this any more.
    pub fn withdrawn(&mut self, asked: &Asked) -> Step {
        self.wait("`$/cancel_request`", |message| match message {
            Message::Notification(method, params)
                if method == "$/cancel_request" && params["requestId"] == asked.request =>
            {
                Some(())
            }
            _ => None,
        })
    }

    /// The sessions in a folder. What the agent did before it answered has come then.
    pub fn sessions(&mut self, folder: &Path) -> Step<Vec<String>> {
        let listed = self.call("session/list", json!({ "cwd": folder }))?;
        let listed = listed["sessions"].as_array().cloned().unwrap_or_default();
        let ids = listed.iter().filter_map(|it| it["sessionId"].as_str());
        Ok(ids.map(str::to_owned).collect())
    }
}

fn asked(message: &Message) -> Option<Asked> {
    match message {
        Message::Request(id, method, params)
            if ["session/request_permission", "elicitation/create"].contains(&method.as_str()) =>
        {
            Some(Asked {
                request: id.clone(),
                is_form: method == "elicitation/create",
                params: params.clone(),
            })
        }
        _ => None,
    }
}

fn update<'a>(message: &'a Message, session: &str, kind: &str) -> Option<&'a Value> {
    let Message::Notification(method, params) = message else {
        return None;
    };
    let update = &params["update"];
    let is_it = params["sessionId"] == session && update["sessionUpdate"] == kind;
    (method == "session/update" && is_it).then_some(update)
}
