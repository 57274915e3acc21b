//! A turn as a fallback client sees it: its notices, why it failed, and the transcript when it is over.

use std::sync::Arc;

use aside_base::visible::{one_line, visible};
use aside_session::{
    conversation::Conversation,
    export::{MarkdownPage, PageReader, markdown},
    replay,
};
use aside_turn::record::{Level, Outcome};
use tower_lsp::lsp_types::MessageType;

use super::{
    super::tower::error::text,
    messages::{cut, units},
    pages,
    state::Fallback,
};
use crate::{
    engine::blocking,
    front::{
        error::{Result, internal},
        wire::{TurnCompleted, TurnRef, Update},
    },
};

/// UTF-16 units of a message that fits on a line.
const LINE: usize = 100;
/// UTF-16 units of a message that clients show.
const SHOWN: usize = 1000;

/// Shows a fallback client how a turn goes.
pub(in crate::front::lsp) struct FallbackTurn {
    at: Arc<Fallback>,
    /// What was said of the turn, in a client that shows one message at a time.
    said: Vec<String>,
}

impl FallbackTurn {
    /// A turn begins. `None` for a client that is told in the protocol's own way.
    pub(in crate::front::lsp) async fn start(at: &Arc<Fallback>, turn: &TurnRef) -> Option<Self> {
        if !at.handles.client.can().shows_prompts() {
            let (workspace, id) = (at.handles.workspace.clone(), turn.conversation_id.clone());
            let read = blocking(move || -> Result<_> {
                let (conversation, _) = workspace.conversation(&id)?;
                if let Err(why) = pages::clear(&conversation) {
                    tracing::warn!(%why, "old pages cannot be removed");
                }
                conversation.listed().map_err(internal)
            });
            if let Ok(listed) = read.await {
                at.titles.named(&turn.conversation_id, listed.title);
            }
        }
        if at.handles.client.can().speaks_aside() {
            return None;
        }
        Some(Self {
            at: at.clone(),
            said: Vec::new(),
        })
    }

    /// Writes an update of the turn into the transcript.
    pub(in crate::front::lsp) async fn update(&mut self, update: &Update) {
        if let Update::Notice { level, text } = update {
            let text = visible(text);
            match level {
                Level::Warning => {
                    self.said.push(one_line(&text));
                    self.at.say(MessageType::WARNING, &text).await;
                }
                Level::Info => {
                    self.at
                        .handles
                        .client
                        .log_message(MessageType::INFO, &text)
                        .await;
                }
            }
        }
    }

    /// The turn is over. With nothing said of how, the client only sees that.
    pub(in crate::front::lsp) async fn end(self, completed: Option<&TurnCompleted>) {
        let Some(completed) = completed else {
            return;
        };
        if let Some(error) = &completed.error {
            let text = visible(&error.message);
            self.at.say(MessageType::ERROR, &text).await;
        }
        if completed.outcome == Outcome::Interrupted {
            let text = "The turn was interrupted; the command aside.server.resume goes on with it.";
            return self.at.say(MessageType::WARNING, text).await;
        }
        if completed.outcome == Outcome::Cancelled {
            // Who cancelled it does not want to read it; where its progress is shown, that it ends says enough.
            if !self.at.handles.client.can().shows_progress() {
                let text = "The turn was cancelled.";
                self.at.say(MessageType::INFO, text).await;
            }
            return;
        }
        let (at, id) = (self.at.clone(), completed.conversation_id.clone());
        let shown = ShownEnd {
            answer: completed.answer.clone().unwrap_or_default(),
            said: self.said,
            refused: !completed.refusals.is_empty(),
            failed: completed.error.is_some(),
        };
        self.at.handles.tasks.spawn("transcript", async move {
            let done = match at.handles.client.can().shows_pages() {
                true => show_transcript(&at, &id, Extent::LastTurn).await,
                false => show_answer(&at, &id, &shown).await,
            };
            if let Err(failed) = done {
                at.say(MessageType::ERROR, &text(&failed)).await;
            }
        });
    }
}

/// The end of a turn in a client without pages, which may show one message at a time.
#[derive(Debug, Default)]
struct ShownEnd {
    answer: String,
    /// Notices that the message takes the place of.
    said: Vec<String>,
    /// Whether a call was refused.
    refused: bool,
    /// Whether the turn failed, which was said already.
    failed: bool,
}

/// Shows the answer of the last turn in a client without pages: the answer itself comes first, and all of the turn is in
/// a file.
async fn show_answer(at: &Arc<Fallback>, id: &str, end: &ShownEnd) -> Result<()> {
    let (workspace, of) = (at.handles.workspace.clone(), id.to_owned());
    let path = at.handles.engine.state_dir().join("answer.md");
    let page = path.clone();
    let write = move || -> Result<_> {
        let (conversation, _) = workspace.conversation(&of)?;
        let text = last_turn(&conversation)?;
        pages::replace(&page, &text).map_err(internal)?;
        Ok(text)
    };
    let text = blocking(write).await?;
    at.handles
        .client
        .log_message(MessageType::INFO, text.trim_end())
        .await;
    if end.failed {
        return Ok(());
    }
    let message = end.message(&pages::typed(&path));
    at.handles
        .client
        .show_message(MessageType::INFO, &message)
        .await;
    Ok(())
}

