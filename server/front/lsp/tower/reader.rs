//! The client's messages as input for tower-lsp, each with a header that has only its length.

#[cfg(test)]
mod tests;

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::Stream;
use tokio::io::{AsyncRead, ReadBuf};

use super::content_length::header;
use crate::front::transport::inbox::Incoming;

/// A byte stream of messages.
#[derive(Debug)]
pub(in super::super) struct Reader {
    incoming: Incoming,
    /// Rest of the current message's header.
    header: Bytes,
    /// Rest of the current message's body.
    body: Bytes,
    /// Whether bytes were handed over since the last yield.
    handed_over: bool,
}

impl Reader {
    /// Creates a reader of all messages until the end of input.
    pub(in super::super) fn new(incoming: Incoming) -> Self {
        Self {
            incoming,
            header: Bytes::new(),
            body: Bytes::new(),
            handed_over: false,
        }
    }

    /// Takes the next message. Ready with `false` at the end of input.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        Pin::new(&mut self.incoming).poll_next(context).map(|next| {
            let Some(body) = next else {
                return false;
            };
            self.header = header(body.len()).into();
            self.body = body;
            true
        })
    }

    /// Copies as much of the current message as fits.
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
        // A long queue must not starve other tasks, such as those that end the connection.
        if std::mem::take(&mut self.handed_over) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
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
        self.handed_over = target.filled().len() > before;
        Poll::Ready(Ok(()))
    }
}
