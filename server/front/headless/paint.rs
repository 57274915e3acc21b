//! Styles of text on a terminal.

use anstyle::{AnsiColor, Style};

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

    /// Styles are on for terminals, unless `NO_COLOR` is set.
    #[must_use]
    pub fn of(is_terminal: bool, no_color: Option<&std::ffi::OsStr>) -> Self {
        Self {
            on: is_terminal && no_color.is_none_or(std::ffi::OsStr::is_empty),
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
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn colours_require_a_terminal_and_consent() {
        assert!(Paint::of(true, None).on);
        assert!(Paint::of(true, Some(OsStr::new(""))).on);
        assert!(!Paint::of(true, Some(OsStr::new("1"))).on);
        assert!(!Paint::of(false, None).on);
        assert_eq!(Paint { on: true }.red("no"), "\x1b[31mno\x1b[0m");
        assert_eq!(Paint::OFF.red("no"), "no");
    }
}
