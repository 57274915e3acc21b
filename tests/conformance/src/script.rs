//! Scripts for the rehearsal model, as far as the cases need them: the driver writes
//! them. What their keys mean is in `server/provider/rehearsal/README.md`.

use serde::Serialize;
use serde_json::{Value, json};

use crate::Failure;

/// What the model says once it has been told `true`.
pub const TOLD_YES: &str = "The model was told yes.";
/// What the model says where the answer was `false`.
pub const TOLD_NO: &str = "The model was told no.";
/// … that the person dismissed the question.
pub const TOLD_DISMISSED: &str = "The model was told of a dismissal.";
/// … that the question could not be shown.
pub const TOLD_NOT_SHOWN: &str = "The model was told that it could not be shown.";
/// … anything else.
pub const TOLD_ELSE: &str = "The model was told something else.";

/// A script: the first reply that fits a request is played.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Script {
    /// In the order in which they are tried. None is used up, so that a server may play it in any number of
    /// conversations.
    reply: Vec<Value>,
}

/// A question that the model asks with `ask_user`.
#[derive(Clone, Debug)]
pub struct Ask(Value);

impl Ask {
    /// A yes or no.
    pub fn boolean(question: &str) -> Self {
        Self(json!({"question": question, "answer_type": "boolean"}))
    }

    /// One of these.
    pub fn select(question: &str, options: &[&str]) -> Self {
        Self(json!({"question": question, "answer_type": "select", "options": options}))
    }

    /// A question that any text answers.
    pub fn text(question: &str) -> Self {
        Self(json!({"question": question, "answer_type": "text"}))
    }
}

/// An item in which the model says a text.
pub fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// An item in which the model calls a tool.
pub fn call(tool: &str, arguments: &Value) -> Value {
    json!({"call": tool, "arguments": arguments})
}

fn reply(when: &Value, say: &[Value]) -> Value {
    json!({"repeat": true, "when": when, "say": say})
}

fn asks(questions: &[Ask]) -> Vec<Value> {
    let calls = questions.iter().map(|ask| call("ask_user", &ask.0));
    calls.collect()
}

fn told(part: &str, says: &str) -> Value {
    reply(&json!({"result": {"contains": part}}), &[text(says)])
}

impl Script {
    /// A model that begins each turn by asking these, side by side, and then says what it was told: one of the
    /// `TOLD_…` texts.
    pub fn asks(questions: &[Ask]) -> Self {
        Self::says(&asks(questions))
    }

    /// A model that begins each turn with these items, and then says what it was told.
    pub fn says(items: &[Value]) -> Self {
        Self {
            reply: vec![
                reply(&json!({"step": 1}), items),
                told("\"answer\":true", TOLD_YES),
                told("\"answer\":false", TOLD_NO),
                told("The user dismissed the question.", TOLD_DISMISSED),
                told("the question could not be shown", TOLD_NOT_SHOWN),
                reply(&json!({}), &[text(TOLD_ELSE)]),
            ],
        }
    }

    /// Where a result has this part, the model says this: tried before all others.
    pub fn told(self, part: &str, says: &str) -> Self {
        self.before(told(part, says))
    }

    /// Where the user said this last, the model says this: tried before all others.
    pub fn heard(self, user: &str, says: &str) -> Self {
        self.before(reply(&json!({ "user": user }), &[text(says)]))
    }

    /// A turn whose message has this begins with these questions: tried before all others.
    pub fn asks_for(self, user: &str, questions: &[Ask]) -> Self {
        self.before(reply(&json!({"user": user, "step": 1}), &asks(questions)))
    }

    /// The first reply never ends.
    pub fn stalls(mut self) -> Self {
        if let Some(first) = self.reply.first_mut() {
            first["fault"] = json!({"stall": true});
        }
        self
    }

    /// As it is written.
    pub fn toml(&self) -> Result<String, Failure> {
        toml::to_string(self)
            .map_err(|error| Failure(format!("the script cannot be written: {error}")))
    }

    fn before(mut self, reply: Value) -> Self {
        self.reply.insert(0, reply);
        self
    }
}
