//! What a watcher of effects and inputs knows of a conversation, without asking the machine.

use std::collections::{BTreeMap, BTreeSet};

use aside_turn::{
    effect::End,
    input::{Preparation, Prepared, RequestId},
    inquiry::Strategy,
    question::Question,
    record::{CallKey, Outcome, PromptId, PromptSubject, Reason, Status},
};
use serde_json::Value;

/// One turn, over all its crashes.
#[derive(Debug, Default)]
pub(crate) struct TurnSeen {
    pub(crate) calls: BTreeMap<CallKey, CallSeen>,
    /// Calls of a response whose end is not on record.
    pub(crate) fresh: Vec<(CallKey, CallSeen)>,
    pub(crate) pairs: BTreeMap<String, PairSeen>,
    pub(crate) prompts: BTreeMap<PromptId, PromptSeen>,
    /// Events so far.
    pub(crate) events: usize,
    pub(crate) step: u32,
    /// The last response asked for the same again.
    pub(crate) paused: bool,
    /// A summary was put on record, and no request since.
    pub(crate) summarised: bool,
    /// The last response was taken back by the provider.
    pub(crate) lost: bool,
    /// A response end is on record, and no request after it.
    pub(crate) answered: bool,
    /// The last response made calls.
    pub(crate) called: bool,
    /// Something of the user's side came since the last request.
    pub(crate) owing: bool,
    /// The user's rules changed between interruption and resume.
    pub(crate) changed: bool,
    /// A person let the rest of the turn's edits run.
    pub(crate) widened: bool,
    /// Hashes that a person approved for the rest of the turn.
    pub(crate) approved: BTreeSet<String>,
    /// Booleans that a person gave for the rest of the turn.
    pub(crate) remembered: BTreeMap<(String, String), Value>,
    /// Questions without an answer, and when they lost it.
    pub(crate) declined: Vec<(usize, String, Question, Reason)>,
    /// Calls that were refused, and when.
    pub(crate) refused: Vec<(usize, String, String)>,
    pub(crate) end: Option<Outcome>,
    /// The turn was parked before.
    pub(crate) parked: bool,
}

/// What was seen of one call.
#[derive(Clone, Debug)]
pub(crate) struct CallSeen {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    /// Its place among the calls of its response.
    pub(crate) place: usize,
    /// When it came.
    pub(crate) at: usize,
    pub(crate) runs: u32,
    /// It is on record that it was started, and nothing came of that yet.
    pub(crate) in_run: bool,
    /// It was on its way when Aside ended: what it did is unknown.
    pub(crate) lost: bool,
    /// Its start is on record, and nobody ran it.
    pub(crate) to_run: bool,
    pub(crate) asked: Option<Question>,
    /// The pairs of its questions that have no response.
    pub(crate) open: Vec<String>,
    pub(crate) answers: Vec<(String, Value)>,
    /// Questions whose secret was typed.
    pub(crate) secrets: Vec<String>,
    /// Answered since its last run.
    pub(crate) answered: bool,
    pub(crate) approved: Vec<String>,
    pub(crate) held: Option<String>,
    pub(crate) done: Option<(Status, String)>,
}

/// One question and its outcome.
#[derive(Debug)]
pub(crate) struct PairSeen {
    pub(crate) call: CallKey,
    pub(crate) question: Question,
    pub(crate) live: bool,
    pub(crate) at: usize,
    pub(crate) prompt: Option<PromptId>,
    pub(crate) closed: bool,
    pub(crate) strategies: Vec<Strategy>,
}

/// What was seen of one prompt.
#[derive(Debug)]
pub(crate) struct PromptSeen {
    pub(crate) call: CallKey,
    pub(crate) subject: PromptSubject,
    /// On record. A question's prompt is closed by the question's response.
    pub(crate) closed: bool,
    /// What people said to it, in order.
    pub(crate) said: Vec<Said>,
}

