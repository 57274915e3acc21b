//! Line ends and the byte order mark: where a text occurs whatever its line ends, and a new text with those of its place.
//! Pure.
//!
//! | the place | a new text there |
//! |---|---|
//! | all line ends alike | has this one wherever it was written with `\n` |
//! | both kinds, and the model wrote a `\r\n` | stays as it was written: the model sees the line ends, and names them |
//! | both kinds, and the model wrote none | each line has the end of the line whose place it takes |
//! | none, or only line ends were to be changed | stays as it was written |

use std::ops::Range;

use aside_base::diff::counterparts;

/// The line ends of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    /// The text is one line.
    None,
    /// All are this one. Carriage returns count only where there is nothing else.
    Alike(&'static str),
    /// Some are `\n` and some `\r\n`.
    Mixed,
}

impl LineEnds {
    fn of(text: &str) -> Self {
        let (all, wide) = (text.matches('\n').count(), text.matches("\r\n").count());
        match (all, wide) {
            (0, _) if text.contains('\r') => Self::Alike("\r"),
            (0, _) => Self::None,
            (_, 0) => Self::Alike("\n"),
            _ if all == wide => Self::Alike("\r\n"),
            _ => Self::Mixed,
        }
    }
}

/// The byte order mark of a text, and the rest. The mark is of the file and not of its text.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    text.split_at(mark)
}

/// Whether texts differ only in what editors keep beside a text: line ends, the byte order mark, and whether the last line
/// has an end.
#[must_use]
pub fn alike(one: &str, other: &str) -> bool {
    one == other || words(one) == words(other)
}

/// A text without what editors keep beside it; the same for all that are [`alike`].
#[must_use]
pub fn words(text: &str) -> String {
    let (mut words, _) = flat(split_mark(text).1);
    if words.ends_with('\n') {
        words.pop();
    }
    words
}

/// The first places at which a text begins, also within each other, whatever the line ends are.
pub(super) fn places(text: &str, wanted: &str, most: usize) -> Vec<Range<usize>> {
    let (plain, wide) = flat(text);
    let (needle, _) = flat(wanted);
    let Some(first) = needle.chars().next() else {
        return Vec::new();
    };
    // Each `\r\n` before a byte of the flat text is one byte more in the text.
    let back = |at: usize| at + wide.partition_point(|end| *end < at);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < most
        && let Some(at) = plain[from..].find(&needle)
    {
        let at = from + at;
        from = at + first.len_utf8();
        let mut place = back(at)..back(at + needle.len());
        // A carriage return was named, and not the `\n` behind it.
        if wanted.ends_with('\r') && text[..place.end].ends_with("\r\n") {
            place.end -= 1;
        }
        found.push(place);
    }
    found
}

/// Whether some of these places, in order, have bytes in common.
pub(super) fn overlap(places: &[Range<usize>]) -> bool {
    places.windows(2).any(|pair| pair[1].start < pair[0].end)
}

/// A new text for a place of a text, where `wanted` was found.
pub(super) fn for_place(text: &str, place: &Range<usize>, wanted: &str, new: &str) -> String {
    if flat(wanted).0 == flat(new).0 {
        return new.to_owned();
    }
    // Who takes the place for one with other line ends does not mean those of the new text either.
    let unmeant = names_ends(wanted) && !names_ends(&text[place.clone()]);
    let meant = unmeant.then(|| new.replace("\r\n", "\n"));
    let (wanted, new) = match &meant {
        Some(new) => ("", new.as_str()),
        None => (wanted, new),
    };
    match LineEnds::of(text) {
        LineEnds::None => new.to_owned(),
        LineEnds::Alike(end) => ended_by(new, end),
        LineEnds::Mixed if names_ends(wanted) || names_ends(new) => new.to_owned(),
        LineEnds::Mixed => among_mixed(text, place, new),
    }
}

/// A new text in the place of a whole one: with its line ends, its byte order mark, and a line end at its end or none as
/// it has.
pub(super) fn for_whole(old: &str, new: &str) -> String {
    let (mark, old) = split_mark(old);
    let (own_mark, new) = split_mark(new);
    let mark = if mark.is_empty() { own_mark } else { mark };
    if old.is_empty() {
        return format!("{mark}{new}");
    }
    let text = match LineEnds::of(old) {
        LineEnds::None => new.to_owned(),
        LineEnds::Alike(end) => ended_by(new, end),
        LineEnds::Mixed if names_ends(new) => new.to_owned(),
        LineEnds::Mixed => with_ends_of(old, new, "\n"),
    };
    format!("{mark}{}", with_last_end(old, text))
}

