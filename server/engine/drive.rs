//! The loop around a turn.

use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{Mail, before::Before, clock::Clock, perform::Stage};
use crate::turn::{Input, Turn};

/// Drives a turn to its end, and gives back what the conversation is then. Effects are performed in order; what they bring about comes back as inputs.
pub(super) async fn drive(
    mut turn: Turn,
    mut stage: Stage,
    mut mailbox: mpsc::Receiver<Mail>,
    clock: Clock,
) -> Option<Before> {
    loop {
        while let Some(effect) = turn.poll_effect() {
            if let Err(why) = stage.perform(effect).await {
                turn.handle(clock.now(), Input::AppendFailed(why));
            }
        }
        if let Some(end) = stage.ended() {
            // What came too late is on record still; what comes from now on goes nowhere, and the sender knows.
            mailbox.close();
            while let Ok(mail) = mailbox.try_recv() {
                if let Mail::Input(input) = mail {
                    turn.handle(clock.now(), input);
                }
            }
            while let Some(effect) = turn.poll_effect() {
                if let Err(error) = stage.perform(effect).await {
                    tracing::warn!(%error, "a late answer is not on record");
                }
            }
            return stage.close(end).await;
        }
        let deadline = turn.deadline().map(|time| clock.instant(time));
        let input = tokio::select! {
            biased;
            Some(mail) = mailbox.recv() => match mail {
                Mail::Input(input) => Some(input),
                Mail::Fits(prompt, answer, reply) => {
                    // Who asked may have gone: nobody needs to know then.
                    let _ = reply.send(turn.fits(&prompt, &answer));
                    None
                }
            },
            happening = stage.next() => stage.incoming(happening).await,
            () = sleep(deadline) => Some(Input::Tick),
        };
        if let Some(input) = input {
            turn.handle(clock.now(), input);
        }
    }
}

async fn sleep(until: Option<Instant>) {
    match until {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
