//! Whether the last steps brought anything new: calls, arguments and results that were seen before do not.

use std::{
    collections::{HashMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
};

use serde_json::Value;

use crate::record::CallEnd;

/// Calls that were made again and ended as before. Digests stand for calls, so that it stays small.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    /// Every call of the turn, with its arguments and its end.
    known: HashSet<u64>,
    /// The ended calls of this step, with their tools.
    step: Vec<(u64, Box<str>)>,
    /// Steps in which a call was repeated, counted since the last step that brought something new.
    times: HashMap<u64, u32>,
    /// Whether the model was told since then.
    warned: bool,
}

impl Repetition {
    /// The call of this step that was repeated most often, and how often; none where the step brought something new.
    #[must_use]
    pub fn worst(&self) -> Option<(&str, u32)> {
        if self.brings_new() {
            return None;
        }
        let times = |key| self.times.get(key).map_or(1, |times| times + 1);
        let all = self.step.iter().map(|(key, tool)| (&**tool, times(key)));
        all.max_by_key(|(_, times)| *times)
    }

    /// Whether the model was told that it repeats itself, and has done nothing new since.
    #[must_use]
    pub fn is_warned(&self) -> bool {
        self.warned
    }

    /// Takes the end of a call of this step. `arguments` are null where `raw` is not JSON.
    pub(super) fn ended(
        &mut self,
        tool: &str,
        (arguments, raw): (&Value, &str),
        end: &CallEnd,
        content: &str,
    ) {
        let mut hasher = DefaultHasher::new();
        let raw = if arguments.is_null() { raw } else { "" };
        let reason = end.reason().map(|reason| reason.word().to_owned());
        (tool, arguments, raw, end.status() as u8, reason, content).hash(&mut hasher);
        self.step.push((hasher.finish(), tool.into()));
    }

    pub(super) fn warn(&mut self) {
        self.warned = true;
    }

    /// Begins the next step. A step without calls changes nothing.
    pub(super) fn next_step(&mut self) {
        let new = self.brings_new();
        let step: HashSet<u64> = self.step.drain(..).map(|(key, _)| key).collect();
        if step.is_empty() {
            return;
        }
        if new {
            self.times.clear();
            self.warned = false;
            self.known.extend(step);
        } else {
            for key in step {
                *self.times.entry(key).or_default() += 1;
            }
        }
    }

    /// Forgets everything after a message of the user: what was tried in vain may be wanted now.
    pub(super) fn lift(&mut self) {
        *self = Self::default();
    }

    fn brings_new(&self) -> bool {
        self.step.iter().any(|(key, _)| !self.known.contains(key))
    }
}
