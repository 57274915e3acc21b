//! Text of models, tools and files behind a bar, which nothing of it can get out of. Pure.

use aside_base::visible::in_sight;
use unicode_width::UnicodeWidthChar;

use super::{
    paint::Paint,
    wrap::{NARROWEST, wrapped},
};

/// The columns of a bar with what stands between it and the text.
const BAR: usize = 2;
/// Columns from one stop of a tab to the next.
const TAB: usize = 8;

/// Lines as they are.
pub(super) fn show_text(shown: &mut String, text: &str, paint: Paint, columns: usize) {
    for line in in_sight(text).lines() {
        behind_bar(shown, line, paint, columns, str::to_owned);
    }
}

/// Sentences, whose lines are broken between words.
pub(super) fn show_words(shown: &mut String, text: &str, paint: Paint, columns: usize) {
    for line in in_sight(text).lines() {
        let line = wrapped(line, "", "", columns.saturating_sub(2));
        for line in line.split('\n') {
            behind_bar(shown, line, paint, columns, str::to_owned);
        }
    }
}

/// A line, and what it goes on with behind another bar. It is painted piece by piece.
pub(super) fn behind_bar(
    shown: &mut String,
    line: &str,
    paint: Paint,
    columns: usize,
    painted: impl Fn(&str) -> String,
) {
    for (nth, piece) in cut(line, columns).into_iter().enumerate() {
        let bar = match nth {
            0 => format!("{} ", paint.dim("│")),
            _ => paint.dim("│↪"),
        };
        shown.push_str(&format!("{bar}{}\n", painted(piece)));
    }
}

/// A line in pieces that fit this many columns, broken wherever one is full, for a line of somebody else's behind a bar:
/// what the terminal breaks goes on at its edge, where our own lines begin.
fn cut(line: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    for (place, letter) in line.char_indices() {
        let width = match letter {
            '\t' => TAB - (BAR + at) % TAB,
            // It makes an emoji of what stands before it.
            '\u{fe0f}' => 1,
            letter => letter.width().unwrap_or(0),
        };
        if columns >= NARROWEST && at > 0 && BAR + at + width > columns {
            pieces.push(&line[from..place]);
            (from, at) = (place, 0);
        }
        at += width;
    }
    pieces.push(&line[from..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_behind_a_bar_is_broken_where_it_is_full() {
        for (line, columns, expected) in [
            ("", 20, &[""][..]),
            ("eighteen columns..", 20, &["eighteen columns.."]),
            ("eighteen columns...", 20, &["eighteen columns..", "."]),
            ("日本語日本語日本語日", 20, &["日本語日本語日本語", "日"]),
            ("six...\tfourteen.x", 20, &["six...\tfour", "teen.x"]),
            (
                "👍\u{fe0f}👍\u{fe0f}👍\u{fe0f}👍\u{fe0f}👍\u{fe0f}👍\u{fe0f}👍",
                20,
                &[
                    "👍\u{fe0f}👍\u{fe0f}👍\u{fe0f}👍\u{fe0f}👍\u{fe0f}👍\u{fe0f}",
                    "👍",
                ],
            ),
            (
                "on a terminal that says nothing",
                0,
                &["on a terminal that says nothing"],
            ),
        ] {
            assert_eq!(cut(line, columns), expected, "{line:?}");
        }
    }
}
