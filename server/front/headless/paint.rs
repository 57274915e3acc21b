//! Styles of text on a terminal.

use std::{env, ffi::OsStr};

use anstyle::{AnsiColor, Style};

/// The value of `TERM` for a terminal that only prints, such as that of Emacs.
pub const DUMB: &str = "dumb";

/// Whether text is styled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// Whether styles are written.
    pub on: bool,
}

impl Paint {
    /// Writes text unchanged.
    pub const OFF: Self = Self { on: false };
    /// Writes styled text.
    pub const ON: Self = Self { on: true };

    /// Styles for a stream of this process.
    #[must_use]
    pub fn of_process(is_terminal: bool) -> Self {
        let variable = |name| env::var_os(name);
        Self::of(
            is_terminal,
            variable("NO_COLOR").as_deref(),
            variable("TERM").as_deref(),
        )
    }

    /// Styles are on for terminals that show them, unless `NO_COLOR` is set.
    #[must_use]
    pub fn of(is_terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> Self {
        let is_allowed = no_color.is_none_or(OsStr::is_empty);
        Self {
            on: is_terminal && is_allowed && term.is_none_or(|term| term != DUMB),
        }
    }

    /// Dim text.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// Bold text.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// Red, for failures and removals.
    #[must_use]
    pub fn red(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    /// Green, for successes and additions.
    #[must_use]
    pub fn green(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// Yellow, for warnings.
    #[must_use]
    pub fn yellow(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// Text in this style.
    #[must_use]
    pub fn with(self, style: Style, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_require_a_terminal_and_consent() {
        let check = |is_terminal, no_color: Option<&str>, term: Option<&str>, expected| {
            let paint = Paint::of(is_terminal, no_color.map(OsStr::new), term.map(OsStr::new));
            assert_eq!(paint.on, expected, "{no_color:?} {term:?}");
        };
        check(true, None, Some("xterm"), true);
        check(true, Some(""), Some("xterm"), true);
        check(true, Some("1"), Some("xterm"), false);
        check(false, None, Some("xterm"), false);
        check(true, None, Some("dumb"), false);
        check(true, None, None, true);
        assert_eq!(Paint { on: true }.red("no"), "\x1b[31mno\x1b[0m");
        assert_eq!(Paint::OFF.red("no"), "no");
    }
}
