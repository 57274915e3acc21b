//! Why a connection is over. The first reason counts; the front end then saves state and ends the process.

use tokio::sync::watch;

use super::frame::Broken;

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
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
    /// Where messages begin is lost.
    #[error(transparent)]
    Framing(#[from] Broken),
    /// Standard output cannot be written.
    #[error("standard output cannot be written ({0}); restart the server")]
    Output(String),
    /// More waits for the client than it may leave unread.
    #[error("the client has stopped reading standard output; restart the server")]
    NotReading,
}

impl End {
    /// The exit code of the process: 0 where the client had asked for the end, else 1.
    pub fn code(&self) -> u8 {
        match self {
            Self::Exit { after_shutdown } | Self::Input { after_shutdown } => {
                u8::from(!after_shutdown)
            }
            Self::Framing(_) | Self::Output(_) | Self::NotReading => 1,
        }
    }
}

/// Tells when the connection is over.
#[derive(Clone, Debug)]
pub struct Signals(watch::Receiver<Option<End>>);

/// Says that the connection is over.
#[derive(Clone, Debug)]
pub(super) struct Ends(watch::Sender<Option<End>>);

pub(super) fn channel() -> (Ends, Signals) {
    let (sender, receiver) = watch::channel(None);
    (Ends(sender), Signals(receiver))
}

impl Signals {
    /// Waits for the end of the connection.
    pub async fn ended(&mut self) -> End {
        let end = self.0.wait_for(Option::is_some).await.ok();
        // Nobody is left to read or write: that is the end of input, too.
        let gone = End::Input {
            after_shutdown: false,
        };
        end.and_then(|end| end.clone()).unwrap_or(gone)
    }

    /// Why the connection is over, if it is.
    pub fn now(&self) -> Option<End> {
        self.0.borrow().clone()
    }
}

impl Ends {
    /// The first reason counts.
    pub(super) fn say(&self, end: End) {
        self.0.send_if_modified(|said| {
            let first = said.is_none();
            if first {
                *said = Some(end);
            }
            first
        });
    }
}
