//! Lanes: what enters one is done in the order in which it came, whatever goes on beside it.
//!
//! A handler that waits for a disk enters the lane of what it is about, in its place in the order of messages, and lets
//! the next handler begin. Whatever is not in that lane overtakes it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures_util::FutureExt;
use tokio::sync::{Mutex as Lane, OwnedMutexGuard};

/// With so many lanes those that nobody is in are forgotten.
const MANY: usize = 64;

/// Lanes by name. All clones are one set.
#[derive(Clone, Debug, Default)]
pub(in crate::front) struct Lanes(Arc<Mutex<HashMap<String, Weak<Lane<()>>>>>);

/// The right to go on, until it is dropped.
pub(in crate::front) type LanePlace = OwnedMutexGuard<()>;

impl Lanes {
    /// Takes a place in a lane, now; what is returned waits until those before it have left.
    pub(in crate::front) fn enter(
        &self,
        name: &str,
    ) -> impl Future<Output = LanePlace> + Send + use<> {
        let lane = self.lane(name);
        wait(lane)
    }

    /// Waits until all have left that are in any lane now.
    pub(in crate::front) fn passed(&self) -> impl Future<Output = ()> + Send + use<> {
        let lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let busy: Vec<_> = lanes.values().filter_map(Weak::upgrade).map(wait).collect();
        async move {
            for place in busy {
                drop(place.await);
            }
        }
    }

    fn lane(&self, name: &str) -> Arc<Lane<()>> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(name).and_then(Weak::upgrade) {
            return lane;
        }
        if lanes.len() >= MANY {
            lanes.retain(|_, lane| lane.strong_count() > 0);
        }
        let lane = Arc::default();
        lanes.insert(name.to_owned(), Arc::downgrade(&lane));
        lane
    }
}

/// Waits in a lane, in a place that is taken now.
fn wait(lane: Arc<Lane<()>>) -> impl Future<Output = LanePlace> + Send {
    let mut waiting = Box::pin(lane.lock_owned());
    // Being polled puts it in its place.
    let at_once = waiting.as_mut().now_or_never();
    async move {
        match at_once {
            Some(place) => place,
            None => waiting.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn a_lane_keeps_its_order_and_holds_up_no_other() {
        let lanes = Lanes::default();
        let first = lanes.enter("a").await;
        let mut second = Box::pin(lanes.enter("a"));
        let mut third = Box::pin(lanes.enter("a"));
        let mut all = Box::pin(lanes.passed());
        let mut later = Box::pin(lanes.enter("a"));
        let _other = lanes.enter("b").await;
        // Whoever asks first: the place was taken before.
        assert!(poll!(&mut third).is_pending() && poll!(&mut second).is_pending());
        drop(first);
        assert!(poll!(&mut third).is_pending());
        drop(second.await);
        assert!(poll!(&mut all).is_pending());
        drop(third.await);
        all.await;
        drop(later.as_mut().await);
        for name in 0..1_000 {
            drop(lanes.enter(&name.to_string()).await);
        }
        assert!(lanes.0.lock().unwrap().len() <= MANY);
    }
}
