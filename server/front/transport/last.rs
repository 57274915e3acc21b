//! The end of a connection: turns are interrupted, what was sent before is handled, and what is still to say is said, as far
//! as there is time.

use std::time::Duration;

use tokio::{task::JoinSet, time::timeout};

use super::{end::Signals, outbox::Outbox};

/// How long turns and the last messages may take once the connection is over.
const LAST: Duration = Duration::from_millis(1500);

/// What a front end ends with its connection.
pub(in crate::front) trait Departure {
    /// The client went: every turn is interrupted, and this returns when the last has ended.
    async fn leave(&self);

    /// Ends the waiting for the client's replies, and waits for what is left to do.
    async fn close(&self);
}

/// Runs the loop that handles messages until the connection is over, ends what was begun, and returns the exit code of the
/// process.
pub(in crate::front) async fn until_over<T: Send + 'static>(
    handling: impl Future<Output = T> + Send + 'static,
    mut signals: Signals,
    front: &impl Departure,
    output: &Outbox,
) -> u8 {
    // Aborted when this returns.
    let mut loops = JoinSet::new();
    loops.spawn(handling);
    let end = signals.ended().await;
    tracing::info!(%end, "the connection is over");
    end.say_why();
    let last = async {
        front.leave().await;
        if end.is_of_input() {
            // What was sent before the end is still handled, and may have begun a turn.
            let _ = loops.join_next().await;
            front.leave().await;
        }
        front.close().await;
        output.drained(1).await;
    };
    if timeout(LAST, last).await.is_err() {
        tracing::warn!("what was left to do at the end took too long");
    }
    end.exit_code()
}
