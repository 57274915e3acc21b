//! Shows text of models, tools and files behind a bar, which the text cannot leave. Pure.

use aside_base::visible::in_sight;
use unicode_width::UnicodeWidthChar;

use super::{
    paint::Paint,
    wrap::{MIN_COLUMNS, wrapped},
};

/// Columns of the bar and the blank after it.
const BAR_WIDTH: usize = 2;
/// Width of a tab stop in columns.
const TAB_WIDTH: usize = 8;

/// Shows lines unchanged, behind a bar.
pub(super) fn show_text(shown: &mut String, text: &str, paint: Paint, columns: usize) {
    for line in in_sight(text).lines() {
        behind_bar(shown, line, paint, columns, str::to_owned);
    }
}

/// Shows sentences behind a bar, wrapped between words.
pub(super) fn show_words(shown: &mut String, text: &str, paint: Paint, columns: usize) {
    for line in in_sight(text).lines() {
        let line = wrapped(line, "", "", columns.saturating_sub(2));
        for line in line.split('\n') {
            behind_bar(shown, line, paint, columns, str::to_owned);
        }
    }
}

/// Shows one line behind a bar, and its continuation behind further bars. `painted` colours each piece.
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

/// Splits a line into pieces that fit the width. If the terminal wrapped the line instead, its continuation would begin
/// at the edge, where only Aside's own lines begin.
fn cut(line: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    for (place, letter) in line.char_indices() {
        let width = match letter {
            '\t' => TAB_WIDTH - (BAR_WIDTH + at) % TAB_WIDTH,
            // This variation selector makes the preceding character an emoji.
            '\u{fe0f}' => 1,
            letter => letter.width().unwrap_or(0),
        };
        if columns >= MIN_COLUMNS && at > 0 && BAR_WIDTH + at + width > columns {
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
    fn lines_behind_a_bar_are_broken_at_the_full_width() {
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
