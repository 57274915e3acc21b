//! Handlers begin in the order in which their messages came, each when the one before it has ended, or has let it.
//!
//! Most end soon. One whose answer has to come from elsewhere lets the next begin once it has changed what there is to
//! change: order of arrival is still order of effect, and only its answer comes later. `$/cancelRequest` can end such
//! a one, so what must not stop halfway goes into a task of its own: [`to_the_end`].

use std::{
    cell::RefCell,
    task::{Context, Poll},
};

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{self, Request, Response};
use tower_service::Service;

use super::error::internal;

/// Handlers that have begun or wait for their turn, at the most; tower-lsp takes in no more.
pub(super) const AT_ONCE: usize = 64;

tokio::task_local! {
    /// What holds the next handler up, while this one is being run; dropping it lets the next begin.
    static HOLDS_UP: RefCell<Option<oneshot::Sender<()>>>;
    /// The client has taken its request back.
    static TAKEN_BACK: CancellationToken;
}

/// From here on the handler that calls this only waits: the next one begins.
pub(super) fn let_next_begin() {
    // Outside of a handler nobody waits.
    let _ = HOLDS_UP.try_with(RefCell::take);
}

/// Does a handler's work in a task, in the handler's place in the order: it is done to its end, also where the client
/// takes its request back meanwhile.
///
/// # Errors
/// Its own; [`internal`] where it panicked.
pub(super) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = jsonrpc::Result<T>> + Send + 'static,
) -> jsonrpc::Result<T> {
    let taken_back = CancellationToken::new();
    // A handler whose request is taken back is dropped.
    let _dropped = taken_back.clone().drop_guard();
    let holds_up = HOLDS_UP.try_with(RefCell::take).ok().flatten();
    let work = HOLDS_UP.scope(RefCell::new(holds_up), work);
    tokio::spawn(TAKEN_BACK.scope(taken_back, work))
        .await
        .unwrap_or_else(|failed| Err(internal(failed)))
}

/// Does a part of [`to_the_end`] that may be left out where the client has taken its request back.
///
/// # Errors
/// It has.
pub(super) async fn unless_taken_back<T>(part: impl Future<Output = T>) -> jsonrpc::Result<T> {
    let taken_back = TAKEN_BACK.try_with(CancellationToken::clone);
    let done = taken_back
        .unwrap_or_default()
        .run_until_cancelled_owned(part);
    done.await.ok_or_else(jsonrpc::Error::request_cancelled)
}

/// A service whose calls begin in order.
pub(super) struct InOrder<S> {
    inner: S,
    /// Ready when the call before has ended or let the next begin.
    before: Option<oneshot::Receiver<()>>,
}

impl<S> InOrder<S> {
    pub(super) fn new(inner: S) -> Self {
        Self {
            inner,
            before: None,
        }
    }
}

impl<S> Service<Request> for InOrder<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (holds_up, next) = oneshot::channel();
        let before = self.before.replace(next);
        let handled = self.inner.call(request);
        let in_turn = async move {
            if let Some(before) = before {
                // The other side says nothing: it goes.
                let _ = before.await;
            }
            let handled = handled.await;
            let_next_begin();
            handled
        };
        HOLDS_UP
            .scope(RefCell::new(Some(holds_up)), in_turn)
            .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashMap,
        convert::Infallible,
        sync::{Arc, Mutex},
    };

    use serde_json::json;
    use tokio::sync::Notify;

    use super::*;

    /// Notes when a call begins and ends. It goes on when it is told to: `wait` holds the next one up, `later` does not.
    #[derive(Clone, Default)]
    struct Noting {
        noted: Arc<Mutex<Vec<String>>>,
        told: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
    }

    impl Noting {
        fn note(&self, what: &str, name: &str) {
            self.noted.lock().unwrap().push(format!("{what} {name}"));
        }

        fn told(&self, name: &str) -> Arc<Notify> {
            let mut told = self.told.lock().unwrap();
            told.entry(name.to_owned()).or_default().clone()
        }

        fn taken(&self) -> String {
            std::mem::take(&mut *self.noted.lock().unwrap()).join(", ")
        }
    }

    impl Service<Request> for Noting {
        type Response = Option<Response>;
        type Error = Infallible;
        type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request) -> Self::Future {
            let noting = self.clone();
            async move {
                let name = request.method();
                noting.note("begins", name);
                if name.starts_with("later") {
                    let_next_begin();
                }
                if !name.starts_with("at once") {
                    noting.told(name).notified().await;
                }
                noting.note("ends", name);
                Ok(request
                    .id()
                    .map(|id| Response::from_ok(id.clone(), json!(null))))
            }
            .boxed()
        }
    }

    /// Lets everything run as far as it goes.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn calls_begin_in_order_and_one_that_lets_it_does_not_hold_the_next_up() {
        let noting = Noting::default();
        let mut service = InOrder::new(noting.clone());
        let mut call = |name: &str| service.call(Request::build(name.to_owned()).id(1).finish());
        let calls = ["wait 1", "at once 2", "later 3", "later 4", "at once 5"].map(&mut call);
        let mut running: Vec<_> = Vec::new();
        // Polled from the last to the first, as may happen.
        for call in calls.into_iter().rev() {
            running.push(tokio::spawn(call));
        }
        settle().await;
        assert_eq!(noting.taken(), "begins wait 1");
        noting.told("wait 1").notify_one();
        settle().await;
        assert_eq!(
            noting.taken(),
            "ends wait 1, begins at once 2, ends at once 2, begins later 3, begins later 4, begins at once 5, \
             ends at once 5"
        );
        noting.told("later 4").notify_one();
        settle().await;
        assert_eq!(noting.taken(), "ends later 4");
        noting.told("later 3").notify_one();
        for call in running {
            assert!(call.await.unwrap().unwrap().is_some());
        }
        assert_eq!(noting.taken(), "ends later 3");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_call_that_is_dropped_holds_nobody_up() {
        let noting = Noting::default();
        let mut service = InOrder::new(noting.clone());
        let mut call = |name: &str| service.call(Request::build(name.to_owned()).finish());
        let (first, second) = (call("wait 1"), call("at once 2"));
        drop(first);
        second.await.unwrap();
        assert_eq!(noting.taken(), "begins at once 2, ends at once 2");
    }

    #[test]
    fn outside_of_a_handler_nobody_waits() {
        let_next_begin();
    }
}
