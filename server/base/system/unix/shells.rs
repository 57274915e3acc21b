//! The shell that reads command lines.

use std::{ffi::OsString, path::Path, process::Command};

/// A program that reads command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// The shell of POSIX.
    Sh,
}

/// The shells of this system, the one first that is wanted most.
pub const SHELLS: &[Shell] = &[Shell::Sh];

/// Whether command lines are read as POSIX says.
#[must_use]
pub fn reads_as_posix() -> bool {
    true
}

impl Shell {
    /// The name by which it is found.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Sh => "sh",
        }
    }

    /// The words by which a model knows how a line is read.
    #[must_use]
    pub fn named(self) -> &'static str {
        match self {
            Self::Sh => "`sh -c`",
        }
    }

    /// The arguments with which it reads a line.
    #[must_use]
    pub fn arguments(self, line: &str) -> Vec<OsString> {
        match self {
            Self::Sh => vec!["-c".into(), line.into()],
        }
    }

    /// The reason why it cannot read a line, with what to write instead.
    #[must_use]
    pub fn refusal(self, _line: &str) -> Option<&'static str> {
        None
    }

    /// A start of its program that reads a line.
    #[must_use]
    pub fn reading(self, program: &Path, line: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.arguments(line));
        command
    }

    /// Whether it takes its arguments as they stand, without quotes around them.
    #[must_use]
    pub fn is_verbatim(self) -> bool {
        false
    }
}
