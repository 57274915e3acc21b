//! `aside/conversation/…`: the list of conversations, and actions on one.

use std::sync::Arc;

use aside_session::{
    conversation::{ConversationActivity, ConversationSummary, ForkExtent},
    record::time_text,
};
use aside_tool::registry::Registry;

use super::super::{connection::LspConnection, fallback::transcript::whole_transcript};
use crate::{
    engine::clock::Clock,
    front::{
        error::{Result, internal, invalid},
        wire::{
            changes::KeptTexts,
            replay::{attached, failure, updates},
            requests::{
                ConversationRef, ConversationStatus, CreateParams, Empty, ForkParams, ListItem,
                ListParams, ListResult, MarkdownResult, ReadParams, ReadResult, ReadTurn,
                RenameParams,
            },
        },
    },
};

/// Default page size of `conversation/list` and `conversation/read`.
const PAGE: usize = 50;

/// Serves the method `aside/conversation/create`.
pub(in super::super) async fn create(
    at: Arc<LspConnection>,
    params: CreateParams,
) -> Result<ConversationRef> {
    let (engine, workspace) = (at.engine.clone(), at.workspace.as_of_now());
    let conversation_id = at
        .disk
        .of_conversation("", move || {
            let store = engine.conversations().store(&workspace.root(None))?;
            let title = params.title.as_deref();
            let title = title.filter(|title| !title.trim().is_empty());
            let created = store.create(title, Clock::start().now())?;
            Ok(created.id().to_owned())
        })
        .await?;
    at.conversation_changed(&conversation_id).await;
    Ok(ConversationRef { conversation_id })
}

/// Serves the method `aside/conversation/list`.
pub(in super::super) async fn list(
    at: Arc<LspConnection>,
    params: ListParams,
) -> Result<ListResult> {
    let (engine, workspace) = (at.engine.clone(), at.workspace.as_of_now());
    let list = at
        .disk
        .of_all(move || Ok(engine.conversations().list(workspace.roots())?));
    let list = list.await?;
    let query = params.query.unwrap_or_default().to_lowercase();
    // The cursor holds the time and id of the last entry; the next page has older ones.
    let cursor = params
        .cursor
        .as_deref()
        .map(|cursor| cursor.split_once(' ').unwrap_or_default());
    let after = |listed: &ConversationSummary| match cursor {
        None => true,
        Some((time, id)) => (time_text(listed.updated).as_str(), listed.id.as_str()) < (time, id),
    };
    let mut fitting = list
        .into_iter()
        .filter(|listed| listed.title.to_lowercase().contains(&query))
        .filter(after);
    let limit = params.limit.unwrap_or(PAGE).max(1);
    let items: Vec<ListItem> = fitting.by_ref().take(limit).map(item).collect();
    let more = fitting.next().is_some();
    let next_cursor = items
        .last()
        .filter(|_| more)
        .map(|last| format!("{} {}", last.updated_at, last.conversation_id));
    Ok(ListResult { items, next_cursor })
}

/// Serves the method `aside/conversation/read`.
pub(in super::super) async fn read(
    at: Arc<LspConnection>,
    params: ReadParams,
) -> Result<ReadResult> {
    let (workspace, id) = (at.workspace.clone(), params.conversation_id.clone());
    let ReadParams { after, limit, .. } = params;
    let read = at.disk.of_conversation(&params.conversation_id, move || {
        let (conversation, root) = workspace.conversation(&id)?;
        let page = conversation
            .read_page(after.as_deref(), limit.unwrap_or(PAGE).max(1))
            .map_err(internal)?;
        let page = page.ok_or_else(|| {
            let after = after.unwrap_or_default();
            invalid(format!("after: there is no turn {after:?} here"))
        })?;
        // Conversations can be read even if the configuration is invalid.
        let settings = workspace.configuration(&root).ok();
        let tools = settings.map(|it| it.configuration.settings.conversation.tools.named);
        let registry = Registry::builtin();
        let hidden = |name: &str| match tools.as_ref().and_then(|tools| tools.get(name)) {
            Some(tool) => tool.style.hidden.unwrap_or(false),
            None => registry.get(name).is_some_and(|tool| tool.spec().hidden),
        };
        let kept = KeptTexts {
            root,
            blobs: conversation.blobs(),
            whole: false,
        };
        let turns = page.turns.iter();
        let turns: Vec<ReadTurn> = turns
            .map(|turn| ReadTurn {
                turn_id: turn.id.clone(),
                started_at: time_text(turn.started),
                message: turn.prompt.clone(),
                attachments: attached(turn, &kept.root),
                updates: updates(turn, &kept, hidden),
                outcome: turn.standing.outcome,
                error: failure(turn),
            })
            .collect();
        let next = turns.last().filter(|_| page.more);
        let next = next.map(|turn| turn.turn_id.clone());
        Ok(ReadResult { turns, next })
    });
    read.await
}

