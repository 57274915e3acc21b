//! `aside/turn/start` and `aside/turn/resume`: from params to a running turn.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower_lsp::lsp_types::Url;

use super::{
    documents::{
        attachments::{self, Source},
        editor::OpenEditor,
    },
    hub::{Hub, SharedHub},
    turns::watch,
};
use crate::{
    config::Flag,
    engine::{
        QUEUE, TurnHandle,
        assemble::{Assembled, Wishes, assemble},
        begin::{Plan, Start, begin},
        clock::Clock,
    },
    front::{
        error::{RequestError, Result, internal, invalid},
        wire::requests::StartParams,
    },
    session::{conversation::Conversation, record::TurnOptions, replay},
    turn::{
        event::{Level, Vocabulary, Word},
        rules::Mode,
    },
};

/// A turn to start.
pub(super) struct Wanted {
    pub(super) conversation: Conversation,
    /// It was made for this turn.
    pub(super) is_new: bool,
    pub(super) root: PathBuf,
    pub(super) turn: Option<String>,
    /// Without what goes along with the message.
    pub(super) start: Start,
    /// What goes along with it, to be read.
    pub(super) attachments: Vec<Source>,
    pub(super) options: TurnOptions,
}

impl Hub {
    /// What the params come to. Nothing is changed yet, but for a new conversation.
    pub(super) fn wanted(&self, params: StartParams) -> Result<Wanted> {
        let named = params.root.as_deref().map(folder).transpose();
        let named = named.map_err(|error| invalid(format!("root: {}", error)))?;
        let mut root = self.root(named.as_deref());
        if let Some(id) = params.turn_id.as_deref().filter(|id| !is_turn_id(id)) {
            return Err(invalid(format!(
                "turnId: {id:?} cannot be a turn's id; it has 1 to 64 letters, digits, `-` and `_`"
            )));
        }
        let mode = params.mode.as_deref().map(mode_of).transpose()?;
        if let Some(schema) = &params.schema {
            jsonschema::validator_for(schema)
                .map_err(|why| invalid(format!("schema: it is not a JSON schema: {why}")))?;
        }
        let attachments = params.attachments.iter().map(|given| self.source(given));
        let attachments = attachments.collect::<Result<Vec<_>>>()?;
        let store = self.store(&root)?;
        let conversation = match &params.conversation_id {
            Some(id) => {
                let (found, place) = self.conversation(id)?;
                // It belongs to its folder; another root is not its workspace.
                if named.is_some() && place != root {
                    return Err(RequestError::UnknownConversation(id.clone()));
                }
                root = place;
                found
            }
            None => store.create(None, Clock::start().now())?,
        };
        Ok(Wanted {
            conversation,
            is_new: params.conversation_id.is_none(),
            root,
            turn: params.turn_id,
            start: Start::Message {
                text: params.prompt,
                attachments: Vec::new(),
            },
            attachments,
            options: TurnOptions {
                mode: mode.map(Word::Known),
                model: params.model,
                tool_choice: params.tool_choice,
                schema: params.schema,
                ..TurnOptions::default()
            },
        })
    }

    /// The interrupted turn of a conversation, to go on as it was started.
    pub(super) fn wanted_resume(&self, id: &str) -> Result<Wanted> {
        let (conversation, root) = self.conversation(id)?;
        let lines = conversation.read_last_turn().map_err(internal)?;
        let options = replay::turns(&lines.records).pop().map(|turn| turn.options);
        let options = options.unwrap_or_default();
        let root = options.root.as_ref().map_or(root, PathBuf::from);
        Ok(Wanted {
            conversation,
            is_new: false,
            root,
            turn: None,
            start: Start::Resume {
                answers: Vec::new(),
            },
            attachments: Vec::new(),
            options,
        })
    }

    async fn assembled(self: &SharedHub, wanted: &Wanted) -> Result<(Assembled, Vec<String>)> {
        let options = &wanted.options;
        let mut effective = self.configuration(&wanted.root, flags(options))?;
        let models = self.models(&effective.configuration.settings)?;
        if let Some(model) = self.model_flag(&effective, &models).await? {
            let flags = flags(options).into_iter().chain([model]).collect();
            effective = self.configuration(&wanted.root, flags)?;
        }
        let mode = options.resumed_mode();
        if !effective.trusted && matches!(mode, Some(Mode::Edits | Mode::Auto)) {
            return Err(RequestError::NotTrusted("mode edits or auto".into()));
        }
        let wishes = Wishes {
            root: wanted.root.clone(),
            trusted: effective.trusted,
            mode,
            schema: options.schema.clone(),
            own: self.own.clone(),
            more: self.lsp().tools(
                effective.trusted,
                effective.configuration.settings.forced_tool(),
            )?,
            ..Wishes::default()
        };
        let assembled = assemble(&effective.configuration, &wishes, &models).await?;
        let mut notices = effective.configuration.notices;
        if assembled.unsandboxed {
            notices.push("Commands run without a sandbox.".into());
        }
        notices.extend(options.mode_notice());
        // Others have it in their status.
        if !effective.trusted && !self.speaks_aside() {
            notices.push(NOT_TRUSTED.into());
        }
        Ok((assembled, notices))
    }

