//! The files of a walk, searched side by side and told in the order of the walk.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    thread::{self, available_parallelism},
};

use aside_base::lock;

use super::{
    super::{
        ToolRun,
        walk::{FileWalk, WalkEnd, WalkReport, WalkedFile},
    },
    found::{FileFindings, FileSearcher},
};

/// Files that a thread takes at once.
const BATCH: usize = 64;
/// Threads that search, at the most.
const THREADS: usize = 8;
/// Batches per thread that are under way. Each file may hold its folder open.
const AHEAD: usize = 2;

/// A file that is to be searched.
struct FoundFile {
    path: String,
    folder: Arc<File>,
    name: OsString,
}

/// Files that follow each other in the walk.
struct Batch {
    number: usize,
    files: Vec<FoundFile>,
}

/// Findings in a batch, file by file.
type BatchFindings = (usize, Vec<FileFindings>);

/// Searches the files of a walk, on several threads, and gives what was found in each to `take`, in the order of the
/// walk, until that says false.
///
/// # Errors
/// Fails as [`FileWalk::each`] does.
pub(super) fn search_walked(
    walk: &FileWalk<'_>,
    searcher: &FileSearcher,
    run: &ToolRun,
    take: impl FnMut(FileFindings) -> bool,
) -> Result<WalkReport, String> {
    let wanted = available_parallelism().map_or(1, usize::from).min(THREADS);
    let (jobs, queue) = sync_channel(wanted * AHEAD);
    let (results, found) = channel();
    let queue = Mutex::new(queue);
    let queue = &queue;
    let work = move |mut searcher: FileSearcher, results: Sender<BatchFindings>| {
        while let Some(batch) = next(queue) {
            let findings = search_batch(&mut searcher, run, walk, batch);
            if results.send(findings).is_err() {
                break;
            }
        }
    };
    thread::scope(|scope| {
        let started = (0..wanted).filter(|_| {
            let (searcher, results) = (searcher.clone(), results.clone());
            let thread = thread::Builder::new().name("search".into());
            let spawned = thread.spawn_scoped(scope, move || work(searcher, results));
            spawned.is_ok()
        });
        let threads = started.count();
        // Where no thread is left, no result comes.
        drop(results);
        let mut findings = OrderedBatches {
            walk,
            run,
            jobs,
            found,
            // Where the system gives no thread, this one does it all.
            own: (threads == 0).then(|| searcher.clone()),
            most: threads * AHEAD,
            under_way: 0,
            next: Batch {
                number: 0,
                files: Vec::new(),
            },
            waiting: BTreeMap::new(),
            taken: 0,
            take,
        };
        let mut report = walk.each(|file| findings.add(&file))?;
        if report.end == WalkEnd::Complete && !findings.finish() {
            report.end = WalkEnd::Cut;
        }
        if walk.is_cancelled() {
            report.end = WalkEnd::Cancelled;
        }
        Ok(report)
    })
}

fn next(queue: &Mutex<Receiver<Batch>>) -> Option<Batch> {
    lock(queue).recv().ok()
}

fn search_batch(
    searcher: &mut FileSearcher,
    run: &ToolRun,
    walk: &FileWalk<'_>,
    batch: Batch,
) -> BatchFindings {
    let files = batch.files.into_iter();
    let files = files.take_while(|_| !walk.is_cancelled());
    let found = files.map(|file| {
        let files = &run.context.files;
        let opened = files.walked(&file.folder, &file.name, &file.path);
        searcher.in_readable(opened, &run.permit)
    });
    (batch.number, found.collect())
}

/// Hands out batches, and tells what was found in them in the order in which they were handed out.
struct OrderedBatches<'a, F> {
    walk: &'a FileWalk<'a>,
    run: &'a ToolRun,
    jobs: SyncSender<Batch>,
    found: Receiver<BatchFindings>,
    own: Option<FileSearcher>,
    /// Batches that may be under way.
    most: usize,
    under_way: usize,
    next: Batch,
    /// Findings that came earlier than those before them.
    waiting: BTreeMap<usize, Vec<FileFindings>>,
    /// Batches whose findings were taken.
    taken: usize,
    take: F,
}

impl<F: FnMut(FileFindings) -> bool> OrderedBatches<'_, F> {
    /// Takes the next file of the walk. False once it is enough.
    fn add(&mut self, file: &WalkedFile<'_>) -> bool {
        self.next.files.push(FoundFile {
            path: file.path.to_owned(),
            folder: file.folder.clone(),
            name: file.name.to_owned(),
        });
        self.next.files.len() < BATCH || self.hand_out()
    }

    /// Waits for all that is under way. False where it was enough before the end.
    fn finish(&mut self) -> bool {
        let mut wants_more = self.hand_out();
        while wants_more && self.under_way > 0 {
            wants_more = self.wait();
        }
        wants_more
    }

    fn hand_out(&mut self) -> bool {
        let number = self.next.number;
        let next = Batch {
            number: number + 1,
            files: Vec::new(),
        };
        let batch = std::mem::replace(&mut self.next, next);
        if let Some(own) = &mut self.own {
            let found = search_batch(own, self.run, self.walk, batch);
            return self.tell(found);
        }
        while self.under_way >= self.most {
            if !self.wait() {
                return false;
            }
        }
        self.under_way += 1;
        self.jobs.send(batch).is_ok()
    }

    fn wait(&mut self) -> bool {
        self.under_way -= 1;
        match self.found.recv() {
            Ok(found) => self.tell(found),
            Err(_) => false,
        }
    }

    fn tell(&mut self, (number, found): BatchFindings) -> bool {
        self.waiting.insert(number, found);
        while let Some(found) = self.waiting.remove(&self.taken) {
            self.taken += 1;
            for one in found {
                if !(self.take)(one) {
                    return false;
                }
            }
        }
        true
    }
}
