//! A message of the user while tools run.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use aside_model_server::play::{ModelReply, ReplyItem};
use serde_json::{Value, json};

use super::{
    column,
    stage::{ModelStage, row, says},
};

/// The Language Server, and an editor that can show prompts.
struct SteeringClient {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl SteeringClient {
    fn start(stage: &ModelStage) -> Self {
        let mut command = stage.command(&["lsp"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut editor = Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 0,
        };
        let root = format!("file://{}", stage.world.at("").display());
        editor.ask(
            "initialize",
            json!({
                "processId": null,
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "work"}],
                "capabilities": {"experimental": {"aside": {"version": 1, "prompt": true}}},
                "initializationOptions": {
                    "config": {"assistant": {"model": column::model(stage.api)}},
                    "trusted": true,
                },
            }),
        );
        editor.wait("the answer to initialize", |message| message["id"] == 1);
        editor.send(&json!({"method": "initialized", "params": {}}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        let body = message.to_string();
        write!(self.stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.stdin.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"id": id, "method": method, "params": params}));
    }

    /// Reads up to a message.
    fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut length = 0;
            loop {
                let mut line = String::new();
                let read = self.stdout.read_line(&mut line).unwrap();
                assert!(read > 0, "the server ended before {what}");
                if line == "\r\n" {
                    break;
                }
                if let Some(text) = line.strip_prefix("Content-Length: ") {
                    length = text.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            self.stdout.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            if is_it(&message) {
                return message;
            }
        }
    }
}

impl Drop for SteeringClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_the_user_adds_between_two_results_follows_them() {
    row(|api| {
        let calls = ModelReply::new("calls")
            .say(ReplyItem::call(
                "call_read",
                "read_file",
                r#"{"path":"a.txt"}"#,
            ))
            .say(ReplyItem::call(
                "call_ask",
                "ask_user",
                r#"{"question":"Which colour?"}"#,
            ));
        let stage = ModelStage::new(
            api,
            vec![
                says(calls),
                says(ModelReply::new("end").say(ReplyItem::text("Blue."))),
            ],
        );
        stage.world.write("a.txt", "A\n");
        let mut editor = SteeringClient::start(&stage);
        editor.ask(
            "aside/turn/start",
            json!({"turnId": "t-1", "message": "Paint it."}),
        );
        let update = |message: &Value, kind: &str| message["params"]["update"]["kind"] == kind;
        let prompt = editor.wait("the prompt", |message| message["method"] == "aside/prompt");
        editor.ask(
            "aside/turn/steer",
            json!({"turnId": "t-1", "message": "But not red."}),
        );
        editor.wait("the steer", |message| update(message, "steered"));
        editor.send(&json!({"id": prompt["id"], "result": {"action": "answer", "answer": "blue"}}));
        let end = editor.wait("the end", |message| {
            message["method"] == "aside/turn/completed"
        });
        assert_eq!(end["params"]["outcome"], "completed", "{end}");
        let expected = "\
user Paint it.
call read_file {\"path\":\"a.txt\"}
call ask_user {\"question\":\"Which colour?\"}
result A
result {\"answer_type\":\"text\",\"answer\":\"blue\"}
user But not red.
";
        assert_eq!(stage.heard(), expected, "{api:?}");
        stage.is_clean();
    });
}
