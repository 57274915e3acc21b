//! Why a connection is over. The first reason counts; the front end then saves state and ends the process.

use std::io::{self, Write};

use tokio::sync::watch;

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionEnd {
    /// The notification `exit`.
    #[error("the client sent `exit`")]
    Exit {
        /// Whether the request `shutdown` came before it.
        after_shutdown: bool,
    },
    /// Standard input ended, or could not be read any further.
    #[error("the client closed standard input")]
    Input {
        /// Whether the request `shutdown` came before that.
        after_shutdown: bool,
    },
    /// The client's process is gone.
    #[error("the client's process is gone")]
    ParentGone,
    /// Where the client's next message begins is lost. The sentence says why.
    #[error("{0}")]
    Framing(String),
    /// Standard output cannot be written.
    #[error("standard output cannot be written ({0}); restart the server")]
    Output(String),
    /// More waits for the client than it may leave unread.
    #[error("the client has stopped reading standard output; restart the server")]
    NotReading,
}

impl ConnectionEnd {
    /// What the client sent before it may still be there to be handled.
    #[must_use]
    pub fn is_of_input(&self) -> bool {
        matches!(
            self,
            Self::Exit { .. } | Self::Input { .. } | Self::Framing(_)
        )
    }

    /// Says on standard error why the connection is over, where the client did not end it.
    pub fn say_why(&self) {
        match self {
            Self::Exit { .. } | Self::Input { .. } | Self::ParentGone => {}
            Self::Framing(_) | Self::Output(_) | Self::NotReading => {
                // A client that reads nothing may not read this either.
                let _ = writeln!(io::stderr(), "aside: {self}");
            }
        }
    }

    /// The exit code of the process: 0 where the client had asked for the end, else 1.
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

/// Waits for the end of a connection. All clones wait for the same one.
#[derive(Clone, Debug)]
pub struct Signals(watch::Receiver<Option<ConnectionEnd>>);

/// Ends the connection. All clones end the same one.
#[derive(Clone, Debug)]
pub struct Ends(watch::Sender<Option<ConnectionEnd>>);

/// A connection that is not over.
pub fn channel() -> (Ends, Signals) {
    let (sender, receiver) = watch::channel(None);
    (Ends(sender), Signals(receiver))
}

impl Signals {
    /// Waits for the end of the connection.
    pub async fn ended(&mut self) -> ConnectionEnd {
        let end = self.0.wait_for(Option::is_some).await.ok();
        // Nobody is left to read or write: that is the end of input, too.
        let gone = ConnectionEnd::Input {
            after_shutdown: false,
        };
        end.and_then(|end| end.clone()).unwrap_or(gone)
    }

    /// Why the connection is over, if it is.
    pub fn now(&self) -> Option<ConnectionEnd> {
        self.0.borrow().clone()
    }
}

impl Ends {
    /// Ends the connection for this reason, where it is not over yet.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_0_where_the_client_had_asked_for_the_end() {
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
