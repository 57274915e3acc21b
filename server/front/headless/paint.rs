//! Colours and weights of text on a terminal.

/// Whether and how text is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// Whether anything is painted.
    pub on: bool,
}

impl Paint {
    /// Text that stays as it is.
    pub const OFF: Self = Self { on: false };

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
        self.with("2", text)
    }

    /// Of more weight.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Something failed, or goes.
    #[must_use]
    pub fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    /// Something went well, or comes.
    #[must_use]
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    /// Something to look at.
    #[must_use]
    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    fn with(self, code: &str, text: &str) -> String {
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
