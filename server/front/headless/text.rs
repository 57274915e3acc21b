//! Text for a terminal: made safe, and painted.

use std::{borrow::Cow, fmt::Write as _};

/// Text of a model, a tool or a file for a terminal: nothing in it acts on the terminal or is unseen.
///
/// Control characters become their pictures (`␛`), other unseen ones their numbers (`<U+202E>`). Line ends
/// and tabs stay, also in front of a line end that is written as two characters.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        show(&mut shown, c);
    }
    Cow::Owned(shown)
}

/// Like [`visible`], on one line: line ends and tabs are made visible too.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' => shown.push('␊'),
            '\t' => shown.push(' '),
            c => show(&mut shown, c),
        }
    }
    shown
}

fn show(shown: &mut String, c: char) {
    match c {
        c if !is_unseen(c) => shown.push(c),
        '\0'..='\x1f' => shown.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('␀')),
        '\x7f' => shown.push('␡'),
        c => {
            let _ = write!(shown, "<U+{:04X}>", u32::from(c));
        }
    }
}

/// Characters that a person does not see, or that act on a terminal or on the order of the text around.
fn is_unseen(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Soft hyphen, letter mark, fillers, vowel separators.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' => true,
        // Zero width, marks of direction, separators of lines and paragraphs, invisible operators.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tags and the variation selectors beyond the two that emoji use.
        '\u{fe00}'..='\u{fe0d}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// Whether and how text is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// It is.
    pub on: bool,
}

impl Paint {
    /// No paint.
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
    fn nothing_acts_on_the_terminal_or_is_unseen() {
        let check = |text, expected| assert_eq!(visible(text), expected, "{text:?}");
        check("plain,\ttabs\nand lines", "plain,\ttabs\nand lines");
        check("Grüße, 你好 👍️", "Grüße, 你好 👍️");
        check("\x1b[31mred\x1b[0m", "␛[31mred␛[0m");
        check("a\rb\x08c\x7f\0", "a␍b␈c␡␀");
        check("\u{9b}31m", "<U+009B>31m");
        check("rm \u{202e}gpj.exe", "rm <U+202E>gpj.exe");
        check("zero\u{200b}width\u{feff}", "zero<U+200B>width<U+FEFF>");
        check("\u{e0041}tag", "<U+E0041>tag");
    }

    #[test]
    fn a_title_stays_on_its_line() {
        assert_eq!(one_line(" two\nlines\tand \x1b "), "two␊lines and ␛");
    }

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