impl ShownEnd {
    /// The message, of which the client may show only one line.
    fn message(&self, file: &str) -> String {
        let answer = visible(self.answer.trim());
        let said: String = self
            .said
            .iter()
            .map(|notice| format!("{notice} "))
            .collect();
        let is_line = !answer.is_empty() && !answer.contains('\n') && units(&answer) <= LINE;
        let all = match (is_line, self.refused) {
            (true, false) => return format!("{said}{answer}"),
            (_, false) => "All of it is",
            (_, true) => "A call was refused; all of it is",
        };
        cut(&format!("{said}({all} in {file}.) {answer}"), SHOWN)
    }
}

/// Extent of a transcript in a client that shows no pages.
#[derive(Clone, Copy, Debug)]
pub(in crate::front::lsp) enum Extent {
    LastTurn,
    All,
}

/// Shows a conversation's transcript: as a page, else its end as a message and the rest in the log.
pub(in crate::front::lsp) async fn show_transcript(
    at: &Arc<Fallback>,
    id: &str,
    extent: Extent,
) -> Result<()> {
    let (workspace, of) = (at.handles.workspace.clone(), id.to_owned());
    let found = blocking(move || workspace.conversation(&of));
    let (conversation, _) = found.await?;
    if at.handles.client.can().shows_pages() {
        let of = conversation.clone();
        let write = move || -> Result<_> {
            let MarkdownPage { text, turn_lines } = whole_transcript(&of)?;
            let line = turn_lines.last().copied().unwrap_or_default();
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            // An editor that has the page of an earlier turn open does not read that again.
            let path = of
                .folder()
                .join(format!("transcript-{}.md", turn_lines.len()));
            pages::replace(&path, &text).map_err(internal)?;
            Ok((path, line))
        };
        let (path, line) = blocking(write).await?;
        // Who is busy shows it later, and need not be told twice.
        if at.show_page(&path, false, line).await != pages::PageShown::No {
            return Ok(());
        }
    }
    let text = blocking(move || match extent {
        Extent::LastTurn => last_turn(&conversation),
        Extent::All => Ok(whole_transcript(&conversation)?.text),
    });
    let text = text.await?;
    let (rest, end) = split_end(text.trim_end(), SHOWN);
    if !rest.is_empty() {
        at.handles.client.log_message(MessageType::INFO, rest).await;
    }
    at.handles.client.show_message(MessageType::INFO, end).await;
    Ok(())
}

/// The conversation as markdown. Reads files.
pub(in crate::front::lsp) fn whole_transcript(conversation: &Conversation) -> Result<MarkdownPage> {
    let lines = conversation.read_all().map_err(internal)?;
    let title = conversation.listed().map_err(internal)?.title;
    Ok(markdown(
        &title,
        1,
        &replay::turns(&lines.records),
        PageReader::Viewer,
    ))
}

fn last_turn(conversation: &Conversation) -> Result<String> {
    let lines = conversation.read_all().map_err(internal)?;
    let title = conversation.listed().map_err(internal)?.title;
    let turns = replay::turns(&lines.records);
    let last = turns.len().saturating_sub(1);
    Ok(markdown(&title, last + 1, &turns[last..], PageReader::Viewer).text)
}

/// The text up to its end, and its end: whole lines, if one fits, of this many UTF-16 units at the most.
fn split_end(text: &str, most: usize) -> (&str, &str) {
    let mut left = most;
    let mut start = text.len();
    for (at, letter) in text.char_indices().rev() {
        match left.checked_sub(letter.len_utf16()) {
            Some(room) => left = room,
            None => break,
        }
        start = at;
    }
    if start > 0 && !text[..start].ends_with('\n') {
        let line = text[start..].find('\n').map(|end| start + end + 1);
        start = line.filter(|line| *line < text.len()).unwrap_or(start);
    }
    text.split_at(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_on_the_first_line() {
        let message = |answer: &str, said: &[&str], refused| {
            let end = ShownEnd {
                answer: answer.to_owned(),
                said: said.iter().map(ToString::to_string).collect(),
                refused,
                failed: false,
            };
            end.message("~/a.md")
        };
        let none = "No folder is open.";
        for (answer, said, refused, expected) in [
            ("It is 4.\n", &[][..], false, "It is 4."),
            ("It is 4.", &[none], false, "No folder is open. It is 4."),
            (
                "One.\n\nTwo.",
                &[],
                false,
                "(All of it is in ~/a.md.) One.\n\nTwo.",
            ),
            (
                "Done.",
                &[],
                true,
                "(A call was refused; all of it is in ~/a.md.) Done.",
            ),
            ("", &[], false, "(All of it is in ~/a.md.) "),
        ] {
            assert_eq!(message(answer, said, refused), expected);
        }
        let long = message(&"x".repeat(5000), &[], false);
        assert!(long.starts_with("(All of it is in ~/a.md.) xxx") && units(&long) == SHOWN);
    }

    #[test]
    fn the_end_of_a_text_begins_with_a_line() {
        for (text, most, expected) in [
            ("short", 10, ("", "short")),
            ("one\ntwo\nthree", 10, ("one\n", "two\nthree")),
            ("one\ntwo\nthree", 9, ("one\n", "two\nthree")),
            ("one\ntwo\nthree", 8, ("one\ntwo\n", "three")),
            ("a long line", 4, ("a long ", "line")),
            ("𝄞𝄞𝄞", 4, ("𝄞", "𝄞𝄞")),
            ("", 4, ("", "")),
        ] {
            assert_eq!(split_end(text, most), expected, "{text:?}");
        }
    }
}
