//! Prompts as messages: shown when it is their turn, answered by an action or on a page.

use std::{io, path::PathBuf, sync::Arc};

use aside_turn::{
    input::{PromptAnswer, SecretValue},
    question::AnswerType,
};
use serde_json::Value;
use tower_lsp::lsp_types::MessageType;

use super::{
    actions::{MessagePlace, needs_approval, needs_writing},
    messages::{
        FullPrompt, ReplyMeaning, asked, fits_inline, how_to_answer, meaning, message, page,
        review_page,
    },
    pages::{self, PageShown},
    shown::in_words,
    state::Fallback,
    written::{self, WritingPage},
};
use crate::{
    engine::blocking,
    front::{
        lsp::client::reply::ReplyError,
        relay::prompts::PendingPrompt,
        wire::{Preview, PromptKind},
    },
};

/// Puts a prompt to the client, when it is its turn.
pub(in crate::front::lsp) fn ask(at: &Arc<Fallback>, open: PendingPrompt) {
    at.handles
        .tasks
        .spawn("fallback prompt", show(at.clone(), open));
}

/// Shows all open prompts again: those that wait for their turn, then those whose message may be out of sight.
/// False where none is open.
pub(in crate::front::lsp) fn show_again(at: &Arc<Fallback>) -> bool {
    let mut open = at.handles.prompts.all();
    let any = !open.is_empty();
    open.retain(|open| open.sight.was_shown());
    open.sort_by(|a, b| a.prompt.prompt_id.cmp(&b.prompt.prompt_id));
    for open in open {
        ask(at, open);
    }
    at.gate.hurry();
    any
}

async fn show(at: Arc<Fallback>, open: PendingPrompt) {
    let reply = at.gate.pass(&open.closed, || put(&at, &open)).await;
    match reply {
        None | Some(ReplyMeaning::Later | ReplyMeaning::Review) => {}
        Some(ReplyMeaning::Settles(answer)) => {
            let says_nothing = matches!(answer, PromptAnswer::Cancel | PromptAnswer::Failed(_));
            // A message that is over cannot be taken off the screen: that it goes says nothing.
            let is_moot = open.closed.is_cancelled() || at.handles.client.is_over();
            if !(says_nothing && is_moot) {
                open.reply(answer, at.handles.engine.conversations()).await;
            }
        }
        Some(ReplyMeaning::Write) => write(&at, &open).await,
    }
}

async fn put(at: &Arc<Fallback>, open: &PendingPrompt) -> ReplyMeaning {
    if open.prompt.answer_type == AnswerType::Secret {
        let why = "this client cannot hide what is typed";
        return ReplyMeaning::Settles(PromptAnswer::Failed(why.into()));
    }
    let open = &named(at, open).await;
    let prompt = &open.prompt;
    let place = if at.handles.client.can().shows_messages_beside() {
        MessagePlace::Beside
    } else {
        MessagePlace::Over
    };
    let whole = open_whole(at, open, place).await;
    if matches!(whole, FullPrompt::Page(_)) {
        pages::drawn(&open.closed).await;
    }
    if open.closed.is_cancelled() {
        // It was settled while its page was opened.
        return ReplyMeaning::Settles(PromptAnswer::Cancel);
    }
    open.sight.shown(match whole {
        FullPrompt::Inline | FullPrompt::Page(_) => true,
        FullPrompt::OnReview => fits_inline(prompt),
        FullPrompt::Nowhere => false,
    });
    let message = message(prompt, &whole, place, at.handles.client.can().shows_pages());
    let kind = match prompt.kind {
        PromptKind::Question => MessageType::INFO,
        PromptKind::RunTool | PromptKind::DeliverResult => MessageType::WARNING,
    };
    let titles = message.actions.iter().map(|action| action.title.clone());
    let reply = at
        .handles
        .client
        .ask_by_message(kind, &message.text, titles.collect());
    let reply = match reply.await {
        // The client shows no message with choices. The person opens the prompt in a file.
        Err(ReplyError::Unknown) if !at.handles.client.can().shows_pages() => {
            ask_in_file(at, open).await;
            return ReplyMeaning::Later;
        }
        reply => reply.map_err(|error| error.to_string()),
    };
    let meaning = meaning(&message, reply);
    if matches!(meaning, ReplyMeaning::Review) {
        review(at, open).await;
    }
    meaning
}

