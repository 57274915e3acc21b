//! Tasks of a connection. A front end starts all of its tasks here, so that each has an owner.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::task::JoinError;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The tasks of one connection. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    waited_for: TaskTracker,
}

impl Tasks {
    /// Runs a task that [`Self::ended`] waits for. A panic is logged under its name.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        self.waited_for.spawn(logged(name, work));
    }

    /// Like [`Self::spawn`], for work that is dropped when `over` is cancelled.
    pub fn spawn_until(
        &self,
        name: &'static str,
        over: CancellationToken,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn(name, async move {
            over.run_until_cancelled_owned(work).await;
        });
    }

    /// Runs a task that nothing waits for, because its end depends on a client that may never reply. It ends with the
    /// process.
    pub fn spawn_unawaited(
        &self,
        name: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        tokio::spawn(logged(name, work));
    }

    /// Waits for all tasks of [`Self::spawn`], including those started meanwhile.
    pub async fn ended(&self) {
        self.waited_for.close();
        self.waited_for.wait().await;
    }
}

/// Runs work to its end in a task of its own: dropping this future only stops the waiting.
///
/// # Errors
/// Fails if the work panicked.
pub async fn detached<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, JoinError> {
    tokio::spawn(work).await
}

async fn logged(name: &'static str, work: impl Future<Output = ()>) {
    if AssertUnwindSafe(work).catch_unwind().await.is_err() {
        tracing::error!(task = name, "a task panicked");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn shutdown_waits_for_all_but_unawaited_tasks() {
        let tasks = Tasks::default();
        let (begin, begun) = oneshot::channel::<()>();
        let done = Arc::new(AtomicBool::new(false));
        let (flag, inner) = (done.clone(), tasks.clone());
        tasks.spawn("outer", async move {
            begun.await.unwrap();
            inner.spawn("inner", async move { flag.store(true, Ordering::Relaxed) });
        });
        tasks.spawn("panics", async { panic!("a bug") });
        tasks.spawn_unawaited("waits for ever", std::future::pending());
        let over = CancellationToken::new();
        tasks.spawn_until("waits for the end", over.clone(), std::future::pending());
        let mut ended = Box::pin(tasks.ended());
        assert!(futures_util::poll!(&mut ended).is_pending());
        begin.send(()).unwrap();
        tokio::task::yield_now().await;
        assert!(futures_util::poll!(&mut ended).is_pending());
        over.cancel();
        ended.await;
        assert!(done.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn detached_work_continues_without_a_caller() {
        let (begin, begun) = oneshot::channel();
        let (tell, receiver) = oneshot::channel();
        let mut waiting = Box::pin(detached(async move {
            let word: &str = begun.await.unwrap();
            tell.send(word).unwrap();
        }));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(waiting);
        begin.send("done").unwrap();
        assert_eq!(receiver.await, Ok("done"));
    }
}
