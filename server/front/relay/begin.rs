//! A turn that begins behind all that was asked of its conversation before.

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

/// Begins a turn in its place in the order of what was asked of the conversation; the next handlers do not wait for it.
/// `configure` blocks on files. Nothing begins once the client is `gone`.
///
/// # Errors
/// Where it cannot begin; nothing of it stays then.
pub(in crate::front) async fn in_its_place(
    engine: &Engine,
    disk: &DiskWork,
    gone: &CancellationToken,
    conversation: &str,
    configure: impl FnOnce() -> Result<TurnConfig> + Send + 'static,
) -> Result<StartedTurn> {
    let place = disk.enter(conversation);
    let_next_begin();
    let mut place = unless_withdrawn(place).await?;
    let configured = disk.run(move || {
        let config = configure()?;
        Ok((config.knows_model(), config))
    });
    let (knows_model, mut config) = configured.await?;
    if !knows_model {
        // It may take some seconds, for which the conversation can be read; no other turn begins in it.
        drop(place);
        unless_withdrawn(Box::pin(config.find_model())).await??;
        if gone.is_cancelled() {
            return Err(RequestError::Withdrawn);
        }
        place = disk.enter(conversation).await;
    }
    let (engine, runtime) = (engine.clone(), Handle::current());
    disk.run(move || {
        let _place = place;
        Ok(runtime.block_on(Box::pin(engine.begin(config)))?)
    })
    .await
}
