//! The log of a conversation while a turn runs: the turn and its tools append to it.

use std::{
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{
    engine::clock::Clock,
    session::{log::Log, record::Entry},
};

/// Appends for one turn.
#[derive(Debug)]
pub(in crate::engine) struct LogWriter {
    log: Mutex<Log>,
    turn: String,
    clock: Clock,
}

impl LogWriter {
    /// Appends to this log in the name of this turn.
    #[must_use]
    pub(in crate::engine) fn new(log: Log, turn: String, clock: Clock) -> Self {
        Self {
            log: Mutex::new(log),
            turn,
            clock,
        }
    }

    /// The id of the turn.
    pub(in crate::engine) fn turn(&self) -> &str {
        &self.turn
    }

    /// The time that events are given, since the Unix epoch.
    pub(in crate::engine) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Puts an event of the turn on disk.
    ///
    /// # Errors
    /// As [`Log::append`]: nothing more can be appended then.
    pub(in crate::engine) fn append(&self, entry: &Entry) -> io::Result<()> {
        self.log()
            .append(self.clock.now(), Some(&self.turn), entry)
            .map(|_| ())
    }

    /// Puts an event of another turn, or of none, on disk.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub(in crate::engine) fn append_for(
        &self,
        turn: Option<&str>,
        entry: &Entry,
    ) -> io::Result<()> {
        self.log().append(self.clock.now(), turn, entry).map(|_| ())
    }

    /// What makes sure that all that was appended survives a loss of power. It blocks, and fails as `fdatasync`.
    pub(in crate::engine) fn sync(&self) -> impl FnOnce() -> io::Result<()> + Send + use<> {
        self.log().sync()
    }

    /// The number of the next event.
    pub(in crate::engine) fn next(&self) -> u64 {
        self.log().next()
    }

    fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        // A panic while it was held left a log that is whole or says that it is not.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
