//! Programs that run inside at the same time, and the protected places that were found before the first of them.
//!
//! A program that runs may move what lies beside protected places, so nothing is searched meanwhile: programs that start
//! while others run are held by what was found when none did. Where that is no longer there, the walls are not what was
//! meant, and the program waits until no other runs. The same goes for programs of other Asides in the workspace.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{Mutex, Notify};

use super::{
    inside_lock::InsideLock,
    place_search::ListedFolders,
    places::{KnownPlaces, OpenGap, Places},
};

/// Programs of a turn that run inside.
#[derive(Debug, Default)]
struct RunningCount {
    count: AtomicUsize,
    /// Told each time that the last one ends.
    quiet: Notify,
}

/// The programs that run inside at the same time.
#[derive(Debug)]
pub(crate) struct InsidePrograms {
    running: Arc<RunningCount>,
    /// Places that were found when none ran, locked while they are searched.
    found: Mutex<Option<Arc<Places>>>,
    /// Content of the folders that were searched.
    pub(crate) listed: Arc<ListedFolders>,
    /// All that was found in this turn.
    known: std::sync::Mutex<KnownPlaces>,
}

/// A program that runs inside, until this is dropped.
#[derive(Debug)]
pub struct RunningInside {
    all: Arc<RunningCount>,
    lock: Option<InsideLock>,
}

impl Default for InsidePrograms {
    fn default() -> Self {
        Self {
            running: Arc::default(),
            found: Mutex::default(),
            listed: ListedFolders::of_process(),
            known: std::sync::Mutex::default(),
        }
    }
}

impl InsidePrograms {
    /// The paths at which places were found in this turn.
    pub(crate) fn known(&self) -> KnownPlaces {
        aside_base::lock(&self.known).clone()
    }

    /// Counts a program as running, with the lock that it has, and returns the places by which it is held. They are
    /// searched if no other runs.
    ///
    /// # Errors
    /// Fails if the search does.
    pub(crate) async fn enter<E>(
        &self,
        lock: Option<InsideLock>,
        search: impl Future<Output = Result<Places, E>>,
    ) -> Result<(RunningInside, Arc<Places>), E> {
        let mut found = self.found.lock().await;
        let is_quiet = self.running.count.load(Ordering::SeqCst) == 0;
        let places = match found.clone().filter(|_| !is_quiet) {
            Some(places) => places,
            None => {
                let places = Arc::new(search.await?);
                aside_base::lock(&self.known).extend(places.known());
                *found = Some(places.clone());
                places
            }
        };
        self.running.count.fetch_add(1, Ordering::SeqCst);
        let all = self.running.clone();
        Ok((RunningInside { all, lock }, places))
    }

    /// The reasons why protected places may remain open. Places are searched where that was not done yet, and again where
    /// there were such reasons and nothing runs.
    ///
    /// # Errors
    /// Fails if the search does.
    pub(crate) async fn gaps<E>(
        &self,
        search: impl Future<Output = Result<Places, E>>,
    ) -> Result<BTreeSet<OpenGap>, E> {
        let known = self.found.lock().await.clone();
        let is_quiet = self.running.count.load(Ordering::SeqCst) == 0;
        match known {
            Some(places) if places.gaps.is_empty() || !is_quiet => Ok(places.gaps.clone()),
            _ => {
                let (_running, places) = self.enter(None, search).await?;
                Ok(places.gaps.clone())
            }
        }
    }

    /// Waits until no program runs.
    pub(crate) async fn quiet(&self) {
        loop {
            let ended = self.running.quiet.notified();
            if self.running.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            ended.await;
        }
    }
}

impl RunningInside {
    /// Lets others build walls too, as those of this program stand or will not.
    pub(crate) fn is_built(&self) {
        if let Some(lock) = &self.lock {
            lock.share();
        }
    }
}

impl Drop for RunningInside {
    fn drop(&mut self) {
        if self.all.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.all.quiet.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_searched_while_a_program_runs() {
        let all = InsidePrograms::default();
        let searched = AtomicUsize::new(0);
        let enter = async || {
            let search = async {
                searched.fetch_add(1, Ordering::SeqCst);
                Ok::<_, ()>(Places::default())
            };
            all.enter(None, search).await.unwrap().0
        };
        let (first, second) = (enter().await, enter().await);
        assert_eq!(searched.load(Ordering::SeqCst), 1);
        drop(first);
        let third = enter().await;
        assert_eq!(searched.load(Ordering::SeqCst), 1);
        let mut quiet = Box::pin(all.quiet());
        assert!(futures_util::poll!(&mut quiet).is_pending());
        drop((second, third));
        quiet.await;
        drop(enter().await);
        assert_eq!(searched.load(Ordering::SeqCst), 2);
    }
}
