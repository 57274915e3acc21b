//! The log of a conversation during a turn: the turn and its tools append to it.

use std::{io, sync::Mutex, time::Duration};

use aside_base::lock;

use aside_session::{
    log::{Log, LogMark},
    record::Entry,
};

use crate::engine::clock::Clock;

/// Appends events of one turn to the log.
#[derive(Debug)]
pub(in crate::engine) struct LogWriter {
    log: Mutex<Log>,
    turn: String,
    clock: Clock,
}

impl LogWriter {
    /// Creates a writer for the events of this turn.
    #[must_use]
    pub(in crate::engine) fn new(log: Log, turn: String, clock: Clock) -> Self {
        Self {
            log: Mutex::new(log),
            turn,
            clock,
        }
    }

    /// Id of the turn.
    pub(in crate::engine) fn turn(&self) -> &str {
        &self.turn
    }

    /// The clock of the events.
    pub(in crate::engine) fn clock(&self) -> Clock {
        self.clock
    }

    /// Current time for events, since the Unix epoch.
    pub(in crate::engine) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Writes an event of the turn to disk.
    ///
    /// # Errors
    /// Like [`Log::append`]: nothing more can be appended then.
    pub(in crate::engine) fn append(&self, entry: &Entry) -> io::Result<()> {
        self.append_for(Some(&self.turn), entry)
    }

    /// Writes an event of another turn, or of no turn, to disk.
    ///
    /// # Errors
    /// Like [`Log::append`].
    pub(in crate::engine) fn append_for(
        &self,
        turn: Option<&str>,
        entry: &Entry,
    ) -> io::Result<()> {
        let appended = lock(&self.log).append(self.clock.now(), turn, entry);
        appended.map(|_| ())
    }

    /// Returns a function that makes everything appended so far durable. It blocks, and fails like `fdatasync`.
    pub(in crate::engine) fn sync(&self) -> impl FnOnce() -> io::Result<()> + Send + use<> {
        lock(&self.log).sync()
    }

    /// The mark of the log; see [`Log::mark`].
    pub(in crate::engine) fn mark(&self) -> Option<LogMark> {
        lock(&self.log).mark()
    }
}
