//! `aside/conversation/…`: the list of conversations, and what can be done to one.

use std::path::{Path, PathBuf};

use tower_lsp::{jsonrpc, lsp_types::Url};

use super::{hub::Hub, params::Given, server::Server};
use crate::{
    engine::{blocking, clock::Clock},
    front::{
        error::{RequestError, Result, internal, invalid},
        wire::{
            methods::ConversationChanged,
            replay::updates,
            requests::{
                ConversationRef, ConversationStatus, CreateParams, Empty, ForkParams, ListItem,
                ListParams, ListResult, ReadParams, ReadResult, ReadTurn, RenameParams,
                TranscriptResult,
            },
        },
    },
    session::{
        conversation::{Conversation, Listed, Status, Until},
        export::markdown,
        record::time_text,
        replay,
    },
    tool::Registry,
};

/// Conversations and turns in a page, where the client does not say.
const PAGE: usize = 50;

impl Server {
    pub(super) async fn conversation_create(
        &self,
        params: Given<CreateParams>,
    ) -> jsonrpc::Result<ConversationRef> {
        let params = params.read()?;
        let store = self.hub.store(&self.hub.root(None))?;
        let title = params
            .title
            .as_deref()
            .filter(|title| !title.trim().is_empty());
        let created = store
            .create(title, Clock::start().now())
            .map_err(RequestError::from)?;
        let conversation_id = created.id().to_owned();
        self.tell_changed(&conversation_id).await;
        Ok(ConversationRef { conversation_id })
    }

    pub(super) async fn conversation_list(
        &self,
        params: Given<ListParams>,
    ) -> jsonrpc::Result<ListResult> {
        let params = params.read()?;
        let list = self.hub.listed().await?;
        let query = params.query.unwrap_or_default().to_lowercase();
        // A page ends with a time and an id; the next one has what is older.
        let cursor = params
            .cursor
            .as_deref()
            .map(|cursor| cursor.split_once(' ').unwrap_or_default());
        let after = |listed: &Listed| match cursor {
            None => true,
            Some((time, id)) => {
                (time_text(listed.updated).as_str(), listed.id.as_str()) < (time, id)
            }
        };
        let mut fitting = list
            .into_iter()
            .filter(|listed| listed.title.to_lowercase().contains(&query))
            .filter(after);
        let limit = params.limit.unwrap_or(PAGE).max(1);
        let items: Vec<ListItem> = fitting
            .by_ref()
            .take(limit)
            .map(|listed| self.hub.item(listed))
            .collect();
        let more = fitting.next().is_some();
        let next_cursor = items
            .last()
            .filter(|_| more)
            .map(|last| format!("{} {}", last.updated_at, last.conversation_id));
        Ok(ListResult { items, next_cursor })
    }

    pub(super) async fn conversation_read(
        &self,
        params: Given<ReadParams>,
    ) -> jsonrpc::Result<ReadResult> {
        let params = params.read()?;
        let (conversation, root) = self.hub.conversation(&params.conversation_id)?;
        let (hub, place) = (self.hub.clone(), root.clone());
        let read = blocking(move || -> Result<_> {
            let lines = conversation.read_all().map_err(internal)?;
            // Where it is broken, conversations can be read all the same.
            let settings = hub.configuration(&place, Vec::new()).ok();
            Ok((replay::turns(&lines.records), settings))
        });
        let (turns, settings) = read.await?;
        let from = match &params.after {
            None => 0,
            Some(after) => {
                let at = turns.iter().position(|turn| turn.id == *after);
                at.ok_or_else(|| invalid(format!("after: there is no turn {after:?} here")))? + 1
            }
        };
        let limit = params.limit.unwrap_or(PAGE).max(1);
        let registry = Registry::builtin();
        let tools = settings.map(|it| it.configuration.settings.conversation.tools.named);
        let hidden = |name: &str| match tools.as_ref().and_then(|tools| tools.get(name)) {
            Some(tool) => tool.style.hidden.unwrap_or(false),
            None => registry.get(name).is_some_and(|tool| tool.about().hidden),
        };
        let page = turns.iter().skip(from).take(limit);
        let page: Vec<ReadTurn> = page
            .map(|turn| ReadTurn {
                turn_id: turn.id.clone(),
                started_at: time_text(turn.started),
                prompt: turn.prompt.clone(),
                updates: updates(turn, |path| uri(&root, path), hidden),
                outcome: turn.standing.outcome,
            })
            .collect();
        let more = turns.len() > from + page.len();
        let next = page
            .last()
            .filter(|_| more)
            .map(|turn| turn.turn_id.clone());
        Ok(ReadResult { turns: page, next })
    }

