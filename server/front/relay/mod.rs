//! What a turn says to a client, and a client to a turn; for any protocol.
//!
//! | module | what lives there |
//! |---|---|
//! | [`joined`] | the updates of a turn on their way to a client: pieces that come in a burst are joined (pure) |
//! | [`prompts`] | prompts that wait for an answer, and what a client's answer comes to |
//! | [`begin`] | begins a turn behind all that was asked of its conversation before |
//! | [`interrupted`] | the prompts of interrupted turns, which wait for a resume |
//!
//! A front end implements [`TurnView`] and runs [`relay`] in a task of its own.

pub mod begin;
pub mod interrupted;
pub mod joined;
pub mod prompts;

use aside_turn::{effect::DismissReason, record::Outcome};
use tokio::time::{Instant, sleep_until};

use self::{
    joined::JoinedUpdates,
    prompts::{PendingPrompt, Prompts},
};
use crate::{
    engine::{StartedTurn, TurnMessage, TurnNotice},
    front::wire::{Prompt, QuestionUpdate, TurnCompleted, TurnRef, Update},
};

/// Shows a turn to a client.
pub trait TurnView: Send {
    /// Whether updates may wait for [`TurnView::room`], and pieces of text for others that come within
    /// [`joined::PACE`]; text that waits is joined. Otherwise each is handed on at once, in its place among prompts.
    fn joins(&self) -> bool;

    /// Whether a prompt comes behind all that was to be shown before it, though updates are joined.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Waits until the client has taken so much of what it was sent that it can be sent more. May be dropped.
    fn room(&self) -> impl Future<Output = ()> + Send;

    /// Something to show.
    fn update(&mut self, update: Update) -> impl Future<Output = ()> + Send;

    /// A notice as an update; `None` leaves it out.
    fn notice(&mut self, notice: TurnNotice) -> Option<Update>;

    /// Asks a person. Must not wait for the answer, which goes to [`PendingPrompt::reply`].
    fn prompt(&mut self, prompt: PendingPrompt) -> impl Future<Output = ()> + Send;

    /// Takes a prompt off the screen, and why.
    fn dismiss(
        &mut self,
        prompt_id: &str,
        reason: DismissReason,
    ) -> impl Future<Output = ()> + Send;

    /// The turn is over, and the next one may begin; `None` where the turn failed inside Aside.
    fn end(&mut self, completed: Option<TurnCompleted>) -> impl Future<Output = ()> + Send;

    /// Something that came to light behind the turn's end.
    fn warn(&mut self, notice: TurnNotice) -> impl Future<Output = ()> + Send;
}

/// Shows a turn to its end and what comes to light behind it, and returns how it ended; `None` where it failed inside Aside. What the engine says is
/// taken at once, so that it never waits for a slow client.
pub async fn relay(
    mut turn: StartedTurn,
    prompts: &Prompts,
    mut view: impl TurnView,
) -> Option<Outcome> {
    let of = TurnRef {
        conversation_id: turn.handle.conversation.clone(),
        turn_id: turn.handle.turn.clone(),
    };
    let mut waiting = JoinedUpdates::default();
    let end = loop {
        tokio::select! {
            biased;
            message = turn.messages.recv() => match message {
                Some(TurnMessage::End(end)) => break Some(*end),
                Some(TurnMessage::Prompt(prompt)) => {
                    while view.keeps_order() && !waiting.is_empty() {
                        tell_next(&mut waiting, &mut view).await;
                    }
                    let prompt = Prompt::new(&of, *prompt);
                    let open = prompts.open(prompt, &turn.handle);
                    view.prompt(open).await;
                }
                Some(TurnMessage::Dismiss(prompt, why)) => {
                    prompts.settle(&prompt.0);
                    view.dismiss(&prompt.0, why).await;
                }
                Some(message) => {
                    let Some(update) = update(message, &mut view) else {
                        continue;
                    };
                    if let Update::Question(QuestionUpdate::Closed { prompt_id, .. }) = &update {
                        prompts.settle(prompt_id);
                    }
                    if view.joins() {
                        waiting.push(update);
                    } else {
                        view.update(update).await;
                    }
                }
                None => break None,
            },
            () = may_tell(&waiting, &view), if !waiting.is_empty() => {
                tell_next(&mut waiting, &mut view).await;
            }
        }
    };
    while !waiting.is_empty() {
        view.room().await;
        tell_next(&mut waiting, &mut view).await;
    }
    prompts.forget_turn(&of.turn_id);
    let mut rest = turn.finish().await;
    let outcome = end.as_ref().map(|end| end.outcome);
    let completed = end.map(|end| TurnCompleted::new(&of, end));
    view.end(completed).await;
    while let Some(message) = rest.recv().await {
        if let TurnMessage::Notice(notice) = message {
            view.warn(notice).await;
        }
    }
    outcome
}

/// Waits until the first update may go, and the client has room for it.
async fn may_tell(waiting: &JoinedUpdates, view: &impl TurnView) {
    if let Some(due) = waiting.due() {
        sleep_until(due).await;
    }
    view.room().await;
}

async fn tell_next(waiting: &mut JoinedUpdates, view: &mut impl TurnView) {
    if let Some(update) = waiting.pop(Instant::now()) {
        view.update(update).await;
    }
}

/// What is shown of a message; prompts and the end are taken before.
fn update(message: TurnMessage, view: &mut impl TurnView) -> Option<Update> {
    match message {
        TurnMessage::Notice(notice) => view.notice(notice),
        TurnMessage::Update(update) => Some(Update::from(update)),
        TurnMessage::ToolOutput { call_id, text } => Some(Update::ToolOutput { call_id, text }),
        TurnMessage::Edited { call_id, uris } => Some(Update::Edit { call_id, uris }),
        TurnMessage::Title(title) => Some(Update::Title { title }),
        TurnMessage::Prompt(_) | TurnMessage::Dismiss(..) | TurnMessage::End(_) => None,
    }
}