/// What a person, or a client for one, made of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Value(Value),
    No,
    Failed,
}

/// One life of a turn: from its start or a resume to its end or a crash.
#[derive(Debug, Default)]
pub(crate) struct Life {
    pub(crate) end: Option<End>,
    /// An append failed.
    pub(crate) broken: bool,
    pub(crate) cancelled: bool,
    pub(crate) left: bool,
    pub(crate) on_screen: BTreeSet<PromptId>,
    pub(crate) running: BTreeSet<CallKey>,
    pub(crate) stopped: BTreeSet<CallKey>,
    pub(crate) live: BTreeSet<(CallKey, u32)>,
    pub(crate) requests: BTreeSet<RequestId>,
    /// Answers that did not fit, by prompt.
    pub(crate) unfit: BTreeMap<PromptId, u8>,
    /// The last preparation, and whether a client was there.
    pub(crate) prepared: BTreeMap<CallKey, (Prepared, bool)>,
    /// Calls that are being prepared and have not asked yet.
    pub(crate) preparing: BTreeSet<CallKey>,
    /// Preparations that wait for that of an earlier call.
    pub(crate) waiting: Vec<(CallKey, Preparation)>,
    /// Calls that were prepared in this life.
    pub(crate) began: BTreeSet<CallKey>,
    pub(crate) last_recorded: &'static str,
    pub(crate) last_result: Option<CallKey>,
}

impl Life {
    /// What came of preparing the first call, or one before it once more.
    pub(crate) fn next_prepared(&mut self) -> Option<(CallKey, Preparation)> {
        let first = self.preparing.first();
        let is_next = |key: &CallKey| first.is_none_or(|first| key <= first);
        let at = self.waiting.iter().position(|(key, _)| is_next(key))?;
        let (key, preparation) = self.waiting.remove(at);
        self.preparing.remove(&key);
        Some((key, preparation))
    }
}

impl CallSeen {
    pub(crate) fn new(at: usize, id: &str, tool: &str, arguments: &str) -> Self {
        Self {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            place: 0,
            at,
            runs: 0,
            in_run: false,
            lost: false,
            to_run: false,
            asked: None,
            open: Vec::new(),
            answers: Vec::new(),
            secrets: Vec::new(),
            answered: false,
            approved: Vec::new(),
            held: None,
            done: None,
        }
    }
}

impl TurnSeen {
    pub(crate) fn is_open(&self, prompt: &PromptId) -> bool {
        self.prompts
            .get(prompt)
            .is_some_and(|seen| match &seen.subject {
                PromptSubject::Question { inquiry } => {
                    self.pairs.get(inquiry).is_some_and(|pair| !pair.closed)
                }
                _ => !seen.closed,
            })
    }

    /// Prompts that wait for a person, as the record says. A live question's does not outlive its run.
    pub(crate) fn open_prompts(&self) -> Vec<(PromptId, bool)> {
        let live = |seen: &PromptSeen| match &seen.subject {
            PromptSubject::Question { inquiry } => {
                self.pairs.get(inquiry).is_some_and(|pair| pair.live)
            }
            _ => false,
        };
        self.prompts
            .iter()
            .filter(|(id, _)| self.is_open(id))
            .map(|(id, seen)| (id.clone(), live(seen)))
            .collect()
    }

    pub(crate) fn prompt_of(&self, call: CallKey) -> Option<&PromptId> {
        self.prompts
            .iter()
            .find(|(id, seen)| seen.call == call && self.is_open(id))
            .map(|(id, _)| id)
    }

    /// Calls of the last response.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (&CallKey, &CallSeen)> {
        self.calls.iter().filter(|(_, call)| call.done.is_none())
    }

    pub(crate) fn question(&self, prompt: &PromptId) -> Option<&Question> {
        match &self.prompts.get(prompt)?.subject {
            PromptSubject::Question { inquiry } => Some(&self.pairs.get(inquiry)?.question),
            _ => None,
        }
    }
}
