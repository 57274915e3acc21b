//! Queue of messages from the thread that reads standard input to the protocol's loop.
//!
//! While the queue is full nothing is read, so the end of the connection is not noticed either. Handlers must therefore
//! not delay each other, so that the queue is full only briefly.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use aside_base::lock;
use bytes::Bytes;
use futures_util::Stream;

use super::framing::MAX_BODY;

/// Maximum number of waiting messages.
pub const MAX_MESSAGES: usize = 4096;
/// Number of waiting bytes at which no further message is accepted.
pub const MAX_BYTES: usize = MAX_BODY;

/// The thread's side of the queue. It waits for room, so that the pipe fills up and the client waits too.
#[derive(Clone, Debug)]
pub(in crate::front) struct Inbox(Arc<SharedInbox>);

/// The loop's side of the queue: the client's messages as JSON text, up to the end of input.
#[derive(Debug)]
pub struct Incoming(Arc<SharedInbox>);

#[derive(Debug, Default)]
struct SharedInbox {
    state: Mutex<InboxState>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct InboxState {
    queue: VecDeque<Bytes>,
    bytes: usize,
    closed: bool,
    reader_gone: bool,
    waker: Option<Waker>,
}

/// Creates an empty queue.
pub(in crate::front) fn channel() -> (Inbox, Incoming) {
    let shared = Arc::new(SharedInbox::default());
    (Inbox(shared.clone()), Incoming(shared))
}

impl Inbox {
    /// Queues a message once there is room. Without a reader it is dropped.
    pub(in crate::front) fn push(&self, body: Bytes) {
        let state = lock(&self.0.state);
        let full = |state: &mut InboxState| state.is_full() && !state.reader_gone;
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

    /// Ends the reader's input after the queued messages.
    pub(in crate::front) fn close(&self) {
        let mut state = lock(&self.0.state);
        state.closed = true;
        state.wake();
    }
}

impl InboxState {
    fn is_full(&self) -> bool {
        self.queue.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Stream for Incoming {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = lock(&self.0.state);
        let Some(body) = state.queue.pop_front() else {
            if state.closed {
                return Poll::Ready(None);
            }
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        state.bytes -= body.len();
        self.0.room.notify_one();
        Poll::Ready(Some(body))
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.reader_gone = true;
        state.bytes = 0;
        let queue = mem::take(&mut state.queue);
        self.0.room.notify_all();
        drop(state);
        drop(queue);
    }
}
