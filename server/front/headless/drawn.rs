//! The last lines of a terminal, which come and go. Pure: it gives what is to be written to have them or to take them
//! away.
//!
//! Invariant: whoever writes anything else takes them away first, so that they stand below all else and leave nothing
//! behind.

use std::{borrow::Cow, ffi::OsStr};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::paint::Paint;

/// Whether lines that were written can be taken away again on a terminal of this kind.
pub(super) fn can_move(term: Option<&OsStr>) -> bool {
    term.is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// The last lines of a terminal.
#[derive(Debug)]
pub struct Drawn {
    /// The cursor can be moved.
    moves: bool,
    paint: Paint,
    wanted: Vec<String>,
    /// The lines that stand on the terminal, as they were wanted.
    shown: Vec<String>,
    /// Columns that each of them takes.
    widths: Vec<usize>,
    /// The cursor is at the beginning of a line but for them.
    at_line_start: bool,
}

impl Drawn {
    /// Nothing stands on the terminal. Nothing ever does where its cursor cannot be moved.
    #[must_use]
    pub fn new(moves: bool, paint: Paint) -> Self {
        Self {
            moves,
            paint,
            wanted: Vec::new(),
            shown: Vec::new(),
            widths: Vec::new(),
            at_line_start: true,
        }
    }

    /// Whether the cursor can be moved.
    #[must_use]
    pub fn can_move(&self) -> bool {
        self.moves
    }

    /// From now on these lines are wanted.
    pub fn wants(&mut self, lines: Vec<String>) {
        self.wanted = lines;
    }

    /// This was written after the lines were taken away.
    pub fn wrote(&mut self, text: &str) {
        if !text.is_empty() {
            self.at_line_start = text.ends_with('\n');
        }
    }

    /// What puts the wanted lines on the terminal, in place of those that stand there. `width`: its columns.
    #[must_use]
    pub fn draw(&mut self, width: usize) -> String {
        if !self.moves || !self.at_line_start || self.shown == self.wanted {
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

    /// What takes the lines off the terminal, which has so many columns now. One that became narrower since has broken
    /// lines that do not fit any more.
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

/// As much of the line as has room in so many columns. For how long something runs is kept: it is the one thing that
/// says that all is well.
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

/// The beginning of a text that has room in so many columns.
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
    fn lines_stand_below_all_else_and_leave_nothing_behind() {
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
    fn a_line_never_takes_two_rows() {
        let mut drawn = Drawn::new(true, Paint::OFF);
        drawn.wants(lines(&["12345", "1🥛🥛", ""]));
        assert_eq!(drawn.draw(5), "1234\n1🥛\n");
    }

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_taken_away_whole() {
        let mut drawn = Drawn::new(true, Paint::OFF);
        drawn.wants(lines(&["1234567890", "12345"]));
        assert_eq!(drawn.draw(80), "1234567890\n12345");
        drawn.wants(lines(&["a"]));
        let up = "\x1b[1A\x1b[K";
        assert_eq!(drawn.draw(4), format!("\r\x1b[K{}a", up.repeat(4)));
        assert_eq!(drawn.erase(200), "\r\x1b[K");
    }

    #[test]
    fn of_a_long_line_the_time_stays() {
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
    fn a_terminal_whose_cursor_cannot_be_moved_shows_none() {
        let mut drawn = Drawn::new(false, Paint::OFF);
        drawn.wants(lines(&["one"]));
        assert_eq!(
            (drawn.draw(80), drawn.erase(80)),
            (String::new(), String::new())
        );
    }
}
