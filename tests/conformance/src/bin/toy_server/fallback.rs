//! Prompts for a fallback client.

use serde_json::{Value, json};

use crate::{Toy, replies::Given, store::Call, wrong::Wrong};

/// The action that answers nothing.
const LATER: &str = "Later";
/// The action that dismisses a prompt.
const CANCEL: &str = "Cancel";

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

    /// Shows the prompts again that were put off.
    pub(crate) fn show_again(&mut self) {
        self.put_off.clear();
        self.show_fallback();
    }

    /// What a reply to a message says. None where it answers nothing: the prompt stays open.
    pub(crate) fn chosen_title(&mut self, prompt: &str, result: &Value) -> Option<Given> {
        if result.is_null() || result["title"] == LATER {
            self.put_off.insert(prompt.to_owned());
            return None;
        }
        let titles = self
            .store
            .call(prompt)
            .map(|call| titles(call))
            .unwrap_or_default();
        Some(
            match titles
                .into_iter()
                .find(|(title, _)| result["title"] == **title)
            {
                Some((title, _)) if title == CANCEL => Given::Dismissed(None),
                Some((_, answer)) => Given::Answer(answer, None),
                None if self.is(Wrong::AnyTitleIsYes) => self.yes(prompt),
                None => Given::Unfit("there is no such title".into()),
            },
        )
    }
}

/// The titles of a prompt's actions, and what each stands for.
fn titles(call: &Call) -> Vec<(String, Value)> {
    let kind = call.answer_type();
    let answers = if kind["type"] == "boolean" {
        vec![("Yes".into(), json!(true)), ("No".into(), json!(false))]
    } else {
        let options = kind["options"].as_array().cloned().unwrap_or_default();
        let option = |option: Value| (option.as_str().unwrap_or_default().to_owned(), option);
        options.into_iter().map(option).collect()
    };
    let mut titles = vec![(LATER.to_owned(), Value::Null)];
    titles.extend(answers);
    titles.push((CANCEL.to_owned(), Value::Null));
    titles
}
