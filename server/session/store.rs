//! The conversations of one workspace.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aside_base::{
    folder,
    homes::{home, homes},
    private, regular,
    system::{
        environment::{STATE_VARIABLE, USUAL_STATE},
        files::{FileFacts, for_user_alone, keep_for_user},
        folders::{MOVES_OPENED, canonical},
    },
    under_way::FilesUnderWay,
};
use aside_turn::{Event, record::Level};

pub use super::store_error::StoreError;
use super::{
    approvals::Approvals,
    blobs::Blobs,
    conversation::{Conversation, ConversationSummary, ForkExtent},
    index::ConversationIndex,
    lines::{EVENTS, read_last_turn},
    log::{Log, take_lock},
    record::Entry,
    replay,
};

/// Prefix of a deleted conversation's folder until it is gone.
const DELETED: &str = ".deleted-";

/// Prefix of a new conversation's folder until it is complete.
const NEW: &str = ".new-";

/// The file with the id of the conversation in which a turn began last.
const LAST: &str = "last";

/// Maximum size in bytes of that file.
const ID_BYTES: u64 = 64;

/// A folder that was not put in its place for so long was left by a crash.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The conversations of one workspace.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// Root of the workspace whose conversations these are.
    root: PathBuf,
    /// Whether leftovers of crashes were looked for, which takes time for each conversation.
    swept: Arc<AtomicBool>,
}

/// The default folder for state: `aside` in the folder that the system has for that, such as `~/.local/state`.
///
/// # Errors
/// [`StoreError::NoPlace`].
pub fn default_state_dir() -> Result<PathBuf, StoreError> {
    state_dir(env::var_os(STATE_VARIABLE), home()).ok_or(StoreError::NoPlace)
}

/// The folders in which state may be kept: the default one, and that of each home where no variable names another.
#[must_use]
pub fn usual_state_dirs() -> Vec<PathBuf> {
    let usual = homes().into_iter().map(|home| state_dir(None, Some(home)));
    usual.chain([default_state_dir().ok()]).flatten().collect()
}

fn state_dir(named: Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let state = named.map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(home?.join(USUAL_STATE)))?;
    Some(state.join("aside"))
}

/// The name of a workspace's folder: readable, and unique by a hash of its absolute path.
fn workspace_name(root: &Path) -> String {
    let root = canonical(root).or_else(|_| std::path::absolute(root));
    let root = root.unwrap_or_default();
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let readable: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    let hash = aside_base::digest::sha256(root.as_os_str().as_encoded_bytes());
    format!("{}-{}", readable.trim_matches('-'), &hash[..10])
}

impl Store {
    /// Opens the store of a workspace, and makes its folder where it is not there. What killed processes left in the
    /// workspace of files that they wrote is taken away.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] where that cannot be done.
    pub fn open(state_dir: &Path, workspace_root: &Path) -> Result<Self, StoreError> {
        let folder = state_dir.join(workspace_name(workspace_root));
        private::make_folder(&folder)
            .and_then(|()| fs::read_dir(&folder))
            .map_err(|source| StoreError::Unusable {
                folder: state_dir.to_owned(),
                source,
            })?;
        FilesUnderWay::of(&folder).sweep(workspace_root);
        Ok(Self {
            folder,
            root: workspace_root.to_owned(),
            swept: Arc::default(),
        })
    }

    /// Whether its folder is still there.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// The user's lasting approvals in this workspace.
    #[must_use]
    pub fn approvals(&self) -> Approvals {
        // In a workspace that is gone nothing stands.
        Approvals::of(
            &self.folder,
            folder::identity(&self.root).unwrap_or_default(),
        )
    }

    /// Makes a conversation. Without a title, its first prompt gives it one.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] where the folder cannot be written.
    pub fn create(&self, title: Option<&str>, now: Duration) -> Result<Conversation, StoreError> {
        let conversation = self.place(|folder| {
            File::options()
                .write(true)
                .create_new(true)
                .open(folder.join(EVENTS))
                .map(|_| ())
        })?;
        if let Some(title) = title {
            self.rename(&conversation, title, now)?;
        }
        Ok(conversation)
    }

