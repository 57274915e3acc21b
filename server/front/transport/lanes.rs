//! Order of effects if handlers wait for a disk: work on the same subject keeps the order of its messages, other work
//! does not wait for it.
//!
//! A handler that waits for a disk enters the lane of its subject in the order of messages, and lets the next handler
//! start. Handlers in other lanes may overtake it. Work on all subjects, such as trust, comes after everything before
//! it and before everything after it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use aside_base::lock;
use futures_util::{
    FutureExt,
    future::{join, join_all},
};
use tokio::sync::{
    Mutex as Lane, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
};

/// Number of lanes at which empty ones are removed.
const CLEANUP_AT: usize = 64;

/// Lanes by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in crate::front) struct Lanes {
    lanes: Arc<Mutex<HashMap<String, Weak<Lane<()>>>>>,
    /// Read lock for work in one lane or on all subjects, write lock for work that changes all.
    all: Arc<RwLock<()>>,
}

/// A place in the order. Its owner may work until it is dropped.
#[expect(dead_code, reason = "the guards are only held")]
pub(in crate::front) enum LanePlace {
    /// A place in one lane.
    One(OwnedMutexGuard<()>, OwnedRwLockReadGuard<()>),
    /// A place behind all lanes.
    Behind(OwnedRwLockReadGuard<()>),
    /// A place that excludes all lanes.
    All(OwnedRwLockWriteGuard<()>),
}

impl Lanes {
    /// Takes a place in a lane now. The returned future waits until all earlier places are dropped.
    pub(in crate::front) fn enter(
        &self,
        name: &str,
    ) -> impl Future<Output = LanePlace> + Send + use<> {
        let (lane, all) = (self.lane(name).lock_owned(), self.all.clone().read_owned());
        let both = placed(join(lane, all));
        both.map(|(lane, all)| LanePlace::One(lane, all))
    }

    /// Takes a place in all lanes now. The returned future waits for all earlier places, and later ones wait for it.
    pub(in crate::front) fn enter_all(&self) -> impl Future<Output = LanePlace> + Send + use<> {
        placed(self.all.clone().write_owned()).map(LanePlace::All)
    }

    /// Waits until all current places in all lanes are dropped.
    pub(in crate::front) fn passed(&self) -> impl Future<Output = LanePlace> + Send + use<> {
        let lanes = lock(&self.lanes);
        let busy = lanes.values().filter_map(Weak::upgrade);
        // Each lane is released at once, so that later work in it does not wait for the other lanes.
        let busy = busy.map(|lane| lane.lock_owned().map(drop));
        let all = self.all.clone().read_owned();
        placed(join(join_all(busy), all)).map(|(_, all)| LanePlace::Behind(all))
    }

    fn lane(&self, name: &str) -> Arc<Lane<()>> {
        let mut lanes = lock(&self.lanes);
        if let Some(lane) = lanes.get(name).and_then(Weak::upgrade) {
            return lane;
        }
        if lanes.len() >= CLEANUP_AT {
            lanes.retain(|_, lane| lane.strong_count() > 0);
        }
        let lane = Arc::default();
        lanes.insert(name.to_owned(), Arc::downgrade(&lane));
        lane
    }
}

/// Takes a place now by polling once, and waits for it later.
fn placed<T: Send>(waiting: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
    let mut waiting = Box::pin(waiting);
    // The first poll enters the queue.
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
    async fn lanes_are_ordered_and_independent() {
        let lanes = Lanes::default();
        let first = lanes.enter("a").await;
        let mut second = Box::pin(lanes.enter("a"));
        let mut third = Box::pin(lanes.enter("a"));
        let mut all = Box::pin(lanes.passed());
        let mut later = Box::pin(lanes.enter("a"));
        let _other = lanes.enter("b").await;
        // The order of polling does not matter: the places were taken before.
        assert!(poll!(&mut third).is_pending() && poll!(&mut second).is_pending());
        drop(first);
        assert!(poll!(&mut third).is_pending());
        drop(second.await);
        assert!(poll!(&mut all).is_pending());
        drop(third.await);
        drop(all.await);
        drop(later.as_mut().await);
        for name in 0..1_000 {
            drop(lanes.enter(&name.to_string()).await);
        }
        assert!(lanes.lanes.lock().unwrap().len() <= CLEANUP_AT);
    }

    #[tokio::test]
    async fn entering_all_lanes_separates_earlier_from_later() {
        let lanes = Lanes::default();
        let before = lanes.enter("a").await;
        let reading = lanes.passed();
        let mut everything = Box::pin(lanes.enter_all());
        let mut behind = Box::pin(lanes.enter("b"));
        let mut list = Box::pin(lanes.passed());
        assert!(poll!(&mut everything).is_pending());
        drop(before);
        drop(reading.await);
        assert!(poll!(&mut behind).is_pending() && poll!(&mut list).is_pending());
        let everything = everything.await;
        assert!(poll!(&mut behind).is_pending() && poll!(&mut list).is_pending());
        drop(everything);
        drop(behind.await);
        drop(list.await);
    }

    #[tokio::test]
    async fn waiting_for_all_lanes_blocks_none() {
        let lanes = Lanes::default();
        let (hangs, ends) = (lanes.enter("a").await, lanes.enter("b").await);
        let mut all = Box::pin(lanes.passed());
        let mut next = Box::pin(lanes.enter("b"));
        drop(ends);
        assert!(poll!(&mut all).is_pending());
        drop(next.as_mut().await);
        drop(hangs);
        drop(all.await);
    }
}