/// A text with the line ends and the byte order mark of an old one, if all its line ends are alike: what some editors keep
/// beside a text and put back, and others lose.
#[must_use]
pub fn with_ends_and_mark(old: &str, text: &str) -> String {
    let (mark, old) = split_mark(old);
    let text = split_mark(text).1;
    match LineEnds::of(old) {
        LineEnds::Alike(end) => format!("{mark}{}", ended_by(text, end)),
        LineEnds::None | LineEnds::Mixed => format!("{mark}{text}"),
    }
}

/// A new text of an open document in its line ends, the last one included: editors know one kind for a document, and
/// some no text without the last one.
pub(super) fn for_document(old: &str, text: String) -> String {
    let ends = LineEnds::of(old);
    let mut text = match ends {
        LineEnds::Alike("\n") => text.replace("\r\n", "\n"),
        LineEnds::Alike(end) => ended_by(&text, end),
        LineEnds::None | LineEnds::Mixed => text,
    };
    if let Some(end) = last_end(old, ends)
        && !text.is_empty()
        && last_end(&text, ends).is_none()
    {
        text.push_str(end);
    }
    text
}

/// The text with `\n` for each line end, and the places there that were `\r\n`.
fn flat(text: &str) -> (String, Vec<usize>) {
    if !text.contains('\r') {
        return (text.to_owned(), Vec::new());
    }
    let (mut plain, mut wide) = (String::with_capacity(text.len()), Vec::new());
    let mut pieces = text.split('\r').peekable();
    while let Some(piece) = pieces.next() {
        plain.push_str(piece);
        match pieces.peek() {
            Some(next) if next.starts_with('\n') => wide.push(plain.len()),
            Some(_) => plain.push('\n'),
            None => {}
        }
    }
    (plain, wide)
}

/// Whether a text was written with line ends that are not the usual one.
fn names_ends(text: &str) -> bool {
    text.contains("\r\n")
}

/// The text with this line end for each `\n`; one that was written as `\r\n` stays where `\n` is the usual one.
fn ended_by(text: &str, end: &str) -> String {
    match end {
        "\n" => text.to_owned(),
        end => text.replace("\r\n", "\n").replace('\n', end),
    }
}

/// The line end of a line.
fn line_end(line: &str) -> Option<&'static str> {
    match line {
        line if line.ends_with("\r\n") => Some("\r\n"),
        line if line.ends_with('\n') => Some("\n"),
        _ => None,
    }
}

/// The line end at the end of a text in a file with these line ends.
fn last_end(text: &str, ends: LineEnds) -> Option<&'static str> {
    match ends {
        LineEnds::Alike("\r") if text.ends_with('\r') => Some("\r"),
        _ => line_end(text),
    }
}

/// A new text for a place of a text with line ends of both kinds. It is compared with the lines of which the place is a
/// part.
fn among_mixed(text: &str, place: &Range<usize>, new: &str) -> String {
    let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = match text[place.clone()].ends_with('\n') {
        true => place.end,
        false => {
            let rest = text[place.end..].find('\n');
            rest.map_or(text.len(), |at| place.end + at + 1)
        }
    };
    let before = &text[start..place.start];
    if before.ends_with('\r') && new.starts_with('\n') {
        return new.to_owned();
    }
    let usual = line_end(&text[..start]).unwrap_or("\n");
    with_ends_of(&text[start..end], &format!("{before}{new}"), usual)[before.len()..].to_owned()
}

/// A text written with `\n` in which each line has the end of the line of `old` whose place it takes.
fn with_ends_of(old: &str, new: &str, usual: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    // The last line may have none, and has that of the line before.
    let end_at = |line: usize| old[..=line].iter().rev().find_map(|line| line_end(line));
    let old_words: Vec<&str> = old.iter().map(|line| without_end(line)).collect();
    let new_words: Vec<&str> = new.iter().map(|line| without_end(line)).collect();
    let counterparts = counterparts(&old_words, &new_words);
    let lines = new.iter().zip(new_words).zip(counterparts);
    let lines = lines.map(|((line, words), counterpart)| match line_end(line) {
        None => (*line).to_owned(),
        Some(_) => {
            let end = counterpart.and_then(end_at).unwrap_or(usual);
            format!("{words}{end}")
        }
    });
    lines.collect()
}

fn without_end(line: &str) -> &str {
    line.strip_suffix(line_end(line).unwrap_or_default())
        .unwrap_or(line)
}

/// The new text with a line end at its end if the old one has one, and without otherwise.
fn with_last_end(old: &str, mut new: String) -> String {
    let ends = LineEnds::of(old);
    let Some(end) = last_end(old, ends) else {
        let mut length = new.len();
        while let Some(end) = last_end(&new[..length], ends) {
            length -= end.len();
        }
        // A text of nothing but line ends is meant.
        if length > 0 {
            new.truncate(length);
        }
        return new;
    };
    if !new.is_empty() && last_end(&new, ends).is_none() {
        new.push_str(end);
    }
    new
}

#[cfg(test)]
mod tests;
