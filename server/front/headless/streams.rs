//! Output streams of a command.

use std::io::{self, Write};

use aside_base::{
    system::{folders::AsFolder, terminal::size},
    visible::visible,
};
use aside_session::export::PageReader;

use super::{failure::CommandFailure, markdown::rendered, paint::Paint, wrap};

/// Output streams of a command.
pub struct Streams<'a> {
    /// Standard output, for the result.
    pub out: &'a mut dyn Write,
    /// Whether standard output is a terminal.
    pub is_terminal: bool,
    /// Width of that terminal; 0 to wrap nothing.
    pub columns: usize,
    /// Styles for standard output.
    pub paint: Paint,
    /// Standard error, for notes.
    pub notes: &'a mut dyn Write,
    /// Width of the terminal on standard error; 0 if it is not a terminal.
    pub notes_columns: usize,
}

/// Width of a terminal; 0 if the file is not a terminal.
#[must_use]
pub fn columns(of: impl AsFolder) -> usize {
    size(of).0
}

/// Wraps sentences, one per line, to a width.
#[must_use]
pub fn broken(text: &str, columns: usize) -> String {
    wrap::page(text, 2, columns)
}

impl Streams<'_> {
    /// Writes a result. Control characters are made visible on a terminal. A reader that closed the pipe is not an
    /// error.
    ///
    /// # Errors
    /// Fails if the text cannot be written, for example to a full disk.
    pub fn say(&mut self, text: &str) -> Result<(), CommandFailure> {
        if self.is_terminal {
            self.write(&visible(text))
        } else {
            self.write(text)
        }
    }

    /// Writes a page of Markdown, rendered if standard output is a terminal.
    ///
    /// # Errors
    /// Like [`Streams::say`].
    pub fn say_page(&mut self, page: &str) -> Result<(), CommandFailure> {
        if self.is_terminal {
            self.write(&rendered(page, self.paint))
        } else {
            self.write(page)
        }
    }

    /// The reader of a Markdown page on standard output.
    #[must_use]
    pub fn reader(&self) -> PageReader {
        if self.is_terminal {
            PageReader::Person
        } else {
            PageReader::Viewer
        }
    }

    fn write(&mut self, text: &str) -> Result<(), CommandFailure> {
        let written = self.out.write_all(text.as_bytes());
        match written.and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(CommandFailure::internal(format!(
                    "cannot write to standard output: {error}; check what it is redirected to"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Writes sentences, one per line, wrapped to the terminal. Continuation lines are indented by `more`.
    ///
    /// # Errors
    /// Like [`Streams::say`].
    pub fn say_sentences(&mut self, text: &str, more: usize) -> Result<(), CommandFailure> {
        self.say(&wrap::page(text, more, self.columns))
    }

    /// Writes a note on lines of its own.
    pub fn note(&mut self, text: &str) {
        let text = wrap::page(&visible(text), 2, self.notes_columns);
        // If standard error cannot be written, nobody can be told.
        let _ = writeln!(self.notes, "{text}");
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Output of a command: standard output, then a line `! …` for each note and `exit …` if it failed.
    pub(in super::super) fn said(
        command: impl FnOnce(&mut Streams<'_>) -> Result<(), CommandFailure>,
    ) -> String {
        let (mut out, mut notes) = (Vec::new(), Vec::new());
        let result = command(&mut Streams {
            out: &mut out,
            is_terminal: false,
            columns: 0,
            notes_columns: 0,
            paint: Paint::OFF,
            notes: &mut notes,
        });
        let mut said = String::from_utf8(out).expect("text");
        for note in String::from_utf8(notes).expect("text").lines() {
            said += &format!("! {note}\n");
        }
        if let Err(failure) = result {
            said += &format!("exit {}: {failure}\n", failure.code);
        }
        said
    }

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn closed_output_is_not_a_failure() {
        let check = |kind, expected| {
            let written = Streams {
                out: &mut Broken(kind),
                is_terminal: false,
                columns: 0,
                notes_columns: 0,
                paint: Paint::OFF,
                notes: &mut Vec::new(),
            }
            .say("text");
            let written = written.map_err(|failure| (failure.code, failure.text));
            assert_eq!(written, expected);
        };
        check(io::ErrorKind::BrokenPipe, Ok(()));
        let full =
            "cannot write to standard output: no storage space; check what it is redirected to";
        check(io::ErrorKind::StorageFull, Err((1, full.to_owned())));
    }

    #[test]
    fn terminal_output_is_sanitized() {
        let check = |is_terminal, expected: &str| {
            let (mut out, mut notes) = (Vec::new(), Vec::new());
            let mut streams = Streams {
                out: &mut out,
                is_terminal,
                columns: 0,
                notes_columns: 0,
                paint: Paint::OFF,
                notes: &mut notes,
            };
            streams.say("\x1b[2J\n").expect("written");
            streams.note("\x07");
            assert_eq!(String::from_utf8(out).expect("text"), expected);
            assert_eq!(String::from_utf8(notes).expect("text"), "␇\n");
        };
        check(true, "␛[2J\n");
        check(false, "\x1b[2J\n");
    }
}
