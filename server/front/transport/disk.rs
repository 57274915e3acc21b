//! File work of requests: later handlers do not wait for it, and work on the same conversation keeps its order.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{
    in_order::{let_next_begin, unless_withdrawn},
    lanes::{LanePlace, Lanes},
    outbox::Outbox,
};
use crate::{
    engine::blocking,
    front::error::{Result, internal},
};

/// Maximum number of requests of a client that use files at the same time.
const MAX_REQUESTS: usize = 4;
/// Number of unread bytes at which such requests wait until the client has read more.
const MAX_UNREAD: usize = 16 * 1024 * 1024;

/// File work of one connection. Clones share it.
#[derive(Clone, Debug)]
pub(in crate::front) struct DiskWork {
    /// The order of work, one lane per conversation.
    lanes: Lanes,
    room: Arc<Semaphore>,
    /// Queue of output for the client.
    output: Outbox,
}

impl DiskWork {
    /// Creates the file work for the client that reads `output`.
    #[must_use]
    pub(in crate::front) fn new(output: Outbox) -> Self {
        Self {
            lanes: Lanes::default(),
            room: Arc::new(Semaphore::new(MAX_REQUESTS)),
            output,
        }
    }

    /// Takes a place in the conversation's lane now. The returned future waits for its turn.
    pub(in crate::front) fn enter(
        &self,
        conversation: &str,
    ) -> impl Future<Output = LanePlace> + Send + use<> {
        self.lanes.enter(conversation)
    }

    /// Runs work on one conversation after all earlier requests about it.
    ///
    /// # Errors
    /// Errors of the work.
    pub(in crate::front) async fn of_conversation<T: Send + 'static>(
        &self,
        conversation: &str,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.in_place(self.lanes.enter(conversation), work).await
    }

    /// Runs reading work on all conversations after all earlier requests about any of them.
    ///
    /// # Errors
    /// Errors of the work.
    pub(in crate::front) async fn of_all<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.in_place(self.lanes.passed(), work).await
    }

    /// Runs writing work on all conversations, after all earlier requests and before all later ones.
    ///
    /// # Errors
    /// Errors of the work.
    pub(in crate::front) async fn exclusively<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.in_place(self.lanes.enter_all(), work).await
    }

    /// Runs blocking work on a thread for that. Both the number of running works and the client's unread output are
    /// limited.
    ///
    /// # Errors
    /// Errors of the work.
    pub(in crate::front) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let room = self.room.clone().acquire_owned().await.map_err(internal)?;
        self.output.drained(MAX_UNREAD).await;
        blocking(move || {
            // Held until the work ends, even if the request is withdrawn.
            let _room = room;
            work()
        })
        .await
    }

    async fn in_place<T: Send + 'static>(
        &self,
        place: impl Future<Output = LanePlace>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let_next_begin();
        let place = unless_withdrawn(place).await?;
        self.run(move || {
            // Held until the work ends, even if the request is withdrawn.
            let _place = place;
            work()
        })
        .await
    }
}
