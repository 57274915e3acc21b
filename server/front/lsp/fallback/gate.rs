//! One message request at a time over all conversations: some clients lose the first of two. Some never reply, so
//! after a while the next is let through all the same.

use std::{pin::pin, time::Duration};

use tokio::{
    sync::{Notify, Semaphore},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

/// Time for which a request without a reply holds up the others.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The queue of message requests.
#[derive(Debug)]
pub(super) struct Gate {
    one: Semaphore,
    /// Wakes the request that holds up the others, so that it lets them through.
    hurry: Notify,
}

impl Default for Gate {
    fn default() -> Self {
        let (one, hurry) = (Semaphore::new(1), Notify::new());
        Self { one, hurry }
    }
}

impl Gate {
    /// Makes a request when it is its turn, and sees it to its end, however long that takes; `None` where it was
    /// not wanted any more before its turn came. The others are held up until there is a reply, nobody wants one
    /// any more, 30 s have passed, or somebody hurries.
    pub(super) async fn pass<F: Future>(
        &self,
        unwanted: &CancellationToken,
        request: impl FnOnce() -> F,
    ) -> Option<F::Output> {
        let turn = tokio::select! {
            biased;
            () = unwanted.cancelled() => return None,
            turn = self.one.acquire() => turn.ok()?,
        };
        let mut request = pin!(request());
        tokio::select! {
            biased;
            reply = &mut request => return Some(reply),
            () = unwanted.cancelled() => {}
            () = self.hurry.notified() => {}
            () = sleep(PATIENCE) => {}
        }
        drop(turn);
        Some(request.await)
    }

    /// Lets the next one through.
    pub(super) fn hurry(&self) {
        self.hurry.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::{sync::oneshot, time::advance};

    use super::*;

    /// Requests that a client has seen, and its ways to reply.
    struct Client {
        gate: Arc<Gate>,
        seen: Arc<Mutex<Vec<&'static str>>>,
    }

    struct Asked {
        reply: oneshot::Sender<u8>,
        unwanted: CancellationToken,
        task: tokio::task::JoinHandle<Option<u8>>,
    }

    impl Client {
        fn new() -> Self {
            let (gate, seen) = (Arc::default(), Arc::default());
            Self { gate, seen }
        }

        async fn ask(&self, name: &'static str) -> Asked {
            let (gate, seen) = (self.gate.clone(), self.seen.clone());
            let (reply, replied) = oneshot::channel();
            let unwanted = CancellationToken::new();
            let token = unwanted.clone();
            let task = tokio::spawn(async move {
                let request = || {
                    seen.lock().unwrap().push(name);
                    async { replied.await.unwrap() }
                };
                gate.pass(&token, request).await
            });
            settle().await;
            Asked {
                reply,
                unwanted,
                task,
            }
        }

        fn saw(&self, names: &[&str]) {
            assert_eq!(*self.seen.lock().unwrap(), names);
        }
    }

    async fn settle() {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_is_shown_after_the_reply_to_the_first() {
        let client = Client::new();
        let (first, second) = (client.ask("first").await, client.ask("second").await);
        client.saw(&["first"]);
        first.reply.send(1).unwrap();
        assert_eq!(first.task.await.unwrap(), Some(1));
        settle().await;
        client.saw(&["first", "second"]);
        second.reply.send(2).unwrap();
        assert_eq!(second.task.await.unwrap(), Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn after_30_s_of_silence_the_next_is_shown_too_and_a_late_reply_counts() {
        let client = Client::new();
        let (first, second) = (client.ask("first").await, client.ask("second").await);
        let third = client.ask("third").await;
        advance(Duration::from_millis(29_999)).await;
        settle().await;
        client.saw(&["first"]);
        advance(Duration::from_millis(2)).await;
        settle().await;
        client.saw(&["first", "second"]);
        advance(Duration::from_millis(30_001)).await;
        settle().await;
        client.saw(&["first", "second", "third"]);
        for (asked, reply) in [(second, 2), (first, 1), (third, 3)] {
            asked.reply.send(reply).unwrap();
            assert_eq!(asked.task.await.unwrap(), Some(reply));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_settled_in_another_way_holds_up_nobody() {
        let client = Client::new();
        let (first, second) = (client.ask("first").await, client.ask("second").await);
        let third = client.ask("third").await;
        second.unwanted.cancel();
        assert_eq!(second.task.await.unwrap(), None);
        first.unwanted.cancel();
        settle().await;
        client.saw(&["first", "third"]);
        // The reply to a request that was made is taken all the same.
        first.reply.send(1).unwrap();
        assert_eq!(first.task.await.unwrap(), Some(1));
        drop(third);
    }

    #[tokio::test(start_paused = true)]
    async fn somebody_who_hurries_lets_the_next_through() {
        let client = Client::new();
        let (_first, _second) = (client.ask("first").await, client.ask("second").await);
        client.gate.hurry();
        settle().await;
        client.saw(&["first", "second"]);
    }
}
