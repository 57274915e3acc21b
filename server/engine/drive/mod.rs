//! Runs a turn: performs its effects in order, and feeds their results back.
//!
//! | module | contents |
//! |---|---|
//! | [`handle`] | the handle of a running turn, and its messages to the front end |
//! | [`notice`] | notices for a person at the start of a turn or after its end |
//! | [`state`] | the state of a conversation between turns |
//! | `lost` | parts of its log that could not be read |
//! | `growing` | its transcript, whose first part may still be read |
//! | `performer` | performs effects: records, tasks, messages to the front end |
//! | [`assistants`] | separate assistants for inquiries |
//! | `live` | questions that running tools ask |
//! | `step_room` | room for the results of one step |
//! | `tasks` | the tasks of a turn, which end with it |
//! | `hooks` | engine services for tools; secrets |
//! | `trace`, `writer` | inquiries in the trace; the log that records the turn |
//! | `durable` | makes logs durable behind the end of their turns |

pub mod assistants;
pub(super) mod durable;
pub(super) mod growing;
pub mod handle;
pub(super) mod hooks;
pub(super) mod live;
mod lost;
pub mod notice;
pub(super) mod performer;
pub mod state;
pub(super) mod step_room;
pub(super) mod tasks;
pub(super) mod trace;
pub(super) mod writer;

use aside_turn::{Input, Turn};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use self::{
    handle::{Mail, TurnHandle},
    performer::Performer,
    state::ConversationState,
};
use super::clock::Clock;

/// A turn, the performer of its effects, and its incoming messages.
pub(super) struct TurnDriver {
    turn: Turn,
    performer: Performer,
    mailbox: mpsc::Receiver<Mail>,
    clock: Clock,
}

impl TurnDriver {
    /// Creates a driver and the turn's handle.
    pub(super) fn new(
        turn: Turn,
        id: String,
        conversation: String,
        performer: Performer,
        clock: Clock,
    ) -> (Self, TurnHandle) {
        let (handle, mailbox) = TurnHandle::new(id, conversation);
        let driver = Self {
            turn,
            performer,
            mailbox,
            clock,
        };
        (driver, handle)
    }

    /// Drives the turn to its end. Returns the conversation's state to keep; see [`Performer::close`].
    pub(super) async fn run(mut self) -> Option<ConversationState> {
        loop {
            while let Some(effect) = self.turn.poll_effect() {
                if let Err(why) = self.performer.perform(effect).await {
                    self.turn.handle(self.clock.now(), Input::AppendFailed(why));
                }
            }
            if let Some(end) = self.performer.ended() {
                self.record_late_inputs().await;
                return self.performer.close(end).await;
            }
            if let Some(input) = self.next_input().await {
                self.performer.notice(&input);
                self.turn.handle(self.clock.now(), input);
            }
        }
    }

    /// Records inputs that came too late. Later ones are refused, so that their senders notice.
    async fn record_late_inputs(&mut self) {
        self.mailbox.close();
        while let Ok(mail) = self.mailbox.try_recv() {
            if let Mail::Input(input) = mail {
                self.turn.handle(self.clock.now(), input);
            }
        }
        while let Some(effect) = self.turn.poll_effect() {
            if let Err(error) = self.performer.perform(effect).await {
                tracing::warn!(%error, "a late answer is not on record");
            }
        }
    }

    /// Waits for the next event; `None` if it is not an input of the turn.
    async fn next_input(&mut self) -> Option<Input> {
        let deadline = self.turn.deadline().map(|time| self.clock.instant(time));
        tokio::select! {
            biased;
            Some(mail) = self.mailbox.recv() => match mail {
                Mail::Input(input) => Some(input),
                Mail::Fits(prompt, answer, reply) => {
                    // The asker may have gone and need no reply.
                    let _ = reply.send(self.turn.fits(&prompt, &answer));
                    None
                }
            },
            happening = self.performer.next() => self.performer.incoming(happening).await,
            () = sleep(deadline) => Some(Input::Tick),
        }
    }
}

async fn sleep(until: Option<Instant>) {
    match until {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
