//! Connects the pipes and the protocol's loop: one thread reads, one writes, and neither waits for the other.
//!
//! Threads are used because reading standard input can be neither polled nor cancelled on every system. Nobody waits
//! for them; they end with the process.

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

/// Number of bytes read at once: the capacity of a pipe on Linux.
const CHUNK: usize = 64 * 1024;

/// Both ends of a connection for the protocol's loop, and its end.
#[derive(Debug)]
pub struct Pump {
    /// The client's messages.
    pub input: Incoming,
    /// Output for the client. A clone shows how much waits.
    pub output: Outbox,
    /// Ends the connection for a reason that the pipes do not show.
    pub ends: Ends,
    /// Waits for the end of the connection.
    pub signals: Signals,
}

/// The reading thread.
struct Intake<F> {
    framing: F,
    inbox: Inbox,
    outbox: Outbox,
    ends: Ends,
}

impl Pump {
    /// Starts both threads. Fails if the system cannot start a thread.
    ///
    /// `input` ends after the client's last message, the end of standard input or broken framing. The protocol's loop
    /// then ends after handling what came before. A client that no longer reads does not end `input`.
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

    /// Passes on the messages of a chunk, up to the end of the connection.
    fn take(&mut self, chunk: &mut &[u8]) -> Option<ConnectionEnd> {
        while let Some(cut) = self.framing.cut(chunk) {
            match cut {
                Cut::Message(body) => self.inbox.push(body),
                Cut::Last(body, end) => {
                    // The end is reported first, because queueing the message may wait for room.
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