/// Serves the method `aside/conversation/transcript`.
pub(in super::super) async fn transcript(
    at: Arc<LspConnection>,
    params: ConversationRef,
) -> Result<MarkdownResult> {
    let (workspace, id) = (at.workspace.clone(), params.conversation_id.clone());
    let read = at.disk.of_conversation(&params.conversation_id, move || {
        let (conversation, _) = workspace.conversation(&id)?;
        whole_transcript(&conversation)
    });
    let text = read.await?.text;
    Ok(MarkdownResult { text })
}

/// Serves the method `aside/conversation/ledger`.
pub(in super::super) async fn ledger(
    at: Arc<LspConnection>,
    params: ConversationRef,
) -> Result<MarkdownResult> {
    let (engine, workspace) = (at.engine.clone(), at.workspace.clone());
    let id = params.conversation_id.clone();
    let read = at.disk.of_conversation(&params.conversation_id, move || {
        let (conversation, root) = workspace.conversation(&id)?;
        let approvals = engine.conversations().store(&root)?.approvals();
        conversation.ledger(&approvals).map_err(internal)
    });
    let text = read.await?;
    Ok(MarkdownResult { text })
}

/// Serves the method `aside/conversation/fork`.
pub(in super::super) async fn fork(
    at: Arc<LspConnection>,
    params: ForkParams,
) -> Result<ConversationRef> {
    let (engine, workspace) = (at.engine.clone(), at.workspace.clone());
    let id = params.conversation_id.clone();
    let forked = at.disk.of_conversation(&id, move || {
        let (conversation, root) = workspace.conversation(&params.conversation_id)?;
        let until = params
            .turn_id
            .as_deref()
            .map_or(ForkExtent::Now, ForkExtent::Turn);
        Ok(engine.conversations().fork(&root, &conversation, until)?)
    });
    let conversation_id = forked.await?.id().to_owned();
    at.conversation_changed(&conversation_id).await;
    Ok(ConversationRef { conversation_id })
}

/// Serves the method `aside/conversation/rename`.
pub(in super::super) async fn rename(
    at: Arc<LspConnection>,
    params: RenameParams,
) -> Result<Empty> {
    if params.title.trim().is_empty() {
        return Err(invalid("title is empty"));
    }
    let (engine, workspace) = (at.engine.clone(), at.workspace.clone());
    let id = params.conversation_id.clone();
    let renamed = at.disk.of_conversation(&id, move || {
        let (conversation, root) = workspace.conversation(&params.conversation_id)?;
        let conversations = engine.conversations();
        conversations.rename(&root, &conversation, &params.title)?;
        Ok(conversation)
    });
    at.conversation_changed(renamed.await?.id()).await;
    Ok(Empty {})
}

/// Serves the method `aside/conversation/delete`.
pub(in super::super) async fn delete(
    at: Arc<LspConnection>,
    params: ConversationRef,
) -> Result<Empty> {
    let (engine, workspace) = (at.engine.clone(), at.workspace.clone());
    let id = params.conversation_id.clone();
    let deleted = at.disk.of_conversation(&id, move || {
        let (conversation, root) = workspace.conversation(&params.conversation_id)?;
        engine.conversations().delete(&root, &conversation)?;
        Ok(conversation)
    });
    at.conversation_changed(deleted.await?.id()).await;
    Ok(Empty {})
}

fn item(listed: ConversationSummary) -> ListItem {
    let status = match listed.status {
        ConversationActivity::Idle => ConversationStatus::Idle,
        ConversationActivity::Running => ConversationStatus::Running,
        ConversationActivity::Waiting => ConversationStatus::Waiting,
        ConversationActivity::Interrupted => ConversationStatus::Interrupted,
    };
    ListItem {
        conversation_id: listed.id,
        title: listed.title,
        created_at: time_text(listed.created),
        updated_at: time_text(listed.updated),
        turns: listed.turns,
        usage: listed.usage.into(),
        status,
        prompts: listed.prompts,
    }
}