/// Tells the person which file to open, in which the prompt is answered by code actions or in writing.
async fn ask_in_file(at: &Arc<Fallback>, open: &PendingPrompt) {
    let prompt = &open.prompt;
    let is_written = needs_writing(prompt);
    let (text, how) = match is_written {
        true => (written::page(prompt), "write the answer there and save it"),
        false => (review_page(prompt).text, "choose a code action there"),
    };
    let ending = match &prompt.preview {
        Some(Preview::Diff { .. }) if !is_written => ".diff",
        _ => ".md",
    };
    let folder = at.handles.engine.state_dir().join("pages");
    let created = blocking(move || pages::create(&folder, "question-", ending, &text)).await;
    let path: PathBuf = match created {
        Ok(path) => path,
        Err(why) => {
            tracing::warn!(%why, "a page for a prompt cannot be written");
            return at.say(MessageType::WARNING, &how_to_answer(prompt)).await;
        }
    };
    // What is saved from now on counts.
    let mut page = WritingPage::new(path.clone(), at.saves());
    at.is_reviewed_on(path.clone(), &prompt.prompt_id);
    let text = format!(
        "Open {} and {how}: {}",
        pages::typed(&path),
        asked(&prompt.text)
    );
    at.say(MessageType::WARNING, &text).await;
    let (at, open) = (at.clone(), open.clone());
    at.handles
        .tasks
        .clone()
        .spawn("prompt in a file", async move {
            if is_written {
                take_written(&at, &open, &mut page).await;
            } else {
                open.closed.cancelled().await;
            }
            let _ = blocking(move || std::fs::remove_file(path)).await;
        });
}

/// Shows the whole of a prompt on a page, where it is answered by code actions.
async fn review(at: &Arc<Fallback>, open: &PendingPrompt) {
    let prompt = &open.prompt;
    if !at.handles.client.can().shows_pages() {
        return at.say(MessageType::INFO, &how_to_answer(prompt)).await;
    }
    let page = review_page(prompt);
    let shown = match page_of(at, open, "prompt-", page.ending, page.text).await {
        Ok(path) => {
            at.is_reviewed_on(path.clone(), &prompt.prompt_id);
            at.show_wanted_page(&path, &open.closed).await
        }
        Err(why) => {
            tracing::warn!(%why, "a page for a prompt cannot be written");
            PageShown::No
        }
    };
    match shown {
        PageShown::Yes => open.sight.shown(true),
        PageShown::No if open.sight.was_whole() || !needs_approval(prompt) => {
            at.say(MessageType::WARNING, &how_to_answer(prompt)).await;
        }
        PageShown::No => {
            let text = "The page could not be shown, so it can only be refused; \
                        the command aside.server.answer without arguments asks again.";
            at.say(MessageType::WARNING, text).await;
        }
        PageShown::Unsaid => {}
    }
}

/// The prompt as it is shown now.
async fn named(at: &Arc<Fallback>, open: &PendingPrompt) -> PendingPrompt {
    let id = &open.prompt.conversation_id;
    let title = at
        .titles
        .among(id, at.handles.engine.conversations().running().count());
    let has_file = matches!(open.prompt.preview, Some(Preview::Diff { .. }));
    let mut shown = open.clone();
    if title.is_some() || has_file {
        let (workspace, id) = (at.handles.workspace.clone(), id.clone());
        let place = blocking(move || match has_file {
            true => workspace.conversation(&id).map(|(_, root)| root),
            false => Ok(PathBuf::new()),
        });
        let root = place.await.unwrap_or_default();
        shown.prompt = Arc::new(in_words(&open.prompt, title.as_deref(), &root));
    }
    shown
}

