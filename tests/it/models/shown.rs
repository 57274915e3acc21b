//! What a user is shown, a line each: pieces are joined, and what differs from run to run is left out.

use serde_json::{Value, json};

use crate::world::ProgramResult;

/// What a run showed, to its outcome. A call is one line, with its newest title and status.
pub(super) fn shown(done: &ProgramResult) -> String {
    let mut rows = Rows::default();
    for line in done.lines() {
        match line["method"].as_str() {
            Some("aside/turn/completed") => rows.end(&line["params"]),
            _ => rows.update(&line["params"]["update"]),
        }
    }
    rows.lines.push(String::new());
    rows.lines.join("\n")
}

#[derive(Default)]
struct Rows {
    lines: Vec<String>,
    /// The calls: id, line and title.
    calls: Vec<(String, usize, String)>,
    /// What the last line is a piece of.
    open: Value,
}

impl Rows {
    fn update(&mut self, update: &Value) {
        let text = |name: &str| update[name].as_str().unwrap_or_default();
        let kind = text("kind");
        let piece = json!([kind, update["step"]]);
        match kind {
            "text" | "reasoning" if self.open == piece => {
                if let Some(line) = self.lines.last_mut() {
                    *line += text("text");
                }
                return;
            }
            "text" | "reasoning" => {
                self.lines.push(format!("{kind} {}", text("text")));
                self.open = piece;
                return;
            }
            "usage" | "title" | "toolOutput" | "edit" | "summary" => return,
            "notice" if text("text").contains("sandbox") => return,
            "toolCall" => self.call(text("callId"), Some(text("title")), text("status")),
            "toolResult" => self.call(text("callId"), None, text("status")),
            "inquiry" => self.lines.push(format!("inquiry {}", text("status"))),
            "retry" => self.lines.push(match update["discardStep"].as_u64() {
                Some(step) => format!("retry {}, without step {step}", update["attempt"]),
                None => format!("retry {}", update["attempt"]),
            }),
            "notice" => self.lines.push(format!("notice {}", text("text"))),
            other => self.lines.push(format!("{other} {}", text("text"))),
        }
        self.open = Value::Null;
    }

    fn call(&mut self, id: &str, title: Option<&str>, status: &str) {
        let known = self.calls.iter().position(|(known, ..)| known == id);
        let at = known.unwrap_or_else(|| {
            self.calls
                .push((id.to_owned(), self.lines.len(), String::new()));
            self.lines.push(String::new());
            self.calls.len() - 1
        });
        let (_, line, known) = &mut self.calls[at];
        if let Some(title) = title {
            *known = title.to_owned();
        }
        self.lines[*line] = format!("call {known}: {status}");
    }

    fn end(&mut self, params: &Value) {
        let outcome = params["outcome"].as_str().unwrap_or_default();
        let answer = params["answer"]
            .as_str()
            .or(params["error"]["code"].as_str());
        let line = format!("{outcome} {}", answer.unwrap_or_default());
        self.lines.push(line.trim_end().to_owned());
    }
}
