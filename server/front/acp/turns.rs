//! A prompt from its params to its answer: queue, start, display, end.

use std::{path::PathBuf, sync::Arc};

use agent_client_protocol_schema::v1::{PromptResponse, StopReason};
use aside_session::{record::TurnOptions, replay};
use aside_tool::editor::Editor;
use aside_turn::{
    record::{ErrorCode, Outcome},
    rules::Mode,
};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{
    commands::{self, Command},
    connection::AcpConnection,
    content::PromptContent,
    documents::ClientFiles,
    session::{ActivePrompt, Session, TurnChoice},
    updates::ShownTurn,
    view::{SessionView, TurnEnding},
};
use crate::{
    engine::{ConversationTarget, Layers, StartedTurn, TurnConfig, TurnRequest, TurnStart},
    front::{
        error::{RequestError, Result, internal, invalid, not_found},
        relay::{
            begin::{StartEnds, start_in_order},
            relay,
        },
        transport::in_order::{answered, let_next_begin, withdrawable, withdrawn},
        wire::TurnCompleted,
    },
};

/// Start of a turn.
pub(super) enum Start {
    /// A message of the user.
    Message(PromptContent),
    /// A resume of the interrupted turn.
    Resume,
}

impl Start {
    fn command(&self) -> Option<Command> {
        match self {
            Self::Message(content) => Command::of(&content.text),
            Self::Resume => None,
        }
    }
}

/// Runs a turn after the session's other prompts and returns its stop reason.
///
/// # Errors
/// Fails if the turn could not begin or failed. A cancelled turn is not an error.
pub(super) async fn run(
    at: &Arc<AcpConnection>,
    session: &Arc<Session>,
    start: Start,
) -> Result<PromptResponse> {
    let active = session.prompt(&withdrawn())?;
    let cancelled = active.cancelled.clone();
    let ran = in_turn(at, session, &active, start).await;
    if cancelled.is_cancelled() {
        return Ok(PromptResponse::new(StopReason::Cancelled));
    }
    ran
}

async fn in_turn(
    at: &Arc<AcpConnection>,
    session: &Arc<Session>,
    active: &ActivePrompt<'_>,
    start: Start,
) -> Result<PromptResponse> {
    let mut place = Box::pin(at.turns.enter(&session.id.0));
    let place = match place.as_mut().now_or_never() {
        Some(place) => place,
        None => {
            let_next_begin();
            let place = active.cancelled.run_until_cancelled(place).await;
            place.ok_or(RequestError::Withdrawn)?
        }
    };
    let (answered, over) = (answered(), CancellationToken::new());
    let _over = over.clone().drop_guard();
    at.tasks.spawn_until("queue", at.gone.clone(), async move {
        // The next turn must not show anything before this prompt is answered.
        over.cancelled().await;
        answered.await;
        drop(place);
    });
    let start = match start.command() {
        Some(Command::Resume) => Start::Resume,
        Some(command) => {
            commands::perform(at, session, command).await?;
            return Ok(PromptResponse::new(StopReason::EndTurn));
        }
        None => start,
    };
    let begun = begin(at, session, start);
    let turn = withdrawable(active.cancelled.clone(), begun).await?;
    show(at, session, active, turn).await
}

async fn begin(
    at: &Arc<AcpConnection>,
    session: &Arc<Session>,
    start: Start,
) -> Result<StartedTurn> {
    let (connection, of) = (at.clone(), session.clone());
    let configure = move || configure(&connection, &of, start);
    let ends = StartEnds {
        gone: &at.gone,
        cancelled: &withdrawn(),
    };
    start_in_order(&at.engine, &at.disk, ends, &session.id.0, configure).await
}

