//! Where a command writes.

use std::io::{self, Write};

use aside_base::visible::visible;
use rustix::termios::tcgetwinsize;

use super::{failure::CommandFailure, markdown::rendered, paint::Paint, wrap};
use crate::session::export::PageReader;

/// Where a command writes.
pub struct Streams<'a> {
    /// Standard output: what was asked for.
    pub out: &'a mut dyn Write,
    /// Standard output is a terminal.
    pub is_terminal: bool,
    /// The columns of that terminal; 0 where sentences are not to be broken.
    pub columns: usize,
    /// What is shown there has colours.
    pub paint: Paint,
    /// Standard error: what else there is to know.
    pub notes: &'a mut dyn Write,
    /// The columns of its terminal, if it is one; else 0.
    pub notes_columns: usize,
}

/// The columns of a terminal; 0 of what is none.
#[must_use]
pub fn columns(of: impl std::os::fd::AsFd) -> usize {
    tcgetwinsize(of).map_or(0, |size| size.ws_col.into())
}

/// Sentences, a line each, broken between words where a line of so many columns ends.
#[must_use]
pub fn broken(text: &str, columns: usize) -> String {
    wrap::page(text, 2, columns)
}

impl Streams<'_> {
    /// Writes what was asked for; on a terminal nothing in it acts or is unseen. A reader that went away
    /// wants no more, which is no failure.
    ///
    /// # Errors
    /// A disk that is full, and the like.
    pub fn say(&mut self, text: &str) -> Result<(), CommandFailure> {
        if self.is_terminal {
            self.write(&visible(text))
        } else {
            self.write(text)
        }
    }

    /// The same of a page of markdown, which a terminal shows with its headings and code.
    ///
    /// # Errors
    /// A disk that is full, and the like.
    pub fn say_page(&mut self, page: &str) -> Result<(), CommandFailure> {
        if self.is_terminal {
            self.write(&rendered(page, self.paint))
        } else {
            self.write(page)
        }
    }

    /// Who reads a page of markdown that is written here.
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

    /// The same of sentences, which are broken between words where the terminal's line ends; `more`: how far in they go
    /// on.
    ///
    /// # Errors
    /// As [`Streams::say`].
    pub fn say_sentences(&mut self, text: &str, more: usize) -> Result<(), CommandFailure> {
        self.say(&wrap::page(text, more, self.columns))
    }

    /// Writes something else that there is to know, on lines of its own.
    pub fn note(&mut self, text: &str) {
        let text = wrap::page(&visible(text), 2, self.notes_columns);
        // Where nobody takes notes, there is nobody to tell.
        let _ = writeln!(self.notes, "{text}");
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a command wrote: standard output, then a line `! …` for each note and `exit …` where it failed.
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
    fn a_reader_that_went_away_is_no_failure() {
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
    fn a_terminal_is_written_what_can_be_seen() {
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
