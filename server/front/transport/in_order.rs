//! Runs handlers one after another, in the order of their messages.
//!
//! Most handlers end soon. A handler whose answer depends on something else lets the next one start as soon as it has
//! made its changes. Effects thus keep the order of arrival; only the answer comes later and goes straight to the
//! output queue. If the client withdraws a request, such a handler may be dropped. Work that must not stop halfway
//! therefore runs in a task: [`to_the_end`].

use std::{
    cell::RefCell,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::{BoxFuture, FutureExt};
use serde::Serialize;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::{
    inbox::MAX_MESSAGES,
    outbox::Outbox,
    tasks::{Tasks, detached},
};
use crate::front::error::{RequestError, Result};

/// Maximum number of handlers with late answers; a further one delays the next handler. As many as messages may wait.
const MAX_LATE: usize = MAX_MESSAGES;

tokio::task_local! {
    /// Delays the next handler while this one runs; dropping it lets the next one start.
    static HOLDS_UP: RefCell<Option<oneshot::Sender<()>>>;
    /// Cancelled when the client withdraws the request.
    static WITHDRAWN: CancellationToken;
    /// Cancelled when the handler's answer was queued for output.
    static ANSWERED: CancellationToken;
}

/// Lets the next handler start. From here on the calling handler only waits.
pub(in crate::front) fn let_next_begin() {
    // Outside of a handler there is nobody to release.
    let _ = HOLDS_UP.try_with(RefCell::take);
}

/// Waits until the calling handler's answer was queued, so that messages about work it started come after the answer.
/// If there are too many late answers, this one may still come later.
pub(in crate::front) fn answered() -> impl Future<Output = ()> + Send + 'static {
    let answered = ANSWERED.try_with(CancellationToken::clone).ok();
    async move {
        // Outside of a handler there is no answer.
        if let Some(answered) = answered {
            answered.cancelled().await;
        }
    }
}

/// Runs a handler's work in a task, in the handler's place in the order. It runs to its end even if the client
/// withdraws the request meanwhile.
///
/// # Errors
/// Errors of the work; [`RequestError::Internal`] if it panicked.
pub(in crate::front) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let withdrawn = CancellationToken::new();
    // The handler of a withdrawn request is dropped.
    let _dropped = withdrawn.clone().drop_guard();
    let holds_up = HOLDS_UP.try_with(RefCell::take).ok().flatten();
    let work = HOLDS_UP.scope(RefCell::new(holds_up), work);
    let work = WITHDRAWN.scope(withdrawn, work);
    match ANSWERED.try_with(CancellationToken::clone) {
        Ok(answered) => detached(ANSWERED.scope(answered, work)).await?,
        Err(_) => detached(work).await?,
    }
}

/// Runs a part of [`to_the_end`] that may be skipped if the client withdraws the request.
///
/// # Errors
/// [`RequestError::Withdrawn`] if it was skipped.
pub(in crate::front) async fn unless_withdrawn<T>(part: impl Future<Output = T>) -> Result<T> {
    let done = withdrawn().run_until_cancelled_owned(part);
    done.await.ok_or(RequestError::Withdrawn)
}

/// A token that is cancelled when the client withdraws the request of the calling handler.
pub(in crate::front) fn withdrawn() -> CancellationToken {
    let withdrawn = WITHDRAWN.try_with(CancellationToken::clone);
    withdrawn.unwrap_or_default()
}

/// Runs work whose parts under [`unless_withdrawn`] are skipped once `withdrawn` is cancelled.
pub(in crate::front) async fn withdrawable<T>(
    withdrawn: CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    WITHDRAWN.scope(withdrawn, work).await
}

/// A service that runs its calls one after another: each must be polled to its end before the next.
pub(in crate::front) struct InOrder<S> {
    inner: S,
    /// Queue for late answers.
    output: Outbox,
    /// Tasks of handlers whose answers are still to come.
    tasks: Tasks,
    places: Arc<Semaphore>,
}

impl<S> InOrder<S> {
    /// Wraps a service. Late answers go to `output`, from tasks of the connection.
    pub(in crate::front) fn new(inner: S, output: Outbox, tasks: Tasks) -> Self {
        Self {
            inner,
            output,
            tasks,
            places: Arc::new(Semaphore::new(MAX_LATE)),
        }
    }
}

