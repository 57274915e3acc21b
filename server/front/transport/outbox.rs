//! Queue of output from the protocol's loop to the thread that writes standard output.
//!
//! Queueing never waits and never fails. In a loop that reads and writes in one task, as tower-lsp's does, a wait would
//! stop the reading and an error would panic. The loss of the client is reported by [`Signals`](super::end::Signals).

#[cfg(test)]
mod tests;

use std::{
    io::{self, Write},
    mem,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use aside_base::lock;
use serde::Serialize;
use tokio::{io::AsyncWrite, sync::watch};

use super::{
    end::{ConnectionEnd, Ends},
    framing::reserve_within,
};

/// Number of unread bytes at which the next message makes the client count as gone. Senders of much output wait for
/// [`Outbox::drained`] long before.
pub const MAX_QUEUED: usize = 64 * 1024 * 1024;
/// Size in bytes above which a buffer is freed after writing.
const MAX_KEPT_BUFFER: usize = 1024 * 1024;

/// Queue of output for the client. Clones share it.
#[derive(Clone, Debug)]
pub struct Outbox(Arc<SharedOutbox>);

#[derive(Debug)]
struct SharedOutbox {
    state: Mutex<OutboxState>,
    more: Condvar,
    /// Number of bytes that the operating system has not accepted yet.
    queued: watch::Sender<usize>,
    ends: Ends,
    /// Frames the JSON text of a message.
    wrap: fn(&str) -> String,
}

#[derive(Debug, Default)]
struct OutboxState {
    /// Whole messages, behind those being written.
    pending: Vec<u8>,
    closed: bool,
    gone: bool,
}

impl Outbox {
    /// Creates an empty queue. `wrap` frames the JSON text of a message.
    pub(super) fn new(ends: Ends, wrap: fn(&str) -> String) -> Self {
        let (state, more) = (Mutex::default(), Condvar::new());
        let queued = watch::Sender::new(0);
        Self(Arc::new(SharedOutbox {
            state,
            more,
            queued,
            ends,
            wrap,
        }))
    }

    /// Number of bytes that wait for the client; 0 once it is gone.
    pub fn queued(&self) -> usize {
        *self.0.queued.borrow()
    }

    /// Waits until fewer than `below` bytes wait for the client, or it is gone. With 1, until everything is written. 0
    /// counts as 1.
    pub async fn drained(&self, below: usize) {
        let mut queued = self.0.queued.subscribe();
        // The sender is in `self`, so it outlives this wait.
        _ = queued.wait_for(|queued| *queued < below.max(1)).await;
    }

    /// Queues whole framed messages. After the end they are dropped.
    pub(super) fn push(&self, messages: &[u8]) {
        let mut state = lock(&self.0.state);
        if state.gone || state.closed || messages.is_empty() {
            return;
        }
        if self.queued() >= MAX_QUEUED {
            return self.0.give_up(state, ConnectionEnd::NotReading);
        }
        reserve_within(&mut state.pending, messages.len(), MAX_QUEUED);
        state.pending.extend_from_slice(messages);
        self.0
            .queued
            .send_modify(|queued| *queued += messages.len());
        self.0.more.notify_one();
    }

    /// Queues one message.
    pub(in crate::front) fn say(&self, message: &impl Serialize) {
        match serde_json::to_string(message) {
            Ok(body) => self.push((self.0.wrap)(&body).as_bytes()),
            Err(error) => tracing::error!(%error, "a message cannot be written"),
        }
    }

    /// Closes the queue; [`Self::write_to`] ends when everything is written.
    pub(in crate::front) fn close(&self) {
        lock(&self.0.state).closed = true;
        self.0.more.notify_one();
    }

    /// Writes queued bytes, as many as possible with each call. Ends when the queue is closed or the client is gone.
    pub(super) fn write_to(&self, mut out: impl Write) {
        let mut batch = Vec::new();
        while self.0.next(&mut batch) {
            if let Err(error) = self.0.write(&mut out, &batch) {
                let end = ConnectionEnd::Output(error.to_string());
                return self.0.give_up(lock(&self.0.state), end);
            }
        }
    }
}

impl SharedOutbox {
    /// Waits for something to write. The two buffers take turns.
    fn next(&self, batch: &mut Vec<u8>) -> bool {
        batch.clear();
        if batch.capacity() > MAX_KEPT_BUFFER {
            *batch = Vec::new();
        }
        let idle =
            |state: &mut OutboxState| state.pending.is_empty() && !state.closed && !state.gone;
        let mut state = self
            .more
            .wait_while(lock(&self.state), idle)
            .unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut state.pending, batch);
        !batch.is_empty()
    }

    fn write(&self, out: &mut impl Write, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            match out.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    rest = rest.get(count..).unwrap_or_default();
                    // The count may be 0 already if the client was given up meanwhile.
                    self.queued
                        .send_modify(|queued| *queued = queued.saturating_sub(count));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        out.flush()
    }

    fn give_up(&self, mut state: MutexGuard<'_, OutboxState>, end: ConnectionEnd) {
        state.gone = true;
        state.pending = Vec::new();
        self.queued.send_replace(0);
        drop(state);
        self.more.notify_one();
        self.ends.say(end);
    }
}

impl AsyncWrite for Outbox {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        messages: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.push(messages);
        Poll::Ready(Ok(messages.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: late answers still come when the loop that handles messages has ended.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
