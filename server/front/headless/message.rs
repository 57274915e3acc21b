//! Composes the user's message from the command line, standard input, and attached files.

use std::io::{IsTerminal, Read};

use aside_base::system::streams::stdin_is_given;
use aside_session::attach::{AttachError, AttachedContent, AttachedFile, together};

use super::args::Attach;

/// The user's message with its attachments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposedMessage {
    /// The message, not empty.
    pub text: String,
    /// Files in order, then standard input.
    pub attachments: Vec<AttachedFile>,
    /// The use of standard input, if nobody named it.
    pub stdin: Option<StdinUse>,
}

/// The use of standard input that was found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StdinUse {
    /// Whether it is the message itself, and no attachment.
    is_message: bool,
    size: u64,
    is_text: bool,
    is_lossy: bool,
}

impl StdinUse {
    fn of(read: &AttachedFile, is_message: bool) -> Option<Self> {
        (read.size() > 0).then(|| Self {
            is_message,
            size: read.size(),
            is_text: !read.is_media(),
            is_lossy: read.is_lossy,
        })
    }

    /// The line that announces it. `is_shared`: the shell that runs this has the same input.
    #[must_use]
    pub fn line(self, is_shared: bool) -> String {
        let part = if self.is_message {
            "message"
        } else {
            "attached"
        };
        let mut line = format!("{part}: standard input, {}", bytes(self.size));
        if self.is_text {
            line += &format!(", about {} tokens", about(self.size.div_ceil(TOKEN)));
        }
        if self.is_lossy {
            line += ", with a mark in place of each byte that is not UTF-8";
        }
        if is_shared {
            line +=
                "; the shell that runs this has it open, too: `</dev/null` leaves it to that one";
        }
        line
    }
}

/// Bytes of a token, as a rule of thumb.
const TOKEN: u64 = 4;

/// A size for people.
fn bytes(size: u64) -> String {
    let of = |unit: u64| format!("{}.{}", size / unit, size % unit * 10 / unit);
    match size {
        0..1_000 => format!("{size} bytes"),
        1_000..1_000_000 => format!("{} kB", of(1_000)),
        _ => format!("{} MB", of(1_000_000)),
    }
}

/// A number with three digits that count, in groups of three.
fn about(number: u64) -> String {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(2));
    let digits = ((number + unit / 2) / unit * unit).to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// State of standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// A pipe or a file with content for this command.
    Given,
    /// A terminal, or nothing.
    NotGiven,
}

impl Stdin {
    /// Determines the state for this process. `/dev/null` and other devices, as services and build servers use them,
    /// count as [`Stdin::NotGiven`].
    #[must_use]
    pub fn of_process() -> Self {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() && stdin_is_given() {
            Self::Given
        } else {
            Self::NotGiven
        }
    }
}

/// Composes the message. `prompt` is the argument; `-` stands for standard input. Otherwise standard input is the
/// message if there is no argument, and an attachment if there is one.
///
/// # Errors
/// A sentence if there is no message or something cannot be read.
pub fn gather(
    prompt: Option<&str>,
    attach: &[Attach],
    stdin: Stdin,
    input: impl Read,
) -> Result<ComposedMessage, String> {
    let attached = attach.iter().map(attached);
    let mut attachments = together(attached).map_err(|error| error.to_string())?;
    let mut used = None;
    let text = match (prompt, stdin) {
        (Some("-"), _) => text_of(read("standard input", input)?)?,
        (None, Stdin::Given) => {
            let given = read("standard input", input)?;
            used = StdinUse::of(&given, true);
            text_of(given)?
        }
        (Some(prompt), Stdin::NotGiven) => prompt.to_owned(),
        (Some(prompt), Stdin::Given) => {
            let piped = read("stdin", input)?;
            used = StdinUse::of(&piped, false);
            if piped.size() > 0 {
                attachments.push(piped);
            }
            prompt.to_owned()
        }
        (None, Stdin::NotGiven) => {
            return Err("there is no message; give one as an argument or on standard input".into());
        }
    };
    if text.trim().is_empty() {
        return Err("the message is empty; say what to do".into());
    }
    Ok(ComposedMessage {
        text,
        attachments,
        stdin: used,
    })
}

fn attached(attach: &Attach) -> Result<AttachedFile, AttachError> {
    let name = attach.path.display().to_string();
    let whole = AttachedFile::read_file(&name, &attach.path)?;
    match attach.lines {
        None => Ok(whole),
        Some((from, to)) => whole.lines(from, to),
    }
}

fn read(name: &str, input: impl Read) -> Result<AttachedFile, String> {
    AttachedFile::read(name, input).map_err(|error| error.to_string())
}

