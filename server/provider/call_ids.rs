//! Call ids: unique within a conversation, whatever ids the provider gives.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// Prefix of ids that Aside makes up. A foreign id is never changed into one.
const GENERATED_PREFIX: &str = "aside-";
/// Separator before the provider's own id within a made-up id.
const KEPT_MARK: char = '#';
/// Characters of a response's id that go into a made-up id: short enough for every API.
const MAX_TAIL: usize = 24;

/// The provider's own id of a call, also inside a made-up one; `None` if the provider gave none.
pub(super) fn given(id: &str) -> Option<&str> {
    match id.starts_with(GENERATED_PREFIX) {
        true => id.split_once(KEPT_MARK).map(|(_, given)| given),
        false => Some(id),
    }
}

/// The calls that a conversation already has, by hashes of their ids. On a collision the new call gets a made-up id.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlierCalls(Arc<HashSet<u64>>);

impl EarlierCalls {
    /// Records a call of the conversation.
    pub(super) fn add(&mut self, id: &str) {
        Arc::make_mut(&mut self.0).insert(hash(id));
    }

    fn has(&self, id: &str) -> bool {
        self.0.contains(&hash(id))
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// Assigns ids to the calls of one response, unique within the conversation.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    earlier: EarlierCalls,
    response: String,
    known: HashSet<String>,
    count: u32,
}

impl CallIds {
    /// For a response in a conversation with these earlier calls.
    pub(super) fn after(earlier: EarlierCalls) -> Self {
        Self {
            earlier,
            ..Self::default()
        }
    }

    /// Sets what distinguishes this response from the conversation's others: its id or its time. Only the first value
    /// that is not empty counts.
    pub(super) fn of_response(&mut self, id: &str) {
        if id.is_empty() || !self.response.is_empty() {
            return;
        }
        tracing::debug!(target: "aside::provider", response = id, "responds");
        let plain = id.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = plain.collect();
        let from = plain.len().saturating_sub(MAX_TAIL);
        plain[from..].clone_into(&mut self.response);
    }

    /// Returns the id of the next call: `given`, unless it is empty or taken.
    pub(super) fn next(&mut self, given: &str) -> String {
        self.next_with(given, "")
    }

    /// Like [`CallIds::next`], for an API that needs its own id back even if it repeats: the made-up id contains it,
    /// and [`given`] extracts it.
    pub(super) fn next_keeping(&mut self, given: &str) -> String {
        let kept = Some(given).filter(|given| !given.is_empty());
        let kept = kept.map_or_else(String::new, |given| format!("{KEPT_MARK}{given}"));
        self.next_with(given, &kept)
    }

    fn next_with(&mut self, given: &str, kept: &str) -> String {
        let at = self.count;
        self.count += 1;
        let mut id = given.to_owned();
        if id.is_empty() || self.is_taken(&id) {
            id = match self.response.as_str() {
                "" => format!("{GENERATED_PREFIX}{at}{kept}"),
                response => format!("{GENERATED_PREFIX}{response}-{at}{kept}"),
            };
        }
        // Taken again: the server repeats one of our ids, or its responses have neither id nor time.
        if self.is_taken(&id) {
            let first = self.earlier.0.len() + self.known.len();
            let bare = id.strip_suffix(kept).unwrap_or(&id).to_owned();
            let another = (first..).map(|number| format!("{bare}-{number}{kept}"));
            let another = another.into_iter().find(|id| !self.is_taken(id));
            id = another.unwrap_or(id);
        }
        self.known.insert(id.clone());
        id
    }

    fn is_taken(&self, id: &str) -> bool {
        self.known.contains(id) || self.earlier.has(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers may send responses without an id.
    #[test]
    fn responses_without_an_id_are_decoded() {
        let mut ids = CallIds::default();
        assert_eq!([ids.next(""), ids.next("")], ["aside-0", "aside-1"]);
    }

    /// Some servers number the calls of each response from 0.
    #[test]
    fn call_ids_differ_between_responses() {
        let mut earlier = EarlierCalls::default();
        let mut seen = HashSet::new();
        for at in 0..200 {
            let mut ids = CallIds::after(earlier.clone());
            if at % 2 == 0 {
                ids.of_response(&format!("chatcmpl-{at}"));
            }
            for given in ["call_0", "call_1", ""] {
                let id = ids.next(given);
                assert!(id.len() <= 64, "{id}");
                earlier.add(&id);
                assert!(seen.insert(id));
            }
        }
        assert!(seen.contains("call_0") && seen.contains("aside-chatcmpl2-0"));
    }

    #[test]
    fn call_ids_are_unique() {
        let mut ids = CallIds::default();
        for (response, given, expected) in [
            ("", "call_1", "call_1"),
            ("msg_01-ABC", "", "aside-msg01ABC-1"),
            ("other", "call_1", "aside-msg01ABC-2"),
            ("", "", "aside-msg01ABC-3"),
            ("", "aside-msg01ABC-5", "aside-msg01ABC-5"),
            ("", "", "aside-msg01ABC-5-5"),
        ] {
            ids.of_response(response);
            assert_eq!(ids.next(given), expected);
        }
        let mut long = CallIds::default();
        long.of_response(&"0123456789".repeat(9));
        assert_eq!(
            long.next("").len(),
            GENERATED_PREFIX.len() + MAX_TAIL + "-0".len()
        );
    }
}
