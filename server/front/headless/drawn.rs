//! The status lines at the bottom of a terminal. Pure: returns the text that draws or erases them.
//!
//! Invariant: all other output erases them first, so that they stay at the bottom and leave nothing behind.

use std::{borrow::Cow, ffi::OsStr};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::paint::{DUMB, Paint};

/// Whether a terminal of this type supports moving the cursor.
pub(super) fn can_move(term: Option<&OsStr>) -> bool {
    term.is_some_and(|term| !term.is_empty() && term != DUMB)
}

/// The status lines at the bottom of a terminal.
#[derive(Debug)]
pub struct Drawn {
    /// Whether the cursor can be moved.
    moves: bool,
    paint: Paint,
    wanted: Vec<String>,
    /// The lines on the terminal, before they were shortened.
    shown: Vec<String>,
    /// Width of each shown line in columns.
    widths: Vec<usize>,
    /// Whether the cursor, apart from the status lines, is at the beginning of a line.
    at_line_start: bool,
    /// Whether the screen is another program's, so that no lines are drawn.
    is_away: bool,
}

impl Drawn {
    /// Starts without lines. If the cursor cannot be moved, lines are never shown.
    #[must_use]
    pub fn new(moves: bool, paint: Paint) -> Self {
        Self {
            moves,
            paint,
            wanted: Vec::new(),
            shown: Vec::new(),
            widths: Vec::new(),
            at_line_start: true,
            is_away: false,
        }
    }

    /// Notes whether the screen is another program's now.
    pub fn is_away(&mut self, is_away: bool) {
        if is_away && !self.is_away {
            self.forget();
        }
        self.is_away = is_away;
    }

    /// Forgets the lines on the terminal, because another program wrote below them.
    pub fn forget(&mut self) {
        self.shown.clear();
        self.widths.clear();
        self.at_line_start = true;
    }

    /// Whether the cursor can be moved.
    #[must_use]
    pub fn can_move(&self) -> bool {
        self.moves
    }

    /// Sets the lines to show.
    pub fn wants(&mut self, lines: Vec<String>) {
        self.wanted = lines;
    }

    /// Notes a text that was written after the lines were erased.
    pub fn wrote(&mut self, text: &str) {
        if !text.is_empty() {
            self.at_line_start = text.ends_with('\n');
        }
    }

    /// Returns the text that replaces the shown lines with the wanted ones. `width`: columns of the terminal.
    #[must_use]
    pub fn draw(&mut self, width: usize) -> String {
        let may_draw = self.moves && self.at_line_start && !self.is_away;
        if !may_draw || self.shown == self.wanted {
            return String::new();
        }
        let mut out = self.erase(width);
        let lines = self.wanted.iter();
        let lines = lines.map(|line| fit(line, width.saturating_sub(1)));
        let lines: Vec<Cow<'_, str>> = lines.collect();
        self.widths = lines.iter().map(|line| line.width()).collect();
        let lines = lines.iter().map(|line| self.paint.dim(line));
        out += &lines.collect::<Vec<_>>().join("\n");
        self.shown.clone_from(&self.wanted);
        out
    }

    /// Returns the text that erases the lines at the current width. A terminal that became narrower has wrapped them.
    #[must_use]
    pub fn erase(&mut self, width: usize) -> String {
        if self.shown.is_empty() {
            return String::new();
        }
        self.shown.clear();
        let widths = std::mem::take(&mut self.widths).into_iter();
        let rows: usize = widths.map(|it| it.div_ceil(width.max(1)).max(1)).sum();
        format!("\r\x1b[K{}", "\x1b[1A\x1b[K".repeat(rows - 1))
    }
}

/// Shortens the line to a width in columns. The elapsed time at its end stays, because it shows that work goes on.
fn fit(line: &str, width: usize) -> Cow<'_, str> {
    let kept = cut(line, width);
    let is_output = line.starts_with(' ');
    match line.rsplit_once(" · ").filter(|_| !is_output) {
        Some((what, time)) if kept.len() < line.len() => {
            let time = format!("… · {time}");
            match width.checked_sub(time.width()) {
                Some(room) if room > 1 => format!("{}{time}", cut(what, room)).into(),
                _ => kept.into(),
            }
        }
        _ => kept.into(),
    }
}

/// The beginning of a text that fits a width in columns.
pub(super) fn cut(line: &str, width: usize) -> &str {
    let mut columns = 0;
    let end = line.char_indices().find(|(_, letter)| {
        columns += letter.width().unwrap_or(0);
        columns > width
    });
    end.map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_are_below_all_output_and_are_erased() {
        let mut drawn = Drawn::new(true, Paint::OFF);
        drawn.wants(lines(&["one", "two"]));
        assert_eq!(drawn.draw(80), "one\ntwo");
        assert_eq!(drawn.draw(80), "", "they stand there");
        drawn.wants(lines(&["three"]));
        assert_eq!(drawn.draw(80), "\r\x1b[K\x1b[1A\x1b[Kthree");
        assert_eq!(drawn.erase(80), "\r\x1b[K");
        assert_eq!(drawn.erase(80), "");
        drawn.wrote("half a line");
        assert_eq!(drawn.draw(80), "");
        drawn.wrote(" and the rest\n");
        assert_eq!(drawn.draw(80), "three");
    }

    #[test]
    fn lines_never_take_two_rows() {
        let mut drawn = Drawn::new(true, Paint::OFF);
        drawn.wants(lines(&["12345", "1🥛🥛", ""]));
        assert_eq!(drawn.draw(5), "1234\n1🥛\n");
    }

    #[test]
    fn lines_broken_by_a_resize_are_erased_completely() {
        let mut drawn = Drawn::new(true, Paint::OFF);
        drawn.wants(lines(&["1234567890", "12345"]));
        assert_eq!(drawn.draw(80), "1234567890\n12345");
        drawn.wants(lines(&["a"]));
        let up = "\x1b[1A\x1b[K";
        assert_eq!(drawn.draw(4), format!("\r\x1b[K{}a", up.repeat(4)));
        assert_eq!(drawn.erase(200), "\r\x1b[K");
    }

    #[test]
    fn shortened_lines_keep_the_time() {
        let runs = "⠹ run_command: Run `make` · 12.4 s";
        let mut drawn = Drawn::new(true, Paint::OFF);
        drawn.wants(lines(&[runs, "  │ a · b is what it prints"]));
        assert_eq!(
            drawn.draw(26),
            "⠹ run_command: … · 12.4 s\n  │ a · b is what it prin"
        );
        assert_eq!(fit(runs, 34), runs);
        assert_eq!(fit(runs, 8), "⠹ run_co");
    }

    #[test]
    fn lines_are_not_drawn_on_the_screen_of_another() {
        let mut drawn = Drawn::new(true, Paint::OFF);
        drawn.wants(lines(&["one", "two"]));
        assert_eq!(drawn.draw(80), "one\ntwo");
        drawn.is_away(true);
        assert_eq!(drawn.erase(80), "", "others wrote below them");
        assert_eq!(drawn.draw(80), "");
        drawn.is_away(false);
        assert_eq!(drawn.draw(80), "one\ntwo");
        drawn.forget();
        assert_eq!(drawn.draw(80), "one\ntwo");
    }

    #[test]
    fn lines_require_a_movable_cursor() {
        let mut drawn = Drawn::new(false, Paint::OFF);
        drawn.wants(lines(&["one"]));
        assert_eq!(
            (drawn.draw(80), drawn.erase(80)),
            (String::new(), String::new())
        );
    }
}
