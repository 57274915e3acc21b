//! A folder as it is listed: what lies in it, as far as that matters for protected places, and its state.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use aside_base::system::{
    files::{self, FileFacts, FileId, touched},
    folders::{EntryKind, is_no_folder, listed},
};

use crate::workspace::{
    folded_name,
    protected::{may_end_in, may_lie_in},
};

/// Longest step in which a file system counts time: a folder that changed in it may change again and look the same.
const STEP: Duration = Duration::from_secs(3);

/// State of a folder, which is another one after each change of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FolderStamp {
    folder: FileId,
    /// The time of the last change of any kind, in seconds and nanoseconds, which no program can set.
    changed: (i64, i64),
}

/// Content of a folder, as far as it matters here.
#[derive(Debug, Default)]
pub(super) struct FolderContent {
    /// Folders, and entries whose last name is that of a protected place.
    pub(super) entries: Vec<ListedEntry>,
    pub(super) is_git: bool,
    /// Whether a link has the name of a folder in which places lie.
    pub(super) has_way: bool,
    /// Names of its links.
    pub(super) links: Vec<OsString>,
    /// Number of all entries.
    pub(super) count: usize,
    /// The reason why not all of it was seen.
    pub(super) unseen: Option<Unseen>,
}

/// An entry of a folder.
#[derive(Debug)]
pub(super) struct ListedEntry {
    pub(super) name: OsString,
    pub(super) folded: Arc<str>,
    pub(super) is_folder: bool,
    /// Whether the name is the last of a protected place.
    pub(super) may_be_place: bool,
}

/// The reason why not all of a folder was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    Many,
    Unread,
}

impl FolderStamp {
    /// The state of a folder, if it is older than the steps in which the file system counts time.
    pub(super) fn settled(folder: &Path) -> Option<Self> {
        let about = FileFacts::itself(folder).ok()?;
        let (seconds, rest) = touched(&about);
        let changed = SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))?
            + Duration::from_nanos(u64::try_from(rest).ok()?);
        let age = SystemTime::now().duration_since(changed).ok()?;
        (age > STEP).then_some(Self {
            folder: FileId::of(&about),
            changed: (seconds, rest),
        })
    }
}

impl FolderContent {
    /// Lists a folder, as long as entries are left that may be looked at.
    pub(super) fn list(folder: &Path, left: &AtomicUsize) -> Self {
        let mut content = Self::default();
        let entries = match listed(folder) {
            Ok(entries) => entries,
            Err(error) => {
                content.unseen = is_hindrance(&error, folder).then_some(Unseen::Unread);
                return content;
            }
        };
        let (mut head, mut common, mut objects, mut refs) = (false, false, false, false);
        for entry in entries {
            let Ok((name, kind)) = entry else {
                content.unseen = Some(Unseen::Unread);
                break;
            };
            if !take(left) {
                content.unseen = Some(Unseen::Many);
                break;
            }
            content.count += 1;
            match name.as_encoded_bytes() {
                b"HEAD" => head = true,
                b"commondir" => common = true,
                b"objects" => objects = true,
                b"refs" => refs = true,
                _ => {}
            }
            let is_folder = kind == EntryKind::Folder;
            if kind == EntryKind::Link {
                content.has_way |= may_lie_in(&folded_name(&name));
                content.links.push(name.clone());
            }
            let may_be_place = may_end_in_a_place(&name);
            if is_folder || may_be_place {
                content.entries.push(ListedEntry {
                    folded: folded_name(&name).into(),
                    name,
                    is_folder,
                    may_be_place,
                });
            }
        }
        // Who may list a folder need not be let into it.
        if let Err(error) = fs::symlink_metadata(folder.join("."))
            && is_hindrance(&error, folder)
        {
            content.unseen = Some(Unseen::Unread);
        }
        content.is_git = head && (common || (objects && refs));
        content
    }
}

/// Counts an entry that is looked at. False if none is left.
pub(super) fn take(left: &AtomicUsize) -> bool {
    let less = |left: usize| left.checked_sub(1);
    let order = Ordering::Relaxed;
    left.fetch_update(order, order, less).is_ok()
}

/// Whether an entry of this name may be a protected place. Most names need no folding.
fn may_end_in_a_place(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let is_plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_');
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.iter().all(is_plain) && !text.ends_with('.') => may_end_in(text),
        _ => may_end_in(&folded_name(name)),
    }
}

/// Whether a folder that cannot be listed may hold places that a command could reach. One that is gone, or that belongs
/// to another user, does not.
pub(super) fn is_hindrance(error: &io::Error, folder: &Path) -> bool {
    match error.kind() {
        // It is a link by now, or something else.
        _ if is_no_folder(error) => false,
        io::ErrorKind::PermissionDenied => files::is_own(folder),
        _ => true,
    }
}
