//! A provider's key, or another secret of its requests: a type that cannot be printed.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use http::HeaderValue;

/// What stands where a key was.
const HIDDEN: &str = "[hidden]";
/// Shorter than any key, so that no word of a text is taken for one.
const SHORT: usize = 8;

/// A provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Surrounding white space is no part of a key.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// There is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text without the key, should it be in there: whole, in base64, or as the beginning of it that a cut text ends
    /// with.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        if self.0.len() < SHORT {
            return text.to_owned();
        }
        let mut shown = self.hide_whole(text);
        for encoded in (0..3).map(|before| self.in_base64(before)) {
            for encoded in [&encoded, &encoded.replace('+', "-").replace('/', "_")] {
                if encoded.len() >= SHORT && shown.contains(encoded) {
                    shown = shown.replace(encoded, HIDDEN);
                }
            }
        }
        let begun = (SHORT..self.0.len())
            .rev()
            .filter_map(|end| self.0.get(..end))
            .find(|begun| shown.ends_with(begun));
        if let Some(begun) = begun {
            shown.truncate(shown.len() - begun.len());
            shown += HIDDEN;
        }
        shown
    }

    /// A text without the key, should all of it be in there.
    pub(super) fn hide_whole(&self, text: &str) -> String {
        if self.0.len() < SHORT {
            return text.to_owned();
        }
        text.replace(&self.0, HIDDEN)
    }

    /// How many bytes at the end of a text may be the beginning of the key.
    pub(super) fn begun_at_end(&self, text: &str) -> usize {
        if self.0.len() < SHORT {
            return 0;
        }
        let most = text.len().min(self.0.len() - 1);
        let begun = (1..=most).rev().filter_map(|end| self.0.get(..end));
        begun
            .map(|begun| (begun.len(), text.ends_with(begun)))
            .find_map(|(length, ends)| ends.then_some(length))
            .unwrap_or(0)
    }

    /// What of the key's base64 is the same whatever stands around it, where so many bytes stand before it in its group
    /// of three.
    fn in_base64(&self, before: usize) -> String {
        let bytes = [&vec![0; before][..], self.0.as_bytes()].concat();
        let encoded = STANDARD_NO_PAD.encode(&bytes);
        let (from, until) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        encoded.get(from..until).unwrap_or_default().to_owned()
    }

    /// A header can carry it.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        self.header("").is_some()
    }

    /// The value of a header; `None` for a key that no header can carry.
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
    fn a_key_is_never_shown() {
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
    fn a_key_in_base64_is_hidden_whatever_stands_around_it() {
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
