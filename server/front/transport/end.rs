//! Why a connection is over. The first reason counts; the front end then saves state and ends the process.

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
