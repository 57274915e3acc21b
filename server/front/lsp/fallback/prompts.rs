//! Prompts as messages: shown when it is their turn, answered by an action or on a page.

use std::{io, path::PathBuf, sync::Arc};

use serde_json::Value;
use tower_lsp::lsp_types::MessageType;

use super::{
    messages::{FullPrompt, ReplyMeaning, asked, by_command, meaning, message, page},
    pages::{self, PageShown},
    shown::in_words,
    state::Fallback,
    written::{self, WritingPage},
};
use crate::{
    engine::blocking,
    front::{
        relay::prompts::PendingPrompt,
        wire::{Preview, PromptKind},
    },
    turn::{
        input::{PromptAnswer, SecretValue},
        question::AnswerType,
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
        None => {}
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
    let open = &named(at, open);
    let prompt = &open.prompt;
    let whole = open_whole(at, open).await;
    if matches!(whole, FullPrompt::Page(_)) {
        pages::drawn(&open.closed).await;
    }
    if open.closed.is_cancelled() {
        // It was settled while its page was opened.
        return ReplyMeaning::Settles(PromptAnswer::Cancel);
    }
    open.sight.shown(whole != FullPrompt::Nowhere);
    let message = message(prompt, &whole, at.handles.client.can().shows_pages());
    let kind = match prompt.kind {
        PromptKind::Question => MessageType::INFO,
        PromptKind::RunTool | PromptKind::DeliverResult => MessageType::WARNING,
    };
    let titles = message.actions.iter().map(|action| action.title.clone());
    let reply = at
        .handles
        .client
        .ask_by_message(kind, &message.text, titles.collect());
    meaning(&message, reply.await.map_err(|error| error.to_string()))
}

/// The prompt as it is shown now.
fn named(at: &Arc<Fallback>, open: &PendingPrompt) -> PendingPrompt {
    let id = &open.prompt.conversation_id;
    let title = at
        .titles
        .among(id, at.handles.engine.conversations().running().count());
    let has_file = matches!(open.prompt.preview, Some(Preview::Diff { .. }));
    let mut shown = open.clone();
    if title.is_some() || has_file {
        let place = has_file
            .then(|| at.handles.workspace.conversation(id).ok())
            .flatten();
        let root = place.map(|(_, root)| root).unwrap_or_default();
        shown.prompt = Arc::new(in_words(&open.prompt, title.as_deref(), &root));
    }
    shown
}

/// Opens what does not fit into the prompt's message.
async fn open_whole(at: &Arc<Fallback>, open: &PendingPrompt) -> FullPrompt {
    let Some(page) = page(&open.prompt) else {
        return FullPrompt::Inline;
    };
    if !at.handles.client.can().shows_pages() {
        return FullPrompt::Nowhere;
    }
    let path = match page_of(at, open, "prompt-", page.ending, page.text).await {
        Ok(path) => path,
        Err(why) => {
            tracing::warn!(%why, "a page for a prompt cannot be written");
            return FullPrompt::Nowhere;
        }
    };
    if at.show_page(&path, false, 0).await != PageShown::Yes {
        return FullPrompt::Nowhere;
    }
    let name = path.file_name().unwrap_or_default();
    FullPrompt::Page(name.to_string_lossy().into_owned())
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
            let page = WritingPage::new(path.clone());
            Some((at.show_page(&path, true, line).await, page))
        }
        Err(why) => {
            tracing::warn!(%why, "a page for an answer cannot be written");
            None
        }
    };
    if !matches!(page, Some((PageShown::Yes, _))) {
        let text = format!("Answer it with {}.", by_command(&prompt.prompt_id));
        at.say(MessageType::INFO, &text).await;
    }
    let Some((PageShown::Yes | PageShown::Unsaid, mut page)) = page else {
        return;
    };
    while let Some(text) = page.next(&at.saved, &open.closed).await {
        match written::value(&prompt.answer_type, &text) {
            Ok(value) => {
                let is_wanted = !open.closed.is_cancelled();
                if open
                    .reply(answer(value), at.handles.engine.conversations())
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

/// A value as an answer that is not remembered.
pub(in crate::front::lsp) fn answer(value: Value) -> PromptAnswer {
    PromptAnswer::Answer {
        value: SecretValue(value),
        remember: false,
        new_text: None,
    }
}
