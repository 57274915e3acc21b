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

/// Starts a turn in the order of the requests about its conversation. Later handlers do not wait for it. `configure`
/// blocks on files. Once the client is `gone`, nothing starts.
///
/// # Errors
/// Fails if the turn cannot start; nothing of it remains then.
pub(in crate::front) async fn start_in_order(
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
        // Finding the model may take seconds. The conversation can be read meanwhile, but no other turn starts in it.
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
