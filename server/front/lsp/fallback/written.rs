//! Pages to write in: an answer, or a message to the model. The first save with text below the mark counts.
//!
//! The file is read when the client reports a save: with `textDocument/didSave`, or with
//! `workspace/didChangeWatchedFiles`. For a client that reports neither, the command `aside.server.answer` reads it.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use aside_base::{
    regular,
    visible::{in_sight, one_line, visible},
};
use aside_turn::question::AnswerType;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::actions::{as_text, page_answers};
use crate::front::wire::Prompt;

/// The line below which the text begins.
const MARK: &str = "-------- write below this line, then save --------";
/// Advice for clients that do not report saves of the page.
const UNNOTICED: &str = "If nothing happens after the save, run the command aside.server.answer.";
/// Bytes of the file that are read.
const LARGEST: u64 = 1024 * 1024;

/// The page in which a prompt is answered.
pub(super) fn page(prompt: &Prompt) -> String {
    let mut head = format!("{}: {}\n", one_line(&prompt.label), one_line(&prompt.text));
    if let Some(context) = &prompt.context {
        head.push_str(&format!("\n{}\n", in_sight(context.trim_end())));
    }
    match &prompt.answer_type {
        AnswerType::Select { options } => {
            head.push_str("\nWrite one of these, or its number:\n");
            numbered(options, &mut head);
        }
        AnswerType::MultiSelect {
            options, minimum, ..
        } => {
            let how_many = prompt.answer_type.how_many();
            let how_many = how_many.unwrap_or_else(|| "any".into());
            head.push_str(&format!(
                "\nWrite {how_many} of these, or their numbers, one a line:\n"
            ));
            numbered(options, &mut head);
            if minimum.unwrap_or(0) == 0 {
                head.push_str("Or write none.\n");
            }
        }
        other => {
            if let Some(phrase) = other.phrase() {
                head.push_str(&format!("\nWrite {phrase}.\n"));
            }
        }
    }
    if let Some(default) = &prompt.default {
        head.push_str(&format!("\nDefault: {}\n", visible(&as_text(default))));
    }
    let actions = page_answers(prompt).into_iter();
    let titles: Vec<String> = actions
        .map(|answer| format!("“{}”", answer.title))
        .collect();
    head.push_str(&format!(
        "\nCode actions on this page: {}.\n",
        titles.join(", ")
    ));
    with_mark(&head)
}

fn numbered(options: &[String], head: &mut String) {
    for (at, option) in options.iter().enumerate() {
        head.push_str(&format!("{}. {}\n", at + 1, one_line(option)));
    }
}

/// The page in which a message to the model is written.
pub(in crate::front::lsp) fn message_page(about: &str) -> String {
    with_mark(&format!("A message to Aside{about}.\n"))
}

/// No line of the head can be taken for the mark.
fn with_mark(head: &str) -> String {
    let lines = head.lines().chain([UNNOTICED]).map(|line| match line {
        "" => "#\n".to_owned(),
        line => format!("# {line}\n"),
    });
    lines.chain([format!("{MARK}\n\n")]).collect()
}

/// The line to write in, counted from 0: the last one.
pub(in crate::front::lsp) fn begin(page: &str) -> u32 {
    u32::try_from(page.lines().count().saturating_sub(1)).unwrap_or(0)
}

/// The text below the mark. `None` without a mark or a text.
pub(super) fn below_mark(text: &str) -> Option<&str> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == MARK {
            return Some(text[at..].trim()).filter(|written| !written.is_empty());
        }
    }
    None
}

/// The value that a written text stands for, by the prompt's type.
///
/// # Errors
/// What would be an answer.
pub(in crate::front::lsp) fn value(answer_type: &AnswerType, text: &str) -> Result<Value, String> {
    match answer_type {
        AnswerType::Text { .. } | AnswerType::Number { .. } | AnswerType::MultiSelect { .. } => {
            let value = answer_type.of_person(text);
            match answer_type.accept(&value) {
                Ok(_) => Ok(value),
                Err(misfit) => Err(misfit.0),
            }
        }
        AnswerType::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" => Ok(true.into()),
            "false" | "no" => Ok(false.into()),
            _ => Err(answer_type.expectation()),
        },
        AnswerType::Select { options } => {
            let same = |option: &&String| option.trim() == text;
            // A person writes `july`; where two differ by case alone, it says neither.
            let alike = || {
                let wanted = text.to_lowercase();
                let mut alike = options
                    .iter()
                    .filter(|option| option.trim().to_lowercase() == wanted);
                alike.next().filter(|_| alike.next().is_none())
            };
            let numbered = || {
                let number: usize = text.trim_end_matches('.').parse().ok()?;
                options.get(number.checked_sub(1)?)
            };
            let found = options.iter().find(same);
            match found.or_else(alike).or_else(numbered) {
                Some(option) => Ok(option.as_str().into()),
                None => Err(format!("{} Its number will do.", answer_type.expectation())),
            }
        }
        AnswerType::Secret => {
            Err("A secret is typed where it was asked for, and nowhere else.".into())
        }
    }
}

