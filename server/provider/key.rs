//! A provider's key or another secret of its requests: a type that is never printed.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use http::HeaderValue;

/// Replacement for a key.
const HIDDEN: &str = "[hidden]";
/// Minimum length of a text that is removed: no ordinary word may be taken for a key.
const MIN_HIDDEN: usize = 8;

/// A provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Trims white space around the key.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Whether the key is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the key from a text: the whole key, its base64 form, or the beginning of it at the end of a truncated
    /// text.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        if self.0.len() < MIN_HIDDEN {
            return text.to_owned();
        }
        let mut shown = self.hide_whole(text);
        for encoded in (0..3).map(|before| self.in_base64(before)) {
            for encoded in [&encoded, &encoded.replace('+', "-").replace('/', "_")] {
                if encoded.len() >= MIN_HIDDEN && shown.contains(encoded) {
                    shown = shown.replace(encoded, HIDDEN);
                }
            }
        }
        let begun = (MIN_HIDDEN..self.0.len())
            .rev()
            .filter_map(|end| self.0.get(..end))
            .find(|begun| shown.ends_with(begun));
        if let Some(begun) = begun {
            shown.truncate(shown.len() - begun.len());
            shown += HIDDEN;
        }
        shown
    }

    /// Removes the whole key from a text.
    pub(super) fn hide_whole(&self, text: &str) -> String {
        if self.0.len() < MIN_HIDDEN {
            return text.to_owned();
        }
        text.replace(&self.0, HIDDEN)
    }

    /// Number of bytes at the end of a text that may be the beginning of the key.
    pub(super) fn begun_at_end(&self, text: &str) -> usize {
        if self.0.len() < MIN_HIDDEN {
            return 0;
        }
        let most = text.len().min(self.0.len() - 1);
        let begun = (1..=most).rev().filter_map(|end| self.0.get(..end));
        begun
            .map(|begun| (begun.len(), text.ends_with(begun)))
            .find_map(|(length, ends)| ends.then_some(length))
            .unwrap_or(0)
    }

    /// The part of the key's base64 form that does not depend on the text around it, if `before` bytes precede the key
    /// in its group of three.
    fn in_base64(&self, before: usize) -> String {
        let bytes = [&vec![0; before][..], self.0.as_bytes()].concat();
        let encoded = STANDARD_NO_PAD.encode(&bytes);
        let (from, until) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        encoded.get(from..until).unwrap_or_default().to_owned()
    }

    /// Whether the key can be sent in a header.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        self.header("").is_some()
    }

    /// The value of a header with the prefix `before`; `None` if a header cannot carry the key.
    #[must_use]
    pub fn header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{before}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_redacted_in_debug_output() {
        let key = Key::new(" sk-ant-0123456789\n");
        assert_eq!(format!("{key:?}"), "Key(hidden)");
        let check = |text: &str, expected: &str| assert_eq!(key.hide(text), expected);
        check("no key", "no key");
        check(
            "bad sk-ant-0123456789, sk-ant-0123456789!",
            "bad [hidden], [hidden]!",
        );
        check("cut sk-ant-01234567", "cut [hidden]");
        check("sk-ant- is how they begin", "sk-ant- is how they begin");
        assert_eq!(Key::new("any").hide("any word"), "any word");
    }

    #[test]
    fn base64_keys_are_hidden_at_every_alignment() {
        let key = Key::new("sk-ant-0123456789~?>");
        for around in ["", "a", "ab", "abc", "user:", "Basic "] {
            let text = format!("{around}sk-ant-0123456789~?>{around}");
            for encoded in [
                STANDARD_NO_PAD.encode(&text),
                base64::engine::general_purpose::URL_SAFE.encode(&text),
            ] {
                let shown = key.hide(&encoded);
                assert!(shown.contains(HIDDEN), "{encoded}: {shown}");
                assert!(shown.len() < around.len() * 3 + 16, "{encoded}: {shown}");
            }
        }
    }
}
