//! Runs a turn: performs its effects in order, and hands it what they bring about.
//!
//! | module | what lives there |
//! |---|---|
//! | [`handle`] | a running turn as a front end holds it, and what it tells the front end |
//! | [`notice`] | what a person should know as a turn begins |
//! | [`state`] | what is kept of a conversation between its turns |
//! | `performer` | each effect: a line in the log, a task, a message to the front end |
//! | [`assistants`] | the assistants of their own that answer inquiries |
//! | `live` | questions that tools ask while they run |
//! | `tasks` | the tasks of a turn; each ends with it |
//! | `hooks` | what tools reach of the engine; secrets |
//! | `trace`, `writer` | inquiries in the trace; the log that the turn is recorded in |

pub mod assistants;
pub mod handle;
pub(super) mod hooks;
pub(super) mod live;
pub mod notice;
pub(super) mod performer;
pub mod state;
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

/// A turn, what performs its effects, and what arrives for it.
pub(super) struct TurnDriver {
    turn: Turn,
    performer: Performer,
    mailbox: mpsc::Receiver<Mail>,
    clock: Clock,
}

impl TurnDriver {
    /// A driver of this turn, and the turn's handle.
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

    /// Drives the turn to its end, and returns what the conversation is then; see [`Performer::close`].
    pub(super) async fn run(mut self) -> Option<ConversationState> {
        loop {
            while let Some(effect) = self.turn.poll_effect() {
                if let Err(why) = self.performer.perform(effect).await {
                    self.turn.handle(self.clock.now(), Input::AppendFailed(why));
                }
            }
            if let Some(end) = self.performer.ended() {
                self.take_the_rest().await;
                return self.performer.close(end).await;
            }
            if let Some(input) = self.next_input().await {
                self.performer.notice(&input);
                self.turn.handle(self.clock.now(), input);
            }
        }
    }

    /// What came too late is on record still; what comes from now on goes nowhere, and the sender knows.
    async fn take_the_rest(&mut self) {
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

    /// Waits for what happens next; `None` where it was not for the turn.
    async fn next_input(&mut self) -> Option<Input> {
        let deadline = self.turn.deadline().map(|time| self.clock.instant(time));
        tokio::select! {
            biased;
            Some(mail) = self.mailbox.recv() => match mail {
                Mail::Input(input) => Some(input),
                Mail::Fits(prompt, answer, reply) => {
                    // Who asked may have gone: nobody needs to know then.
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
