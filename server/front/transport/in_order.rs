//! Handlers run one after another, in the order in which their messages came.
//!
//! Most end soon. One whose answer has to come from elsewhere lets the next begin once it has changed what there is to
//! change: order of arrival is still order of effect, and only its answer comes later, straight to the queue out. A client
//! that withdraws its request can end such a one, so what must not stop halfway goes into a task of its own: [`to_the_end`].

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

/// Handlers whose answers come later, at the most; one more holds the next one up. As many as messages may wait.
const LATE: usize = MAX_MESSAGES;

tokio::task_local! {
    /// What holds the next handler up, while this one is being run; dropping it lets the next begin.
    static HOLDS_UP: RefCell<Option<oneshot::Sender<()>>>;
    /// Cancelled when the client has withdrawn its request.
    static WITHDRAWN: CancellationToken;
    /// Cancelled when the handler's answer is on its way out.
    static ANSWERED: CancellationToken;
}

/// From here on the handler that calls this only waits: the next one begins.
pub(in crate::front) fn let_next_begin() {
    // Outside of a handler nobody waits.
    let _ = HOLDS_UP.try_with(RefCell::take);
}

/// Ends when the answer of the handler that calls this is on its way out, so that what the handler began is told of
/// behind it. An answer for whose handler there was no place among the late ones may still come behind.
pub(in crate::front) fn answered() -> impl Future<Output = ()> + Send + 'static {
    let answered = ANSWERED.try_with(CancellationToken::clone).ok();
    async move {
        // Outside of a handler there is no answer.
        if let Some(answered) = answered {
            answered.cancelled().await;
        }
    }
}

/// Does a handler's work in a task, in the handler's place in the order: it is done to its end, also where the client
/// withdraws its request meanwhile.
///
/// # Errors
/// The work's own; [`RequestError::Internal`] where it panicked.
pub(in crate::front) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let withdrawn = CancellationToken::new();
    // A handler whose request is withdrawn is dropped.
    let _dropped = withdrawn.clone().drop_guard();
    let holds_up = HOLDS_UP.try_with(RefCell::take).ok().flatten();
    let work = HOLDS_UP.scope(RefCell::new(holds_up), work);
    let work = WITHDRAWN.scope(withdrawn, work);
    match ANSWERED.try_with(CancellationToken::clone) {
        Ok(answered) => detached(ANSWERED.scope(answered, work)).await?,
        Err(_) => detached(work).await?,
    }
}

/// Does a part of [`to_the_end`] that may be left out where the client has withdrawn its request.
///
/// # Errors
/// [`RequestError::Withdrawn`].
pub(in crate::front) async fn unless_withdrawn<T>(part: impl Future<Output = T>) -> Result<T> {
    let done = withdrawn().run_until_cancelled_owned(part);
    done.await.ok_or(RequestError::Withdrawn)
}

/// Cancelled when the client has withdrawn the request of the handler that calls this.
pub(in crate::front) fn withdrawn() -> CancellationToken {
    let withdrawn = WITHDRAWN.try_with(CancellationToken::clone);
    withdrawn.unwrap_or_default()
}

/// Does work whose parts [`unless_withdrawn`] are left out once `withdrawn` is cancelled.
pub(in crate::front) async fn withdrawable<T>(
    withdrawn: CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    WITHDRAWN.scope(withdrawn, work).await
}

/// A service whose calls run one after another: each is to be polled to its end before the next.
pub(in crate::front) struct InOrder<S> {
    inner: S,
    /// Where late answers go.
    output: Outbox,
    /// Has the handlers whose answers are still to come.
    tasks: Tasks,
    places: Arc<Semaphore>,
}

impl<S> InOrder<S> {
    /// Late answers go to `output`, from tasks of the connection.
    pub(in crate::front) fn new(inner: S, output: Outbox, tasks: Tasks) -> Self {
        Self {
            inner,
            output,
            tasks,
            places: Arc::new(Semaphore::new(LATE)),
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
                // The other side says nothing: it goes.
                _ = next => {}
            }
            let Ok(place) = places.try_acquire_owned() else {
                return handled.await;
            };
            tasks.spawn("late answer", async move {
                let response = handled.await;
                // What a withdrawn request's work holds is free before the client hears of it.
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

    /// Notes when a call begins and ends. It goes on when it is told to: `wait` holds the next one up, `later` does not.
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

    /// Lets everything run as far as it goes.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    /// A service that notes, and what it says later.
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

        /// Handles messages as tower-lsp does, one future after another; each has the number of its place as its id.
        /// Returns which were answered at once.
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

        /// What was said later.
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
    async fn handlers_run_in_order_and_one_whose_answer_comes_later_holds_nobody_up() {
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
    async fn what_a_handler_began_goes_on_behind_its_answer() {
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
    async fn too_many_late_answers_hold_the_next_up() {
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
        // The one for which there was no place was answered in its own.
        assert_eq!(answers.iter().flatten().count(), 2);
        assert_eq!(trial.said().await.matches("result").count(), PLACES);
    }

    #[test]
    fn outside_of_a_handler_nobody_waits() {
        let_next_begin();
    }
}
