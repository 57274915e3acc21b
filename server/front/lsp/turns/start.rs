//! From a request for a turn to a running turn.

use std::{sync::Arc, time::Duration};

use aside_turn::rules::Mode;
use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    asker::{AskedTurn, asked_idle_summary},
    client_tools::apply_settings,
    view::ClientView,
};
use crate::{
    engine::{StartedTurn, TurnConfig, TurnHandle, TurnRequest},
    front::{
        error::{RequestError, Result},
        lsp::{connection::LspConnection, pending::PendingTurn},
        relay::{
            begin::{StartEnds, start_in_order},
            relay,
        },
        transport::in_order::answered,
        wire::TurnRef,
    },
};

/// Begins a turn after earlier requests for the same conversation. Other handlers do not wait. The turn runs, and is
/// shown, in tasks of its own.
///
/// # Errors
/// Fails if the turn cannot begin. Nothing of it stays then.
pub(in crate::front::lsp) async fn begin_turn(
    at: &Arc<LspConnection>,
    asked: AskedTurn,
) -> Result<TurnHandle> {
    let cancelled = CancellationToken::new();
    let (id, conversation) = (asked.id.clone(), asked.conversation.clone());
    let names_model = asked.names_model;
    let pending = at.pending.add(id, conversation, cancelled.clone());
    let settings = at.workspace.changes();
    let turn = match begin(at, asked, &cancelled).await {
        Ok(turn) => turn,
        Err(failed) => {
            if !matches!(failed, RequestError::TurnRuns(_)) {
                // The configuration may have changed since the last check.
                at.status.look_again();
            }
            return Err(failed);
        }
    };
    let (handle, model) = (turn.handle.clone(), turn.model.clone());
    let of = TurnRef {
        conversation_id: handle.conversation.clone(),
        turn_id: handle.turn.clone(),
    };
    let (shown, answered) = (at.clone(), answered());
    at.tasks.spawn("relay", async move {
        // The client must know the turn's id before its updates and prompts.
        answered.await;
        let view = ClientView::start(shown.clone(), of.clone()).await;
        let due = relay(turn, &shown.prompts, view).await;
        // In other clients nobody would be told.
        if let Some(due) = due.filter(|_| shown.client.can().speaks_aside()) {
            let summary = summarise_when_idle(shown.clone(), of, due);
            let over = shown.gone.clone();
            shown.tasks.spawn_until("idle summary", over, summary);
        }
    });
    settle(at, &handle, pending).await;
    if at.workspace.changes() != settings {
        apply_settings(at);
    }
    let own_model = (!names_model).then_some(model);
    at.status.began(own_model).await;
    Ok(handle)
}

/// Applies a cancellation that arrived before the turn began.
async fn settle(at: &LspConnection, handle: &TurnHandle, pending: PendingTurn) {
    if pending.is_cancelled(&handle.turn) {
        handle.cancel().await;
    }
    if at.ending.is_cancelled() {
        handle.leave().await;
    }
}

async fn begin(
    at: &Arc<LspConnection>,
    asked: AskedTurn,
    cancelled: &CancellationToken,
) -> Result<StartedTurn> {
    let lane = asked.lane.or(asked.conversation).unwrap_or_default();
    let (connection, read) = (at.clone(), asked.read);
    let configure = move || configure(&connection, read()?);
    let ends = StartEnds {
        gone: &at.gone,
        cancelled,
    };
    start_in_order(&at.engine, &at.disk, ends, &lane, configure).await
}

/// Reads the configuration of a turn. Blocks on files.
fn configure(at: &LspConnection, request: TurnRequest) -> Result<TurnConfig> {
    let root = request.root.clone();
    let mut config = at.engine.configure(request)?;
    if !config.trusted && matches!(config.mode(), Some(Mode::Edits | Mode::Auto)) {
        return Err(RequestError::NotTrusted("mode edits or auto".into()));
    }
    let forced = config.configuration.settings.forced_tool();
    config.client_tools = at.client.tools(&root, config.trusted, forced)?;
    Ok(config)
}

/// Summarises the conversation after that time, unless another turn began in it after this one. Boxed, because the turn
/// that makes the summary is shown as any other is.
fn summarise_when_idle(
    at: Arc<LspConnection>,
    last: TurnRef,
    due: Duration,
) -> BoxFuture<'static, ()> {
    async move {
        sleep(due).await;
        let summary = begin_turn(&at, asked_idle_summary(&at, last)).await;
        if let Err(error) = summary {
            tracing::info!(%error, "a conversation is not summarised while nobody writes");
        }
    }
    .boxed()
}
