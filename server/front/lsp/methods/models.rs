//! `aside/model/list`: the models of the usable providers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aside_config::ModelId;
use aside_provider::abilities::{Abilities, ReasoningKind};
use tokio::{sync::oneshot, time::timeout};

use super::super::connection::LspConnection;
use crate::{
    engine::{blocking, models::known},
    front::{
        error::Result,
        wire::requests::{Empty, ModelItem, ModelsResult, PricesItem},
    },
};

/// Time limit for the providers' answers.
const LISTED: Duration = Duration::from_secs(3);

/// Lists the models that the providers report now, or reported last.
pub(in super::super) async fn list(at: Arc<LspConnection>, _: Empty) -> Result<ModelsResult> {
    let (workspace, engine) = (at.workspace.as_of_now(), at.engine.clone());
    let (settings, models) = at
        .disk
        .of_all(move || {
            let read = workspace.configuration(&workspace.root(None))?;
            let settings = read.configuration.settings;
            let models = engine.models(&settings);
            Ok((settings, models))
        })
        .await?;
    if let Some(asking) = Asking::begin(&at.asks_for_models) {
        let (settings, models) = (settings.clone(), models.clone());
        let (tell, asked) = oneshot::channel::<()>();
        let over = at.client.closed().clone();
        at.tasks.spawn_until("list of models", over, async move {
            known::ask_again(&settings, &models).await;
            drop((asking, tell));
        });
        // Slower providers appear in the next list.
        let _ = timeout(LISTED, asked).await;
    }
    let known =
        blocking(move || -> Result<_> { Ok(known::known_models(&settings, &models)) }).await?;
    let models = known.into_iter().map(|(id, can)| item(&id, &can)).collect();
    Ok(ModelsResult { models })
}

fn item(id: &ModelId, can: &Abilities) -> ModelItem {
    ModelItem {
        id: id.to_string(),
        context_window: can.context_window,
        max_output: can.max_output,
        reasoning: Some(can.reasoning != ReasoningKind::None),
        prices: can.prices.as_ref().map(|prices| PricesItem {
            input: prices.rates.input,
            output: prices.rates.output,
            cache_read: prices.rates.cache_read(),
            cache_write: prices.rates.cache_write(),
        }),
    }
}

/// Marks that providers are being asked for their models, one request at a time.
struct Asking(Arc<AtomicBool>);

impl Asking {
    fn begin(asking: &Arc<AtomicBool>) -> Option<Self> {
        let first = !asking.swap(true, Ordering::Relaxed);
        first.then(|| Self(asking.clone()))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
