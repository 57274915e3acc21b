//! `aside.server.…`: commands for every client.

use std::{sync::Arc, time::Duration};

use aside_session::{
    conversation::{ConversationActivity, ConversationSummary},
    replay,
};
use aside_turn::{input::PromptAnswer, question::AnswerType};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::timeout;
use tower_lsp::lsp_types::{ExecuteCommandParams, MessageType};

use super::{
    super::{
        connection::LspConnection,
        fallback::{
            actions::refuses,
            messages::asked,
            pages, prompts, shown,
            state::Fallback,
            transcript::{Extent, show_transcript},
            undone,
            written::{self, WritingPage},
        },
        tower::error::text,
        turns::{asker::asked_resume, start::begin_turn},
    },
    turns::asked_turn,
    undo::take_back,
};
use crate::{
    engine::blocking,
    front::{
        error::{RequestError, Result, internal, invalid},
        relay::prompts::PendingPrompt,
        transport::in_order::to_the_end,
        wire::{
            PromptKind,
            methods::commands,
            requests::{AttachmentParam, StartParams, TextRange, UndoParams},
        },
    },
};

/// Time limit for writing a message.
const WRITING: Duration = Duration::from_secs(60 * 60);

/// Arguments of `aside.server.ask`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AskArguments {
    /// Without one, it is written on a page.
    message: Option<String>,
    /// A document that goes along.
    uri: Option<String>,
    /// Only this of it.
    range: Option<TextRange>,
    /// A new conversation without one.
    conversation_id: Option<String>,
}

/// Arguments of `aside.server.answer`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AnswerArguments {
    /// Id of the prompt; the only open one by default.
    prompt_id: Option<String>,
    /// The answer. Without one, the open prompts are shown again.
    answer: Option<Value>,
    /// Whether the answer holds for the rest of the turn.
    remember: bool,
    /// Whether to dismiss the prompt without an answer.
    dismiss: bool,
}

/// Arguments of the other commands: their object, if it is not the nearest one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TargetArguments {
    conversation_id: Option<String>,
    turn_id: Option<String>,
}

/// Serves the method `workspace/executeCommand`.
pub(in super::super) async fn execute(
    at: Arc<LspConnection>,
    params: ExecuteCommandParams,
) -> Result<Option<Value>> {
    to_the_end(async move { perform(&at, params).await }).await
}

async fn perform(at: &Arc<LspConnection>, params: ExecuteCommandParams) -> Result<Option<Value>> {
    let given = params.arguments.into_iter().next();
    match params.command.as_str() {
        commands::ASK => ask(at, arguments(given)?).await,
        commands::CANCEL => cancel(at, arguments(given)?).await,
        commands::ANSWER => answer(at, arguments(given)?).await,
        commands::UNDO => undo(at, arguments(given)?).await,
        commands::RESUME => resume(at, arguments(given)?).await,
        commands::TRANSCRIPT => transcript(at, arguments(given)?).await,
        other => Err(invalid(format!(
            "there is no command {other:?}; there are {}",
            commands::ALL.join(", ")
        ))),
    }
}

async fn ask(at: &Arc<LspConnection>, ask: AskArguments) -> Result<Option<Value>> {
    match &ask.message {
        Some(message) if !message.trim().is_empty() => begin(at, ask).await.map(Some),
        _ => {
            let page = at.engine.state_dir().join("pages");
            // The person writes in peace; the command is done.
            let over = at.client.closed().clone();
            let written = write_and_ask(at.clone(), page, ask);
            at.tasks.spawn_until("page for a message", over, written);
            Ok(None)
        }
    }
}

async fn cancel(at: &Arc<LspConnection>, about: TargetArguments) -> Result<Option<Value>> {
    if let Some(turn) = &about.turn_id {
        at.pending.cancel(turn);
    }
    let turns = at.engine.conversations().running();
    let turns = match (&about.turn_id, &about.conversation_id) {
        (Some(id), _) => turns.get(id).into_iter().collect(),
        (None, id) => {
            at.pending.cancel_all(id.as_deref());
            let mut all = turns.all();
            all.retain(|turn| id.as_ref().is_none_or(|id| *id == turn.conversation));
            all
        }
    };
    for turn in turns {
        turn.cancel().await;
    }
    Ok(None)
}

