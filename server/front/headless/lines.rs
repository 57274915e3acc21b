//! Output of a terminal besides prompts.

use std::io::{self, Write};

use super::{drawn::Drawn, show::ShownText};

/// Output streams for everything except prompts.
pub(super) struct Lines {
    pub(super) notes: Box<dyn Write + Send>,
    pub(super) answer: Box<dyn Write + Send>,
    pub(super) drawn: Drawn,
    /// Whether the terminal's cursor can be moved, so that lines are edited while they are typed.
    pub(super) moves: bool,
    /// Command that shows changes longer than the screen.
    pub(super) pager: Option<String>,
}

impl Lines {
    /// Writes a text above the status lines.
    pub(super) fn write(&mut self, text: &ShownText, width: usize) -> io::Result<()> {
        self.erase(width)?;
        let (to, text) = match text {
            ShownText::Note(text) => (&mut self.notes, text),
            ShownText::Answer(text) => (&mut self.answer, text),
        };
        to.write_all(text.as_bytes())?;
        to.flush()?;
        self.drawn.wrote(text);
        self.draw(width)
    }

    pub(super) fn draw(&mut self, width: usize) -> io::Result<()> {
        let shown = self.drawn.draw(width);
        self.note(&shown)
    }

    pub(super) fn erase(&mut self, width: usize) -> io::Result<()> {
        let gone = self.drawn.erase(width);
        self.note(&gone)
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.notes.write_all(text.as_bytes())?;
        self.notes.flush()
    }
}
