//! Starts a turn after all earlier requests about its conversation.

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::{
    engine::{Engine, StartedTurn, TurnConfig},
    front::{
        error::{RequestError, Result},
        transport::{
            disk::DiskWork,
            in_order::{let_next_begin, unless_withdrawn},
        },
    },
};

/// Reasons for which a turn that is about to begin waits for nothing any more.
pub(in crate::front) struct StartEnds<'a> {
    /// Cancelled when the client is gone.
    pub(in crate::front) gone: &'a CancellationToken,
    /// Cancelled when the turn is.
    pub(in crate::front) cancelled: &'a CancellationToken,
}

/// Starts a turn in the order of the requests about its conversation. Later handlers do not wait for it. `configure`
/// blocks on files. One of its `ends` ends the wait for a
/// model and for MCP servers, and then nothing starts.
///
/// # Errors
/// Fails if the turn cannot start; nothing of it remains then.
pub(in crate::front) async fn start_in_order(
    engine: &Engine,
    disk: &DiskWork,
    ends: StartEnds<'_>,
    conversation: &str,
    configure: impl FnOnce() -> Result<TurnConfig> + Send + 'static,
) -> Result<StartedTurn> {
    let place = disk.enter(conversation);
    let_next_begin();
    let mut place = unless_withdrawn(place).await?;
    let configured = disk.run(move || {
        let config = configure()?;
        Ok((config.is_prepared(), config))
    });
    let (is_prepared, mut config) = configured.await?;
    if !is_prepared {
        // A model and servers may take many seconds. The conversation can be read meanwhile, but no other turn starts in it.
        drop(place);
        let prepared = Box::pin(config.prepare(engine));
        let prepared = ends.cancelled.run_until_cancelled(prepared);
        let prepared = unless_withdrawn(ends.gone.run_until_cancelled(prepared)).await?;
        prepared.flatten().ok_or(RequestError::Withdrawn)??;
        place = disk.enter(conversation).await;
    }
    let (engine, runtime) = (engine.clone(), Handle::current());
    disk.run(move || {
        let _place = place;
        Ok(runtime.block_on(Box::pin(engine.begin(config)))?)
    })
    .await
}
