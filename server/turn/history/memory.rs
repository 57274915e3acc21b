//! Memory of a turn: answers, refusals and approvals. Dropped when the turn ends.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    question::Question,
    record::{Backend, CallKey, Reason, RefusalReason, ResultReason, Word},
};

/// The memory of one turn: values only, no text.
#[derive(Clone, Debug, Default)]
pub struct TurnMemory {
    /// Answers that a person gave for the rest of the turn, by tool and question id. Booleans only.
    remembered: BTreeMap<(String, String), Value>,
    failed: Vec<FailedQuestion>,
    /// Refused calls by tool: arguments and reason.
    refused: BTreeMap<String, Vec<(Value, ResultReason)>>,
    /// Hashes of calls that may run without asking.
    permitted: BTreeSet<String>,
    edits_permitted: bool,
    attempts: BTreeMap<String, u32>,
    refusals: Vec<RefusedCall>,
}

/// A question that failed or was declined without a note. The same question is not asked again.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedQuestion {
    /// The tool that asked.
    pub tool: String,
    /// The question that was asked in vain.
    pub question: Question,
    /// Reason why there is no answer.
    pub reason: Reason,
    /// The part that failed, if the reason is a failure.
    pub backend: Option<Word<Backend>>,
    /// The failure in words.
    pub why: Option<String>,
}

/// A call or question that was refused, but not by a person.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedCall {
    /// Place of the call in the turn.
    pub call: CallKey,
    /// The tool of the call.
    pub tool: String,
    /// The arguments of the call; null if they were not valid JSON.
    pub arguments: Value,
    /// Reason of the refusal.
    pub reason: RefusalReason,
    /// The id of the question that was refused; none for a call.
    pub question: Option<String>,
    /// The key of the configuration that refused it.
    pub key: Option<String>,
    /// Why a person has to be asked, whatever the mode.
    pub cause: Option<String>,
}

impl TurnMemory {
    /// The answer that a person gave to this question for the rest of the turn.
    #[must_use]
    pub fn remembered(&self, tool: &str, question: &str) -> Option<&Value> {
        self.remembered.get(&(tool.to_owned(), question.to_owned()))
    }

    /// The earlier failure of the same question.
    #[must_use]
    pub fn failed(&self, tool: &str, question: &Question) -> Option<&FailedQuestion> {
        self.failed
            .iter()
            .find(|failed| failed.tool == tool && failed.question.is_same(question))
    }

    /// The reason for which the same call was refused before.
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

    /// Refusals in call order, without those by a person. The same call is listed once for each reason.
    #[must_use]
    pub fn refusals(&self) -> &[RefusedCall] {
        &self.refusals
    }

    /// The id of the next pair of this call and question. Attempts count over equal ids, because a provider may use a
    /// call id twice in a turn, and ids that contain dots may coincide.
    #[must_use]
    pub fn next_pair(&self, tool: &str, call_id: &str, question: &str) -> String {
        let stem = format!("tool_call.{tool}.{call_id}.{question}");
        let attempt = self.attempts.get(&stem).copied().unwrap_or_default();
        format!("{stem}.{}", attempt.saturating_add(1))
    }

    /// Counts the id of a pair, so that the next one of its kind follows.
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

    /// Counts a refusal, the same one once.
    pub(super) fn count_refusal(&mut self, refused: RefusedCall) {
        let same = |known: &RefusedCall| {
            RefusedCall {
                call: known.call,
                ..refused.clone()
            } == *known
        };
        if !self.refusals.iter().any(same) {
            let after = self
                .refusals
                .partition_point(|known| known.call <= refused.call);
            self.refusals.insert(after, refused);
        }
    }

    /// Forgets refusals and failed questions after a message of the user, so that people are asked again.
    pub(super) fn lift(&mut self) {
        self.failed.clear();
        self.refused.clear();
    }
}
