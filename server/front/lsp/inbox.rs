//! The messages between the thread that reads standard input and tower-lsp.
//!
//! While the queue is full nothing is read, so the end of the connection is not seen either: handlers must not
//! hold each other up, for the queue to be full for a moment only.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    io, mem,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};

use super::frame::{MAX_BODY, header};

/// How many messages wait at most.
pub const MAX_MESSAGES: usize = 4096;
/// With this many bytes of messages waiting, the next one is not taken in.
pub const MAX_BYTES: usize = MAX_BODY;

/// The thread's side: waits for room, so that the pipe fills up and the client waits too.
#[derive(Clone, Debug)]
pub(super) struct Inbox(Arc<Shared>);

/// tower-lsp's side. Each message comes with a header that holds its length and nothing else.
#[derive(Debug)]
pub struct Reader {
    shared: Arc<Shared>,
    /// Of the message that is being handed over.
    header: Bytes,
    body: Bytes,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Bytes>,
    bytes: usize,
    closed: bool,
    reader_gone: bool,
    waker: Option<Waker>,
}

pub(super) fn channel() -> (Inbox, Reader) {
    let shared = Arc::new(Shared::default());
    let reader = Reader {
        shared: shared.clone(),
        header: Bytes::new(),
        body: Bytes::new(),
    };
    (Inbox(shared), reader)
}

impl Inbox {
    /// Queues a body once there is room. Without a reader it is dropped.
    pub(super) fn push(&self, body: Bytes) {
        let state = self.0.lock();
        let full = |state: &mut State| state.is_full() && !state.reader_gone;
        let mut state = self
            .0
            .room
            .wait_while(state, full)
            .unwrap_or_else(PoisonError::into_inner);
        if !state.reader_gone {
            state.bytes += body.len();
            state.queue.push_back(body);
            state.wake();
        }
    }

    /// Ends the reader's input behind what is queued.
    pub(super) fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.wake();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_full(&self) -> bool {
        self.queue.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Reader {
    /// Takes the next message; ready with `false` at the end of input.
    fn poll_next(&mut self, context: &Context<'_>) -> Poll<bool> {
        let mut state = self.shared.lock();
        let Some(body) = state.queue.pop_front() else {
            if state.closed {
                return Poll::Ready(false);
            }
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        state.bytes -= body.len();
        self.shared.room.notify_one();
        drop(state);
        self.header = header(body.len()).into();
        self.body = body;
        Poll::Ready(true)
    }

    /// Hands over as much of the current message as fits.
    fn hand_over(&mut self, target: &mut ReadBuf<'_>) {
        for part in [&mut self.header, &mut self.body] {
            let count = part.len().min(target.remaining());
            target.put_slice(&part.split_to(count));
        }
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = target.filled().len();
        while target.remaining() > 0 {
            if self.body.is_empty() {
                match self.poll_next(context) {
                    Poll::Ready(true) => {}
                    Poll::Pending if target.filled().len() == before => return Poll::Pending,
                    Poll::Ready(false) | Poll::Pending => break,
                }
            }
            self.hand_over(target);
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.reader_gone = true;
        state.bytes = 0;
        let queue = mem::take(&mut state.queue);
        self.shared.room.notify_all();
        drop(state);
        drop(queue);
    }
}
