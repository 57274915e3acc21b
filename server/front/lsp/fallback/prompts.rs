//! Prompts as messages: shown when it is their turn, answered by an action or on a page.

use std::{io, path::PathBuf, sync::Arc};

use serde_json::Value;
use tower_lsp::lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, ExecuteCommandOptions,
    MessageActionItem, MessageType, ServerCapabilities, ShowMessageRequestParams,
    request::ShowMessageRequest,
};

use super::{
    super::{client::capabilities::EditorCapabilities, hub::SharedHub, prompts::Open},
    actions, commands,
    messages::{Meaning, Message, Whole, asked, by_command, meaning, message, page},
    pages::{self, Shown},
    shown::in_words,
    written::{self, Written},
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

/// Declares what the server can do for a fallback client.
pub(in super::super) fn declare(
    capabilities: &mut ServerCapabilities,
    client: &EditorCapabilities,
) {
    capabilities.execute_command_provider = Some(ExecuteCommandOptions {
        commands: commands::ALL.map(str::to_owned).to_vec(),
        ..ExecuteCommandOptions::default()
    });
    let kinds = vec![CodeActionKind::QUICKFIX, actions::KIND];
    capabilities.code_action_provider = Some(if client.takes_action_literals() {
        CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(kinds),
            ..CodeActionOptions::default()
        })
    } else {
        CodeActionProviderCapability::Simple(true)
    });
}

/// Puts a prompt to the client, when it is its turn.
pub(in super::super) fn ask(hub: &SharedHub, open: Open) {
    hub.tasks.spawn("fallback prompt", show(hub.clone(), open));
}

/// Shows all open prompts again: those that wait for their turn, then those whose message may be out of sight.
/// False where none is open.
pub(super) fn show_again(hub: &SharedHub) -> bool {
    let mut open = hub.prompts.opened();
    let any = !open.is_empty();
    open.retain(|open| open.sight.was_shown());
    open.sort_by(|a, b| a.prompt.prompt_id.cmp(&b.prompt.prompt_id));
    for open in open {
        ask(hub, open);
    }
    hub.fallback.gate.hurry();
    any
}

async fn show(hub: SharedHub, open: Open) {
    let reply = hub
        .fallback
        .gate
        .pass(&open.closed, || put(&hub, &open))
        .await;
    match reply {
        None => {}
        Some(Meaning::Settles(answer)) => {
            let says_nothing = matches!(answer, PromptAnswer::Cancel | PromptAnswer::Failed(_));
            // A message that is over cannot be taken off the screen: that it goes says nothing.
            let is_moot = open.closed.is_cancelled() || hub.lsp().is_over();
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
    let message = message(prompt, &whole, hub.lsp().can().shows_pages());
    let kind = match prompt.kind {
        PromptKind::Question => MessageType::INFO,
        PromptKind::RunTool | PromptKind::DeliverResult => MessageType::WARNING,
    };
    let reply = hub
        .lsp()
        .request::<ShowMessageRequest>(ShowMessageRequestParams {
            typ: kind,
            message: message.text.clone(),
            actions: Some(items(&message)),
        });
    meaning(&message, reply.await.map_err(|error| error.to_string()))
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
    if !hub.lsp().can().shows_pages() {
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
    while let Some(text) = page.next(&hub.fallback.saved, &open.closed).await {
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

pub(super) fn answer(value: Value) -> PromptAnswer {
    PromptAnswer::Answer {
        value: SecretValue(value),
        remember: false,
        new_text: None,
    }
}
