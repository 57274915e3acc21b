//! What holds for every message of every session, whatever the case is about.

mod agent;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use self::agent::AgentWatch;
use crate::wire::{
    self, ConversationRef, DismissParams, MethodKind, Recipient, ShowMessage, StatusParams,
    TurnCompleted,
};

/// A rule of the ledger; each is the name of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Messages read as documented, and ask for nothing that the client did not declare.
    Shape,
    /// `seq` counts from 1 without gaps.
    Seq,
    /// `aside/turn/completed` is the last message of its turn, and comes once.
    Last,
    /// No prompt is sent while it is open.
    Once,
}

/// A rule that was broken.
#[derive(Clone, Debug)]
pub struct Breach {
    /// The rule that was broken.
    pub rule: Rule,
    /// In which case.
    pub case: &'static str,
    /// How: one sentence.
    pub what: String,
}

/// The breaches of a whole run.
pub type Breaches = Arc<Mutex<Vec<Breach>>>;

/// Watches one session.
#[derive(Debug)]
pub struct Ledger {
    case: &'static str,
    breaches: Breaches,
    turns: HashMap<String, Watched>,
    open: HashSet<String>,
    /// Of a session over the Agent Client Protocol.
    agent: Option<AgentWatch>,
}

#[derive(Debug, Default)]
struct Watched {
    seq: u64,
    completed: bool,
}

impl Rule {
    /// All rules, in the order in which they are reported.
    pub const ALL: [Self; 4] = [Self::Shape, Self::Seq, Self::Last, Self::Once];

    /// The case that a breach fails.
    pub fn case(self) -> &'static str {
        match self {
            Self::Shape => "messages_well_formed",
            Self::Seq => "seq_without_gaps",
            Self::Last => "completed_last_and_once",
            Self::Once => "prompts_sent_once",
        }
    }
}

impl Ledger {
    /// Of a session of this case.
    pub fn new(case: &'static str, breaches: Breaches) -> Self {
        Self {
            case,
            breaches,
            turns: HashMap::new(),
            open: HashSet::new(),
            agent: None,
        }
    }

    /// Of a session over the Agent Client Protocol.
    pub fn of_agent(case: &'static str, breaches: Breaches) -> Self {
        Self {
            agent: Some(AgentWatch::default()),
            ..Self::new(case, breaches)
        }
    }

    /// The client sends a message.
    pub fn sent(&mut self, message: &Value) {
        if let Some(agent) = &mut self.agent {
            agent.sent(message);
        }
    }

    /// A message came, whole.
    pub fn came(&mut self, message: &Value) {
        let broken = self.agent.as_mut().map(|agent| agent.came(message));
        for (rule, what) in broken.into_iter().flatten() {
            self.breach(rule, what);
        }
    }

    /// A message of the server that has a method. Whether the client is to look at it: not at a prompt that it
    /// shows already.
    pub fn received(&mut self, method: &str, is_request: bool, params: &Value) -> bool {
        if self.agent.is_some() {
            return true;
        }
        self.fits_table(method, is_request);
        match (method, is_request) {
            ("aside/turn/update", false) => self.update(params),
            ("aside/turn/completed", false) => self.completed(params),
            ("aside/prompt", true) => return self.prompt(params),
            ("aside/prompt/dismiss", false) => {
                self.shaped::<DismissParams>(method, params);
            }
            ("aside/status", false) => {
                self.shaped::<StatusParams>(method, params);
            }
            ("aside/conversation/changed", false) => {
                self.shaped::<ConversationRef>(method, params);
            }
            ("window/showMessageRequest", true)
            | ("window/showMessage" | "window/logMessage", false) => {
                if let Some(message) = self.shaped::<ShowMessage>(method, params)
                    && !(1..=5).contains(&message.kind)
                {
                    self.breach(Rule::Shape, format!("`{method}` has type {}", message.kind));
                }
            }
            (_, true) => self.breach(
                Rule::Shape,
                format!("the client did not declare `{method}` and was asked it"),
            ),
            (_, false) => {}
        }
        true
    }

    /// The protocol's own methods are what the table says: to the client, and requests or notifications.
    fn fits_table(&self, method: &str, is_request: bool) {
        let wrong = |what: &str| self.breach(Rule::Shape, format!("`{method}` {what}"));
        match wire::method(method) {
            None if method.starts_with("aside/") => wrong("is no method of the protocol"),
            Some(row) if row.to != Recipient::Client => wrong("is for servers alone"),
            Some(row) if is_request != (row.kind == MethodKind::Request) => {
                wrong("is a request, or a notification, where it should be the other");
            }
            _ => {}
        }
    }

    /// Bytes came that are no message.
    pub fn broken(&self, what: &str) {
        self.breach(Rule::Shape, what.to_owned());
    }

    /// The client replied to a prompt: it may be shown again.
    pub fn replied(&mut self, prompt: &str) {
        self.open.remove(prompt);
    }

    /// A turn is resumed: it counts anew.
    pub fn resumed(&mut self, turn: &str) {
        self.turns.remove(turn);
    }

    fn update(&mut self, params: &Value) {
        self.well_formed("aside/turn/update", wire::read_turn_update(params));
        // An update that is not well-formed has its place all the same.
        let (Some(id), Some(seq)) = (params["turnId"].as_str(), params["seq"].as_u64()) else {
            return;
        };
        let turn = self.turns.entry(id.to_owned()).or_default();
        let (expected, completed) = (turn.seq + 1, turn.completed);
        turn.seq = seq;
        if seq != expected {
            let what = format!("{id} has seq {seq} where {expected} was due");
            self.breach(Rule::Seq, what);
        }
        if completed {
            self.breach(
                Rule::Last,
                format!("an update of {id} came after its completed"),
            );
        }
    }

    fn completed(&mut self, params: &Value) {
        let Some(message) = self.shaped::<TurnCompleted>("aside/turn/completed", params) else {
            return;
        };
        let turn = self.turns.entry(message.turn_id.clone()).or_default();
        if std::mem::replace(&mut turn.completed, true) {
            self.breach(
                Rule::Last,
                format!("{} was completed twice", message.turn_id),
            );
        }
    }

    fn prompt(&mut self, params: &Value) -> bool {
        let Some(prompt) = self.well_formed("aside/prompt", wire::read_prompt(params)) else {
            return true;
        };
        if prompt.resumable.is_some() {
            self.breach(
                Rule::Shape,
                format!("{} is shown with `resumable`", prompt.prompt_id),
            );
        }
        if self
            .turns
            .get(&prompt.turn_id)
            .is_some_and(|turn| turn.completed)
        {
            self.breach(
                Rule::Last,
                format!(
                    "{} was shown after its turn was completed",
                    prompt.prompt_id
                ),
            );
        }
        let is_new = self.open.insert(prompt.prompt_id.clone());
        if !is_new {
            self.breach(
                Rule::Once,
                format!("{} was sent again while it was open", prompt.prompt_id),
            );
        }
        is_new
    }

    fn shaped<T: DeserializeOwned + Serialize>(&self, method: &str, params: &Value) -> Option<T> {
        self.well_formed(method, wire::read(params))
    }

    fn well_formed<T>(&self, method: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|why| {
            self.breach(Rule::Shape, format!("`{method}` is not well-formed: {why}"));
        })
        .ok()
    }

    fn breach(&self, rule: Rule, what: String) {
        let breach = Breach {
            rule,
            case: self.case,
            what,
        };
        self.breaches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(breach);
    }
}
