//! Prompts for a fallback client.

use serde_json::{Value, json};

use crate::{Toy, replies::Given, store::Call, wrong::Wrong};

impl Toy {
    /// Shows the next open prompt as a message, if none is open.
    pub(crate) fn show_fallback(&mut self) {
        if !self.asked.is_empty() {
            return;
        }
        let Some(open) = self
            .open_prompts()
            .into_iter()
            .find(|open| self.live.contains_key(&open.turn))
        else {
            return;
        };
        let Some(call) = self.store.call(&open.prompt) else {
            return;
        };
        let actions: Vec<_> = titles(call)
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

    /// The answer that a title stands for.
    pub(crate) fn chosen_title(&mut self, prompt: &str, result: &Value) -> Given {
        if result.is_null() {
            return Given::Dismissed(None);
        }
        let titles = self
            .store
            .call(prompt)
            .map(|call| titles(call))
            .unwrap_or_default();
        match titles
            .into_iter()
            .find(|(title, _)| result["title"] == **title)
        {
            Some((_, answer)) => Given::Answer(answer, None),
            None if self.is(Wrong::AnyTitleIsYes) => self.yes(prompt),
            None => Given::Unfit("there is no such title".into()),
        }
    }
}

fn titles(call: &Call) -> Vec<(String, Value)> {
    let kind = call.answer_type();
    if kind["type"] == "boolean" {
        return vec![("Yes".into(), json!(true)), ("No".into(), json!(false))];
    }
    let options = kind["options"].as_array().cloned().unwrap_or_default();
    let option = |option: Value| (option.as_str().unwrap_or_default().to_owned(), option);
    options.into_iter().map(option).collect()
}
