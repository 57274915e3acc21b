//! The order in which messages take effect, where handlers wait for a disk: per subject, in the order in which they came,
//! whatever goes on beside it.
//!
//! A handler that waits for a disk enters the lane of what it is about, in its place in the order of messages, and lets
//! the next handler begin. Whatever is not in that lane overtakes it. What is about everything, such as trust, is behind
//! all that came before it and before all that comes after.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures_util::{
    FutureExt,
    future::{join, join_all},
};
use tokio::sync::{
    Mutex as Lane, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
};

/// With so many lanes those that nobody is in are forgotten.
const MANY: usize = 64;

/// Lanes by name. All clones are one set.
#[derive(Clone, Debug, Default)]
pub(in crate::front) struct Lanes {
    lanes: Arc<Mutex<HashMap<String, Weak<Lane<()>>>>>,
    /// Shared by all that are in a lane, or read what all have a part in.
    all: Arc<RwLock<()>>,
}

/// The right to go on, until it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "what is held is held alone")]
pub(in crate::front) enum LanePlace {
    /// In a lane.
    One(OwnedMutexGuard<()>, OwnedRwLockReadGuard<()>),
    /// In none: behind those that were in any.
    Behind(OwnedRwLockReadGuard<()>),
    /// In all.
    All(OwnedRwLockWriteGuard<()>),
}

impl Lanes {
    /// Takes a place in a lane, now; what is returned waits until those before it have left.
    pub(in crate::front) fn enter(
        &self,
        name: &str,
    ) -> impl Future<Output = LanePlace> + Send + use<> {
        let (lane, all) = (self.lane(name).lock_owned(), self.all.clone().read_owned());
        let both = placed(join(lane, all));
        both.map(|(lane, all)| LanePlace::One(lane, all))
    }

    /// Takes a place in all lanes, now; what is returned waits until all before it have left, and those behind it wait
    /// for it.
    pub(in crate::front) fn enter_all(&self) -> impl Future<Output = LanePlace> + Send + use<> {
        placed(self.all.clone().write_owned()).map(LanePlace::All)
    }

    /// Waits until all have left that are in any lane now.
    pub(in crate::front) fn passed(&self) -> impl Future<Output = LanePlace> + Send + use<> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = lanes.values().filter_map(Weak::upgrade);
        // Each is let go as soon as it is had: those behind it in its lane do not wait for the other lanes.
        let busy = busy.map(|lane| lane.lock_owned().map(drop));
        let all = self.all.clone().read_owned();
        placed(join(join_all(busy), all)).map(|(_, all)| LanePlace::Behind(all))
    }

    fn lane(&self, name: &str) -> Arc<Lane<()>> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Waits in a place that is taken now.
fn placed<T: Send>(waiting: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
    let mut waiting = Box::pin(waiting);
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
        drop(all.await);
        drop(later.as_mut().await);
        for name in 0..1_000 {
            drop(lanes.enter(&name.to_string()).await);
        }
        assert!(lanes.lanes.lock().unwrap().len() <= MANY);
    }

    #[tokio::test]
    async fn what_is_about_everything_is_between_those_before_and_those_behind_it() {
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
    async fn one_that_waits_for_all_lanes_keeps_none_longer_than_it_must() {
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