    /// The conversation whose id is, or alone begins with, this.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] and [`StoreError::Several`].
    pub fn find(&self, prefix: &str) -> Result<Conversation, StoreError> {
        // A whole id is found without a look at all the others.
        if is_plain(prefix) && self.at(prefix).folder.join(EVENTS).exists() {
            return Ok(self.at(prefix));
        }
        let mut ids = self.ids()?;
        if let Some(exact) = ids.iter().find(|id| *id == prefix) {
            return Ok(self.at(exact));
        }
        ids.retain(|id| !prefix.is_empty() && id.starts_with(prefix));
        ids.sort();
        match ids.as_slice() {
            [] => Err(StoreError::Unknown(prefix.to_owned())),
            [id] => Ok(self.at(id)),
            _ => Err(StoreError::Several {
                prefix: prefix.to_owned(),
                ids,
            }),
        }
    }

    /// The conversation in which something was recorded last, as of `now`.
    ///
    /// # Errors
    /// Where the list cannot be had.
    pub fn latest(&self, now: Duration) -> Result<Option<Conversation>, StoreError> {
        let list = self.list()?;
        let Some(newest) = list.first() else {
            return Ok(None);
        };
        // Times say nothing of the order where the clock was set back.
        let last = (newest.updated > now).then(|| self.last_begun()).flatten();
        let last = last.filter(|last| list.iter().any(|listed| listed.id == *last));
        Ok(Some(self.at(last.as_ref().unwrap_or(&newest.id))))
    }

    /// Notes that a turn begins in a conversation. A failure is ignored, because it only counts where the clock is set
    /// back later.
    pub fn begins(&self, conversation: &Conversation) {
        let open = for_user_alone(File::options().write(true).create(true).truncate(true))
            .open(self.folder.join(LAST));
        let _ = open.and_then(|mut file| file.write_all(conversation.id().as_bytes()));
    }