    pub(super) async fn conversation_transcript(
        &self,
        params: Given<ConversationRef>,
    ) -> jsonrpc::Result<TranscriptResult> {
        let params = params.read()?;
        let (conversation, _) = self.hub.conversation(&params.conversation_id)?;
        let text = blocking(move || transcript(&conversation)).await?;
        Ok(TranscriptResult { text })
    }

    pub(super) async fn conversation_fork(
        &self,
        params: Given<ForkParams>,
    ) -> jsonrpc::Result<ConversationRef> {
        let params = params.read()?;
        let (conversation, root) = self.hub.conversation(&params.conversation_id)?;
        let store = self.hub.store(&root)?;
        let forked = blocking(move || -> Result<_> {
            let until = params.turn_id.as_deref().map_or(Until::Now, Until::Turn);
            Ok(store.fork(&conversation, until, Clock::start().now())?)
        });
        let conversation_id = forked.await?.id().to_owned();
        self.tell_changed(&conversation_id).await;
        Ok(ConversationRef { conversation_id })
    }

    pub(super) async fn conversation_rename(
        &self,
        params: Given<RenameParams>,
    ) -> jsonrpc::Result<Empty> {
        let params = params.read()?;
        if params.title.trim().is_empty() {
            return Err(invalid("title is empty").into());
        }
        let id = &params.conversation_id;
        let (conversation, root) = self.hub.conversation(id)?;
        self.hub.not_running(conversation.id())?;
        let store = self.hub.store(&root)?;
        store
            .rename(&conversation, &params.title, Clock::start().now())
            .map_err(RequestError::from)?;
        self.hub.turns.forget(conversation.id());
        self.tell_changed(conversation.id()).await;
        Ok(Empty {})
    }

    pub(super) async fn conversation_delete(
        &self,
        params: Given<ConversationRef>,
    ) -> jsonrpc::Result<Empty> {
        let params = params.read()?;
        let (conversation, root) = self.hub.conversation(&params.conversation_id)?;
        self.hub.not_running(conversation.id())?;
        let store = self.hub.store(&root)?;
        let deleted = conversation.clone();
        blocking(move || -> Result<_> { Ok(store.delete(&deleted, Clock::start().now())?) })
            .await?;
        self.hub.turns.forget(conversation.id());
        self.tell_changed(conversation.id()).await;
        Ok(Empty {})
    }

    pub(super) async fn tell_changed(&self, conversation: &str) {
        let conversation_id = conversation.to_owned();
        self.hub
            .lsp()
            .notify::<ConversationChanged>(ConversationRef { conversation_id })
            .await;
    }
}

impl Hub {
    /// The conversation of this id, whole, in whichever folder of the workspace, and that folder.
    pub(super) fn conversation(&self, id: &str) -> Result<(Conversation, PathBuf)> {
        for root in self.places() {
            let found = self.store(&root)?.find(id);
            if let Some(found) = found.ok().filter(|found| found.id() == id) {
                return Ok((found, root));
            }
        }
        Err(RequestError::UnknownConversation(id.to_owned()))
    }

    /// The conversations of all folders, newest first.
    async fn listed(&self) -> Result<Vec<Listed>> {
        let places = self.places();
        let stores = places.iter().map(|root| self.store(root));
        let stores = stores.collect::<Result<Vec<_>>>()?;
        blocking(move || {
            let mut all = Vec::new();
            for store in stores {
                all.extend(store.list()?);
            }
            all.sort_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
            Ok(all)
        })
        .await
    }

    /// No turn may run in the conversation for this.
    pub(super) fn not_running(&self, conversation: &str) -> Result<()> {
        if self.turns.is_running(conversation) {
            return Err(RequestError::TurnRuns(conversation.to_owned()));
        }
        Ok(())
    }

    fn item(&self, listed: Listed) -> ListItem {
        let status = match listed.status {
            Status::Idle => ConversationStatus::Idle,
            Status::Running => ConversationStatus::Running,
            Status::Waiting => ConversationStatus::Waiting,
            Status::Interrupted => ConversationStatus::Interrupted,
        };
        ListItem {
            conversation_id: listed.id,
            title: listed.title,
            created_at: time_text(listed.created),
            updated_at: time_text(listed.updated),
            turns: listed.turns,
            status,
            prompts: listed.prompts,
        }
    }
}

/// The conversation as markdown.
pub(super) fn transcript(conversation: &Conversation) -> Result<String> {
    let lines = conversation.read_all().map_err(internal)?;
    let title = conversation.listed().map_err(internal)?.title;
    Ok(markdown(&title, 1, &replay::turns(&lines.records)))
}

pub(super) fn uri(root: &Path, path: &str) -> String {
    let path = root.join(path);
    Url::from_file_path(&path).map_or_else(|()| path.display().to_string(), String::from)
}