/// Standard input as the message.
fn text_of(given: AttachedFile) -> Result<String, String> {
    match given.content {
        AttachedContent::Text(text) => Ok(text),
        AttachedContent::Media(media, _) => Err(format!(
            "standard input is {} without a message; give one as an argument too",
            media.noun()
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use aside_turn::attachment::MediaType;

    use super::*;

    fn message(prompt: Option<&str>, stdin: Option<&str>) -> Result<(String, Vec<String>), String> {
        let is_given = if stdin.is_some() {
            Stdin::Given
        } else {
            Stdin::NotGiven
        };
        let message = gather(prompt, &[], is_given, stdin.unwrap_or_default().as_bytes())?;
        let attached = message
            .attachments
            .into_iter()
            .map(|it| format!("{}={}", it.name, text(it.content)));
        Ok((message.text, attached.collect()))
    }

    fn text(content: AttachedContent) -> String {
        match content {
            AttachedContent::Text(text) => text,
            AttachedContent::Media(media, bytes) => format!("{} {}", media.mime(), bytes.len()),
        }
    }

    #[track_caller]
    fn check(prompt: Option<&str>, stdin: Option<&str>, text: &str, attached: &[&str]) {
        let attached: Vec<String> = attached.iter().map(ToString::to_string).collect();
        assert_eq!(message(prompt, stdin), Ok((text.to_owned(), attached)));
    }

    #[test]
    fn message_comes_from_argument_or_standard_input() {
        check(Some("fix it"), None, "fix it", &[]);
        check(None, Some("fix it\n"), "fix it\n", &[]);
        check(Some("-"), Some("fix it"), "fix it", &[]);
        check(
            Some("fix it"),
            Some("error: x"),
            "fix it",
            &["stdin=error: x"],
        );
        check(Some("fix it"), Some(""), "fix it", &[]);
    }

    #[test]
    fn piped_images_are_attachments() {
        let png: &[u8] = include_bytes!("../../../tests/media/red.png");
        let given = |prompt| gather(prompt, &[], Stdin::Given, png);
        let attached = given(Some("What is it?")).expect("a message").attachments;
        let expected = AttachedContent::Media(MediaType::Png, png.to_vec());
        assert_eq!(
            (attached[0].name.as_str(), &attached[0].content),
            ("stdin", &expected)
        );
        let said = "standard input is an image without a message; \
                    give one as an argument too";
        assert_eq!(given(None).expect_err("no message"), said);
        assert_eq!(given(Some("-")).expect_err("no message"), said);
    }

    #[test]
    fn standard_input_is_announced() {
        let announced = |prompt: Option<&str>, input: &[u8]| {
            let message = gather(prompt, &[], Stdin::Given, input).expect("a message");
            message.stdin.map(|used| used.line(false))
        };
        let check = |prompt, input: &[u8], expected: Option<&str>| {
            assert_eq!(announced(prompt, input).as_deref(), expected);
        };
        let is_there = "attached: standard input, 11 bytes, about 3 tokens";
        check(Some("Review"), b"hello world", Some(is_there));
        check(Some("Review"), b"", None);
        check(Some("-"), b"hello", None);
        check(
            None,
            b"hello",
            Some("message: standard input, 5 bytes, about 2 tokens"),
        );
        let big = "attached: standard input, 2.7 MB, about 677,000 tokens";
        check(
            Some("Review"),
            "1234567\n".repeat(338_688).as_bytes(),
            Some(big),
        );
        let latin = "attached: standard input, 6 bytes, about 2 tokens, with a mark in place of each byte that is not UTF-8";
        check(Some("Review"), b"caf\xe9", Some(latin));
        let png: &[u8] = include_bytes!("../../../tests/media/red.png");
        let shown = announced(Some("Look"), png).expect("an image");
        assert!(!shown.contains("tokens"), "{shown}");
        let shared = gather(Some("Go"), &[], Stdin::Given, &b"echo after\n"[..]);
        let line = shared.expect("a message").stdin.expect("a use").line(true);
        assert!(
            line.ends_with("`</dev/null` leaves it to that one"),
            "{line}"
        );
        assert_eq!(about(677_377), "677,000");
        assert_eq!(about(0), "0");
        assert_eq!(about(1_234_567), "1,230,000");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let said = gather(Some("Review"), &[], Stdin::Given, &b"a\0\xff"[..]);
        assert!(
            said.expect_err("no text")
                .starts_with("stdin is neither UTF-8 text")
        );
    }

    #[test]
    fn turns_require_a_message() {
        let none = "there is no message; give one as an argument or on standard input";
        assert_eq!(message(None, None), Err(none.into()));
        let empty = "the message is empty; say what to do";
        assert_eq!(message(Some(" "), None), Err(empty.into()));
        assert_eq!(message(None, Some("\n")), Err(empty.into()));
    }

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, content).expect("a file");
        (folder, path)
    }

    fn attach(path: PathBuf, lines: Option<(u32, u32)>) -> Result<AttachedFile, String> {
        attached(&Attach { path, lines }).map_err(|error| error.to_string())
    }

    #[test]
    fn files_are_attached_whole_or_by_lines() {
        let (_folder, path) = file(b"one\ntwo\r\nthree");
        let check = |lines, expected: &str, range: &str| {
            let attachment = attach(path.clone(), lines).expect("an attachment");
            assert_eq!(attachment.name, format!("{}{range}", path.display()));
            assert_eq!(text(attachment.content), expected);
        };
        check(None, "one\ntwo\r\nthree", "");
        check(Some((1, 1)), "one\n", ":1-1");
        check(Some((2, 3)), "two\r\nthree", ":2-3");
        check(Some((3, 90)), "three", ":3-90");
    }

    #[test]
    fn invalid_attachments_are_reported() {
        let (folder, path) = file(b"one\n\xff");
        let said = attach(path, None).expect_err("no text");
        assert!(
            said.ends_with(
                "notes.txt is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image nor a PDF; convert it first"
            ),
            "{said}"
        );
        let (folder_of_text, path) = file(b"one\n");
        let said = attach(path, Some((2, 3))).expect_err("no such lines");
        assert!(
            said.ends_with("notes.txt has no line 2; attach lines that are there"),
            "{said}"
        );
        let said = attach(folder.path().join("nowhere"), None).expect_err("no file");
        assert!(said.contains("nowhere cannot be attached: "), "{said}");
        drop(folder_of_text);
    }
}