    fn last_begun(&self) -> Option<String> {
        let bytes = regular::read(&self.folder.join(LAST), ID_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// All conversations, newest first. What cannot be read is left out.
    ///
    /// # Errors
    /// Where the store's folder cannot be read.
    pub fn list(&self) -> Result<Vec<ConversationSummary>, StoreError> {
        let logs = self.logs()?;
        let index = ConversationIndex::load(&self.folder);
        let listed = index.listed(&self.folder, &logs).into_iter();
        let mut list: Vec<ConversationSummary> = listed
            .map(|(id, meta)| self.at(&id).summary(meta))
            .collect();
        list.sort_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
        Ok(list)
    }

    /// Gives a conversation that nobody has open a title. Who has it open appends [`Entry::Renamed`].
    ///
    /// # Errors
    /// [`StoreError::Open`] and [`StoreError::Io`].
    pub fn rename(
        &self,
        conversation: &Conversation,
        title: &str,
        now: Duration,
    ) -> Result<(), StoreError> {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut log = conversation.log(now)?;
        log.append(now, None, &Entry::Renamed { title })
            .map_err(conversation.failed())?;
        Ok(())
    }

    /// Makes a conversation that begins as another does: its lines as they are, bad ones included, and the
    /// blobs that they name. The last turn is closed there if it is unfinished, for its prompts belong to the
    /// other. The other may be open meanwhile.
    ///
    /// # Errors
    /// [`StoreError::NoTurn`], [`StoreError::Unusable`] and [`StoreError::Io`].
    pub fn fork(
        &self,
        source: &Conversation,
        until: ForkExtent,
        now: Duration,
    ) -> Result<Conversation, StoreError> {
        let lines = source.lines_until(until)?;
        let fork = self.place(|folder| {
            let mut file = File::options()
                .append(true)
                .create_new(true)
                .open(folder.join(EVENTS))?;
            file.write_all(&lines)?;
            source.blobs().share(&lines, &Blobs::of(folder))?;
            close_fork(folder, &source.id, now)
        })?;
        Ok(fork)
    }

    /// Deletes a conversation that nobody has open.
    ///
    /// # Errors
    /// [`StoreError::Open`] where somebody has, [`StoreError::Io`].
    pub fn delete(&self, conversation: &Conversation, now: Duration) -> Result<(), StoreError> {
        let lock = take_lock(&conversation.folder, now)?;
        // Where the lock would keep the folder in its place, so does whoever opens the conversation from here on.
        let _lock = MOVES_OPENED.then_some(lock);
        // Out of the list at once, so that nothing is left in it half deleted.
        let grave = self.folder.join(format!("{DELETED}{}", conversation.id));
        fs::rename(&conversation.folder, &grave).map_err(conversation.failed())?;
        let removed = fs::remove_dir_all(&grave);
        self.sweep();
        match removed {
            // Another process has swept it away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(conversation.failed()),
        }
    }

    /// Takes away what a crash left of deleted conversations, and of new ones that were never put in their place.
    /// Where that fails, the next one tries again.
    fn sweep(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_old = || {
                let modified = entry.metadata().and_then(|about| about.modified());
                modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED))
            };
            if name.starts_with(DELETED) || (name.starts_with(NEW) && is_old()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Puts a new folder, filled, in its place: it is there whole or not at all.
    fn place(
        &self,
        fill: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<Conversation, StoreError> {
        if !self.swept.swap(true, Ordering::Relaxed) {
            self.sweep();
        }
        let new_folder = || {
            let new = tempfile::Builder::new()
                .prefix(NEW)
                .tempdir_in(&self.folder)?;
            keep_for_user(new.path())?;
            fill(new.path())?;
            keep_for_user(&new.path().join(EVENTS))?;
            let conversation = self.at(&new_id());
            // A folder with something in it is never replaced by this.
            fs::rename(new.path(), &conversation.folder)?;
            let _moved = new.keep();
            Ok(conversation)
        };
        new_folder().map_err(|source| StoreError::Unusable {
            folder: self.folder.clone(),
            source,
        })
    }

    fn at(&self, id: &str) -> Conversation {
        Conversation {
            id: id.to_owned(),
            folder: self.folder.join(id),
        }
    }

    fn ids(&self) -> Result<Vec<String>, StoreError> {
        let logs = self.logs()?.into_iter();
        Ok(logs.map(|(id, _)| id).collect())
    }

    /// The conversations, and what is known of their logs without reading them.
    fn logs(&self) -> Result<Vec<(String, FileFacts)>, StoreError> {
        let unusable = |source| StoreError::Unusable {
            folder: self.folder.clone(),
            source,
        };
        let mut logs = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(unusable)? {
            let entry = entry.map_err(unusable)?;
            if let Ok(id) = entry.file_name().into_string()
                && !id.starts_with('.')
                && let Ok(log) = FileFacts::at(&entry.path().join(EVENTS))
            {
                logs.push((id, log));
            }
        }
        Ok(logs)
    }
}

/// Whether a text can be an id, which names an entry of the store's folder and nothing else.
fn is_plain(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !id.is_empty() && id.bytes().all(plain)
}

/// Closes the last turn of a fork that is not in its place yet, and says in it what it is.
fn close_fork(folder: &Path, source: &str, now: Duration) -> io::Result<()> {
    let mut log = Log::open(folder, now).map_err(io::Error::other)?;
    let read = read_last_turn(folder)?;
    for turn in replay::turns(&read.records).last().into_iter() {
        for event in replay::closing(turn) {
            log.append(now, Some(&turn.id), &event.into())?;
        }
    }
    let text = format!("This conversation is a fork of {source}.");
    let level = Level::Info;
    log.append(now, None, &Entry::Turn(Event::Notice { level, text }))?;
    Ok(())
}

/// `c` and nine letters or digits that are not easily mistaken.
fn new_id() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let letters = (0..9).map(|_| LETTERS[fastrand::usize(..LETTERS.len())] as char);
    std::iter::once('c').chain(letters).collect()
}

#[cfg(test)]
mod tests;
