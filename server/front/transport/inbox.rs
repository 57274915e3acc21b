//! The messages between the thread that reads standard input and the protocol's loop.
//!
//! While the queue is full nothing is read, so the end of the connection is not seen either: handlers must not
//! hold each other up, for the queue to be full for a moment only.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures_util::Stream;

use super::framing::MAX_BODY;

/// How many messages wait at most.
pub const MAX_MESSAGES: usize = 4096;
/// With this many bytes of messages waiting, the next one is not taken in.
pub const MAX_BYTES: usize = MAX_BODY;

/// The thread's side: waits for room, so that the pipe fills up and the client waits too.
#[derive(Clone, Debug)]
pub(in crate::front) struct Inbox(Arc<SharedInbox>);

/// The loop's side: the client's messages, each as JSON text, up to the end of input.
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

/// An empty queue.
pub(in crate::front) fn channel() -> (Inbox, Incoming) {
    let shared = Arc::new(SharedInbox::default());
    (Inbox(shared.clone()), Incoming(shared))
}

impl Inbox {
    /// Queues a body once there is room. Without a reader it is dropped.
    pub(in crate::front) fn push(&self, body: Bytes) {
        let state = self.0.lock();
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

    /// Ends the reader's input behind what is queued.
    pub(in crate::front) fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.wake();
    }
}

impl SharedInbox {
    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut state = self.0.lock();
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
        let mut state = self.0.lock();
        state.reader_gone = true;
        state.bytes = 0;
        let queue = mem::take(&mut state.queue);
        self.0.room.notify_all();
        drop(state);
        drop(queue);
    }
}
