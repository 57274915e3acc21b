//! Logs that are made durable behind the end of their turns, a few at a time: a slow disk holds up few threads and files.

use std::{io, sync::Arc};

use tokio::{
    sync::Semaphore,
    task::{JoinHandle, spawn_blocking},
};

/// Maximum number of threads that wait for the disk.
const THREADS: usize = 2;
/// Maximum number of logs that wait to be made durable. Turns end no faster than that.
const WAITING: usize = 256;

/// The logs of a process that are being made durable. Clones are the same.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Durability {
    threads: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

impl Default for Durability {
    fn default() -> Self {
        Self {
            threads: Arc::new(Semaphore::new(THREADS)),
            room: Arc::new(Semaphore::new(WAITING)),
        }
    }
}

impl Durability {
    /// Begins to make a log durable, and waits only where too many others wait already.
    pub(in crate::engine) async fn begin(
        &self,
        sync: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> JoinHandle<io::Result<()>> {
        // Nobody closes the semaphores.
        let room = self.room.clone().acquire_owned().await;
        let threads = self.threads.clone();
        tokio::spawn(async move {
            let _room = room;
            let _thread = threads.acquire_owned().await;
            spawn_blocking(sync).await.map_err(io::Error::other)?
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_disk_that_does_not_answer_holds_up_two_threads_and_then_the_turns() {
        let durability = Durability::default();
        let (asked, (go, wait)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel::<()>());
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let sync = || {
            let (asked, wait) = (asked.clone(), wait.clone());
            move || {
                asked.fetch_add(1, Ordering::Relaxed);
                // The disk answers when nobody can make it wait any more.
                let _ = wait.lock().map(|wait| wait.recv());
                Ok(())
            }
        };
        let mut begun = Vec::new();
        for _ in 0..WAITING {
            begun.push(durability.begin(sync()).await);
        }
        assert!(durability.begin(sync()).now_or_never().is_none(), "no room");
        while asked.load(Ordering::Relaxed) < THREADS {
            tokio::task::yield_now().await;
        }
        assert_eq!(asked.load(Ordering::Relaxed), THREADS);
        drop(go);
        for one in begun {
            one.await.unwrap().unwrap();
        }
        assert_eq!(asked.load(Ordering::Relaxed), WAITING);
    }
}
