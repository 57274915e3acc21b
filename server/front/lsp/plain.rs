//! A client that knows nothing of the protocol: prompts, answers and commands in what LSP has.
//!
//! | module | what lives there |
//! |---|---|
//! | `messages` | a prompt as a message with actions, and what a reply means (pure) |
//! | `shown` | whose a prompt is, and files by their paths (pure) |
//! | `gate` | one message at a time, and how long it holds up the next |
//! | `pages` | files that the client is shown |
//! | `written` | pages to write an answer or a message in |
//! | `progress` | a turn's progress while it runs |
//! | `told` | what is said of a turn: notices, its end, the transcript |
//! | `said` | what is said is a sentence |
//! | `undone` | what is said of a turn that was taken back (pure) |
//! | `waiting` | what waits for an answer since an earlier session |
//! | `commands` | `aside.server.…` |
//! | `actions` | code actions |
//!
//! Invariant: nothing but a title that was offered, a text that was written, or the command `aside.server.answer`
//! answers a prompt, and none of them says yes to what was not shown whole.

pub(super) mod actions;
pub(super) mod commands;
mod gate;
mod messages;
mod pages;
mod progress;
mod said;
mod shown;
mod told;
mod undone;
mod waiting;
mod written;

use std::{
    collections::HashSet,
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tower_lsp::lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, ExecuteCommandOptions,
    MessageActionItem, MessageType, ServerCapabilities,
};

use self::{
    gate::Gate,
    messages::{Meaning, Message, Whole, asked, by_command, meaning, message, page},
    pages::Shown,
    shown::in_words,
    written::Written,
};
use super::{
    hub::{Hub, SharedHub, Told, lock},
    prompts::Open,
};
use crate::{
    engine::blocking,
    front::wire::{Preview, PromptKind},
    turn::{
        event::PromptId,
        input::{PromptAnswer, SecretValue},
        question::AnswerType,
    },
};

pub(super) use progress::cancelled_turn;
pub(super) use told::Teller;
pub(super) use waiting::document_opened;

/// What is open in a client that knows nothing of the protocol.
#[derive(Default)]
pub(super) struct Plain {
    gate: Gate,
    /// Told when the client saved a document.
    saved: Notify,
    /// What was said of the workspace and its settings.
    noticed: Mutex<HashSet<String>>,
    /// Ends the wait for the message that is being written.
    writing: Mutex<CancellationToken>,
    /// A document was opened.
    has_documents: AtomicBool,
}

impl Plain {
    /// The client saved a document.
    pub(super) fn saved(&self) {
        self.saved.notify_waiters();
    }

    /// Whether this was not said before, of the workspace and its settings.
    pub(super) fn is_news(&self, notice: &str) -> bool {
        lock(&self.noticed).insert(notice.to_owned())
    }

    /// Whether no document was opened before.
    fn is_first_document(&self) -> bool {
        !self.has_documents.swap(true, Ordering::Relaxed)
    }
}

/// Prompts are put to the client in what LSP has.
pub(super) fn asks_plainly(hub: &Hub) -> bool {
    let aside = hub.told.get().and_then(|told| told.aside.as_ref());
    !aside.is_some_and(|aside| aside.prompt)
}

/// What the server can do for such a client.
pub(super) fn declare(capabilities: &mut ServerCapabilities, told: &Told) {
    capabilities.execute_command_provider = Some(ExecuteCommandOptions {
        commands: commands::ALL.map(str::to_owned).to_vec(),
        ..ExecuteCommandOptions::default()
    });
    let kinds = vec![CodeActionKind::QUICKFIX, actions::KIND];
    capabilities.code_action_provider = Some(if actions::takes_literals(&told.lsp) {
        CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(kinds),
            ..CodeActionOptions::default()
        })
    } else {
        CodeActionProviderCapability::Simple(true)
    });
}

/// Puts a prompt to the client, when it is its turn.
pub(super) fn ask(hub: &SharedHub, open: Open) {
    // The task owns the request to its end.
    tokio::spawn(show(hub.clone(), open));
}

/// Shows all open prompts again: those that wait for their turn, then those whose message may be out of sight.
/// False where none is open.
fn show_again(hub: &SharedHub) -> bool {
    let mut open = hub.prompts.opened();
    let any = !open.is_empty();
    open.retain(|open| open.sight.was_shown());
    open.sort_by(|a, b| a.prompt.prompt_id.cmp(&b.prompt.prompt_id));
    for open in open {
        ask(hub, open);
    }
    hub.plain.gate.hurry();
    any
}

async fn show(hub: SharedHub, open: Open) {
    let reply = hub.plain.gate.pass(&open.closed, || put(&hub, &open)).await;
    match reply {
        None => {}
        Some(Meaning::Settles(answer)) => {
            let says_nothing = matches!(answer, PromptAnswer::Cancel | PromptAnswer::Failed(_));
            // A message that is over cannot be taken off the screen: that it goes says nothing.
            let is_moot = open.closed.is_cancelled() || hub.is_over();
            if !(says_nothing && is_moot) {
                settle(&hub, &open, answer).await;
            }
        }
        Some(Meaning::Write) => write(&hub, &open).await,
    }
}

