//! `aside.server.…`: what a person can do from any client's command line. The prefix is one that no adapter uses
//! for its own, since some clients register a server's commands by themselves.

use std::time::Duration;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::timeout;
use tower_lsp::lsp_types::{ExecuteCommandParams, MessageType};

use super::{
    super::{
        hub::{Hub, SharedHub},
        server::Server,
        start::begin_turn,
        tower::error::text,
    },
    messages::asked,
    pages, prompts, shown,
    transcript::{Extent, show_transcript},
    undone,
    written::{self, Written},
};
use crate::{
    engine::blocking,
    front::{
        error::{RequestError, Result, internal, invalid},
        wire::{
            PromptKind,
            requests::{AttachmentParam, StartParams, TextRange, UndoParams},
        },
    },
    session::{
        conversation::{Listed, Status},
        replay,
    },
    turn::question::AnswerType,
};

/// The commands.
pub(in super::super) const ALL: [&str; 6] = [
    ASK,
    "aside.server.cancel",
    "aside.server.answer",
    "aside.server.undo",
    RESUME,
    "aside.server.transcript",
];
/// Asks the model.
pub(super) const ASK: &str = "aside.server.ask";
/// Goes on with an interrupted turn.
pub(super) const RESUME: &str = "aside.server.resume";
/// How long a message may be written on.
const WRITING: Duration = Duration::from_secs(60 * 60);

/// Arguments of `aside.server.ask`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Ask {
    /// Without one, it is written on a page.
    prompt: Option<String>,
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
struct Answer {
    /// The only open one without it.
    prompt_id: Option<String>,
    /// Without one, the open prompts are shown again.
    answer: Option<Value>,
}

/// Arguments of the others: what they are about, if not what is nearest.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct About {
    conversation_id: Option<String>,
    turn_id: Option<String>,
}

impl Server {
    /// Performs a command.
    pub(in super::super) async fn perform(
        &self,
        params: ExecuteCommandParams,
    ) -> Result<Option<Value>> {
        let given = params.arguments.into_iter().next();
        match params.command.as_str() {
            ASK => self.ask(arguments(given)?).await,
            "aside.server.cancel" => self.cancel(arguments(given)?).await,
            "aside.server.answer" => self.answer(arguments(given)?).await,
            "aside.server.undo" => self.undo(arguments(given)?).await,
            RESUME => self.resume(arguments(given)?).await,
            "aside.server.transcript" => self.transcript(arguments(given)?).await,
            other => Err(invalid(format!(
                "there is no command {other:?}; there are {}",
                ALL.join(", ")
            ))),
        }
    }

    async fn ask(&self, ask: Ask) -> Result<Option<Value>> {
        match &ask.prompt {
            Some(prompt) if !prompt.trim().is_empty() => begin(&self.hub, ask).await.map(Some),
            _ => {
                let page = self.hub.state_dir()?.join("pages");
                // The person writes in peace; the command is done.
                let over = self.hub.lsp().closed().clone();
                let written = write_and_ask(self.hub.clone(), page, ask);
                self.hub
                    .tasks
                    .spawn_until("page for a message", over, written);
                Ok(None)
            }
        }
    }

    async fn cancel(&self, about: About) -> Result<Option<Value>> {
        let turns = match (&about.turn_id, &about.conversation_id) {
            (Some(id), _) => self.hub.turns.get(id).into_iter().collect(),
            (None, id) => {
                let mut all = self.hub.turns.all();
                all.retain(|turn| id.as_ref().is_none_or(|id| *id == turn.conversation));
                all
            }
        };
        for turn in turns {
            turn.cancel().await;
        }
        Ok(None)
    }

