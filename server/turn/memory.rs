//! What a turn remembers about answers, refusals and approvals. It is gone when the turn ends.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    event::{Reason, ResultReason},
    question::Question,
};

/// The memory of one turn.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// What a person said for the rest of the turn, by tool and question id. Booleans only.
    remembered: BTreeMap<(String, String), Value>,
    declined: Vec<Declined>,
    refused: Vec<(String, Value, (ResultReason, String))>,
    approved: BTreeSet<String>,
    attempts: BTreeMap<String, u32>,
}

/// A question that failed or was declined.
#[derive(Clone, Debug, PartialEq)]
pub struct Declined {
    /// Who asked.
    pub tool: String,
    /// What.
    pub question: Question,
    /// Why it has no answer.
    pub reason: Reason,
    /// What the model was told.
    pub text: String,
}

impl Memory {
    /// Keeps a person's answer for the rest of the turn. Anything but a boolean is not kept.
    pub fn remember(&mut self, tool: &str, question: &str, answer: &Value) {
        if answer.is_boolean() {
            self.remembered
                .insert((tool.to_owned(), question.to_owned()), answer.clone());
        }
    }

    /// What a person said of this question for the rest of the turn.
    #[must_use]
    pub fn remembered(&self, tool: &str, question: &str) -> Option<&Value> {
        self.remembered.get(&(tool.to_owned(), question.to_owned()))
    }

    /// The same question is not asked again.
    pub fn decline(&mut self, declined: Declined) {
        self.declined.push(declined);
    }

    /// The same question failed or was declined before.
    #[must_use]
    pub fn declined(&self, tool: &str, question: &Question) -> Option<&Declined> {
        self.declined
            .iter()
            .find(|declined| declined.tool == tool && declined.question.is_same(question))
    }

    /// The same call is refused at once, for the same reason and with the same text.
    pub fn refuse(&mut self, tool: &str, arguments: &Value, reason: ResultReason, text: &str) {
        let why = (reason, text.to_owned());
        self.refused.push((tool.to_owned(), arguments.clone(), why));
    }

    /// The same call was refused before; why, and what the model was told.
    #[must_use]
    pub fn refused(&self, tool: &str, arguments: &Value) -> Option<&(ResultReason, String)> {
        self.refused
            .iter()
            .find(|(name, with, _)| name == tool && with == arguments)
            .map(|(.., why)| why)
    }

    /// The user said something since: people are asked again.
    pub fn lift(&mut self) {
        self.declined.clear();
        self.refused.clear();
    }

    /// A person approved this hash for the rest of the turn.
    pub fn approve(&mut self, hash: &str) {
        self.approved.insert(hash.to_owned());
    }

    /// A person approved this hash for the rest of the turn.
    #[must_use]
    pub fn is_approved(&self, hash: &str) -> bool {
        self.approved.contains(hash)
    }

    /// The id of the next pair of this call and question. Attempts count over equal ids, because a provider may
    /// use a call id twice in a turn, and ids with dots in them may read alike.
    pub fn next_pair(&mut self, tool: &str, call_id: &str, question: &str) -> String {
        let stem = format!("tool_call.{tool}.{call_id}.{question}");
        let attempt = self.attempts.entry(stem.clone()).or_default();
        *attempt += 1;
        format!("{stem}.{attempt}")
    }

    /// A pair that is on record already: the next of its kind counts on from it.
    pub fn recorded_pair(&mut self, id: &str) {
        if let Some((stem, attempt)) = id.rsplit_once('.')
            && let Ok(attempt) = attempt.parse::<u32>()
        {
            let known = self.attempts.entry(stem.to_owned()).or_default();
            *known = attempt.max(*known);
        }
    }
}
