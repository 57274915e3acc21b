//! Replies of the client.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::sync::oneshot;

/// Future of the client's reply. Dropping it stops waiting and does not cancel the request.
#[derive(Debug)]
pub(in super::super) struct Reply<T>(oneshot::Receiver<Result<T, ReplyError>>);

/// Reason why a request to the client has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum ReplyError {
    /// The connection is over, so the request is undecided.
    #[error("the connection is over")]
    ConnectionOver,
    /// The client does not know the request.
    #[error("the client does not know this request")]
    Unknown,
    /// The client refused, or its reply is invalid, as one sentence.
    #[error("{0}")]
    Failed(String),
}

impl<T> Reply<T> {
    /// Creates a reply and its sender.
    pub(super) fn channel() -> (oneshot::Sender<Result<T, ReplyError>>, Self) {
        let (replies, reply) = oneshot::channel();
        (replies, Self(reply))
    }
}

impl<T> Future for Reply<T> {
    type Output = Result<T, ReplyError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(reply.unwrap_or(Err(ReplyError::ConnectionOver)))
    }
}
