//! Work on files for a request: the next handlers do not wait for it, and what it is about keeps its order.

use super::super::connection::Connection;
use crate::front::{
    error::Result,
    transport::{
        in_order::{let_next_begin, unless_withdrawn},
        lanes::LanePlace,
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
    in_place(at, at.lanes.enter(conversation), work).await
}

/// Reads what all conversations have a part in, behind all that was asked of any before.
///
/// # Errors
/// The work's own.
pub(super) async fn of_all<T: Send + 'static>(
    at: &Connection,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    in_place(at, at.lanes.passed(), work).await
}

/// Writes what all conversations have a part in, behind all that was asked before and before all that is asked later.
///
/// # Errors
/// The work's own.
pub(super) async fn between_all<T: Send + 'static>(
    at: &Connection,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    in_place(at, at.lanes.enter_all(), work).await
}

async fn in_place<T: Send + 'static>(
    at: &Connection,
    place: impl Future<Output = LanePlace>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let_next_begin();
    let place = unless_withdrawn(place).await?;
    at.on_disk(move || {
        // Held to the end, also where the request is withdrawn.
        let _place = place;
        work()
    })
    .await
}