    /// How loud a notice of the start is: where each is a message on the screen, the same one is shown once.
    fn level(&self, notice: &str) -> Level {
        if self.speaks_aside() || self.fallback.is_news(notice) {
            Level::Warning
        } else {
            Level::Info
        }
    }
}

/// What a client without a status is told.
const NOT_TRUSTED: &str = "The workspace is not trusted, so only tools that read will run; run `aside trust` in it \
                           to change that.";

/// Begins a turn; it runs on in tasks of its own.
pub(super) async fn begin_turn(hub: &SharedHub, wanted: Wanted) -> Result<TurnHandle> {
    let id = wanted.conversation.id().to_owned();
    let Some(kept) = hub.turns.reserve(&id) else {
        return Err(RequestError::TurnRuns(id));
    };
    let new = wanted.is_new.then(|| wanted.conversation.clone());
    let store = hub.store(&wanted.root);
    let begun = begin_reserved(hub, wanted, kept).await;
    if begun.is_err() {
        hub.turns.free(&id, None);
        // What was asked for could not be had: nothing of it stays in the list.
        if let (Some(new), Ok(store)) = (new, store)
            && let Err(error) = store.delete(&new, Clock::start().now())
        {
            tracing::warn!(%error, "an empty conversation stays");
        }
        // The configuration may have changed since it was looked at.
        hub.look_again();
    }
    begun
}

async fn begin_reserved(
    hub: &SharedHub,
    mut wanted: Wanted,
    kept: Option<crate::engine::ConversationState>,
) -> Result<TurnHandle> {
    if let Start::Message { attachments, .. } = &mut wanted.start
        && !wanted.attachments.is_empty()
    {
        *attachments = attachments::read(std::mem::take(&mut wanted.attachments)).await?;
    }
    let (assembled, notices) = hub.assembled(&wanted).await?;
    let told = hub.told()?;
    let model = assembled.rules.model.id.clone();
    let plan = Plan {
        options: TurnOptions {
            mode: Some(assembled.rules.mode.into()),
            model: Some(model.clone()),
            root: Some(wanted.root.display().to_string()),
            ..wanted.options
        },
        conversation: wanted.conversation,
        start: wanted.start,
        turn: wanted.turn,
        client: Some(told.client.clone()),
        approvals: hub.store(&wanted.root)?.approvals(),
        assembled,
        root: wanted.root,
        supervisor: std::env::current_exe().map_err(internal)?,
        editor: Some(Arc::new(OpenEditor {
            client: hub.lsp().clone(),
            documents: hub.documents.clone(),
        })),
    };
    let (front, messages) = mpsc::channel(QUEUE);
    let (handle, task) = begin(plan, kept, front.clone()).await?;
    hub.turns.runs(&handle);
    for text in notices {
        let level = hub.level(&text);
        let notice = crate::turn::effect::Update::Notice { level, text };
        let _ = front.send(crate::engine::TurnMessage::Update(notice)).await;
    }
    let watched = watch(hub.clone(), handle.clone(), messages, task);
    hub.tasks.spawn("relay", watched);
    hub.tell_status(Some(model)).await;
    Ok(handle)
}

/// What of a turn's options are settings.
fn flags(options: &TurnOptions) -> Vec<Flag> {
    let typed = |name: &str, key: &str, value: Value| Flag::Typed {
        name: name.to_owned(),
        key: key.to_owned(),
        value,
    };
    let model = options.model.as_ref();
    let choice = options.tool_choice.as_ref();
    let model = model.map(|model| typed("model", "assistant.model", json!(model)));
    let choice = choice.map(|choice| typed("toolChoice", "assistant.tool_choice", json!(choice)));
    model.into_iter().chain(choice).collect()
}

fn mode_of(word: &str) -> Result<Mode> {
    Mode::of(word).ok_or_else(|| {
        invalid(format!(
            "mode: {word:?} is none of ask, edits, plan and auto"
        ))
    })
}

/// Whether a text can be a turn's id.
pub(super) fn is_turn_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=64).contains(&id.len()) && id.bytes().all(plain)
}

/// A folder as clients name it: a URI or a path.
pub(super) fn folder(name: &str) -> Result<PathBuf> {
    let path = match Url::parse(name) {
        Ok(uri) if uri.scheme() == "file" => uri
            .to_file_path()
            .map_err(|()| invalid(format!("{name:?} is not a folder of this machine")))?,
        _ => Path::new(name).to_owned(),
    };
    if path.is_dir() {
        return Ok(path);
    }
    Err(invalid(format!("{name:?} is not a folder")))
}
