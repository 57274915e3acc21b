//! Paths in the words of a profile.

use std::{collections::BTreeMap, path::Path};

/// Any letters beyond ASCII. None stands in a profile itself, so that it does not matter how those are read there.
const BEYOND: &str = "[^ -~]+";
/// The same in a name that has some: with the plain one before, and the one that carries them where letters and their marks
/// are apart.
const BEYOND_HERE: &str = "([A-Za-z]?[A-Za-z]?[^ -~]+)+";
/// Printable characters that mean themselves in a regular expression; for each other one any character does.
const PLAIN: &[u8] = b"-_ ~,@%=:";
/// Letters that a file system which folds case takes for the same as one beyond ASCII, such as `ﬁ`, `ß` and `ſ`.
const FOLDED: [&str; 9] = ["ffi", "ffl", "ff", "fi", "fl", "ss", "st", "s", "k"];

/// A path as a string of a profile. None where it has characters that none can hold.
pub(super) fn quoted(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let is_spelled = !text.chars().any(char::is_control);
    is_spelled.then(|| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A regular expression that fits a path in upper and lower case and in each normal form of its letters.
pub(super) fn spelled(path: &Path) -> String {
    let names = path.iter().filter(|name| *name != "/");
    let names = names.map(|name| format!("/{}", spelled_name(name.as_encoded_bytes())));
    names.collect()
}

fn spelled_name(name: &[u8]) -> String {
    let (mut text, mut at) = (String::new(), 0);
    while at < name.len() {
        let (length, piece) = match beyond(&name[at..]) {
            0 => piece(&name[at..]),
            length => (length, BEYOND_HERE.to_owned()),
        };
        text.push_str(&piece);
        at += length;
    }
    text
}

/// Bytes at the beginning of a name that [`BEYOND_HERE`] stands for.
fn beyond(name: &[u8]) -> usize {
    let is_odd = |byte: Option<&u8>| byte.is_some_and(|it| !(b' '..=b'~').contains(it));
    let mut end = 0;
    loop {
        let byte = name.get(end);
        let carries = byte.is_some_and(u8::is_ascii_alphabetic) && is_odd(name.get(end + 1));
        match is_odd(byte) || carries {
            true => end += 1,
            false => return end,
        }
    }
}

/// The first characters of a name, as many as belong together, in all their spellings.
fn piece(name: &[u8]) -> (usize, String) {
    let starts = |letters: &&&str| {
        let start = name.get(..letters.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(letters.as_bytes()))
    };
    let Some(letters) = FOLDED.iter().find(starts) else {
        return (
            1,
            name.first()
                .map_or_else(String::new, |it| in_either_case(*it)),
        );
    };
    let apart: Vec<String> = letters
        .bytes()
        .map(|letter| match letter {
            b's' => format!("([sS]|{BEYOND})"),
            letter => in_either_case(letter),
        })
        .collect();
    let piece = match &apart[..] {
        [first, _, last] => format!(
            "({}|{first}{BEYOND}|{BEYOND}{last}|{BEYOND})",
            apart.concat()
        ),
        apart => format!("({}|{BEYOND})", apart.concat()),
    };
    (letters.len(), piece)
}

fn in_either_case(byte: u8) -> String {
    let letter = char::from(byte);
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' => {
            let (lower, upper) = (letter.to_ascii_lowercase(), letter.to_ascii_uppercase());
            format!("[{lower}{upper}]")
        }
        b'.' => "\\.".to_owned(),
        byte if byte.is_ascii_digit() || PLAIN.contains(&byte) => letter.to_string(),
        _ => ".".to_owned(),
    }
}

/// A place of the table as pieces of a regular expression.
pub(super) fn table_name(place: &str) -> Vec<String> {
    let (mut pieces, mut rest) = (Vec::new(), place.as_bytes());
    while let Some(first) = rest.first() {
        let (length, next) = match first {
            b'*' => (1, "[^/]*".to_owned()),
            b'/' => (1, "/".to_owned()),
            _ => piece(rest),
        };
        pieces.push(next);
        rest = &rest[length..];
    }
    pieces
}

/// One regular expression for all that begin with the same letter, so that a path is compared with few of them.
pub(super) fn grouped(names: Vec<Vec<String>>) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        let start = match name.first().is_some_and(|it| it == "\\.") {
            true => 2,
            false => 1,
        };
        let (start, rest) = name.split_at(start.min(name.len()));
        groups
            .entry(start.concat())
            .or_default()
            .push(rest.concat());
    }
    let groups = groups.into_iter();
    groups
        .map(|(start, rests)| format!("{start}({})", rests.join("|")))
        .collect()
}
