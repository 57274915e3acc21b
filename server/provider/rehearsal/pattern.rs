//! Text patterns: a substring, or a regular expression between slashes.

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

/// A substring, or `/a regular expression/`.
#[derive(Debug)]
pub(super) enum Pattern {
    Part(String),
    Regex(RegexMatcher),
}

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        match text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
        {
            Some(regex) if !regex.is_empty() => RegexMatcher::new(regex)
                .map(Self::Regex)
                .map_err(|_| format!("`{text}` is not a valid regular expression")),
            _ => Ok(Self::Part(text.to_owned())),
        }
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        match self {
            Self::Part(part) => text.contains(part.as_str()),
            // The error type has no values.
            Self::Regex(regex) => regex.is_match(text.as_bytes()).unwrap_or(false),
        }
    }
}
