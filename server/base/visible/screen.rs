//! The lines that a terminal shows of what a program wrote: what a bar of progress overwrote, on one line or on several,
//! is not among them.

use std::{iter::Peekable, str::Chars};

/// Furthest way in lines or columns that a program goes at once, and blanks in all that going puts before letters.
const FAR: usize = 4096;

/// A part of a terminal's input.
pub(super) enum Piece {
    /// A character, control characters but escapes among them.
    Letter(char),
    /// A control sequence: its first number, if it has one, and its letter.
    Control(Option<usize>, char),
    /// One line up.
    Up,
}

/// The parts of a terminal's input, without strings of terminals (OSC and its kin) and unknown escapes.
pub(super) struct Pieces<'a>(Peekable<Chars<'a>>);

impl<'a> Pieces<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self(text.chars().peekable())
    }

    /// Parameters and intermediates, then one final byte.
    fn control(&mut self) -> Option<Piece> {
        let mut parameters = String::new();
        while let Some(c) = self.0.next_if(|c| matches!(c, '\x20'..='\x3f')) {
            parameters.push(c);
        }
        let letter = self.0.next_if(|c| matches!(c, '\x40'..='\x7e'))?;
        let first = parameters.split(';').next().unwrap_or_default();
        Some(Piece::Control(first.parse().ok(), letter))
    }

    /// A string of a terminal ends at BEL or ST; one that does not end is a line at most.
    fn skip_string(&mut self) {
        while let Some(c) = self.0.next_if(|c| *c != '\n') {
            let is_end = match c {
                '\x07' | '\u{9c}' => true,
                '\x1b' => self.0.next_if_eq(&'\\').is_some(),
                _ => false,
            };
            if is_end {
                return;
            }
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            let letter = self.0.next()?;
            if letter != '\x1b' {
                return Some(Piece::Letter(letter));
            }
            let piece = match self.0.next() {
                Some('[') => self.control(),
                Some('M') => Some(Piece::Up),
                Some('\n') => Some(Piece::Letter('\n')),
                Some(']' | 'P' | '^' | '_' | 'X') => {
                    self.skip_string();
                    None
                }
                Some('(' | ')') => {
                    self.0.next();
                    None
                }
                _ => None,
            };
            if piece.is_some() {
                return piece;
            }
        }
    }
}

/// Lines, and the place at which the next letter is written.
///
/// Unlike a terminal, which keeps the end of the longer text, a line that is written anew from its start loses what it
/// had. What is erased stays until something is written: the last state of a bar that is taken away at the end is kept.
#[derive(Default)]
pub(super) struct Screen {
    lines: Vec<Line>,
    line: usize,
    column: usize,
    /// Lines that were erased and are shown still.
    erased: Vec<usize>,
    /// The first of the lines that were erased down to the last, and are shown still.
    erased_from: Option<usize>,
    /// Blanks that going may still put before letters: output has a bound, which these must not lift.
    blanks: usize,
}

#[derive(Default)]
struct Line {
    letters: Vec<char>,
    /// Whether it was erased, and nothing was written on it since.
    is_erased: bool,
}

impl Screen {
    /// What is shown after this text.
    pub(super) fn after(text: &str) -> String {
        let mut screen = Self {
            lines: vec![Line::default()],
            blanks: FAR,
            ..Self::default()
        };
        for piece in Pieces::of(text) {
            screen.take(piece);
        }
        let is_left_over = |line: &Line| line.is_erased && line.letters.is_empty();
        while screen.lines.len() > screen.line + 1 && screen.lines.last().is_some_and(is_left_over)
        {
            screen.lines.pop();
        }
        let lines = screen.lines.into_iter();
        let lines = lines.map(|line| String::from_iter(line.letters));
        lines.collect::<Vec<String>>().join("\n")
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Letter('\n') => {
                self.line += 1;
                self.column = 0;
                if self.line == self.lines.len() {
                    self.lines.push(Line::default());
                }
            }
            Piece::Letter('\r') => self.column = 0,
            Piece::Letter('\x08') => self.column = self.column.saturating_sub(1),
            Piece::Letter(letter) => self.write(letter),
            Piece::Up => self.line = self.line.saturating_sub(1),
            Piece::Control(number, letter) => self.steer(number, letter),
        }
    }

    fn steer(&mut self, number: Option<usize>, letter: char) {
        let count = number.unwrap_or(1).clamp(1, FAR);
        match letter {
            'A' | 'F' => self.line = self.line.saturating_sub(count),
            'B' | 'E' => self.line = (self.line + count).min(self.lines.len() - 1),
            'C' => self.column = (self.column + count).min(FAR),
            'D' => self.column = self.column.saturating_sub(count),
            'G' => self.column = count - 1,
            'K' | 'J' => self.erase(letter, number.unwrap_or(0)),
            _ => {}
        }
        if matches!(letter, 'E' | 'F') {
            self.column = 0;
        }
    }

    /// Erases the line (`K`), or the rest of the screen (`J`) as well. Where all of the screen is cleared, as a watching
    /// program does before each report, the reports stay.
    fn erase(&mut self, letter: char, way: usize) {
        match (letter, way) {
            ('J', 0) => {
                let from = self.line + 1;
                self.erased_from = Some(self.erased_from.map_or(from, |it| it.min(from)));
            }
            ('K', 0 | 2) => {}
            _ => return,
        }
        if way == 2 {
            self.column = 0;
        }
        match self.column {
            0 => self.erased.push(self.line),
            column => self.lines[self.line].letters.truncate(column),
        }
    }

    fn write(&mut self, letter: char) {
        for line in std::mem::take(&mut self.erased) {
            self.lines[line] = Line {
                letters: Vec::new(),
                is_erased: true,
            };
        }
        if let Some(from) = self.erased_from.take() {
            self.lines.truncate(from.max(self.line + 1));
            for line in self.lines.iter_mut().skip(from) {
                line.letters.clear();
            }
        }
        let line = &mut self.lines[self.line];
        line.is_erased = false;
        let letters = &mut line.letters;
        if self.column == 0 {
            letters.clear();
        }
        let missing = self.column.saturating_sub(letters.len());
        if missing > self.blanks {
            self.column = letters.len();
        } else {
            self.blanks -= missing;
        }
        if letters.len() <= self.column {
            letters.resize(self.column + 1, ' ');
        }
        letters[self.column] = letter;
        self.column += 1;
    }
}