impl<S, Request, Response> Service<Request> for InOrder<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Error: Send + 'static,
    S::Future: Send + 'static,
    Response: Serialize + Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (holds_up, next) = oneshot::channel();
        let handled = self.inner.call(request);
        let answered = CancellationToken::new();
        let handled = ANSWERED.scope(answered.clone(), handled);
        let mut handled = Box::pin(HOLDS_UP.scope(RefCell::new(Some(holds_up)), handled));
        let answered = answered.drop_guard();
        let (output, tasks) = (self.output.clone(), self.tasks.clone());
        let places = self.places.clone();
        async move {
            tokio::select! {
                biased;
                response = &mut handled => return response,
                // The sender was dropped: the next handler may start.
                _ = next => {}
            }
            let Ok(place) = places.try_acquire_owned() else {
                return handled.await;
            };
            tasks.spawn("late answer", async move {
                let response = handled.await;
                // Work of a withdrawn request releases its resources before the client hears of it.
                tokio::task::yield_now().await;
                if let Ok(Some(response)) = response {
                    output.say(&response);
                }
                drop((place, answered));
            });
            Ok(None)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashMap,
        convert::Infallible,
        io::{self, Read},
        sync::Mutex,
    };

    use serde_json::json;
    use tokio::sync::Notify;
    use tower_lsp::jsonrpc::{Request, Response};

    use super::*;
    use crate::front::transport::end;

    /// Records the start and end of calls. A call waits for its signal: `wait` delays the next one, `later` does not.
    #[derive(Clone, Default)]
    struct Noting {
        noted: Arc<Mutex<Vec<String>>>,
        signals: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
    }

    impl Noting {
        fn note(&self, what: &str, name: &str) {
            self.noted.lock().unwrap().push(format!("{what} {name}"));
        }

        fn signal(&self, name: &str) -> Arc<Notify> {
            let mut signals = self.signals.lock().unwrap();
            signals.entry(name.to_owned()).or_default().clone()
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
                if name.ends_with("begins more") {
                    let (noting, answered, name) = (noting.clone(), answered(), name.to_owned());
                    tokio::spawn(async move {
                        answered.await;
                        noting.note("goes on behind", &name);
                    });
                }
                if !name.starts_with("at once") {
                    noting.signal(name).notified().await;
                }
                noting.note("ends", name);
                Ok(request
                    .id()
                    .map(|id| Response::from_ok(id.clone(), json!(null))))
            }
            .boxed()
        }
    }

    /// Runs everything as far as possible.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    /// A recording service, and its late answers.
    struct Trial {
        noting: Noting,
        service: InOrder<Noting>,
        output: Outbox,
        tasks: Tasks,
    }

    impl Trial {
        fn new() -> Self {
            let noting = Noting::default();
            let output = Outbox::new(end::channel().0, |body| format!("{body}\n"));
            let tasks = Tasks::default();
            Self {
                service: InOrder::new(noting.clone(), output.clone(), tasks.clone()),
                noting,
                output,
                tasks,
            }
        }

        /// Handles messages one after another, like tower-lsp; each has the number of its position as its id. Returns
        /// the immediate answers.
        fn serve(&mut self, names: &[&str]) -> tokio::task::JoinHandle<Vec<Option<Response>>> {
            let calls = names.iter().zip(1..).map(|(name, id)| {
                let request = Request::build((*name).to_owned()).id(id);
                self.service.call(request.finish())
            });
            let calls: Vec<_> = calls.collect();
            tokio::spawn(async move {
                let mut answers = Vec::new();
                for call in calls {
                    answers.push(call.await.unwrap());
                }
                answers
            })
        }

        /// The late answers.
        async fn said(self) -> String {
            self.tasks.ended().await;
            let (mut reads, writes) = io::pipe().unwrap();
            self.output.close();
            self.output.write_to(writes);
            let mut said = String::new();
            reads.read_to_string(&mut said).unwrap();
            said
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn handlers_run_in_order_and_late_answers_do_not_block() {
        let mut trial = Trial::new();
        let noting = trial.noting.clone();
        let served = trial.serve(&["wait 1", "at once 2", "later 3", "later 4", "at once 5"]);
        settle().await;
        assert_eq!(noting.taken(), "begins wait 1");
        noting.signal("wait 1").notify_one();
        settle().await;
        assert_eq!(
            noting.taken(),
            "ends wait 1, begins at once 2, ends at once 2, begins later 3, begins later 4, begins at once 5, \
             ends at once 5"
        );
        let answers: Vec<bool> = served.await.unwrap().iter().map(Option::is_some).collect();
        assert_eq!(answers, [true, true, false, false, true]);
        noting.signal("later 4").notify_one();
        settle().await;
        assert_eq!(noting.taken(), "ends later 4");
        noting.signal("later 3").notify_one();
        let framed = |id| format!("{{\"jsonrpc\":\"2.0\",\"result\":null,\"id\":{id}}}\n");
        assert_eq!(trial.said().await, framed(4) + &framed(3));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn work_continues_after_the_answer() {
        let mut trial = Trial::new();
        let noting = trial.noting.clone();
        let served = trial.serve(&["later begins more"]);
        settle().await;
        assert_eq!(noting.taken(), "begins later begins more");
        noting.signal("later begins more").notify_one();
        served.await.unwrap();
        settle().await;
        assert_eq!(
            noting.taken(),
            "ends later begins more, goes on behind later begins more"
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn too_many_late_answers_block_the_next_handler() {
        const PLACES: usize = 64;
        let mut trial = Trial::new();
        trial.service.places = Arc::new(Semaphore::new(PLACES));
        let noting = trial.noting.clone();
        let mut names = vec!["later"; PLACES + 1];
        names.push("at once");
        let served = trial.serve(&names);
        settle().await;
        assert!(noting.taken().ends_with("begins later, begins later"));
        for _ in 0..=PLACES {
            noting.signal("later").notify_one();
            settle().await;
        }
        assert!(noting.taken().ends_with("begins at once, ends at once"));
        let answers = served.await.unwrap();
        // The one without a place was answered immediately.
        assert_eq!(answers.iter().flatten().count(), 2);
        assert_eq!(trial.said().await.matches("result").count(), PLACES);
    }

    #[test]
    fn let_next_begin_does_nothing_outside_of_a_handler() {
        let_next_begin();
    }
}