async fn answer(at: &Arc<LspConnection>, given: AnswerArguments) -> Result<Option<Value>> {
    let Some(answer) = given.answer else {
        let is_writing = at.fallback.read_pages();
        if given.dismiss {
            let open = one_open(at, given.prompt_id)?;
            at.answer(&open, PromptAnswer::Cancel).await?;
        } else if !prompts::show_again(&at.fallback) && !is_writing {
            let text = "No prompt is open.";
            at.fallback.say(MessageType::INFO, text).await;
        }
        return Ok(None);
    };
    if given.dismiss {
        return Err(invalid("dismiss: who dismisses a prompt gives no answer"));
    }
    let open = one_open(at, given.prompt_id)?;
    let answer = match (&open.prompt.answer_type, answer) {
        (_, Value::String(text)) if open.prompt.optional && text.is_empty() => Value::Null,
        (
            of @ (AnswerType::Boolean | AnswerType::Number { .. } | AnswerType::MultiSelect { .. }),
            Value::String(text),
        ) => written::value(of, &text).map_err(|misfit| invalid(format!("answer: {misfit}")))?,
        (_, answer) => answer,
    };
    let kind = open.prompt.kind;
    if kind != PromptKind::Question && !refuses(kind, &answer) && !open.sight.was_whole() {
        return Err(invalid(
            "answer: it was not shown whole yet, so it can only be refused; \
             aside.server.answer without arguments shows what is open",
        ));
    }
    at.answer(&open, prompts::answer(answer, given.remember))
        .await?;
    Ok(None)
}

/// The open prompt with this id, or the only one.
fn one_open(at: &LspConnection, id: Option<String>) -> Result<PendingPrompt> {
    let mut open = at.prompts.all();
    if let Some(id) = &id {
        open.retain(|open| open.prompt.prompt_id == *id);
    }
    match (open.len(), id) {
        (0, Some(id)) => Err(RequestError::UnknownPrompt(id)),
        (0, None) => Err(RequestError::NoPrompt),
        (1, _) => Ok(open.remove(0)),
        _ => {
            let open = open
                .iter()
                .map(|open| format!("{} ({})", open.prompt.prompt_id, asked(&open.prompt.text)));
            let open: Vec<String> = open.collect();
            let open = open.join(", ");
            Err(invalid(format!("promptId: several are open: {open}")))
        }
    }
}

async fn resume(at: &Arc<LspConnection>, about: TargetArguments) -> Result<Option<Value>> {
    let id = match about.conversation_id {
        Some(id) => id,
        None => newest(at, |listed| {
            listed.status == ConversationActivity::Interrupted
        })
        .await?
        .ok_or(RequestError::NothingToResume)?,
    };
    let handle = begin_turn(at, asked_resume(at, id)).await?;
    Ok(Some(json!({ "turnId": handle.turn })))
}

/// Undoes a turn: the named one, or the last one of the newest conversation.
async fn undo(at: &Arc<LspConnection>, about: TargetArguments) -> Result<Option<Value>> {
    let turn = match about.turn_id {
        Some(turn) => turn,
        None => {
            let id = match about.conversation_id {
                Some(id) => id,
                None => newest(at, |_| true)
                    .await?
                    .ok_or(RequestError::NoConversation)?,
            };
            last_turn(at, &id).await?
        }
    };
    let params = UndoParams {
        turn_id: turn,
        uris: None,
    };
    let (back, result) = take_back(at, params).await?;
    at.fallback
        .say(MessageType::INFO, &undone::report(&back))
        .await;
    serde_json::to_value(result).map(Some).map_err(internal)
}

async fn transcript(at: &Arc<LspConnection>, about: TargetArguments) -> Result<Option<Value>> {
    let id = match about.conversation_id {
        Some(id) => id,
        None => newest(at, |_| true)
            .await?
            .ok_or(RequestError::NoConversation)?,
    };
    // A missing conversation is reported here; a failure to show it is reported later.
    let (workspace, of) = (at.workspace.as_of_now(), id.clone());
    at.disk
        .of_conversation(&id, move || workspace.conversation(&of))
        .await?;
    let fallback = at.fallback.clone();
    at.tasks.spawn("transcript", async move {
        if let Err(failed) = show_transcript(&fallback, &id, Extent::All).await {
            fallback.say(MessageType::ERROR, &text(&failed)).await;
        }
    });
    Ok(None)
}

