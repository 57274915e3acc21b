//! The ids of calls: each call of a conversation is told apart from all others by its own.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// Ids that Aside makes up begin so. Another provider's are never changed into one.
const MADE_UP: &str = "aside-";
/// What stands before the provider's own id in one that is made up.
const KEPT: char = '#';
/// Characters of a response's id that go into an id that is made up: with the rest no API finds it too long.
const TAIL: usize = 24;

/// The provider's own id of a call; none where it gave none.
pub(super) fn given(id: &str) -> Option<&str> {
    match id.starts_with(MADE_UP) {
        true => id.split_once(KEPT).map(|(_, given)| given),
        false => Some(id),
    }
}

/// The calls that a conversation has already, by hashes of their ids: an id that shares its hash with another counts
/// as taken, and the call gets one of ours.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlierCalls(Arc<HashSet<u64>>);

impl EarlierCalls {
    /// The conversation has a call of this id.
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

/// The ids of one response's calls: none of them is another call's of the conversation.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    earlier: EarlierCalls,
    response: String,
    known: HashSet<String>,
    count: u32,
}

impl CallIds {
    /// Of a response in a conversation that has these calls.
    pub(super) fn after(earlier: EarlierCalls) -> Self {
        Self {
            earlier,
            ..Self::default()
        }
    }

    /// By what the response is told apart from the conversation's other ones: its id, or when it was made. The first
    /// word counts; nothing says nothing.
    pub(super) fn of_response(&mut self, id: &str) {
        if id.is_empty() || !self.response.is_empty() {
            return;
        }
        tracing::debug!(target: "aside::provider", response = id, "responds");
        let plain = id.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = plain.collect();
        let from = plain.len().saturating_sub(TAIL);
        plain[from..].clone_into(&mut self.response);
    }

    /// The id of the next call: the given one, unless it is empty or an earlier call's.
    pub(super) fn next(&mut self, given: &str) -> String {
        self.next_with(given, "")
    }

    /// The same for an API that wants its own id back even where it repeats: [`given`] finds it in one of ours.
    pub(super) fn next_keeping(&mut self, given: &str) -> String {
        let kept = Some(given).filter(|given| !given.is_empty());
        let kept = kept.map_or_else(String::new, |given| format!("{KEPT}{given}"));
        self.next_with(given, &kept)
    }

    fn next_with(&mut self, given: &str, kept: &str) -> String {
        let at = self.count;
        self.count += 1;
        let mut id = given.to_owned();
        if id.is_empty() || self.is_taken(&id) {
            id = match self.response.as_str() {
                "" => format!("{MADE_UP}{at}{kept}"),
                response => format!("{MADE_UP}{response}-{at}{kept}"),
            };
        }
        // A provider that makes up the same as we do is not met; one that repeats ours is, and one that says nothing
        // of its responses.
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

    /// Calls so far.
    pub(super) fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As for a server that says nothing of its responses.
    #[test]
    fn a_response_may_have_no_id() {
        let mut ids = CallIds::default();
        assert_eq!([ids.next(""), ids.next("")], ["aside-0", "aside-1"]);
    }

    /// As for a server that counts the calls of each response from 0.
    #[test]
    fn no_call_has_the_id_of_one_in_an_earlier_response() {
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
    fn every_call_has_an_id_of_its_own() {
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
        assert_eq!(ids.count(), 6);
        let mut long = CallIds::default();
        long.of_response(&"0123456789".repeat(9));
        assert_eq!(long.next("").len(), MADE_UP.len() + TAIL + "-0".len());
    }
}
