//! A provider's key, or another secret of its requests: a type that cannot be printed.

use std::fmt;

use http::HeaderValue;

/// What stands where a key was.
const HIDDEN: &str = "[hidden]";

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

    /// A text without the key, should it be in there: whole, or as the beginning of it that a cut text ends with.
    pub(super) fn hide(&self, text: &str) -> String {
        // Shorter than any key, so that no word of the text is taken for one.
        const SHORT: usize = 8;
        if self.0.len() < SHORT {
            return text.to_owned();
        }
        let mut shown = text.replace(&self.0, HIDDEN);
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

    /// A header can carry it.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        self.header("").is_some()
    }

    /// The value of a header; `None` for a key that no header can carry.
    pub(super) fn header(&self, before: &str) -> Option<HeaderValue> {
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
}