/// The last turn of a conversation.
async fn last_turn(at: &LspConnection, id: &str) -> Result<String> {
    let (workspace, of) = (at.workspace.as_of_now(), id.to_owned());
    let last = at.disk.of_conversation(id, move || {
        let (conversation, _) = workspace.conversation(&of)?;
        let lines = conversation.read_last_turn().map_err(internal)?;
        Ok(replay::turns(&lines.records).pop())
    });
    let last = last.await?.map(|turn| turn.id);
    last.ok_or(RequestError::NothingToUndo)
}

/// Parses the single argument of a command. No argument is an empty object.
fn arguments<T: DeserializeOwned + Default>(given: Option<Value>) -> Result<T> {
    match given {
        None | Some(Value::Null) => Ok(T::default()),
        Some(given) => {
            serde_json::from_value(given).map_err(|why| invalid(format!("arguments: {why}")))
        }
    }
}

async fn begin(at: &Arc<LspConnection>, ask: AskArguments) -> Result<Value> {
    let (uri, range) = (ask.uri, ask.range);
    let attachment = uri.map(|uri| AttachmentParam {
        uri,
        range,
        text: None,
    });
    let params = StartParams {
        conversation_id: ask.conversation_id,
        turn_id: None,
        message: ask.message.unwrap_or_default(),
        attachments: attachment.into_iter().collect(),
        model: None,
        mode: None,
        tool_choice: None,
        schema: None,
        root: None,
    };
    let asked = asked_turn(at, params)?;
    let handle = begin_turn(at, asked).await?;
    Ok(json!({ "conversationId": handle.conversation, "turnId": handle.turn }))
}

/// Takes the message from a page that the person writes it on. Only the last such page counts.
async fn write_and_ask(at: Arc<LspConnection>, folder: std::path::PathBuf, ask: AskArguments) {
    let unwanted = at.fallback.begin_writing();
    let given = at.workspace.first_folder().unwrap_or_default();
    let (workspace, uri) = (at.workspace.as_of_now(), ask.uri.clone());
    let page = blocking(move || -> Result<_> {
        let root = workspace.root(None);
        let about = uri.map(|uri| format!(" about {}", shown::file(&uri, &[&given, &root])));
        let text = written::message_page(&about.unwrap_or_default());
        let path = pages::create(&folder, "ask-", ".txt", &text).map_err(internal)?;
        Ok((path, written::begin(&text)))
    });
    let (path, line) = match page.await {
        Ok(page) => page,
        Err(why) => {
            tracing::warn!(%why, "a page for a message cannot be written");
            return say_how_to_ask(&at.fallback).await;
        }
    };
    // What is saved from now on counts.
    let mut page = WritingPage::new(path.clone(), at.fallback.saves());
    let on_screen = at.fallback.show_page(&path, true, line).await;
    if on_screen != pages::PageShown::Yes {
        say_how_to_ask(&at.fallback).await;
    }
    if on_screen != pages::PageShown::No {
        let written = timeout(WRITING, page.next(&unwanted)).await;
        if let Ok(message @ Some(_)) = written {
            let begun = begin(&at, AskArguments { message, ..ask }).await;
            let (kind, text) = match &begun {
                Ok(_) => (MessageType::INFO, "Your message to Aside was taken.".into()),
                Err(failed) => (MessageType::ERROR, text(failed)),
            };
            at.fallback.say(kind, &text).await;
        }
    }
    let removed = blocking(move || std::fs::remove_file(path)).await;
    if let Err(why) = removed {
        tracing::warn!(%why, "the page of a message cannot be removed");
    }
}

async fn say_how_to_ask(fallback: &Fallback) {
    let text = "Ask with the command aside.server.ask {\"message\":\"…\"}.";
    fallback.say(MessageType::INFO, text).await;
}

/// The conversation of the workspace that was changed last, of those that are wanted.
async fn newest(
    at: &LspConnection,
    wanted: fn(&ConversationSummary) -> bool,
) -> Result<Option<String>> {
    let workspace = at.workspace.as_of_now();
    let all = at
        .disk
        .of_all(move || workspace.conversations_by_age())
        .await?;
    Ok(all.into_iter().find(wanted).map(|listed| listed.id))
}
