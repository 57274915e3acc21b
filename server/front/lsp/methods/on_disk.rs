//! Work on files for a request: the next handlers do not wait for it, and what it is about keeps its order.

use super::super::connection::Connection;
use crate::{
    engine::blocking,
    front::{
        error::{Result, internal},
        transport::in_order::let_next_begin,
    },
};

/// Reads or writes one conversation, behind all that was asked of it before.
///
/// # Errors
/// The work's own.
pub(super) async fn of_conversation<T: Send + 'static>(
    at: &Connection,
    conversation: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let place = at.lanes.enter(conversation);
    let_next_begin();
    let place = place.await;
    on_disk(at, move || {
        // Held to the end, also where the request is withdrawn.
        let _place = place;
        work()
    })
    .await
}

/// Reads what all conversations have a part in, behind all that was asked of any before.
///
/// # Errors
/// The work's own.
pub(super) async fn of_all<T: Send + 'static>(
    at: &Connection,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let passed = at.lanes.passed();
    let_next_begin();
    passed.await;
    on_disk(at, work).await
}

async fn on_disk<T: Send + 'static>(
    at: &Connection,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let room = at.disk.clone().acquire_owned().await.map_err(internal)?;
    blocking(move || {
        let _room = room;
        work()
    })
    .await
}
