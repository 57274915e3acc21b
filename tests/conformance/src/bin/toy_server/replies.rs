//! What a person, or a client, made of a prompt.

use serde_json::{Value, json};

use crate::{Toy, wrong::Wrong};

/// Answers that do not fit and after which a prompt is shown again.
const UNFIT: u8 = 2;

/// What was given for a prompt.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// The answer, and the text that is to be written instead.
    Answer(Value, Option<String>),
    /// By a person, with a note or without.
    Dismissed(Option<String>),
    /// The client could not show it.
    Failed(String),
    /// No answer at all.
    Unfit(String),
}

/// An open prompt.
pub(crate) struct Open {
    pub(crate) prompt: String,
    pub(crate) turn: String,
}

/// Reads a `PromptAnswer`.
pub(crate) fn read(result: &Value) -> Given {
    match result["action"].as_str() {
        Some("answer") => match result.get("answer") {
            Some(answer) => Given::Answer(
                answer.clone(),
                result["newText"].as_str().map(str::to_owned),
            ),
            None => Given::Unfit("it has no `answer`".into()),
        },
        Some("decline") => Given::Dismissed(result["note"].as_str().map(str::to_owned)),
        Some("cancel") => Given::Dismissed(None),
        _ => Given::Unfit("it has no `action` that is known".into()),
    }
}

impl Toy {
    /// All prompts that wait for somebody.
    pub(crate) fn open_prompts(&self) -> Vec<Open> {
        let turns = self
            .store
            .conversations
            .iter()
            .flat_map(|conversation| &conversation.turns);
        turns
            .flat_map(|turn| {
                turn.open().map(|call| Open {
                    prompt: call.prompt.clone(),
                    turn: turn.id.clone(),
                })
            })
            .collect()
    }

    /// Whether a prompt waits for a reply in this process.
    pub(crate) fn is_open(&self, prompt: &str) -> bool {
        let mut open = self.open_prompts().into_iter();
        open.any(|open| open.prompt == prompt && self.live.contains_key(&open.turn))
    }

    /// The reply to a request came.
    pub(crate) fn replied(&mut self, prompt: &str, response: &Value) {
        let given = match response.get("error") {
            Some(_) if self.is(Wrong::ErrorIsAnswer) => Given::Dismissed(None),
            Some(error) => Given::Failed(error["message"].as_str().unwrap_or_default().to_owned()),
            None if response["result"].is_null() && self.is(Wrong::NullIsYes) => self.yes(prompt),
            None if self.knows => read(&response["result"]),
            None => match self.chosen_title(prompt, &response["result"]) {
                Some(given) => given,
                None => return self.show_fallback(),
            },
        };
        if self.is_open(prompt) {
            self.settle(prompt, given);
        } else {
            self.late(prompt, given);
        }
        if !self.knows {
            self.show_fallback();
        }
    }

    /// What a yes to this prompt would be.
    pub(crate) fn yes(&mut self, prompt: &str) -> Given {
        let permission = self
            .store
            .call(prompt)
            .is_some_and(|call| call.is_permission());
        Given::Answer(
            if permission {
                json!("once")
            } else {
                json!(true)
            },
            None,
        )
    }

    /// Nobody waits for this any more. Only a wrong server makes something of it.
    fn late(&mut self, prompt: &str, given: Given) {
        let Given::Answer(answer, _) = given else {
            return;
        };
        if self.is(Wrong::LateCounted) && !self.elsewhere.contains(prompt) {
            let Some(turn) = self.store.turn_of_prompt(prompt) else {
                return;
            };
            self.tell(&turn, closed_by_user(prompt, &answer));
        }
        if self.is(Wrong::SecondCounted)
            && self.elsewhere.contains(prompt)
            && let Some(call) = self.store.call(prompt)
        {
            call.result = Some(
                json!({"answer_type": call.answer_type()["type"], "answer": answer}).to_string(),
            );
        }
    }

    /// Settles an open prompt, or shows it again.
    pub(crate) fn settle(&mut self, prompt: &str, mut given: Given) {
        let Some(turn) = self.store.turn_of_prompt(prompt) else {
            return;
        };
        let any = self.is(Wrong::AnyAnswerFits);
        let Some(call) = self.store.call(prompt) else {
            return;
        };
        if let Given::Answer(answer, _) = &given
            && !call.fits(answer)
            && !any
        {
            given = Given::Unfit("the answer does not fit".into());
        }
        if matches!(given, Given::Unfit(_)) {
            call.unfit += 1;
            let again = call.unfit <= UNFIT;
            self.tell(
                &turn,
                json!({"kind": "notice", "level": "warning", "text": "The answer was not taken."}),
            );
            if again {
                return self.show_one(prompt);
            }
        }
        let update = match &given {
            Given::Answer(answer, _) => closed_by_user(prompt, answer),
            Given::Dismissed(_) => cancelled(prompt, "user"),
            Given::Failed(_) | Given::Unfit(_) => cancelled(prompt, "backend_error"),
        };
        self.tell(&turn, update);
        if let (Given::Answer(answer, _), Some(call)) = (&given, self.store.call(prompt))
            && call.is_command()
            && answer == "always"
        {
            let command = call.command().to_owned();
            self.approve(&command);
        }
        if let Some(call) = self.store.call(prompt) {
            call.result = Some(Self::result(&self.root, call, &given));
            let call = call.clone();
            self.tell_result(&turn, &call, &given);
        }
        self.advance(&turn);
    }
}

fn closed_by_user(prompt: &str, answer: &Value) -> Value {
    json!({"kind": "question", "promptId": prompt, "outcome": "answered", "by": "user", "answer": answer})
}

fn cancelled(prompt: &str, reason: &str) -> Value {
    json!({"kind": "question", "promptId": prompt, "outcome": "cancelled", "reason": reason})
}
