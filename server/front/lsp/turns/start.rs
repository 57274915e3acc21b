//! From a request for a turn to a running turn that the client is shown.

use std::sync::Arc;

use super::view::ClientView;
use crate::{
    engine::{StartedTurn, TurnHandle, TurnRequest},
    front::{
        error::{RequestError, Result},
        lsp::connection::Connection,
        relay::relay,
        transport::in_order::{let_next_begin, unless_withdrawn},
        wire::TurnRef,
    },
    turn::rules::Mode,
};

/// Begins a turn. It runs on, and is shown, in tasks of its own.
///
/// # Errors
/// Where it cannot begin; nothing of it stays then.
pub(in crate::front::lsp) async fn begin_turn(
    at: &Arc<Connection>,
    request: TurnRequest,
) -> Result<TurnHandle> {
    let turn = match begin(at, request).await {
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
    let shown = at.clone();
    at.tasks.spawn("relay", async move {
        let view = ClientView::start(shown.clone(), of).await;
        relay(turn, &shown.prompts, view).await;
    });
    at.status.tell(Some(model)).await;
    Ok(handle)
}

async fn begin(at: &Connection, request: TurnRequest) -> Result<StartedTurn> {
    let mut config = at.engine.configure(request)?;
    if !config.trusted && matches!(config.mode(), Some(Mode::Edits | Mode::Auto)) {
        return Err(RequestError::NotTrusted("mode edits or auto".into()));
    }
    let forced = config.configuration.settings.forced_tool();
    config.client_tools = at.client.tools(config.trusted, forced)?;
    if !config.knows_model() {
        // It may take some seconds.
        let_next_begin();
        unless_withdrawn(Box::pin(config.find_model())).await??;
        if at.gone.is_cancelled() {
            return Err(RequestError::Withdrawn);
        }
    }
    Ok(Box::pin(at.engine.begin(config)).await?)
}
