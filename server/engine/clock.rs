//! The time that turns are told: since the Unix epoch, and never going back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Reads the wall clock once and counts on from there.
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

    /// The moment at which [`Clock::now`] says this.
    #[must_use]
    pub fn instant(&self, time: Duration) -> Instant {
        self.started + time.saturating_sub(self.wall)
    }
}
