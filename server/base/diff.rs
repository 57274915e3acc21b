//! Differences between two texts, by lines.

use std::time::Duration;

use similar::{DiffTag, TextDiff};

/// Maximum size in bytes of a diff that goes to a model or a client.
const MAX: usize = 64 << 10;

/// Time limit of a comparison; a coarser one replaces it then.
const LOOKED_FOR: Duration = Duration::from_millis(500);

/// Compares two texts by lines.
pub fn by_lines<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure()
        .timeout(LOOKED_FOR)
        .diff_lines(old, new)
}

/// For each new line, the number of the old one whose place it takes; `None` before the first one.
#[must_use]
pub fn counterparts(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let diff = TextDiff::configure()
        .timeout(LOOKED_FOR)
        .diff_slices(old, new);
    let mut counterparts = Vec::new();
    for op in diff.ops() {
        let (old, new) = (op.old_range(), op.new_range());
        counterparts.extend(new.enumerate().map(|(at, _)| match op.tag() {
            DiffTag::Insert => old.start.checked_sub(1),
            _ => Some((old.start + at).min(old.end - 1)),
        }));
    }
    counterparts
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