/// Opens what does not fit into the prompt's message; over the text, a prompt is opened when the person wants to see it.
async fn open_whole(at: &Arc<Fallback>, open: &PendingPrompt, place: MessagePlace) -> FullPrompt {
    let (pages, approval) = (
        at.handles.client.can().shows_pages(),
        needs_approval(&open.prompt),
    );
    if pages && place == MessagePlace::Over {
        return FullPrompt::OnReview;
    }
    if fits_inline(&open.prompt) {
        return FullPrompt::Inline;
    }
    if !pages {
        return FullPrompt::Nowhere;
    }
    let page = page(&open.prompt);
    let path = match page_of(at, open, "prompt-", page.ending, page.text).await {
        Ok(path) => path,
        Err(why) => {
            tracing::warn!(%why, "a page for a prompt cannot be written");
            return FullPrompt::Nowhere;
        }
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    on_page(
        at.show_page(&path, false, 0).await,
        approval,
        name.into_owned(),
    )
}

/// The place where a prompt can be read whole, after the client was asked to show its page of this name. `approval`: a
/// yes lets something happen.
fn on_page(shown: PageShown, approval: bool, name: String) -> FullPrompt {
    match (shown, approval) {
        // Where nothing is said, another message of ours may stand in the way of the page. A question can be answered
        // all the same, and what would run is shown when the person wants to see it.
        (PageShown::Yes, _) | (PageShown::Unsaid, false) => FullPrompt::Page(name),
        (PageShown::Unsaid, true) => FullPrompt::OnReview,
        (PageShown::No, _) => FullPrompt::Nowhere,
    }
}

/// A page in the folder of the prompt's conversation.
async fn page_of(
    at: &Arc<Fallback>,
    open: &PendingPrompt,
    name: &'static str,
    ending: &'static str,
    text: String,
) -> io::Result<PathBuf> {
    let (conversation, _) = at
        .handles
        .workspace
        .conversation(&open.prompt.conversation_id)
        .map_err(io::Error::other)?;
    let folder = pages::folder(&conversation);
    blocking(move || pages::create(&folder, name, ending, &text)).await
}

/// Opens a page for the answer, and takes it from there.
async fn write(at: &Arc<Fallback>, open: &PendingPrompt) {
    if open.closed.is_cancelled() {
        return;
    }
    let prompt = &open.prompt;
    let text = written::page(prompt);
    let line = written::begin(&text);
    let page = match page_of(at, open, "answer-", ".txt", text).await {
        Ok(path) => {
            // What is saved from now on counts.
            let page = WritingPage::new(path.clone(), at.saves());
            at.is_reviewed_on(path.clone(), &prompt.prompt_id);
            Some((at.show_page(&path, true, line).await, page))
        }
        Err(why) => {
            tracing::warn!(%why, "a page for an answer cannot be written");
            None
        }
    };
    if !matches!(page, Some((PageShown::Yes, _))) {
        at.say(MessageType::INFO, &how_to_answer(prompt)).await;
    }
    let Some((PageShown::Yes | PageShown::Unsaid, mut page)) = page else {
        return;
    };
    take_written(at, open, &mut page).await;
}

/// Takes the answer from the page on which it is written.
async fn take_written(at: &Arc<Fallback>, open: &PendingPrompt, page: &mut WritingPage) {
    let prompt = &open.prompt;
    while let Some(text) = page.next(&open.closed).await {
        match written::value(&prompt.answer_type, &text) {
            Ok(value) => {
                let is_wanted = !open.closed.is_cancelled();
                if open
                    .reply(answer(value, false), at.handles.engine.conversations())
                    .await
                    && is_wanted
                {
                    let text = format!("Your answer to “{}” was taken.", asked(&prompt.text));
                    at.say(MessageType::INFO, &text).await;
                }
                return;
            }
            Err(misfit) => {
                let text = format!("The answer was not taken. {misfit}");
                at.say(MessageType::WARNING, &text).await;
            }
        }
    }
}

/// A value as an answer, which may hold for the rest of the turn.
pub(in crate::front::lsp) fn answer(value: Value, remember: bool) -> PromptAnswer {
    PromptAnswer::Answer {
        value: SecretValue(value),
        remember,
        new_text: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_another_message_stands_in_the_way_of_is_not_one_that_cannot_be_shown() {
        let page = || FullPrompt::Page("p.txt".into());
        for (shown, approval, expected) in [
            (PageShown::Yes, true, page()),
            (PageShown::Yes, false, page()),
            (PageShown::Unsaid, true, FullPrompt::OnReview),
            (PageShown::Unsaid, false, page()),
            (PageShown::No, true, FullPrompt::Nowhere),
            (PageShown::No, false, FullPrompt::Nowhere),
        ] {
            assert_eq!(on_page(shown, approval, "p.txt".into()), expected);
        }
    }
}
