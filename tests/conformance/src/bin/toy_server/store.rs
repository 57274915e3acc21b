//! What outlives the process: one JSON file under the state folder.

use std::{
    env, fs,
    io::{self, Error},
    path::PathBuf,
};

use aside_conformance::wire::AnswerType;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The conversations that the toy server keeps.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Store {
    #[serde(skip)]
    path: PathBuf,
    ids: u64,
    pub(crate) conversations: Vec<Conversation>,
    /// What was allowed for good, as it is listed.
    pub(crate) approvals: Vec<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Conversation {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) turns: Vec<Turn>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) prompt: String,
    /// Messages that steered.
    pub(crate) steers: Vec<String>,
    /// Those of them that went into a request.
    pub(crate) heard: usize,
    /// Requests so far.
    pub(crate) step: u32,
    /// Of the calls before the last request.
    pub(crate) results: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) text: String,
    pub(crate) updates: Vec<Value>,
    /// None: it runs, or was interrupted.
    pub(crate) outcome: Option<String>,
}

/// A call, and the one prompt that it waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) prompt: String,
    pub(crate) unfit: u8,
    pub(crate) result: Option<String>,
}

impl Store {
    pub(crate) fn open() -> io::Result<Self> {
        let folder = env::var_os("XDG_STATE_HOME")
            .ok_or_else(|| Error::other("XDG_STATE_HOME is not set"))?;
        let path = PathBuf::from(folder).join("toy-server.json");
        let store = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => return Err(error),
        };
        Ok(Self { path, ..store })
    }

    pub(crate) fn save(&self) -> io::Result<()> {
        fs::write(&self.path, serde_json::to_vec(self)?)
    }

    /// An id that was not given before.
    pub(crate) fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}-{}", self.ids)
    }

    pub(crate) fn conversation(&mut self, id: &str) -> Option<&mut Conversation> {
        self.conversations
            .iter_mut()
            .find(|conversation| conversation.id == id)
    }

    pub(crate) fn turn(&mut self, id: &str) -> Option<&mut Turn> {
        let mut turns = self
            .conversations
            .iter_mut()
            .flat_map(|conversation| &mut conversation.turns);
        turns.find(|turn| turn.id == id)
    }

    /// The conversation of a turn.
    pub(crate) fn of_turn(&self, id: &str) -> String {
        let mut conversations = self.conversations.iter();
        let found =
            conversations.find(|conversation| conversation.turns.iter().any(|turn| turn.id == id));
        found
            .map(|conversation| conversation.id.clone())
            .unwrap_or_default()
    }

    /// The call that asked this, open or not.
    pub(crate) fn call(&mut self, prompt: &str) -> Option<&mut Call> {
        let turns = self
            .conversations
            .iter_mut()
            .flat_map(|conversation| &mut conversation.turns);
        turns
            .flat_map(|turn| &mut turn.calls)
            .find(|call| call.prompt == prompt)
    }

    /// The turn that asked this.
    pub(crate) fn turn_of_prompt(&self, prompt: &str) -> Option<String> {
        let mut turns = self
            .conversations
            .iter()
            .flat_map(|conversation| &conversation.turns);
        let asked = |turn: &&Turn| {
            turn.updates
                .iter()
                .any(|update| update["promptId"] == prompt)
        };
        turns.find(asked).map(|turn| turn.id.clone())
    }
}

impl Turn {
    /// Calls without a result, while the turn is not over.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Call> {
        let over = self.outcome.is_some();
        self.calls
            .iter()
            .filter(move |call| !over && call.result.is_none())
    }
}

impl Call {
    pub(crate) fn is_permission(&self) -> bool {
        !matches!(self.tool.as_str(), "ask_user" | "asker")
    }

    /// A command, which is not run here.
    pub(crate) fn is_command(&self) -> bool {
        self.tool == "run_command"
    }

    pub(crate) fn command(&self) -> &str {
        self.argument("command")
    }

    /// What `asker` asks.
    fn question(&self) -> &Value {
        &self.arguments["questions"][0]
    }

    pub(crate) fn optional(&self) -> bool {
        self.question()["optional"] == true
    }

    fn argument(&self, name: &str) -> &str {
        self.arguments[name].as_str().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.argument("path")
    }

    pub(crate) fn content(&self) -> &str {
        self.argument("content")
    }

    pub(crate) fn text(&self) -> &str {
        match self.tool.as_str() {
            "ask_user" => self.argument("question"),
            "asker" => self.question()["text"].as_str().unwrap_or_default(),
            _ => "Go on with it?",
        }
    }

    pub(crate) fn answer_type(&self) -> Value {
        match self.tool.as_str() {
            "ask_user" => {}
            "asker" => return self.question()["answer_type"].clone(),
            "run_command" => {
                return json!({"type": "select", "options": ["once", "turn", "always", "no"]});
            }
            _ => return json!({"type": "select", "options": ["once", "turn", "no"]}),
        }
        match self.argument("answer_type") {
            "boolean" => json!({"type": "boolean"}),
            "select" => json!({"type": "select", "options": self.arguments["options"]}),
            _ => json!({"type": "text"}),
        }
    }

    pub(crate) fn fits(&self, answer: &Value) -> bool {
        let kind: Option<AnswerType> = serde_json::from_value(self.answer_type()).ok();
        let is_date = self.answer_type()["format"] != "date"
            || answer
                .as_str()
                .is_some_and(|text| text.split('-').count() == 3);
        (answer.is_null() && self.optional())
            || kind.is_some_and(|kind| kind.is_met_by(answer) && is_date)
    }
}
