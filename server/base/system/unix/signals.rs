//! Signals that end a command, and the one that continues it.

use std::io;

use rustix::process;
use tokio::signal::unix::{Signal as Received, SignalKind, signal};

/// A signal that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// Ctrl-C.
    Interrupt,
    /// A request to end, such as that of `kill`.
    Terminate,
    /// The terminal is gone.
    HangUp,
}

/// The signals that end a command, received in place of ending it.
#[derive(Debug)]
pub struct EndSignals {
    interrupt: Received,
    terminate: Received,
    hang_up: Received,
}

impl EndSignals {
    /// Receives the signals from now on.
    ///
    /// # Errors
    /// If the system does not let this process receive signals.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> EndSignal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => EndSignal::Interrupt,
            Some(()) = self.terminate.recv() => EndSignal::Terminate,
            Some(()) = self.hang_up.recv() => EndSignal::HangUp,
            else => std::future::pending().await,
        }
    }
}

/// The signal that this process was stopped and continues.
#[derive(Debug)]
pub struct ContinueSignal(Received);

impl ContinueSignal {
    /// Receives the signal from now on.
    ///
    /// # Errors
    /// As [`EndSignals::listen`].
    pub fn listen() -> io::Result<Self> {
        let kind = SignalKind::from_raw(process::Signal::CONT.as_raw());
        signal(kind).map(Self)
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending().await
        }
    }
}
