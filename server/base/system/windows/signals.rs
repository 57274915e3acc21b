//! Events of the console that end a command.

use std::io;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close,
    ctrl_logoff, ctrl_shutdown,
};

/// An event that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// Ctrl-C.
    Interrupt,
    /// A request to end: Ctrl-Break, or the system shuts down.
    Terminate,
    /// The console is gone, or its user.
    HangUp,
}

/// The events that end a command, received in place of ending it.
#[derive(Debug)]
pub struct EndSignals {
    interrupt: CtrlC,
    stop: CtrlBreak,
    shut_down: CtrlShutdown,
    close: CtrlClose,
    log_off: CtrlLogoff,
}

impl EndSignals {
    /// Receives the events from now on.
    ///
    /// # Errors
    /// If the system does not let this process receive events.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: ctrl_c()?,
            stop: ctrl_break()?,
            shut_down: ctrl_shutdown()?,
            close: ctrl_close()?,
            log_off: ctrl_logoff()?,
        })
    }

    /// Waits for the next event.
    pub async fn next(&mut self) -> EndSignal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => EndSignal::Interrupt,
            Some(()) = self.stop.recv() => EndSignal::Terminate,
            Some(()) = self.shut_down.recv() => EndSignal::Terminate,
            Some(()) = self.close.recv() => EndSignal::HangUp,
            Some(()) = self.log_off.recv() => EndSignal::HangUp,
            else => std::future::pending().await,
        }
    }
}

/// The event that this process was stopped and continues, which there is none of here.
#[derive(Debug)]
pub struct ContinueSignal(());

impl ContinueSignal {
    /// Receives the event from now on.
    ///
    /// # Errors
    /// None here.
    pub fn listen() -> io::Result<Self> {
        Ok(Self(()))
    }

    /// Waits for ever.
    pub async fn next(&mut self) {
        std::future::pending().await
    }
}
