//! Shutdown of a connection: interrupts turns, handles earlier messages, and sends the last output, within a time
//! limit.

use std::time::Duration;

use tokio::{task::JoinSet, time::timeout};

use super::{end::Signals, outbox::Outbox};

/// Time limit for turns and the last messages after the connection has ended.
const TIME_LIMIT: Duration = Duration::from_millis(1500);

/// Shutdown of a front end when its connection ends.
pub(in crate::front) trait Departure {
    /// Interrupts every turn, and returns when the last one has ended.
    async fn leave(&self);

    /// Stops waiting for the client's replies, and completes the remaining work.
    async fn close(&self);
}

/// Runs the loop that handles messages until the connection ends, shuts the front end down, and returns the exit code
/// of the process.
pub(in crate::front) async fn until_over<T: Send + 'static>(
    handling: impl Future<Output = T> + Send + 'static,
    mut signals: Signals,
    front: &impl Departure,
    output: &Outbox,
) -> u8 {
    // Dropping the set aborts the loop.
    let mut loops = JoinSet::new();
    loops.spawn(handling);
    let end = signals.ended().await;
    tracing::info!(%end, "the connection is over");
    end.report();
    let last = async {
        front.leave().await;
        if end.may_have_pending_input() {
            // Messages before the end are still handled, and may start a turn.
            let _ = loops.join_next().await;
            front.leave().await;
        }
        front.close().await;
        output.drained(1).await;
    };
    if timeout(TIME_LIMIT, last).await.is_err() {
        tracing::warn!("what was left to do at the end took too long");
    }
    output.close();
    end.exit_code()
}
