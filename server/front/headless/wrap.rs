//! Wraps lines between words to the width of a terminal. Pure.

use unicode_width::UnicodeWidthStr;

/// Minimum width for wrapping; on narrower terminals the terminal itself wraps.
pub(super) const MIN_COLUMNS: usize = 20;

/// Wraps words to a width. The first line begins with `first`, all others with `rest`. A word longer than a line is not
/// split, and neither is text between backticks, which is meant for copying.
pub(super) fn wrapped(words: &str, first: &str, rest: &str, columns: usize) -> String {
    if columns < MIN_COLUMNS || first.width() + shown_width(words) <= columns {
        return format!("{first}{words}");
    }
    let mut shown = first.to_owned();
    let mut at = first.width();
    for (nth, word) in parts(words).enumerate() {
        let width = shown_width(word);
        if nth > 0 && at + 1 + width > columns {
            shown.push('\n');
            shown.push_str(rest);
            at = rest.width();
        } else if nth > 0 {
            shown.push(' ');
            at += 1;
        }
        shown.push_str(word);
        at += width;
    }
    shown
}

/// Wraps each line of a page to a width. Continuation lines are indented like their first line plus `more`.
pub(super) fn page(text: &str, more: usize, columns: usize) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        let words = line.trim_start_matches(' ');
        let before = &line[..line.len() - words.len()];
        let rest = " ".repeat(before.len() + more);
        shown += &match is_command(words) {
            true => line.to_owned(),
            false => wrapped(words, before, &rest, columns),
        };
        shown += end;
    }
    shown
}

/// Whether a line is a command to copy, which is not wrapped.
fn is_command(words: &str) -> bool {
    words.starts_with("aside ") || words.starts_with("Usage: ")
}

/// Splits text into words. Text between backticks stays together with adjacent characters.
fn parts(words: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(words);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut in_code = false;
        let end = text.char_indices().find(|(at, letter)| {
            if *letter == '`' {
                in_code = !in_code && text[at + 1..].contains('`');
            }
            *letter == ' ' && !in_code
        });
        let (part, behind) = match end {
            Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        rest = behind;
        Some(part)
    })
}

/// Width of a text in columns, ignoring colour codes.
fn shown_width(text: &str) -> usize {
    let mut pieces = text.split("\x1b[");
    let plain = pieces.next().map_or(0, UnicodeWidthStr::width);
    let behind = pieces.map(|piece| {
        piece
            .split_once('m')
            .map_or(piece, |(_, text)| text)
            .width()
    });
    plain + behind.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words() {
        for (words, columns, expected) in [
            ("one two three four", 80, "> one two three four"),
            ("one two three four", 20, "> one two three four"),
            ("one two three fours", 20, "> one two three\n. fours"),
            (
                "two  blanks and more of it",
                20,
                "> two  blanks and\n. more of it",
            ),
            (
                "a aaaaaaaaaaaaaaaaaaaaaaaaaaa b",
                20,
                "> a\n. aaaaaaaaaaaaaaaaaaaaaaaaaaa\n. b",
            ),
            ("日本語 日本語 日本語", 20, "> 日本語 日本語\n. 日本語"),
            ("one two three four", 0, "> one two three four"),
            ("", 40, "> "),
            (
                "type `aside trust --yes now`, please",
                20,
                "> type\n. `aside trust --yes now`,\n. please",
            ),
            (
                "it's a `tick and more words",
                20,
                "> it's a `tick and\n. more words",
            ),
            (
                "\x1b[33mwarning:\x1b[0m it is on",
                20,
                "> \x1b[33mwarning:\x1b[0m it is on",
            ),
        ] {
            assert_eq!(wrapped(words, "> ", ". ", columns), expected);
        }
    }

    #[test]
    fn lines_of_a_page_are_broken_separately() {
        let text = "  one two three four\nfive\n\nsix seven eight nine";
        assert_eq!(
            page(text, 1, 20),
            "  one two three four\nfive\n\nsix seven eight nine"
        );
        let text = "  one two three fours\n\nsix seven eight nines\n";
        assert_eq!(
            page(text, 1, 20),
            "  one two three\n   fours\n\nsix seven eight\n nines\n"
        );
        let command = "  aside run --resume --answer p=VALUE\n";
        assert_eq!(page(command, 1, 20), command);
    }
}