    async fn answer(&self, given: Answer) -> Result<Option<Value>> {
        let Some(answer) = given.answer else {
            if !prompts::show_again(&self.hub) {
                let text = "No prompt is open.";
                self.hub.say(MessageType::INFO, text).await;
            }
            return Ok(None);
        };
        let mut open = self.hub.prompts.opened();
        if let Some(id) = &given.prompt_id {
            open.retain(|open| open.prompt.prompt_id == *id);
        }
        let open = match (open.as_slice(), &given.prompt_id) {
            ([only], _) => only,
            ([], Some(id)) => return Err(RequestError::UnknownPrompt(id.clone())),
            ([], None) => return Err(RequestError::NoPrompt),
            (several, _) => {
                let open = several.iter().map(|open| {
                    format!("{} ({})", open.prompt.prompt_id, asked(&open.prompt.text))
                });
                let open: Vec<String> = open.collect();
                let open = open.join(", ");
                return Err(invalid(format!("promptId: several are open: {open}")));
            }
        };
        let answer = match (&open.prompt.answer_type, answer) {
            (AnswerType::Boolean, Value::String(text)) => {
                written::value(&AnswerType::Boolean, &text)
                    .map_err(|misfit| invalid(format!("answer: {misfit}")))?
            }
            (_, answer) => answer,
        };
        let says_no = answer == json!("no") || answer == json!(false);
        if open.prompt.kind != PromptKind::Question && !says_no && !open.sight.was_whole() {
            return Err(invalid(
                "answer: it was not shown whole yet, so it can only be refused; \
                 aside.server.answer without arguments shows what is open",
            ));
        }
        self.hub.answer(open, prompts::answer(answer)).await?;
        Ok(None)
    }

    async fn resume(&self, about: About) -> Result<Option<Value>> {
        let id = match about.conversation_id {
            Some(id) => id,
            None => newest(&self.hub, |listed| listed.status == Status::Interrupted)
                .await?
                .ok_or(RequestError::NothingToResume)?,
        };
        let wanted = self.hub.wanted_resume(&id)?;
        let handle = begin_turn(&self.hub, wanted).await?;
        Ok(Some(json!({ "turnId": handle.turn })))
    }

    /// Takes a turn's changes back, those of the newest conversation's last one where none is named.
    async fn undo(&self, about: About) -> Result<Option<Value>> {
        let turn = match about.turn_id {
            Some(turn) => turn,
            None => {
                let id = match about.conversation_id {
                    Some(id) => id,
                    None => newest(&self.hub, |_| true)
                        .await?
                        .ok_or(RequestError::NoConversation)?,
                };
                last_turn(&self.hub, &id).await?
            }
        };
        let params = UndoParams {
            turn_id: turn,
            uris: None,
        };
        let back = self.take_back(params).await?;
        self.hub.say(MessageType::INFO, &undone::told(&back)).await;
        serde_json::to_value(back.result)
            .map(Some)
            .map_err(internal)
    }

    async fn transcript(&self, about: About) -> Result<Option<Value>> {
        let id = match about.conversation_id {
            Some(id) => id,
            None => newest(&self.hub, |_| true)
                .await?
                .ok_or(RequestError::NoConversation)?,
        };
        // That there is one is said here; that it cannot be shown is said later.
        self.hub.conversation(&id)?;
        let hub = self.hub.clone();
        self.hub.tasks.spawn("transcript", async move {
            if let Err(failed) = show_transcript(&hub, &id, Extent::All).await {
                hub.say(MessageType::ERROR, &text(&failed)).await;
            }
        });
        Ok(None)
    }
}

/// The last turn of a conversation.
async fn last_turn(hub: &SharedHub, id: &str) -> Result<String> {
    let (conversation, _) = hub.conversation(id)?;
    let last = blocking(move || -> Result<_> {
        let lines = conversation.read_last_turn().map_err(internal)?;
        Ok(replay::turns(&lines.records).pop())
    });
    let last = last.await?.map(|turn| turn.id);
    last.ok_or(RequestError::NothingToUndo)
}

