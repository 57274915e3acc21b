//! Threads between a client and the pipes of a server.

use std::{
    io::{self, BufReader, Read, Write},
    sync::mpsc::{Sender, channel},
    thread,
};

use crate::framing::{Frames, Message};

/// Bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// Reads messages in a thread of its own and gives each to `take`, until that returns false or the pipe ends. An error
/// is the last thing that is given. The pipe is closed at the end.
pub fn read_into(
    frames: Frames,
    output: impl Read + Send + 'static,
    take: impl Fn(io::Result<Message>) -> bool + Send + 'static,
) {
    thread::spawn(move || {
        let mut output = BufReader::with_capacity(BUFFER, output);
        while let Some(read) = frames.read(&mut output).transpose() {
            let broken = read.is_err();
            if !take(read) || broken {
                return;
            }
        }
    });
}

/// A pipe to a server, written to by a thread of its own: a server that reads nothing holds nobody up. Dropping it
/// closes the pipe once all that is queued was written.
#[derive(Debug)]
pub struct QueuedInput(Sender<Vec<u8>>);

impl QueuedInput {
    /// Begins the thread that writes to this pipe.
    pub fn new(mut pipe: impl Write + Send + 'static) -> Self {
        let (queue, queued) = channel::<Vec<u8>>();
        thread::spawn(move || {
            // A server that is gone reads nothing more; what follows from that is judged by what it wrote.
            while let Ok(bytes) = queued.recv()
                && pipe.write_all(&bytes).is_ok()
            {}
        });
        Self(queue)
    }

    /// Queues bytes.
    pub fn write(&self, bytes: Vec<u8>) {
        // Sending fails where the writer ended because the server is gone.
        let _ = self.0.send(bytes);
    }
}
