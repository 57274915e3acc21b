//! Work on files for requests: the next handlers do not wait for it, and what it is about keeps its order.

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

/// Requests of a client's that read or write files at the same time.
const AT_ONCE: usize = 4;
/// Bytes that may wait for the client before such requests wait too: it asks for more than it reads.
const UNREAD: usize = 16 * 1024 * 1024;

/// The work on files of one connection. All clones are one.
#[derive(Clone, Debug)]
pub(in crate::front) struct DiskWork {
    /// The order in which conversations are read and written, one lane each.
    lanes: Lanes,
    room: Arc<Semaphore>,
    /// What waits for the client.
    output: Outbox,
}

impl DiskWork {
    /// For the client that reads from here.
    #[must_use]
    pub(in crate::front) fn new(output: Outbox) -> Self {
        Self {
            lanes: Lanes::default(),
            room: Arc::new(Semaphore::new(AT_ONCE)),
            output,
        }
    }

    /// Takes a conversation's place in the order, now; what is returned waits for it.
    pub(in crate::front) fn enter(
        &self,
        conversation: &str,
    ) -> impl Future<Output = LanePlace> + Send + use<> {
        self.lanes.enter(conversation)
    }

    /// Reads or writes one conversation, behind all that was asked of it before.
    ///
    /// # Errors
    /// The work's own.
    pub(in crate::front) async fn of_conversation<T: Send + 'static>(
        &self,
        conversation: &str,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.in_place(self.lanes.enter(conversation), work).await
    }

    /// Reads what all conversations have a part in, behind all that was asked of any before.
    ///
    /// # Errors
    /// The work's own.
    pub(in crate::front) async fn of_all<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.in_place(self.lanes.passed(), work).await
    }

    /// Writes what all conversations have a part in, behind all that was asked before and before all that is asked
    /// later.
    ///
    /// # Errors
    /// The work's own.
    pub(in crate::front) async fn between_all<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.in_place(self.lanes.enter_all(), work).await
    }

    /// Does work that waits for a disk on a thread that may wait. Only so much is done at once, and only for a client that
    /// reads what it is answered.
    ///
    /// # Errors
    /// The work's own.
    pub(in crate::front) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let room = self.room.clone().acquire_owned().await.map_err(internal)?;
        self.output.drained(UNREAD).await;
        blocking(move || {
            // Held to the end, also where the request is withdrawn.
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
            // Held to the end, also where the request is withdrawn.
            let _place = place;
            work()
        })
        .await
    }
}
