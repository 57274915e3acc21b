//! Time for turns: since the Unix epoch, and monotonic.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Reads the system time once and counts on from there.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Duration,
    started: Instant,
}

impl Clock {
    /// Starts a clock at the present moment.
    #[must_use]
    pub fn start() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            wall,
            started: Instant::now(),
        }
    }

    /// The time that has passed since the Unix epoch.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.wall + self.started.elapsed()
    }

    /// The instant at which [`Clock::now`] reaches this time.
    #[must_use]
    pub fn instant(&self, time: Duration) -> Instant {
        self.started + time.saturating_sub(self.wall)
    }
}
