//! The ids of calls: each call of a conversation is told apart from all others by its own.

use std::collections::HashSet;

/// Ids that Aside makes up begin so. Another provider's are never changed into one.
pub(super) const MADE_UP: &str = "aside-";
/// Characters of a response's id that go into an id that is made up: with the rest no API finds it too long.
const TAIL: usize = 24;

/// The ids of one response's calls.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    response: String,
    known: HashSet<String>,
    count: u32,
}

impl CallIds {
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
        let at = self.count;
        self.count += 1;
        let mut id = given.to_owned();
        if id.is_empty() || self.known.contains(&id) {
            id = match self.response.as_str() {
                "" => format!("{MADE_UP}{at}"),
                response => format!("{MADE_UP}{response}-{at}"),
            };
        }
        // A provider that makes up the same as we do is not met; one that repeats ours is.
        while !self.known.insert(id.clone()) {
            id.push('-');
        }
        id
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

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let mut ids = CallIds::default();
        for (response, given, expected) in [
            ("", "call_1", "call_1"),
            ("msg_01-ABC", "", "aside-msg01ABC-1"),
            ("other", "call_1", "aside-msg01ABC-2"),
            ("", "", "aside-msg01ABC-3"),
            ("", "aside-msg01ABC-5", "aside-msg01ABC-5"),
            ("", "", "aside-msg01ABC-5-"),
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
