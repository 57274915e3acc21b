//! Differences between two texts, by lines.

use std::{ops::Range, time::Duration};

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

/// Old lines of a text, and those that take their place.
type Hunk<'a> = (Range<usize>, &'a [&'a str]);

/// One text with the changes from `base` to both of these texts; a change that both have is made once. `None` where they
/// change the same lines, or put lines at the same place.
#[must_use]
pub fn merged(base: &str, one: &str, other: &str) -> Option<String> {
    let [base, one, other] = [base, one, other].map(lines);
    let (ours, theirs) = (hunks(&base, &one), hunks(&base, &other));
    let (mut ours, mut theirs) = (ours.into_iter().peekable(), theirs.into_iter().peekable());
    let (mut merged, mut at) = (String::new(), 0);
    while let Some((gone, put)) = match (ours.peek(), theirs.peek()) {
        (Some(mine), Some(yours)) if mine == yours => {
            theirs.next();
            ours.next()
        }
        (Some((mine, _)), Some((yours, _))) if collide(mine, yours) => return None,
        (Some((mine, _)), Some((yours, _))) if mine.end > yours.start => theirs.next(),
        (Some(_), _) => ours.next(),
        (None, _) => theirs.next(),
    } {
        merged.extend(base[at..gone.start].iter().chain(put).copied());
        at = gone.end;
    }
    merged.extend(base[at..].iter().copied());
    Some(merged)
}

/// Whether two changes touch the same lines, or put lines at the same place.
fn collide(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end || one == other
}

fn hunks<'a>(base: &[&str], new: &'a [&'a str]) -> Vec<Hunk<'a>> {
    let diff = TextDiff::configure()
        .timeout(LOOKED_FOR)
        .diff_slices(base, new);
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    changed
        .map(|op| (op.old_range(), &new[op.new_range()]))
        .collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn changes_of_other_lines_are_merged_and_those_of_the_same_are_not() {
        let base = "one\ntwo\nthree\nfour\n";
        for (one, other, expected) in [
            (
                "zero\none\n2\nthree\nfour\n",
                "one\ntwo\n3\nfour\nfive\n",
                Some("zero\none\n2\n3\nfour\nfive\n"),
            ),
            ("one\n2\nthree\nfour\n", base, Some("one\n2\nthree\nfour\n")),
            (
                "one\nthree\nfour\n",
                "one x\ntwo\nthree\nfour\n",
                Some("one x\nthree\nfour\n"),
            ),
            (
                "one\nand\ntwo\nthree\nfour\n",
                "one\ntwo\nthree\n",
                Some("one\nand\ntwo\nthree\n"),
            ),
            // Both took the first line away, and one of them more.
            ("two\nthree\n", "two\nthree\nfour\n", Some("two\nthree\n")),
            ("one\n2\nthree\nfour\n", "one\ntwo x\nthree\nfour\n", None),
            ("one\n2\nthree\nfour\n", "", None),
            (
                "one\nand\ntwo\nthree\nfour\n",
                "one\nor\ntwo\nthree\nfour\n",
                None,
            ),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                let merged = merged(base, one, other);
                assert_eq!(merged.as_deref(), expected, "{one:?} {other:?}");
            }
        }
    }
}
