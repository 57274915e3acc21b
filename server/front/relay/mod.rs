//! Connects a turn and a client, for any protocol.
//!
//! | module | contents |
//! |---|---|
//! | [`joined`] | queue of a turn's updates, which joins pieces of text (pure) |
//! | [`prompts`] | open prompts, and the handling of answers |
//! | [`begin`] | starts a turn after all earlier requests about its conversation |
//! | [`interrupted`] | prompts of interrupted turns |
//!
//! A front end implements [`TurnView`] and runs [`relay`] in a task of its own.

pub mod begin;
pub mod interrupted;
pub mod joined;
pub mod prompts;

use std::{sync::Arc, time::Duration};

use aside_turn::effect::DismissReason;
use tokio::time::{Instant, sleep_until};

use self::{
    joined::JoinedUpdates,
    prompts::{PendingPrompt, Prompts},
};
use crate::{
    engine::{StartedTurn, TurnMessage, TurnNotice},
    front::wire::{Prompt, QuestionUpdate, TurnCompleted, TurnRef, Update, changes::KeptTexts},
};

/// Shows a turn to a client.
pub trait TurnView: Send {
    /// Whether updates may wait for [`TurnView::room`], and pieces of text for others within [`joined::PACE`].
    /// Otherwise each update is passed on at once, in order with prompts.
    fn joins(&self) -> bool;

    /// Whether a prompt must come after all earlier updates, even if updates are joined.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Whether the client is shown both texts of a change in place of a diff.
    fn shows_whole_texts(&self) -> bool {
        false
    }

    /// Waits until the client has read enough to be sent more. Cancel-safe.
    fn room(&self) -> impl Future<Output = ()> + Send;

    /// Shows an update.
    fn update(&mut self, update: Update) -> impl Future<Output = ()> + Send;

    /// Converts a notice to an update; `None` drops it.
    fn notice(&mut self, notice: TurnNotice) -> Option<Update>;

    /// Asks a person. Must not wait for the answer, which goes to [`PendingPrompt::reply`].
    fn prompt(&mut self, prompt: PendingPrompt) -> impl Future<Output = ()> + Send;

    /// Removes a prompt from the screen, for this reason.
    fn dismiss(
        &mut self,
        prompt_id: &str,
        reason: DismissReason,
    ) -> impl Future<Output = ()> + Send;

    /// Ends the turn; the next one may start. `None` if the turn failed because of an error inside Aside.
    fn end(&mut self, completed: Option<TurnCompleted>) -> impl Future<Output = ()> + Send;

    /// Shows a notice that came after the turn's end.
    fn warn(&mut self, notice: TurnNotice) -> impl Future<Output = ()> + Send;
}

/// Shows a turn to its end, then the notices after it. Returns the time after which the conversation is to be
/// summarised, if nobody writes until then. Messages of the engine are taken at once, so that it never waits for a slow
/// client.
pub async fn relay(
    mut turn: StartedTurn,
    prompts: &Prompts,
    mut view: impl TurnView,
) -> Option<Duration> {
    let of = TurnRef {
        conversation_id: turn.handle.conversation.clone(),
        turn_id: turn.handle.turn.clone(),
    };
    let kept = Arc::new(KeptTexts {
        root: turn.root.clone(),
        blobs: turn.blobs.clone(),
        whole: view.shows_whole_texts(),
    });
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
                    let Some(update) = update(message, &kept, &mut view).await else {
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
            () = until_sendable(&waiting, &view), if !waiting.is_empty() => {
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
    let summary_due = end.as_ref().and_then(|end| end.summary_due);
    let completed = end.map(|end| TurnCompleted::new(&of, end));
    view.end(completed).await;
    while let Some(message) = rest.recv().await {
        if let TurnMessage::Notice(notice) = message {
            view.warn(notice).await;
        }
    }
    summary_due
}

/// Waits until the first update may be sent and the client has room for it.
async fn until_sendable(waiting: &JoinedUpdates, view: &impl TurnView) {
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

/// The update for a message. Prompts and the end are handled before.
async fn update(
    message: TurnMessage,
    kept: &Arc<KeptTexts>,
    view: &mut impl TurnView,
) -> Option<Update> {
    match message {
        TurnMessage::Notice(notice) => view.notice(notice),
        TurnMessage::Update(update) => Some(update),
        TurnMessage::Edited { call_id, edits } => Some(kept.clone().edited(call_id, edits).await),
        TurnMessage::Prompt(_) | TurnMessage::Dismiss(..) | TurnMessage::End(_) => None,
    }
}
