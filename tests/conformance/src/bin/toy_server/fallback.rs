//! Prompts for a fallback client.

use serde_json::{Value, json};

use crate::{Toy, replies::Given, store::Call, wrong::Wrong};

/// The action that answers nothing.
const LATER: &str = "Later";
/// The action that says how a question is answered.
const ANSWER: &str = "Answer…";

impl Toy {
    /// Shows the next open prompt as a message, if none is open.
    pub(crate) fn show_fallback(&mut self) {
        if !self.asked.is_empty() {
            return;
        }
        let Some(open) = self.open_prompts().into_iter().find(|open| {
            self.live.contains_key(&open.turn) && !self.put_off.contains(&open.prompt)
        }) else {
            return;
        };
        let Some(call) = self.store.call(&open.prompt) else {
            return;
        };
        let call = call.clone();
        let actions: Vec<_> = self
            .titles(&call)
            .into_iter()
            .map(|(title, _)| json!({"title": title}))
            .collect();
        let message = format!("{}: {}", call.tool, call.text());
        let request = self.ask(
            "window/showMessageRequest",
            &json!({"type": 3, "message": message, "actions": actions}),
        );
        self.asked.insert(request, open.prompt);
    }

    /// Shows the prompts again that were put off.
    pub(crate) fn show_again(&mut self) {
        self.put_off.clear();
        self.show_fallback();
    }

    /// What a reply to a message says. None where it answers nothing: the prompt stays open.
    pub(crate) fn chosen_title(&mut self, prompt: &str, result: &Value) -> Option<Given> {
        if result.is_null() && self.beside {
            return Some(Given::Dismissed(None));
        }
        if result.is_null() || result["title"] == LATER {
            self.put_off.insert(prompt.to_owned());
            return None;
        }
        if result["title"] == ANSWER && !self.beside {
            self.put_off.insert(prompt.to_owned());
            let how = format!(
                "aside.server.answer {}",
                json!({"promptId": prompt, "answer": "…"})
            );
            self.send("window/showMessage", json!({"type": 3, "message": how}));
            return None;
        }
        let call = self.store.call(prompt)?.clone();
        let mut titles = self.titles(&call).into_iter();
        Some(match titles.find(|(title, _)| result["title"] == **title) {
            Some((_, answer)) => Given::Answer(answer, None),
            None if self.is(Wrong::AnyTitleIsYes) => self.yes(prompt),
            None => Given::Unfit("there is no such title".into()),
        })
    }

    /// The titles of a prompt's actions, and what each stands for: over the text, nothing.
    fn titles(&self, call: &Call) -> Vec<(String, Value)> {
        let mut titles = Vec::new();
        if !self.beside {
            titles.push((LATER.to_owned(), Value::Null));
            titles.push((ANSWER.to_owned(), Value::Null));
        }
        if self.beside || self.is(Wrong::AnswersOverText) {
            titles.extend(answers(call));
        }
        titles
    }
}

/// The answers of a boolean or a select, by their titles.
fn answers(call: &Call) -> Vec<(String, Value)> {
    let kind = call.answer_type();
    if kind["type"] == "boolean" {
        return vec![("Yes".into(), json!(true)), ("No".into(), json!(false))];
    }
    let options = kind["options"].as_array().cloned().unwrap_or_default();
    let option = |option: Value| (option.as_str().unwrap_or_default().to_owned(), option);
    options.into_iter().map(option).collect()
}