async fn put(hub: &SharedHub, open: &Open) -> Meaning {
    if open.prompt.answer_type == AnswerType::Secret {
        let why = "this client cannot hide what is typed";
        return Meaning::Settles(PromptAnswer::Failed(why.into()));
    }
    let open = &named(hub, open);
    let prompt = &open.prompt;
    let whole = open_whole(hub, open).await;
    if matches!(whole, Whole::Page(_)) {
        pages::drawn(&open.closed).await;
    }
    if open.closed.is_cancelled() {
        // It was settled while its page was opened.
        return Meaning::Settles(PromptAnswer::Cancel);
    }
    open.sight.shown(whole != Whole::Nowhere);
    let message = message(prompt, &whole, hub.shows_pages());
    let kind = match prompt.kind {
        PromptKind::Question => MessageType::INFO,
        PromptKind::RunTool | PromptKind::DeliverResult => MessageType::WARNING,
    };
    let reply = hub
        .client
        .show_message_request(kind, &message.text, Some(items(&message)))
        .await;
    meaning(&message, reply)
}

/// The prompt as it is shown now.
fn named(hub: &SharedHub, open: &Open) -> Open {
    let id = &open.prompt.conversation_id;
    let title = hub.turns.title_among_several(id);
    let has_file = matches!(open.prompt.preview, Some(Preview::Diff { .. }));
    let mut shown = open.clone();
    if title.is_some() || has_file {
        let place = has_file.then(|| hub.conversation(id).ok()).flatten();
        let root = place.map(|(_, root)| root).unwrap_or_default();
        shown.prompt = Arc::new(in_words(&open.prompt, title.as_deref(), &root));
    }
    shown
}

fn items(message: &Message) -> Vec<MessageActionItem> {
    let titles = message.actions.iter().map(|action| action.title.clone());
    let item = |title| MessageActionItem {
        title,
        properties: std::collections::HashMap::new(),
    };
    titles.map(item).collect()
}

/// Opens what does not fit into the prompt's message.
async fn open_whole(hub: &SharedHub, open: &Open) -> Whole {
    let Some(page) = page(&open.prompt) else {
        return Whole::Inline;
    };
    if !hub.shows_pages() {
        return Whole::Nowhere;
    }
    let path = match page_of(hub, open, "prompt-", page.ending, page.text).await {
        Ok(path) => path,
        Err(why) => {
            tracing::warn!(%why, "a page for a prompt cannot be written");
            return Whole::Nowhere;
        }
    };
    if hub.show_page(&path, false, 0).await != Shown::Yes {
        return Whole::Nowhere;
    }
    let name = path.file_name().unwrap_or_default();
    Whole::Page(name.to_string_lossy().into_owned())
}

/// A page in the folder of the prompt's conversation.
async fn page_of(
    hub: &SharedHub,
    open: &Open,
    name: &'static str,
    ending: &'static str,
    text: String,
) -> io::Result<PathBuf> {
    let (conversation, _) = hub
        .conversation(&open.prompt.conversation_id)
        .map_err(io::Error::other)?;
    let folder = pages::folder(&conversation);
    blocking(move || pages::create(&folder, name, ending, &text)).await
}

/// Opens a page for the answer, and takes it from there.
async fn write(hub: &SharedHub, open: &Open) {
    if open.closed.is_cancelled() {
        return;
    }
    let prompt = &open.prompt;
    let text = written::page(prompt);
    let line = written::begin(&text);
    let page = match page_of(hub, open, "answer-", ".txt", text).await {
        Ok(path) => {
            // What is saved from now on counts.
            let page = Written::new(path.clone());
            Some((hub.show_page(&path, true, line).await, page))
        }
        Err(why) => {
            tracing::warn!(%why, "a page for an answer cannot be written");
            None
        }
    };
    if !matches!(page, Some((Shown::Yes, _))) {
        let text = format!("Answer it with {}.", by_command(&prompt.prompt_id));
        hub.say(MessageType::INFO, &text).await;
    }
    let Some((Shown::Yes | Shown::Unsaid, mut page)) = page else {
        return;
    };
    while let Some(text) = page.next(&hub.plain.saved, &open.closed).await {
        match written::value(&prompt.answer_type, &text) {
            Ok(value) => {
                let is_wanted = !open.closed.is_cancelled();
                if settle(hub, open, answer(value)).await && is_wanted {
                    let text = format!("Your answer to “{}” was taken.", asked(&prompt.text));
                    hub.say(MessageType::INFO, &text).await;
                }
                return;
            }
            Err(misfit) => {
                let text = format!("The answer was not taken. {misfit}");
                hub.say(MessageType::WARNING, &text).await;
            }
        }
    }
}

/// Answers a prompt. False where its turn is over.
async fn settle(hub: &SharedHub, open: &Open, answer: PromptAnswer) -> bool {
    let id = PromptId(open.prompt.prompt_id.clone());
    let is_taken = open.turn.answer(id, answer).await;
    if !is_taken {
        hub.late(open).await;
    }
    is_taken
}

fn answer(value: Value) -> PromptAnswer {
    PromptAnswer::Answer {
        value: SecretValue(value),
        remember: false,
        new_text: None,
    }
}
