//! Lines that fit the columns of a terminal, broken between words. Pure.

use unicode_width::UnicodeWidthStr;

/// On fewer columns the terminal itself breaks lines.
const NARROWEST: usize = 20;

/// The words of a line on lines of this many columns, the first behind `first`, each other one behind `rest`. A word that is
/// longer than a line is left whole: the terminal breaks it.
pub(super) fn wrapped(words: &str, first: &str, rest: &str, columns: usize) -> String {
    if columns < NARROWEST || first.width() + words.width() <= columns {
        return format!("{first}{words}");
    }
    let mut shown = first.to_owned();
    let mut at = first.width();
    for (nth, word) in words.split(' ').enumerate() {
        let width = word.width();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words_where_it_does_not_fit() {
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
        ] {
            assert_eq!(wrapped(words, "> ", ". ", columns), expected);
        }
    }
}
