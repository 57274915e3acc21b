//! The client that requests a turn, and turns that go on with a conversation as its last one was.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use aside_config::Flag;
use aside_session::{record::TurnOptions, replay};
use aside_turn::rules::Client;
use serde_json::{Value, json};

use crate::{
    engine::{ConversationTarget, TurnRequest, TurnStart},
    front::{
        error::{RequestError, Result, internal},
        lsp::{
            connection::LspConnection, documents::editor::OpenEditor, pending::ExpectedId,
            settings::EditorWorkspace,
        },
        wire::TurnRef,
    },
};

/// A requested turn, before files are read.
pub(in crate::front::lsp) struct AskedTurn {
    /// Id of the conversation; `None` for a new one.
    pub(in crate::front::lsp) conversation: Option<String>,
    /// The lane in which it begins, where that is not the conversation's.
    pub(in crate::front::lsp) lane: Option<String>,
    /// Id of the turn, as far as it is known.
    pub(in crate::front::lsp) id: ExpectedId,
    /// Whether it names the model, or goes on with the one on record.
    pub(in crate::front::lsp) names_model: bool,
    /// Reads the rest. Blocks on files.
    pub(in crate::front::lsp) read: Box<dyn FnOnce() -> Result<TurnRequest> + Send>,
}

/// A request to resume the interrupted turn of a conversation with its original options.
pub(in crate::front::lsp) fn asked_resume(at: &LspConnection, id: String) -> AskedTurn {
    let start = TurnStart::Resume {
        answers: Vec::new(),
    };
    asked_again(at, id, start, ExpectedId::OnRecord, |_| Ok(()))
}

/// A request for a summary of a conversation in which nobody wrote after this turn, with the options of that: only then
/// the provider's cache knows the request.
pub(super) fn asked_idle_summary(at: &LspConnection, after: TurnRef) -> AskedTurn {
    let (id, after) = (after.conversation_id, after.turn_id);
    // Another program may have gone on with it.
    let is_last = move |last: &str| match last == after {
        true => Ok(()),
        false => Err(internal("another turn followed in another program")),
    };
    AskedTurn {
        // What is asked meanwhile is in the conversation's own lane, and the summary gives way to it.
        lane: Some(format!("{id} idle")),
        ..asked_again(
            at,
            id,
            TurnStart::SummariseIdle,
            ExpectedId::Unknown,
            is_last,
        )
    }
}

/// A request for a turn with the options of the conversation's last one, whose id has to fit.
fn asked_again(
    at: &LspConnection,
    id: String,
    start: TurnStart,
    expected: ExpectedId,
    fits: impl FnOnce(&str) -> Result<()> + Send + 'static,
) -> AskedTurn {
    let asker = TurnAsker::now(at);
    AskedTurn {
        conversation: Some(id.clone()),
        lane: None,
        id: expected,
        names_model: true,
        read: Box::new(move || {
            let (conversation, root) = asker.workspace.conversation(&id)?;
            let lines = conversation.read_last_turn().map_err(internal)?;
            let last = replay::turns(&lines.records).pop();
            fits(last.as_ref().map_or("", |last| &last.id))?;
            let options = last.map(|turn| turn.options).unwrap_or_default();
            let root = options.root.as_ref().map_or(root, PathBuf::from);
            let target = ConversationTarget::Existing(conversation);
            Ok(asker.request(root, target, start, options))
        }),
    }
}

/// The client that requests a turn, and its workspace at that time.
pub(in crate::front::lsp) struct TurnAsker {
    workspace: Arc<EditorWorkspace>,
    client: Client,
    editor: Arc<OpenEditor>,
}

impl TurnAsker {
    pub(in crate::front::lsp) fn now(at: &LspConnection) -> Self {
        Self {
            workspace: at.workspace.as_of_now(),
            client: at.client.can().client.clone(),
            editor: Arc::new(OpenEditor {
                client: at.client.clone(),
                documents: at.documents.clone(),
            }),
        }
    }

    /// The folder and the conversation of the turn. Reads files.
    pub(in crate::front::lsp) fn target(
        &self,
        named: Option<&Path>,
        conversation: Option<String>,
    ) -> Result<(PathBuf, ConversationTarget)> {
        let root = self.workspace.root(named);
        let Some(id) = conversation else {
            return Ok((root, ConversationTarget::New));
        };
        let (found, place) = self.workspace.conversation(&id)?;
        // A conversation belongs to its folder and cannot be continued in another one.
        if named.is_some() && place != root {
            return Err(RequestError::UnknownConversation(id));
        }
        Ok((place, ConversationTarget::Existing(found)))
    }

    pub(in crate::front::lsp) fn request(
        self,
        root: PathBuf,
        target: ConversationTarget,
        start: TurnStart,
        options: TurnOptions,
    ) -> TurnRequest {
        TurnRequest {
            layers: self.workspace.layers(&root, flags(&options)),
            options,
            client: Some(self.client),
            editor: Some(self.editor),
            ..TurnRequest::new(root, target, start)
        }
    }
}

/// The turn's options as settings.
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
