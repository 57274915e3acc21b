//! The two sides of the walls: in one turn, no program runs outside while another runs inside.
//!
//! A program outside may execute what one inside makes, and what that is comes out only after the end of the one inside.
//! Whoever allowed the one outside would not know of it.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Side of the walls that a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Inside,
    Outside,
}

/// Numbers of programs that run.
#[derive(Clone, Copy, Debug, Default)]
struct SideCounts {
    inside: usize,
    outside: usize,
}

/// The programs of both sides.
#[derive(Debug, Default)]
pub(crate) struct Sides(watch::Sender<SideCounts>);

/// A program on its side, until this is dropped.
#[derive(Debug)]
pub(crate) struct OnSide {
    all: watch::Sender<SideCounts>,
    side: Side,
}

impl SideCounts {
    fn of(&mut self, side: Side) -> &mut usize {
        match side {
            Side::Inside => &mut self.inside,
            Side::Outside => &mut self.outside,
        }
    }

    fn are_free_for(self, side: Side) -> bool {
        match side {
            Side::Inside => self.outside == 0,
            Side::Outside => self.inside == 0,
        }
    }
}

impl Sides {
    /// Counts a program on its side, as soon as none runs on the other. None once `cancelled` is.
    pub(crate) async fn enter(&self, side: Side, cancelled: &CancellationToken) -> Option<OnSide> {
        let mut changes = self.0.subscribe();
        let enter = async {
            while !self.0.send_if_modified(|counts| {
                let is_free = counts.are_free_for(side);
                *counts.of(side) += usize::from(is_free);
                is_free
            }) {
                // Fails only without a sender, and this has one.
                let _ = changes.changed().await;
            }
        };
        cancelled.run_until_cancelled(enter).await.map(|()| OnSide {
            all: self.0.clone(),
            side,
        })
    }
}

impl Drop for OnSide {
    fn drop(&mut self) {
        self.all.send_modify(|counts| *counts.of(self.side) -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_side_waits_for_the_other() {
        let (sides, never) = (Sides::default(), CancellationToken::new());
        for (here, there) in [(Side::Inside, Side::Outside), (Side::Outside, Side::Inside)] {
            let first = sides.enter(here, &never).await.unwrap();
            let second = sides.enter(here, &never).await.unwrap();
            let mut other = Box::pin(sides.enter(there, &never));
            assert!(futures_util::poll!(&mut other).is_pending());
            drop(first);
            assert!(futures_util::poll!(&mut other).is_pending());
            drop(second);
            drop(other.await.unwrap());
        }
    }

    #[tokio::test]
    async fn whoever_is_cancelled_waits_no_longer_and_counts_nowhere() {
        let (sides, never) = (Sides::default(), CancellationToken::new());
        let inside = sides.enter(Side::Inside, &never).await.unwrap();
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        assert!(sides.enter(Side::Outside, &cancelled).await.is_none());
        assert!(sides.enter(Side::Inside, &never).await.is_some());
        drop(inside);
        assert!(sides.enter(Side::Outside, &never).await.is_some());
    }
}
