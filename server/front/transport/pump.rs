//! Stands between the pipes and the protocol's loop: one thread reads, one writes, and neither waits for the other.
//!
//! Threads, because a read of standard input can be neither polled nor called off on every system; they end
//! with the process, for which nobody waits.

use std::{
    io::{self, Read, Write},
    thread,
};

use super::{
    end::{self, ConnectionEnd, Ends, Signals},
    framing::{Cut, Framing},
    inbox::{self, Inbox, Incoming},
    outbox::Outbox,
};

/// How much is read at once, in bytes: what a pipe holds on Linux.
const CHUNK: usize = 64 * 1024;

/// The two ends of a connection for the protocol's loop, and word of its end.
#[derive(Debug)]
pub struct Pump {
    /// The client's messages.
    pub input: Incoming,
    /// What goes to the client; keep a clone to see how much waits for it.
    pub output: Outbox,
    /// Ends the connection for a reason that the pipes do not show.
    pub ends: Ends,
    /// Waits for the end of the connection.
    pub signals: Signals,
}

/// The thread that reads.
struct Intake<F> {
    framing: F,
    inbox: Inbox,
    outbox: Outbox,
    ends: Ends,
}

impl Pump {
    /// Starts both threads. The error is the system's, when it gives no thread.
    ///
    /// Behind the client's last message, the end of standard input and broken framing `input` ends, so that the
    /// protocol's loop is over once it has handled what came before. A client that is gone on the other side does not
    /// end it.
    pub fn start<F: Framing>(
        framing: F,
        stdin: impl Read + Send + 'static,
        stdout: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (ends, signals) = end::channel();
        let (inbox, input) = inbox::channel();
        let output = Outbox::new(ends.clone(), F::wrap);
        let outbox = output.clone();
        thread::Builder::new()
            .name("stdout".into())
            .spawn(move || outbox.write_to(stdout))?;
        let outbox = output.clone();
        let intake = Intake {
            framing,
            inbox,
            outbox,
            ends: ends.clone(),
        };
        thread::Builder::new()
            .name("stdin".into())
            .spawn(move || intake.read_from(stdin))?;
        Ok(Self {
            input,
            output,
            ends,
            signals,
        })
    }
}

impl<F: Framing> Intake<F> {
    fn read_from(mut self, mut stdin: impl Read) {
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = match stdin.read(&mut chunk) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::warn!("standard input cannot be read: {error}");
                    0
                }
            };
            let mut rest = chunk.get(..count).unwrap_or_default();
            let end = match count {
                0 => Some(self.framing.end_of_input()),
                _ => self.take(&mut rest),
            };
            if let Some(end) = end {
                self.ends.say(end);
                return self.inbox.close();
            }
        }
    }

    /// Hands on the messages of a chunk, up to the end of the connection.
    fn take(&mut self, chunk: &mut &[u8]) -> Option<ConnectionEnd> {
        while let Some(cut) = self.framing.cut(chunk) {
            match cut {
                Cut::Message(body) => self.inbox.push(body),
                Cut::Last(body, end) => {
                    // Said before the message is queued, which may have to wait for room.
                    self.ends.say(end.clone());
                    self.inbox.push(body);
                    return Some(end);
                }
                Cut::Skip(reply) => self.outbox.push(&reply),
                Cut::Broken(why) => return Some(ConnectionEnd::Framing(why)),
            }
        }
        None
    }
}
