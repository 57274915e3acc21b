//! The user's message: from the command line, standard input, and attached files.

use std::{
    fs::File,
    io::{IsTerminal, Read},
};

use rustix::fs::{FileType, fstat};

use super::args::Attach;
use crate::turn::event::Attachment;

/// The most that is read of standard input or of an attached file, in bytes.
const MOST: u64 = 64 * 1024 * 1024;

/// The user's message and what came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The message, not empty.
    pub text: String,
    /// Files in order, then standard input.
    pub attachments: Vec<Attachment>,
}

/// What standard input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// A pipe or a file: somebody put something there.
    Given,
    /// A terminal, or nothing.
    NotGiven,
}

impl Stdin {
    /// What the standard input of this process is. `/dev/null` and the like, which is what a service or a
    /// build server gives, is nothing.
    #[must_use]
    pub fn of_process() -> Self {
        let stdin = std::io::stdin();
        let is_given = !stdin.is_terminal()
            && fstat(&stdin).is_ok_and(|stat| {
                let kind = FileType::from_raw_mode(stat.st_mode);
                matches!(
                    kind,
                    FileType::Fifo | FileType::RegularFile | FileType::Socket
                )
            });
        if is_given {
            Self::Given
        } else {
            Self::NotGiven
        }
    }
}

/// Puts the message together. `prompt` is the argument: `-` means standard input, which is otherwise the
/// message where there is no argument, and an attachment where there is one.
///
/// # Errors
/// One sentence: there is no message, or something cannot be read.
pub fn gather(
    prompt: Option<&str>,
    attach: &[Attach],
    stdin: Stdin,
    input: impl Read,
) -> Result<Message, String> {
    let mut attachments = attach.iter().map(attached).collect::<Result<Vec<_>, _>>()?;
    let text = match (prompt, stdin) {
        (Some("-"), _) | (None, Stdin::Given) => text_of(input, "standard input")?,
        (Some(prompt), Stdin::NotGiven) => prompt.to_owned(),
        (Some(prompt), Stdin::Given) => {
            let text = text_of(input, "standard input")?;
            if !text.is_empty() {
                attachments.push(Attachment {
                    name: "stdin".into(),
                    text,
                });
            }
            prompt.to_owned()
        }
        (None, Stdin::NotGiven) => {
            return Err("there is no message; give one as an argument or on standard input".into());
        }
    };
    if text.trim().is_empty() {
        return Err("the message is empty; say what is to be done".into());
    }
    Ok(Message { text, attachments })
}

fn attached(attach: &Attach) -> Result<Attachment, String> {
    let name = attach.path.display().to_string();
    let file =
        File::open(&attach.path).map_err(|error| format!("{name} cannot be attached: {error}"))?;
    let text = text_of(file, &name)?;
    match attach.lines {
        None => Ok(Attachment { name, text }),
        Some((from, to)) => {
            let part = lines(&text, from, to);
            if part.is_empty() {
                return Err(format!(
                    "{name} has no line {from}; attach lines that are there"
                ));
            }
            Ok(Attachment {
                name: format!("{name}:{from}-{to}"),
                text: part,
            })
        }
    }
}

/// These lines, counted from 1, with their line ends.
fn lines(text: &str, from: u32, to: u32) -> String {
    let skipped = from.saturating_sub(1) as usize;
    text.split_inclusive('\n')
        .skip(skipped)
        .take(to.saturating_sub(from) as usize + 1)
        .collect()
}

fn text_of(input: impl Read, name: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = input.take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("{name} cannot be read: {error}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!(
            "{name} is larger than {} MiB; give a part of it",
            MOST / 1024 / 1024
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8 text; convert it first"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

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
            .map(|it| format!("{}={}", it.name, it.text));
        Ok((message.text, attached.collect()))
    }

    #[track_caller]
    fn check(prompt: Option<&str>, stdin: Option<&str>, text: &str, attached: &[&str]) {
        let attached: Vec<String> = attached.iter().map(ToString::to_string).collect();
        assert_eq!(message(prompt, stdin), Ok((text.to_owned(), attached)));
    }

    #[test]
    fn the_message_comes_from_the_argument_or_from_standard_input() {
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
    fn there_is_no_turn_without_a_message() {
        let none = "there is no message; give one as an argument or on standard input";
        assert_eq!(message(None, None), Err(none.into()));
        let empty = "the message is empty; say what is to be done";
        assert_eq!(message(Some(" "), None), Err(empty.into()));
        assert_eq!(message(None, Some("\n")), Err(empty.into()));
    }

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, content).expect("a file");
        (folder, path)
    }

    fn attach(path: PathBuf, lines: Option<(u32, u32)>) -> Result<Attachment, String> {
        attached(&Attach { path, lines })
    }

    #[test]
    fn files_are_attached_whole_or_by_lines() {
        let (_folder, path) = file(b"one\ntwo\r\nthree");
        let check = |lines, expected: &str, range: &str| {
            let attachment = attach(path.clone(), lines).expect("an attachment");
            assert_eq!(attachment.text, expected);
            assert_eq!(attachment.name, format!("{}{range}", path.display()));
        };
        check(None, "one\ntwo\r\nthree", "");
        check(Some((1, 1)), "one\n", ":1-1");
        check(Some((2, 3)), "two\r\nthree", ":2-3");
        check(Some((3, 90)), "three", ":3-90");
    }

    #[test]
    fn what_cannot_be_attached_is_said() {
        let (folder, path) = file(b"one\n\xff");
        let said = attach(path, None).expect_err("no text");
        assert!(
            said.ends_with("notes.txt is not UTF-8 text; convert it first"),
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