/// Reads the message and the configuration of the turn. Blocks on files.
fn configure(at: &AcpConnection, session: &Session, start: Start) -> Result<TurnConfig> {
    let roots = vec![session.root.real.clone()];
    let found = at.engine.conversations().find(roots, &session.id.0);
    let (conversation, root) = found.map_err(not_found)?;
    let choice = session.choice();
    let (start, options, root) = match start {
        Start::Message(content) => {
            let (text, attachments) = content.attachments()?;
            let start = TurnStart::typed(text, attachments).map_err(invalid)?;
            (start, choice.options(), root)
        }
        Start::Resume => {
            let lines = conversation.read_last_turn().map_err(internal)?;
            let last = replay::turns(&lines.records).pop();
            let last = last.filter(replay::Turn::is_interrupted);
            let options = last.ok_or(RequestError::NothingToResume)?.options;
            let root = options.root.as_ref().map_or(root, PathBuf::from);
            let answers = Vec::new();
            (TurnStart::Resume { answers }, options, root)
        }
    };
    let layers = Layers {
        flags: match start {
            TurnStart::Message { .. }
            | TurnStart::Summarise { .. }
            | TurnStart::SummariseIdle
            | TurnStart::TakeSummaryBack => choice.flags(),
            TurnStart::Resume { .. } => resumed_flags(&options),
        },
        ..Layers::default()
    };
    let target = ConversationTarget::Existing(conversation);
    let files = || {
        let writes = at.can.writes_files;
        let (id, root, texts) = (
            session.id.clone(),
            session.root.clone(),
            session.texts.clone(),
        );
        let files = ClientFiles::new(at.client.clone(), id, root, texts, writes);
        let files: Arc<dyn Editor> = Arc::new(files);
        files
    };
    let mut config = at.engine.configure(TurnRequest {
        options,
        layers,
        client: Some(at.person.clone()),
        servers: Some(session.lease.clone()),
        editor: at.can.reads_files.then(files),
        ..TurnRequest::new(root, target, start)
    })?;
    if !config.trusted && matches!(config.mode(), Some(Mode::Edits | Mode::Auto)) {
        return Err(RequestError::NotTrusted("mode edits or auto".into()));
    }
    let servers = &mut config.configuration.settings.mcp.servers;
    for (name, server) in &session.servers {
        // A server in the user's settings takes precedence over the client's.
        servers
            .entry(name.clone())
            .or_insert_with(|| server.clone());
    }
    Ok(config)
}

/// Flags of a resumed turn, which keeps its model.
fn resumed_flags(options: &TurnOptions) -> Vec<aside_config::Flag> {
    let choice = TurnChoice {
        model: options.model.clone(),
        ..TurnChoice::default()
    };
    choice.flags()
}

/// Shows a turn to its end. If the client cancels the prompt, the turn is cancelled and shown on.
async fn show(
    at: &Arc<AcpConnection>,
    session: &Arc<Session>,
    active: &ActivePrompt<'_>,
    turn: StartedTurn,
) -> Result<PromptResponse> {
    let handle = turn.handle.clone();
    if at.gone.is_cancelled() {
        handle.leave().await;
    }
    let ending = TurnEnding::default();
    let view = SessionView {
        at: at.clone(),
        session: session.clone(),
        shown: ShownTurn::new(
            &handle.turn,
            &session.root,
            at.can,
            at.registry.clone(),
            session.cost(),
        ),
        ending: ending.clone(),
    };
    let mut shown = std::pin::pin!(relay(turn, &at.prompts, view));
    tokio::select! {
        biased;
        _ = &mut shown => {}
        () = active.cancelled.cancelled() => {
            handle.cancel().await;
            shown.await;
        }
    }
    response(ending.take())
}

/// The protocol's stop reason for the end of a turn.
fn response(completed: Option<TurnCompleted>) -> Result<PromptResponse> {
    let Some(completed) = completed else {
        return Err(internal(
            "the turn failed inside Aside; send the message again",
        ));
    };
    let stopped = match completed.outcome {
        Outcome::Completed | Outcome::Interrupted => StopReason::EndTurn,
        Outcome::Cancelled => StopReason::Cancelled,
        Outcome::Failed => match completed.error {
            Some(error) if error.code == ErrorCode::CutOff => StopReason::MaxTokens,
            Some(error) if matches!(error.code, ErrorCode::Limit | ErrorCode::Repeating) => {
                StopReason::MaxTurnRequests
            }
            Some(error) if error.code == ErrorCode::Refused => StopReason::Refusal,
            Some(error) => return Err(RequestError::Internal(error.message)),
            None => return Err(internal("the turn failed; send the message again")),
        },
    };
    Ok(PromptResponse::new(stopped))
}
