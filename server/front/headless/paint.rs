//! Colours and weights of text on a terminal.

/// How a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tone(u8);

impl Tone {
    /// As it is.
    pub const PLAIN: Self = Self(0);
    /// Of more weight.
    pub const BOLD: Self = Self(1);
    /// Of less weight.
    pub const DIM: Self = Self(1 << 1);
    /// Each tone that can be had alone, with its number for terminals.
    const CODES: [(u8, &'static str); 5] = [
        (1, "1"),
        (1 << 1, "2"),
        (1 << 2, "3"),
        (1 << 3, "4"),
        (1 << 4, "36"),
    ];

    /// The same, of more weight.
    #[must_use]
    pub fn bold(self) -> Self {
        Self(self.0 | Self::BOLD.0)
    }

    /// The same, of less weight.
    #[must_use]
    pub fn dim(self) -> Self {
        Self(self.0 | Self::DIM.0)
    }

    /// The same, leaning.
    #[must_use]
    pub fn italic(self) -> Self {
        Self(self.0 | 1 << 2)
    }

    /// The same, underlined.
    #[must_use]
    pub fn underlined(self) -> Self {
        Self(self.0 | 1 << 3)
    }

    /// The same, as code within a text.
    #[must_use]
    pub fn code(self) -> Self {
        Self(self.0 | 1 << 4)
    }
}

/// Whether and how text is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// Whether anything is painted.
    pub on: bool,
}

impl Paint {
    /// Text that stays as it is.
    pub const OFF: Self = Self { on: false };
    /// Text that is painted.
    pub const ON: Self = Self { on: true };

    /// Paint where it can be seen and nobody said `NO_COLOR`.
    #[must_use]
    pub fn of(is_terminal: bool, no_color: Option<&std::ffi::OsStr>) -> Self {
        Self {
            on: is_terminal && no_color.is_none_or(std::ffi::OsStr::is_empty),
        }
    }

    /// Of less weight.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.with(Tone::DIM, text)
    }

    /// Of more weight.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.with(Tone::BOLD, text)
    }

    /// Something failed, or goes.
    #[must_use]
    pub fn red(self, text: &str) -> String {
        self.coded("31", text)
    }

    /// Something went well, or comes.
    #[must_use]
    pub fn green(self, text: &str) -> String {
        self.coded("32", text)
    }

    /// Something to look at.
    #[must_use]
    pub fn yellow(self, text: &str) -> String {
        self.coded("33", text)
    }

    /// In this tone.
    #[must_use]
    pub fn with(self, tone: Tone, text: &str) -> String {
        let codes = Tone::CODES.iter().filter(|(bit, _)| tone.0 & bit != 0);
        let codes: Vec<&str> = codes.map(|(_, code)| *code).collect();
        if codes.is_empty() {
            return text.to_owned();
        }
        self.coded(&codes.join(";"), text)
    }

    fn coded(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
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
    fn paint_is_for_terminals_whose_user_did_not_refuse_it() {
        assert!(Paint::of(true, None).on);
        assert!(Paint::of(true, Some(OsStr::new(""))).on);
        assert!(!Paint::of(true, Some(OsStr::new("1"))).on);
        assert!(!Paint::of(false, None).on);
        assert_eq!(Paint { on: true }.red("no"), "\x1b[31mno\x1b[0m");
        assert_eq!(Paint::OFF.red("no"), "no");
    }
}
