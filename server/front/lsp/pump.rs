//! Stands between the pipes and tower-lsp: one thread reads, one writes, and neither waits for the other.
//!
//! Threads, because a read of standard input can be neither polled nor called off on every system; they end
//! with the process, for which nobody waits.

#[cfg(test)]
mod tests;

use std::{
    io::{self, Read, Write},
    thread,
};

use super::{
    end::{self, End, Ends, Signals},
    frame::{Cut, Cutter, Kind},
    inbox::{self, Inbox, Reader},
    outbox::Outbox,
};

/// How much is read at once, in bytes: what a pipe holds on Linux.
const CHUNK: usize = 64 * 1024;

/// The two ends of a connection for tower-lsp, and word of its end.
#[derive(Debug)]
pub struct Pump {
    /// The client's messages.
    pub input: Reader,
    /// The client's ear; keep a clone to see how much waits for it.
    pub output: Outbox,
    /// Tells when the connection is over.
    pub signals: Signals,
}

struct Intake {
    inbox: Inbox,
    outbox: Outbox,
    ends: Ends,
    after_shutdown: bool,
}

impl Pump {
    /// Starts both threads. The error is the system's, when it gives no thread.
    ///
    /// Behind `exit`, the end of standard input and a broken header `input` ends, so that tower-lsp's loop is
    /// over once it has handled what came before. A client that is gone on the other side does not end it.
    pub fn start(
        stdin: impl Read + Send + 'static,
        stdout: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (ends, signals) = end::channel();
        let (inbox, input) = inbox::channel();
        let output = Outbox::new(ends.clone());
        let outbox = output.clone();
        thread::Builder::new()
            .name("stdout".into())
            .spawn(move || outbox.write_to(stdout))?;
        let outbox = output.clone();
        let intake = Intake {
            inbox,
            outbox,
            ends,
            after_shutdown: false,
        };
        thread::Builder::new()
            .name("stdin".into())
            .spawn(move || intake.read_from(stdin))?;
        Ok(Self {
            input,
            output,
            signals,
        })
    }
}

impl Intake {
    fn read_from(mut self, mut stdin: impl Read) {
        let mut cutter = Cutter::default();
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
                0 => Some(self.input_end(&cutter)),
                _ => self.take(&mut cutter, &mut rest),
            };
            if let Some(end) = end {
                self.ends.say(end);
                return self.inbox.close();
            }
        }
    }

    /// Hands on the messages of a chunk, up to the end of the connection.
    fn take(&mut self, cutter: &mut Cutter, chunk: &mut &[u8]) -> Option<End> {
        while let Some(cut) = cutter.cut(chunk) {
            match cut {
                Cut::Message(message) if message.kind == Kind::Exit => {
                    let end = End::Exit {
                        after_shutdown: self.after_shutdown,
                    };
                    // Said before the message is queued, which may have to wait for room.
                    self.ends.say(end.clone());
                    self.inbox.push(message.body);
                    return Some(end);
                }
                Cut::Message(message) => {
                    self.after_shutdown |= message.kind == Kind::Shutdown;
                    self.inbox.push(message.body);
                }
                Cut::Skip(reply) => self.outbox.push(&reply),
                Cut::Broken(broken) => return Some(broken.into()),
            }
        }
        None
    }

    fn input_end(&self, cutter: &Cutter) -> End {
        if !cutter.is_between() {
            tracing::warn!("standard input ended within a message");
        }
        End::Input {
            after_shutdown: self.after_shutdown,
        }
    }
}
