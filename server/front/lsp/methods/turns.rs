//! `aside/turn/…`: from params to a running turn, and actions on one.

use std::sync::Arc;

use aside_session::record::TurnOptions;
use aside_turn::{
    record::{Vocabulary, Word},
    rules::Mode,
};
use tower_lsp::lsp_types::ProgressToken;

use super::{
    super::{
        connection::LspConnection,
        documents::attachments,
        pending::ExpectedId,
        progress::cancelled_turn,
        turns::{
            asker::{AskedTurn, TurnAsker, asked_resume},
            start::begin_turn,
        },
    },
    raw_params::{folder, is_turn_id},
};
use crate::{
    engine::{TurnHandle, TurnRequest, TurnStart},
    front::{
        error::{RequestError, Result, invalid},
        transport::in_order::{let_next_begin, to_the_end},
        wire::requests::{ConversationRef, Empty, StartParams, StartResult, SteerParams, TurnId},
    },
};

/// Serves the method `aside/turn/start`.
pub(in super::super) async fn start(
    at: Arc<LspConnection>,
    params: StartParams,
) -> Result<StartResult> {
    let handle = to_the_end(async move {
        let asked = asked_turn(&at, params)?;
        begin_turn(&at, asked).await
    })
    .await?;
    Ok(StartResult {
        conversation_id: handle.conversation,
        turn_id: handle.turn,
    })
}

/// Serves the method `aside/turn/resume`.
pub(in super::super) async fn resume(
    at: Arc<LspConnection>,
    params: ConversationRef,
) -> Result<TurnId> {
    let handle = to_the_end(async move {
        let asked = asked_resume(&at, params.conversation_id);
        begin_turn(&at, asked).await
    })
    .await?;
    Ok(TurnId {
        turn_id: handle.turn,
    })
}

/// Serves the method `aside/turn/steer`.
pub(in super::super) async fn steer(at: Arc<LspConnection>, params: SteerParams) -> Result<Empty> {
    if let (None, Some(lane)) = (
        running(&at, &params.turn_id),
        at.pending.lane(&params.turn_id),
    ) {
        let begins = at.disk.enter(&lane);
        let_next_begin();
        drop(begins.await);
    }
    let turn = running(&at, &params.turn_id);
    let turn = turn.ok_or(RequestError::UnknownTurn(params.turn_id))?;
    turn.steer(params.message).await;
    Ok(Empty {})
}

/// Serves the method `aside/turn/cancel`.
pub(in super::super) async fn cancel(at: Arc<LspConnection>, params: TurnId) -> Result<Empty> {
    // A pending turn is cancelled when it begins.
    let is_pending = at.pending.cancel(&params.turn_id);
    let turns = at.engine.conversations().running();
    match turns.get(&params.turn_id) {
        Some(turn) => turn.cancel().await,
        None if is_pending => {}
        // Cancelling a finished turn does nothing.
        None if turns.conversation_of(&params.turn_id).is_some() => {}
        None => return Err(RequestError::UnknownTurn(params.turn_id)),
    }
    Ok(Empty {})
}

/// Handles `window/workDoneProgress/cancel`: the user cancelled a turn at its progress.
pub(in super::super) async fn progress_cancelled(at: &LspConnection, token: &ProgressToken) {
    if let Some(turn) = cancelled_turn(token).and_then(|turn| running(at, turn)) {
        turn.cancel().await;
    }
}

fn running(at: &LspConnection, turn: &str) -> Option<TurnHandle> {
    at.engine.conversations().running().get(turn)
}

/// The requested turn, with the client's documents and settings as they are now.
pub(super) fn asked_turn(at: &LspConnection, params: StartParams) -> Result<AskedTurn> {
    if let Some(id) = params.turn_id.as_deref().filter(|id| !is_turn_id(id)) {
        return Err(invalid(format!(
            "turnId: {id:?} cannot be a turn's id; it has 1 to 64 letters, digits, `-` and `_`"
        )));
    }
    if params.message.trim().is_empty() && params.attachments.is_empty() {
        return Err(invalid(
            "message: it is empty, and nothing is attached; say what is to be done".to_owned(),
        ));
    }
    let mode = params.mode.as_deref().map(mode_of).transpose()?;
    if let Some(schema) = &params.schema {
        jsonschema::validator_for(schema)
            .map_err(|why| invalid(format!("schema: it is not a JSON schema: {why}")))?;
    }
    let counting = at.client.can().counting();
    let sources = params.attachments.iter();
    let sources = sources.map(|param| attachments::source(&at.documents, counting, param));
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let asker = TurnAsker::now(at);
    Ok(AskedTurn {
        conversation: params.conversation_id.clone(),
        lane: None,
        id: params
            .turn_id
            .clone()
            .map_or(ExpectedId::Unknown, ExpectedId::Given),
        names_model: params.model.is_some(),
        read: Box::new(move || {
            let named = params.root.as_deref().map(folder).transpose();
            let named = named.map_err(|error| invalid(format!("root: {error}")))?;
            let (root, target) = asker.target(named.as_deref(), params.conversation_id)?;
            let attached = attachments::read(sources)?;
            let start = TurnStart::typed(params.message, attached).map_err(invalid)?;
            let options = TurnOptions {
                mode: mode.map(Word::Known),
                model: params.model,
                tool_choice: params.tool_choice,
                schema: params.schema,
                ..TurnOptions::default()
            };
            Ok(TurnRequest {
                turn: params.turn_id,
                ..asker.request(root, target, start, options)
            })
        }),
    })
}

fn mode_of(word: &str) -> Result<Mode> {
    Mode::of(word).ok_or_else(|| {
        invalid(format!(
            "mode: {word:?} is none of ask, edits, plan and auto"
        ))
    })
}