/// The one object that a command takes; none is one without members.
fn arguments<T: DeserializeOwned + Default>(given: Option<Value>) -> Result<T> {
    match given {
        None | Some(Value::Null) => Ok(T::default()),
        Some(given) => {
            serde_json::from_value(given).map_err(|why| invalid(format!("arguments: {why}")))
        }
    }
}

async fn begin(hub: &SharedHub, ask: Ask) -> Result<Value> {
    let (uri, range) = (ask.uri, ask.range);
    let attachment = uri.map(|uri| AttachmentParam {
        uri,
        range,
        text: None,
    });
    let wanted = hub.wanted(StartParams {
        conversation_id: ask.conversation_id,
        turn_id: None,
        prompt: ask.prompt.unwrap_or_default(),
        attachments: attachment.into_iter().collect(),
        model: None,
        mode: None,
        tool_choice: None,
        schema: None,
        root: None,
    })?;
    let handle = begin_turn(hub, wanted).await?;
    Ok(json!({ "conversationId": handle.conversation, "turnId": handle.turn }))
}

/// Takes the prompt from a page that the person writes it on. Only the last such page counts.
async fn write_and_ask(hub: SharedHub, folder: std::path::PathBuf, ask: Ask) {
    let unwanted = hub.fallback.begin_writing();
    let given = hub.first_folder().unwrap_or_default();
    let (root, uri) = (hub.root(None), ask.uri.clone());
    let page = blocking(move || -> Result<_> {
        let about = uri.map(|uri| format!(" about {}", shown::file(&uri, &[&given, &root])));
        let text = written::message_page(&about.unwrap_or_default());
        let path = pages::create(&folder, "ask-", ".txt", &text).map_err(internal)?;
        Ok((path, written::begin(&text)))
    });
    let (path, line) = match page.await {
        Ok(page) => page,
        Err(why) => {
            tracing::warn!(%why, "a page for a message cannot be written");
            return say_how_to_ask(&hub).await;
        }
    };
    // What is saved from now on counts.
    let mut page = Written::new(path.clone());
    let on_screen = hub.show_page(&path, true, line).await;
    if on_screen != pages::Shown::Yes {
        say_how_to_ask(&hub).await;
    }
    if on_screen != pages::Shown::No {
        let written = timeout(WRITING, page.next(&hub.fallback.saved, &unwanted)).await;
        if let Ok(prompt @ Some(_)) = written {
            let begun = begin(&hub, Ask { prompt, ..ask }).await;
            let (kind, text) = match &begun {
                Ok(_) => (MessageType::INFO, "Your message to Aside was taken.".into()),
                Err(failed) => (MessageType::ERROR, text(failed)),
            };
            hub.say(kind, &text).await;
        }
    }
    let removed = blocking(move || std::fs::remove_file(path)).await;
    if let Err(why) = removed {
        tracing::warn!(%why, "the page of a message cannot be removed");
    }
}

async fn say_how_to_ask(hub: &Hub) {
    let text = "Ask with the command aside.server.ask {\"prompt\":\"…\"}.";
    hub.say(MessageType::INFO, text).await;
}

/// The conversation of the workspace that was changed last, of those that are wanted.
async fn newest(hub: &Hub, wanted: fn(&Listed) -> bool) -> Result<Option<String>> {
    let all = by_age(hub).await?;
    Ok(all.into_iter().find(wanted).map(|listed| listed.id))
}

/// The conversations of the workspace, newest first.
pub(super) async fn by_age(hub: &Hub) -> Result<Vec<Listed>> {
    let stores = hub
        .roots()
        .iter()
        .map(|root| hub.store(root))
        .collect::<Result<Vec<_>>>()?;
    blocking(move || -> Result<_> {
        let mut all = Vec::new();
        for store in stores {
            all.extend(store.list().map_err(internal)?);
        }
        all.sort_by_key(|listed| std::cmp::Reverse(listed.updated));
        Ok(all)
    })
    .await
}
