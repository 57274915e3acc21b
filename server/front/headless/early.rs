//! Waits before a turn. Each ends at a signal and with the time limit, and says what is awaited once it takes long.

use std::{
    io::{self, Write},
    time::Duration,
};

use aside_base::system::signals::EndSignals;
use tokio::time::{Instant, sleep_until};

use super::{
    failure::CommandFailure,
    streams::{broken, columns},
};

/// Time after which a wait is announced.
const SAY_AFTER: Duration = Duration::from_secs(1);

/// The ends of everything that is awaited before a turn.
pub struct EarlyEnds {
    pub(super) signals: EndSignals,
    ends_at: Option<Instant>,
}

impl EarlyEnds {
    /// Listens for signals from now on. Where `limit` is given, waits end when it is over.
    ///
    /// # Errors
    /// Fails if the system does not let this process receive signals.
    pub fn listen(limit: Option<Duration>) -> Result<Self, CommandFailure> {
        let signals = EndSignals::listen().map_err(|error| {
            CommandFailure::internal(format!(
                "cannot handle signals such as Ctrl-C: {error}; try again"
            ))
        })?;
        Ok(Self {
            signals,
            ends_at: limit.map(|limit| Instant::now() + limit),
        })
    }

    /// Waits end at this time, as the configuration wants it.
    pub fn limit(&mut self, ends_at: Option<Instant>) {
        self.ends_at = ends_at;
    }

    /// Waits for work. `awaited` says what is awaited, such as "waiting for the moon"; the end of the wait drops the
    /// work.
    ///
    /// # Errors
    /// The signal or the limit that ended the wait.
    pub async fn wait<T>(
        &mut self,
        awaited: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, CommandFailure> {
        let mut work = std::pin::pin!(work);
        let (began, ends_at) = (Instant::now(), self.ends_at);
        let mut is_said = false;
        loop {
            tokio::select! {
                biased;
                signal = self.signals.next() => return Err(CommandFailure::signal(signal)),
                () = over(ends_at) => return Err(CommandFailure::limit(format!(
                    "the time was over before the turn began, while it was {awaited}; raise the timeout to let it begin"
                ))),
                done = &mut work => return Ok(done),
                () = sleep_until(began + SAY_AFTER), if !is_said => {
                    is_said = true;
                    note(awaited);
                }
            }
        }
    }
}

/// Says a line on standard error.
pub fn note(line: &str) {
    let line = broken(line, columns(io::stderr()));
    // Where it cannot be written, the wait goes on nevertheless.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

async fn over(ends_at: Option<Instant>) {
    match ends_at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
