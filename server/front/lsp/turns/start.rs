//! From a request for a turn to a running turn that the client is shown.

use std::sync::Arc;

use super::view::ClientView;
use crate::{
    engine::{StartedTurn, TurnConfig, TurnHandle, TurnRequest},
    front::{
        error::{RequestError, Result},
        lsp::{
            connection::Connection,
            pending::{ExpectedId, PendingTurn},
        },
        relay::{begin::in_its_place, relay},
        transport::in_order::answered,
        wire::TurnRef,
    },
    turn::rules::Mode,
};

/// A turn that is asked for: what of it is known without a look at the disk.
pub(in crate::front::lsp) struct AskedTurn {
    /// Its conversation; a new one without.
    pub(in crate::front::lsp) conversation: Option<String>,
    /// What is known of its id.
    pub(in crate::front::lsp) id: ExpectedId,
    /// Reads the rest. Blocks on files.
    pub(in crate::front::lsp) read: Box<dyn FnOnce() -> Result<TurnRequest> + Send>,
}

/// Begins a turn, behind all that was asked of its conversation before. The next handlers do not wait for it. It runs on,
/// and is shown, in tasks of its own.
///
/// # Errors
/// Where it cannot begin; nothing of it stays then.
pub(in crate::front::lsp) async fn begin_turn(
    at: &Arc<Connection>,
    asked: AskedTurn,
) -> Result<TurnHandle> {
    let pending = at.pending.add(asked.id.clone(), asked.conversation.clone());
    let turn = match begin(at, asked).await {
        Ok(turn) => turn,
        Err(failed) => {
            if !matches!(failed, RequestError::TurnRuns(_)) {
                // The configuration may have changed since it was looked at.
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
        // A client that knows which turn it asked for knows whose updates and prompts these are.
        answered.await;
        let view = ClientView::start(shown.clone(), of).await;
        relay(turn, &shown.prompts, view).await;
    });
    settle(at, &handle, pending).await;
    at.status.tell(Some(model)).await;
    Ok(handle)
}

/// What was said of the turn before it began, is done to it now.
async fn settle(at: &Connection, handle: &TurnHandle, pending: PendingTurn) {
    if pending.is_cancelled(&handle.turn) {
        handle.cancel().await;
    }
    if at.ending.is_cancelled() {
        handle.leave().await;
    }
}

async fn begin(at: &Arc<Connection>, asked: AskedTurn) -> Result<StartedTurn> {
    let lane = asked.conversation.unwrap_or_default();
    let (connection, read) = (at.clone(), asked.read);
    let configure = move || configure(&connection, read()?);
    in_its_place(&at.engine, &at.disk, &at.gone, &lane, configure).await
}

/// Reads the configuration of a turn. Blocks on files.
fn configure(at: &Connection, request: TurnRequest) -> Result<TurnConfig> {
    let root = request.root.clone();
    let mut config = at.engine.configure(request)?;
    if !config.trusted && matches!(config.mode(), Some(Mode::Edits | Mode::Auto)) {
        return Err(RequestError::NotTrusted("mode edits or auto".into()));
    }
    let forced = config.configuration.settings.forced_tool();
    config.client_tools = at.client.tools(&root, config.trusted, forced)?;
    Ok(config)
}
