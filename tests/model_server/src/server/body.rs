//! A response body that is fed step by step, and knows when the client drops it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use super::{BodyEnd, BodyPart};

/// What happens when the body is dropped before its end.
type OnDrop = Box<dyn FnOnce() + Send>;

/// The body of a [`super::Reply`].
pub(super) struct PlayedBody {
    frames: mpsc::Receiver<io::Result<Bytes>>,
    /// How many bytes are still to come, where that is known. Hyper asks for no frame after the last byte then.
    left: Option<u64>,
    /// Taken when the body has ended as it was to end.
    on_drop: Option<OnDrop>,
}

impl PlayedBody {
    /// A body that is fed by a task of its own.
    ///
    /// The channel holds one frame. So the connection finds it empty after each one and writes what it has: a part
    /// is a write.
    pub(super) fn new(parts: Vec<BodyPart>, end: BodyEnd, on_drop: OnDrop) -> Self {
        let left = match (parts.as_slice(), end) {
            ([BodyPart::Bytes(bytes)], BodyEnd::Whole) => Some(bytes.len() as u64),
            _ => None,
        };
        let (feed, frames) = mpsc::channel(1);
        tokio::spawn(async move {
            tokio::select! {
                () = play(parts, end, &feed) => {}
                () = feed.closed() => {}
            }
        });
        Self {
            frames,
            left,
            on_drop: (left != Some(0)).then_some(on_drop),
        }
    }
}

/// Sends the parts and the end. A failed send means that nobody listens any more.
async fn play(parts: Vec<BodyPart>, end: BodyEnd, feed: &mpsc::Sender<io::Result<Bytes>>) {
    for part in parts {
        match part {
            BodyPart::Bytes(bytes) if bytes.is_empty() => {}
            BodyPart::Bytes(bytes) => {
                if feed.send(Ok(bytes)).await.is_err() {
                    return;
                }
            }
            BodyPart::Wait(gate) => gate.wait().await,
            BodyPart::Pause(pause) => tokio::time::sleep(pause).await,
            // Whoever wanted to know may have gone.
            BodyPart::Stamp(tell) => _ = tell.send(Instant::now()),
        }
    }
    match end {
        BodyEnd::Whole => {}
        BodyEnd::Cut => {
            let cut = io::Error::new(io::ErrorKind::ConnectionAborted, "the reply is cut here");
            let _ = feed.send(Err(cut)).await;
        }
        BodyEnd::Hang => std::future::pending().await,
    }
}

impl Body for PlayedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = std::task::ready!(self.frames.poll_recv(context));
        if let (Some(left), Some(Ok(bytes))) = (&mut self.left, &frame) {
            *left -= bytes.len() as u64;
        }
        if self.left == Some(0) || !matches!(frame, Some(Ok(_))) {
            self.on_drop = None;
        }
        Poll::Ready(frame.map(|frame| frame.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        self.left
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for PlayedBody {
    fn drop(&mut self) {
        if let Some(on_drop) = self.on_drop.take() {
            on_drop();
        }
    }
}
