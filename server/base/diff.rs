//! Differences between two texts, by lines.

use std::time::Duration;

use similar::TextDiff;

/// Maximum size in bytes of a diff that goes to a model or a client.
const MAX: usize = 64 << 10;

/// Compares two texts by lines. A coarser comparison replaces one that takes too long.
pub fn by_lines<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure()
        .timeout(Duration::from_millis(500))
        .diff_lines(old, new)
}

/// The unified diff of a file, cut where it is very long.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    let mut text = by_lines(old, new)
        .unified_diff()
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string();
    if text.len() > MAX {
        text.truncate(text.floor_char_boundary(MAX));
        text.push_str("\n[the rest of the diff is left out]\n");
    }
    text
}
