//! `session/prompt`, `session/cancel` and `_session/steering`.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{CancelNotification, PromptResponse, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{
    connection::AcpConnection,
    content::PromptContent,
    turns::{self, Start},
};
use crate::front::{error::Result, params};

/// Params of `session/prompt`; the blocks are read one by one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct PromptParams {
    session_id: SessionId,
    prompt: Vec<Value>,
}

/// Params of `_session/steering`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct SteeringParams {
    session_id: SessionId,
    prompt: Vec<Value>,
    #[serde(default, rename = "_meta")]
    meta: Value,
}

/// Result of `_session/steering`.
#[derive(Serialize)]
pub(in super::super) struct SteeringResult {
    outcome: SteeringOutcome,
}

/// Outcome of a message that the user added.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum SteeringOutcome {
    /// The running turn takes the message.
    Injected,
    /// No turn was running, so one was started.
    StartedNewTurn,
    /// No turn is running, and the client has to start one.
    PromptRequired,
}

/// Serves the method `session/prompt`.
pub(in super::super) async fn prompt(
    at: Arc<AcpConnection>,
    params: PromptParams,
) -> Result<PromptResponse> {
    let session = at.session(&params.session_id)?;
    let content = PromptContent::read(params.prompt)?;
    turns::run(&at, &session, Start::Message(content)).await
}

/// Serves the notification `session/cancel`: ends all prompts of the session.
pub(in super::super) fn cancel(at: &AcpConnection, given: Value) {
    let cancelled = params::read::<CancelNotification>(given, true);
    let session = cancelled.and_then(|cancelled| at.session(&cancelled.session_id));
    if let Ok(session) = session {
        session.cancel();
    }
}

/// Serves the method `_session/steering`: adds a message to the running turn.
pub(in super::super) async fn steer(
    at: Arc<AcpConnection>,
    params: SteeringParams,
) -> Result<SteeringResult> {
    let session = at.session(&params.session_id)?;
    let content = PromptContent::read(params.prompt)?;
    let running = at.engine.conversations().running().all();
    let mut running = running.into_iter();
    if let Some(turn) = running.find(|turn| *turn.conversation == *session.id.0) {
        turn.steer(content.text).await;
        let outcome = SteeringOutcome::Injected;
        return Ok(SteeringResult { outcome });
    }
    if params.meta["steering"]["idleBehavior"] == "promptRequired" {
        let outcome = SteeringOutcome::PromptRequired;
        return Ok(SteeringResult { outcome });
    }
    let connection = at.clone();
    at.tasks.spawn("steered turn", async move {
        let ran = turns::run(&connection, &session, Start::Message(content)).await;
        if let Err(why) = ran {
            tracing::warn!(%why, "the turn that was begun by steering failed");
        }
    });
    let outcome = SteeringOutcome::StartedNewTurn;
    Ok(SteeringResult { outcome })
}
