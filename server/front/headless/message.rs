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
    let text = match (prompt, stdin) {
        (Some("-"), _) | (None, Stdin::Given) => text_of(input)?,
        (Some(prompt), Stdin::NotGiven) => prompt.to_owned(),
        (Some(prompt), Stdin::Given) => {
            let piped = AttachedFile::read("stdin", input).map_err(|error| error.to_string())?;
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
    Ok(ComposedMessage { text, attachments })
}

fn attached(attach: &Attach) -> Result<AttachedFile, AttachError> {
    let name = attach.path.display().to_string();
    let whole = AttachedFile::read_file(&name, &attach.path)?;
    let Some((from, to)) = attach.lines else {
        return Ok(whole);
    };
    let part = whole.part(|text| lines(text, from, to))?;
    if part.size() == 0 {
        return Err(AttachError::NoLine { name, line: from });
    }
    Ok(AttachedFile {
        name: format!("{name}:{from}-{to}"),
        ..part
    })
}

/// The lines from `from` to `to`, counted from 1, with their line ends.
fn lines(text: &str, from: u32, to: u32) -> String {
    let skipped = from.saturating_sub(1) as usize;
    text.split_inclusive('\n')
        .skip(skipped)
        .take(to.saturating_sub(from) as usize + 1)
        .collect()
}

/// Reads standard input as the message.
fn text_of(input: impl Read) -> Result<String, String> {
    let given = AttachedFile::read("standard input", input).map_err(|error| error.to_string())?;
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