/// A page that is open in the client.
pub(in crate::front::lsp) struct WritingPage {
    path: PathBuf,
    /// Changes when the client reports a save.
    saves: watch::Receiver<()>,
    /// The stamp of the file when it was last read.
    read: Option<Stamp>,
}

/// Time and length of a file, which differ after a change.
type Stamp = (SystemTime, u64);

impl WritingPage {
    /// The page at this path. Later saves count.
    pub(in crate::front::lsp) fn new(path: PathBuf, saves: watch::Receiver<()>) -> Self {
        let read = stamp(&path);
        Self { path, saves, read }
    }

    /// Waits for the next save with text below the mark and returns the text; `None` when nobody wants it any more.
    pub(in crate::front::lsp) async fn next(
        &mut self,
        unwanted: &CancellationToken,
    ) -> Option<String> {
        loop {
            let saved = unwanted.run_until_cancelled(self.saves.changed()).await;
            saved?.ok()?;
            let (path, before) = (self.path.clone(), self.read);
            let read = tokio::task::spawn_blocking(move || {
                let now = stamp(&path).filter(|now| Some(*now) != before)?;
                Some((now, read(&path)))
            });
            // The save of another file changes nothing here.
            let Some((now, text)) = read.await.ok()? else {
                continue;
            };
            self.read = Some(now);
            if let Some(written) = text.ok().as_deref().and_then(below_mark) {
                return Some(written.to_owned());
            }
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let about = path.metadata().ok().filter(|about| about.is_file())?;
    Some((about.modified().ok()?, about.len()))
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    regular::open(path)?
        .take(LARGEST)
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_is_below_the_mark_is_an_answer() {
        let page = with_mark(&format!("Assistant: Why?\n\n{MARK}\n"));
        assert_eq!(
            page,
            format!("# Assistant: Why?\n#\n# {MARK}\n# {UNNOTICED}\n{MARK}\n\n"),
            "the head cannot hold the mark"
        );
        assert_eq!(begin(&page), 5, "the empty line below the mark");
        for (written, expected) in [
            (page.clone(), None),
            (format!("{page}  \n\t\n"), None),
            (format!("{page}Because.\n"), Some("Because.")),
            (format!("{page}\r\ntwo\r\nlines\r\n"), Some("two\r\nlines")),
            (format!("{MARK}\r\nBecause."), Some("Because.")),
            (format!("above\n{MARK}\n"), None),
            ("the mark is gone".into(), None),
        ] {
            assert_eq!(below_mark(&written), expected, "{written:?}");
        }
    }

    #[test]
    fn a_text_is_read_by_the_type_of_the_prompt() {
        let options = ["2", "b c", "long", "July", "x", "X"]
            .map(String::from)
            .to_vec();
        let select = AnswerType::Select { options };
        let check = |of: &AnswerType, text, expected: Option<Value>| {
            assert_eq!(value(of, text).ok(), expected, "{text}");
        };
        check(&select, "b c", Some("b c".into()));
        check(&select, "2", Some("2".into()));
        check(&select, "3.", Some("long".into()));
        check(&select, "0", None);
        check(&select, "7", None);
        check(&select, "july", Some("July".into()));
        check(&select, "X", Some("X".into()));
        check(&AnswerType::text(), "4", Some("4".into()));
        check(&AnswerType::Boolean, "Yes", Some(true.into()));
        check(&AnswerType::Boolean, "perhaps", None);
        check(&AnswerType::Secret, "hunter2", None);
    }

    #[tokio::test]
    async fn the_first_reported_save_with_text_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer.txt");
        fs::write(&path, with_mark("Why?")).unwrap();
        let (saves, unwanted) = (watch::Sender::new(()), CancellationToken::new());
        let mut written = WritingPage::new(path.clone(), saves.subscribe());

        // Another file was saved.
        saves.send_replace(());
        fs::write(&path, format!("{}Because.\n", with_mark("Why?"))).unwrap();
        saves.send_replace(());
        assert_eq!(written.next(&unwanted).await.as_deref(), Some("Because."));
        // A save counts that is reported while nobody waits.
        fs::write(&path, format!("{}And more.\n", with_mark("Why?"))).unwrap();
        saves.send_replace(());
        assert_eq!(written.next(&unwanted).await.as_deref(), Some("And more."));
        unwanted.cancel();
        assert_eq!(written.next(&unwanted).await, None);
    }
}
