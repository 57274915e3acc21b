//! What a turn remembers about answers, refusals and approvals. It is gone when the turn ends.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    question::Question,
    record::{Backend, CallKey, Reason, RefusalCause, ResultReason, Word},
};

/// The memory of one turn: values only, no text.
#[derive(Clone, Debug, Default)]
pub struct TurnMemory {
    /// What a person said for the rest of the turn, by tool and question id. Booleans only.
    remembered: BTreeMap<(String, String), Value>,
    failed: Vec<FailedQuestion>,
    /// Refused calls by tool: arguments and reason.
    refused: BTreeMap<String, Vec<(Value, ResultReason)>>,
    /// Hashes of calls that may run unasked.
    permitted: BTreeSet<String>,
    edits_permitted: bool,
    attempts: BTreeMap<String, u32>,
    refusals: Vec<RefusedCall>,
}

/// A question that failed or was declined without a note: the same question is not asked again.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedQuestion {
    /// The tool that asked.
    pub tool: String,
    /// What was asked.
    pub question: Question,
    /// Why it has no answer.
    pub reason: Reason,
    /// What failed, where the reason is that something did.
    pub backend: Option<Word<Backend>>,
    /// Why it failed or what was invalid, in words.
    pub why: Option<String>,
}

/// Something that was refused, and by no person.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedCall {
    /// Its place in the turn.
    pub call: CallKey,
    /// The tool of the call.
    pub tool: String,
    /// The arguments of the call; null where they could not be read.
    pub arguments: Value,
    /// Why.
    pub cause: RefusalCause,
}

impl TurnMemory {
    /// What a person said of this question for the rest of the turn.
    #[must_use]
    pub fn remembered(&self, tool: &str, question: &str) -> Option<&Value> {
        self.remembered.get(&(tool.to_owned(), question.to_owned()))
    }

    /// How the same question failed before, if it did.
    #[must_use]
    pub fn failed(&self, tool: &str, question: &Question) -> Option<&FailedQuestion> {
        self.failed
            .iter()
            .find(|failed| failed.tool == tool && failed.question.is_same(question))
    }

    /// Why the same call was refused before, if it was.
    #[must_use]
    pub fn refused(&self, tool: &str, arguments: &Value) -> Option<&ResultReason> {
        let of_tool = self.refused.get(tool)?.iter();
        let mut same = of_tool.filter(|(with, _)| with == arguments);
        same.next().map(|(_, reason)| reason)
    }

    /// Whether a person permitted a call with this hash for the rest of the turn.
    #[must_use]
    pub fn is_permitted(&self, hash: &str) -> bool {
        self.permitted.contains(hash)
    }

    /// Whether a person permitted all edits of files for the rest of the turn.
    #[must_use]
    pub fn edits_permitted(&self) -> bool {
        self.edits_permitted
    }

    /// What was refused, and by no person, in call order; the same call for the same reason once.
    #[must_use]
    pub fn refusals(&self) -> &[RefusedCall] {
        &self.refusals
    }

    /// The id of the next pair of this call and question. Attempts count over equal ids, because a provider may
    /// use a call id twice in a turn, and ids with dots in them may read alike.
    #[must_use]
    pub fn next_pair(&self, tool: &str, call_id: &str, question: &str) -> String {
        let stem = format!("tool_call.{tool}.{call_id}.{question}");
        let attempt = self.attempts.get(&stem).copied().unwrap_or_default();
        format!("{stem}.{}", attempt.saturating_add(1))
    }

    /// Takes in the id of a pair: the next one of its kind counts on from it.
    pub(super) fn count_pair(&mut self, id: &str) {
        if let Some((stem, attempt)) = id.rsplit_once('.')
            && let Ok(attempt) = attempt.parse::<u32>()
        {
            let known = self.attempts.entry(stem.to_owned()).or_default();
            *known = attempt.max(*known);
        }
    }

    /// Keeps a person's answer for the rest of the turn. Only booleans are kept.
    pub(super) fn remember(&mut self, tool: &str, question: &str, answer: &Value) {
        if answer.is_boolean() {
            self.remembered
                .insert((tool.to_owned(), question.to_owned()), answer.clone());
        }
    }

    pub(super) fn fail(&mut self, failed: FailedQuestion) {
        if self.failed(&failed.tool, &failed.question).is_none() {
            self.failed.push(failed);
        }
    }

    pub(super) fn refuse(&mut self, tool: &str, arguments: Value, reason: &ResultReason) {
        if self.refused(tool, &arguments).is_none() {
            let of_tool = self.refused.entry(tool.to_owned()).or_default();
            of_tool.push((arguments, reason.clone()));
        }
    }

    pub(super) fn permit(&mut self, hash: &str) {
        self.permitted.insert(hash.to_owned());
    }

    pub(super) fn permit_edits(&mut self) {
        self.edits_permitted = true;
    }

    /// Takes in why a call, its result or its question came to nothing; what is no refusal does not count.
    pub(super) fn count_refusal(&mut self, refused: RefusedCall) {
        let same = |known: &RefusedCall| {
            RefusedCall {
                call: known.call,
                ..refused.clone()
            } == *known
        };
        if refused.cause.reason().is_some() && !self.refusals.iter().any(same) {
            let after = self
                .refusals
                .partition_point(|known| known.call <= refused.call);
            self.refusals.insert(after, refused);
        }
    }

    /// The user said something: people are asked again.
    pub(super) fn lift(&mut self) {
        self.failed.clear();
        self.refused.clear();
    }
}
