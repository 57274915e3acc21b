//! The end of a connection. The first reason counts; the front end then saves its state and ends the process.

use std::{
    io::{self, Write},
    thread,
};

use aside_base::system::processes::wait_for_end;
use tokio::sync::watch;

/// Reason why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionEnd {
    /// The notification `exit` was received.
    #[error("the client sent `exit`")]
    Exit {
        /// Whether the request `shutdown` preceded it.
        after_shutdown: bool,
    },
    /// Standard input ended or could not be read.
    #[error("the client closed standard input")]
    Input {
        /// Whether the request `shutdown` preceded it.
        after_shutdown: bool,
    },
    /// The client's process is gone.
    #[error("the client's process is gone")]
    ParentGone,
    /// The framing was lost, as the sentence says.
    #[error("{0}")]
    Framing(String),
    /// Standard output cannot be written.
    #[error("cannot write to standard output ({0}); restart the server")]
    Output(String),
    /// The client leaves too much output unread.
    #[error("the client has stopped reading standard output; restart the server")]
    NotReading,
}

impl ConnectionEnd {
    /// Whether earlier messages of the client may still have to be handled.
    #[must_use]
    pub fn may_have_pending_input(&self) -> bool {
        matches!(
            self,
            Self::Exit { .. } | Self::Input { .. } | Self::Framing(_)
        )
    }

    /// Reports the reason on standard error, unless the client ended the connection.
    pub fn report(&self) {
        match self {
            Self::Exit { .. } | Self::Input { .. } | Self::ParentGone => {}
            Self::Framing(_) | Self::Output(_) | Self::NotReading => {
                // A client that reads nothing may not read this either.
                let _ = writeln!(io::stderr(), "aside: {self}");
            }
        }
    }

    /// Exit code of the process: 0 if the client had requested the shutdown, else 1.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Exit { after_shutdown } | Self::Input { after_shutdown } => {
                u8::from(!after_shutdown)
            }
            Self::ParentGone | Self::Framing(_) | Self::Output(_) | Self::NotReading => 1,
        }
    }
}

/// Waits for the end of a connection. Clones wait for the same one.
#[derive(Clone, Debug)]
pub struct Signals(watch::Receiver<Option<ConnectionEnd>>);

/// Ends a connection. Clones end the same one.
#[derive(Clone, Debug)]
pub struct Ends(watch::Sender<Option<ConnectionEnd>>);

/// Creates both sides for an open connection.
pub fn channel() -> (Ends, Signals) {
    let (sender, receiver) = watch::channel(None);
    (Ends(sender), Signals(receiver))
}

impl Signals {
    /// Waits for the end of the connection.
    pub async fn ended(&mut self) -> ConnectionEnd {
        let end = self.0.wait_for(Option::is_some).await.ok();
        // Without a sender nobody reads or writes any more, so input has ended too.
        let gone = ConnectionEnd::Input {
            after_shutdown: false,
        };
        end.and_then(|end| end.clone()).unwrap_or(gone)
    }

    /// The reason why the connection ended, if it has.
    pub fn now(&self) -> Option<ConnectionEnd> {
        self.0.borrow().clone()
    }
}

impl Ends {
    /// Ends the connection for this reason, unless it has ended already.
    pub fn say(&self, end: ConnectionEnd) {
        self.0.send_if_modified(|said| {
            let first = said.is_none();
            if first {
                *said = Some(end);
            }
            first
        });
    }
}

/// Ends the connection when the process with this id ends, or at once if it does not exist. A thread waits for it until
/// this process ends.
///
/// # Errors
/// Fails if no thread can be started.
pub fn watch_parent(id: u32, ends: Ends) -> io::Result<()> {
    thread::Builder::new()
        .name("parent".into())
        .spawn(move || {
            wait_for_end(id);
            ends.say(ConnectionEnd::ParentGone);
        })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_is_0_after_a_shutdown_request() {
        for (end, expected) in [
            (
                |after_shutdown| ConnectionEnd::Exit { after_shutdown },
                [1, 0],
            ),
            (
                |after_shutdown| ConnectionEnd::Input { after_shutdown },
                [1, 0],
            ),
            (|_| ConnectionEnd::ParentGone, [1, 1]),
            (|_| ConnectionEnd::NotReading, [1, 1]),
            (|_| ConnectionEnd::Framing("lost".into()), [1, 1]),
            (|_| ConnectionEnd::Output("gone".into()), [1, 1]),
        ] as [(fn(bool) -> ConnectionEnd, [u8; 2]); 6]
        {
            let codes = [false, true].map(|after_shutdown| end(after_shutdown).exit_code());
            assert_eq!(codes, expected);
        }
    }
}
