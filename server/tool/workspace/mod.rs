//! The one gate through which tools reach files.
//!
//! Everything is opened beneath a descriptor of the root, and what is checked is the real path of the
//! descriptor that was opened, not the text of a path: a link to `.git` is `.git`, whatever it is called.
//! What leads outside is refused, by `..`, by an absolute path and by a link alike.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read},
    os::fd::{AsFd, AsRawFd},
    path::{Component, Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{digest::sha256, regular, under_way::FilesUnderWay, visible::short_line};
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt},
};

use rustix::fs::{Mode, OFlags, openat};

use super::editor::Buffer;

mod guard;
mod names;
mod write;

use guard::{Guard, Guarded};

/// Bytes of a file that is read whole. Larger ones can only be searched.
pub const MAX_FILE: u64 = 16 << 20;

/// A folder whose files tools may use.
pub struct Workspace {
    dir: Dir,
    path: PathBuf,
    /// As it was given: absolute paths of a model may begin with either.
    given: PathBuf,
    guard: Guard,
    under_way: Option<FilesUnderWay>,
    edits: Mutex<()>,
}

/// A file that was opened for reading.
#[derive(Debug)]
pub struct OpenedFile {
    /// Its real path from the root, with `/`.
    pub path: String,
    /// Reading it must be asked for: it may hold secrets.
    pub secret: bool,
    file: fs::File,
    mode: fs::Permissions,
}

/// A text file, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// Its real path from the root, with `/`.
    pub path: String,
    /// The whole text of the file.
    pub text: String,
    /// The SHA-256 of its bytes.
    pub hash: String,
    /// The document that it comes from, where it is open in an editor.
    pub buffer: Option<Buffer>,
}

/// A folder beneath the root that was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its real path from the root, with `/`; empty for the root.
    pub path: String,
    /// Its real path.
    pub real: PathBuf,
}

/// Where a text would be written.
#[derive(Debug)]
pub struct WriteTarget {
    /// The real path from the root, with `/`.
    pub path: String,
    /// What is there.
    pub old: Option<OpenedFile>,
    /// Why a person must be asked before anything is written there, whatever the mode: another program takes
    /// code from it.
    pub must_ask: Option<String>,
}

/// Why a path cannot be used so. Each is a sentence for the model.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// It is not beneath the root.
    #[error("`{0}` is outside the workspace; use a path inside it")]
    Outside(String),
    /// Tools never write there.
    #[error("`{0}` is protected and cannot be changed by a tool; ask the user to change it")]
    Protected(String),
    /// Nothing is there.
    #[error("there is no `{0}`; look with list_files")]
    Missing(String),
    /// A file was wanted.
    #[error("`{0}` is a folder; name a file")]
    IsFolder(String),
    /// A folder was wanted.
    #[error("`{0}` is not a folder")]
    NotFolder(String),
    /// A pipe, a device, a socket.
    #[error("`{0}` is not a regular file and cannot be used")]
    Special(String),
    /// The file has more than [`MAX_FILE`] bytes.
    #[error("`{0}` is larger than 16 MiB, and no tool changes it; change it with a command")]
    TooLarge(String),
    /// No UTF-8, or zero bytes.
    #[error("`{0}` is binary, not UTF-8 text")]
    Binary(String),
    /// It is not what was expected.
    #[error("`{0}` changed since you read it; read it again before you change it")]
    Stale(String),
    /// The system refused for another reason.
    #[error("`{path}` cannot be used: {why}")]
    Failed {
        /// The path as the model named it.
        path: String,
        /// What the system said.
        why: String,
    },
}

/// The `file://` URI of an absolute path.
#[must_use]
pub fn file_uri(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        if plain(*byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

impl Workspace {
    /// Takes a folder as the root.
    ///
    /// # Errors
    /// Where it is no folder, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        let real = real_path(&dir)?;
        Ok(Self {
            dir,
            path: real,
            given: path.to_owned(),
            guard: Guard::new(Vec::new(), home()),
            under_way: None,
            edits: Mutex::default(),
        })
    }

    /// The same with folders of Aside's own, such as those of its state and the user's settings: no tool writes in
    /// them, wherever they are and by whatever name they are reached. They need not be there.
    #[must_use]
    pub fn with_own_folders(self, own: Vec<PathBuf>) -> Self {
        Self {
            guard: Guard::new(own, home()),
            ..self
        }
    }

    /// The same with a place where it is noted which files are being written, so that a later process can take away what
    /// is left of them.
    #[must_use]
    pub fn with_notes(self, under_way: FilesUnderWay) -> Self {
        Self {
            under_way: Some(under_way),
            ..self
        }
    }

    /// The real path of the root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Held while an edit is planned and made: edits of one process go one after another.
    pub(super) fn edit_turn(&self) -> MutexGuard<'_, ()> {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The `file://` URI of a path from the root.
    #[must_use]
    pub fn uri(&self, path: &str) -> String {
        file_uri(&self.path.join(path))
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// A [`PathError`]; pipes and devices are never waited for.
    pub fn file(&self, path: &str) -> Result<OpenedFile, PathError> {
        let inside = self.inside(path)?;
        let refuse = |error| refusal(path, &error);
        // The type is looked at first, because opening a device can do something. It is looked at again
        // on what was opened, which is what counts; without waiting, so that a pipe cannot hold us.
        check_type(path, &self.dir.metadata(&inside).map_err(refuse)?)?;
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(regular::CAUTIOUS.bits().cast_signed());
        let file = self.dir.open_with(&inside, &options).map_err(refuse)?;
        let metadata = file.metadata().map_err(refuse)?;
        check_type(path, &metadata)?;
        let real = self.path_of(path, &file)?;
        let file = file.into_std();
        let mode = file.metadata().map_err(refuse)?.permissions();
        let secret = self.is_secret(&inside, &real);
        Ok(OpenedFile {
            path: real,
            secret,
            file,
            mode,
        })
    }

    /// Opens a regular file in an open folder, for reading, by its name there; `path` is where it is, from the root. A
    /// link is not followed.
    ///
    /// # Errors
    /// A [`PathError`]; pipes and devices are never waited for.
    pub(super) fn file_in(
        &self,
        folder: &impl AsFd,
        name: &OsStr,
        path: &str,
    ) -> Result<OpenedFile, PathError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | regular::CAUTIOUS;
        let opened = openat(folder, name, flags, Mode::empty());
        let file = fs::File::from(opened.map_err(|error| refusal(path, &error.into()))?);
        let about = file.metadata().map_err(|error| refusal(path, &error))?;
        if !about.is_file() {
            return Err(PathError::Special(path.to_owned()));
        }
        Ok(OpenedFile {
            secret: self.is_secret(Path::new(path), path),
            path: path.to_owned(),
            file,
            mode: about.permissions(),
        })
    }

    /// Finds a folder; the root is `.` or nothing.
    ///
    /// # Errors
    /// A path out of the workspace, or one at which there is no folder.
    pub fn folder(&self, path: &str) -> Result<Folder, PathError> {
        self.open_folder(path).map(|(_, folder)| folder)
    }

    /// The same, and the folder itself, opened.
    ///
    /// # Errors
    /// A path out of the workspace, or one at which there is no folder.
    pub(super) fn open_folder(&self, path: &str) -> Result<(Dir, Folder), PathError> {
        let inside = self.inside(path)?;
        let dir = self
            .dir
            .open_dir(&inside)
            .map_err(|error| refusal(path, &error))?;
        let from_root = self.path_of(path, &dir)?;
        let folder = Folder {
            // Joining an empty path would leave a slash at the end.
            real: if from_root.is_empty() {
                self.path.clone()
            } else {
                self.path.join(&from_root)
            },
            path: from_root,
        };
        Ok((dir, folder))
    }

    /// Finds where a text would be written, whether a file is there or not.
    ///
    /// # Errors
    /// A [`PathError`], also where tools never write.
    pub fn place(&self, path: &str) -> Result<WriteTarget, PathError> {
        let inside = self.inside(path)?;
        let (real, old) = match self.file(path) {
            Ok(opened) => (opened.path.clone(), Some(opened)),
            Err(PathError::Missing(_)) if names::is_own(&inside) => {
                return Err(PathError::Protected(path.to_owned()));
            }
            Err(PathError::Missing(_)) => (self.absent(path, &inside)?, None),
            Err(refusal) => return Err(refusal),
        };
        let protected = || PathError::Protected(path.to_owned());
        if names::is_own(&inside) || names::is_own(Path::new(&real)) {
            return Err(protected());
        }
        let opened = old.as_ref().map(|old| old.file.metadata());
        let opened = opened.transpose().map_err(|error| refusal(path, &error))?;
        if opened.is_some_and(|about| self.guard.owns(&about)) {
            return Err(protected());
        }
        let (folder, below) = self.nearest_folder(path, &real)?;
        let must_ask = self.may_write(path, &folder, below)?;
        let named = names::taken_by(&inside).or_else(|| names::taken_by(Path::new(&real)));
        Ok(WriteTarget {
            must_ask: named.map(|program| takes_code(&real, program)).or(must_ask),
            path: real,
            old,
        })
    }

    /// Whether a file may be written that lies below an open folder, and why a person must be asked.
    fn may_write(
        &self,
        path: &str,
        folder: &Dir,
        below: Vec<OsString>,
    ) -> Result<Option<String>, PathError> {
        let real = real_path(folder).map_err(|error| refusal(path, &error))?;
        let of_root = real.strip_prefix(&self.path);
        let levels = of_root.map_or(0, |inside| inside.iter().count());
        let guarded = self.guard.of(folder, &real, below, levels);
        Ok(match guarded.map_err(|error| refusal(path, &error))? {
            None => None,
            Some(Guarded::Own) => return Err(PathError::Protected(path.to_owned())),
            Some(Guarded::Git) => Some(takes_code(path, "Git")),
            Some(Guarded::Home) => Some(takes_code(
                path,
                "a program that is set up in your home folder",
            )),
        })
    }

    /// The nearest folder above a real path that is there, and the names below it.
    fn nearest_folder(&self, path: &str, real: &str) -> Result<(Dir, Vec<OsString>), PathError> {
        let mut below = Vec::new();
        let mut at = Path::new(real);
        loop {
            below.extend(at.file_name().map(OsString::from));
            at = at.parent().unwrap_or(Path::new(""));
            let folder = match at.as_os_str().is_empty() {
                true => Path::new("."),
                false => at,
            };
            match self.dir.open_dir(folder) {
                Ok(dir) => {
                    below.reverse();
                    return Ok((dir, below));
                }
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && !at.as_os_str().is_empty() => {}
                Err(error) => return Err(refusal(path, &error)),
            }
        }
    }

    /// Whether reading must be asked for, by the path as it was named and the real one, from the root.
    fn is_secret(&self, inside: &Path, real: &str) -> bool {
        let has_other_name = inside != Path::new(real);
        let real = self.path.join(real);
        names::is_secret(&real)
            || (has_other_name && names::is_secret(inside))
            // What the kernel tells of processes, their environments among it.
            || real.starts_with("/proc")
            || self.guard.covers(&real)
    }

    /// Whether a folder, by its real path, is Aside's own.
    pub(super) fn is_own_folder(&self, real: &Path) -> bool {
        self.guard.covers(real)
    }

    /// The real path from the root of a file that is not there, and whether reading it must be asked for.
    ///
    /// # Errors
    /// A path out of the workspace, or a folder on it that cannot be opened.
    pub(super) fn absent_file(&self, path: &str) -> Result<(String, bool), PathError> {
        let inside = self.inside(path)?;
        let real = self.absent(path, &inside)?;
        let secret = self.is_secret(&inside, &real);
        Ok((real, secret))
    }

    /// The real path from the root of a file that is not there: the real path of the nearest folder that
    /// is, and the rest as it was written.
    fn absent(&self, path: &str, inside: &Path) -> Result<String, PathError> {
        if self.dir.symlink_metadata(inside).is_ok() {
            let why = "it is a link that leads nowhere".to_owned();
            return Err(PathError::Failed {
                path: path.to_owned(),
                why,
            });
        }
        let missing = || PathError::Missing(path.to_owned());
        let mut rest = vec![inside.file_name().ok_or_else(missing)?];
        let mut parent = inside.parent().ok_or_else(missing)?;
        loop {
            let here = if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            };
            match self.dir.open_dir(here) {
                Ok(dir) => {
                    let real = self.path_of(path, &dir)?;
                    let rest = rest.iter().rev().collect::<PathBuf>();
                    return text_path(path, &Path::new(&real).join(rest));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    rest.push(parent.file_name().ok_or_else(missing)?);
                    parent = parent.parent().ok_or_else(missing)?;
                }
                Err(error) => return Err(refusal(path, &error)),
            }
        }
    }

    /// A path as it can be opened beneath the root.
    fn inside(&self, path: &str) -> Result<PathBuf, PathError> {
        let outside = || PathError::Outside(path.to_owned());
        let mut inside = Path::new(path);
        if inside.is_absolute() {
            let stripped = inside.strip_prefix(&self.path);
            inside = stripped
                .or_else(|_| inside.strip_prefix(&self.given))
                .map_err(|_| outside())?;
        }
        // `..` in front can only lead out; further in, the descriptor decides.
        if inside.components().next() == Some(Component::ParentDir) {
            return Err(outside());
        }
        let empty = inside.as_os_str().is_empty();
        Ok(if empty {
            PathBuf::from(".")
        } else {
            inside.to_owned()
        })
    }

    /// The real path from the root of something that was opened.
    fn path_of(&self, path: &str, opened: &impl AsFd) -> Result<String, PathError> {
        let real = real_path(opened).map_err(|error| refusal(path, &error))?;
        let beneath = real
            .strip_prefix(&self.path)
            .map_err(|_| PathError::Outside(path.to_owned()))?;
        text_path(path, beneath)
    }
}

impl OpenedFile {
    /// The whole file as text.
    ///
    /// # Errors
    /// Where it is too large, or not text.
    pub fn text(mut self) -> Result<TextFile, PathError> {
        let bytes = self.bytes()?;
        let hash = sha256(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(TextFile {
                path: self.path,
                text,
                hash,
                buffer: None,
            }),
            _ => Err(PathError::Binary(self.path)),
        }
    }

    /// Whether it has more than [`MAX_FILE`] bytes.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.file
            .metadata()
            .is_ok_and(|about| about.len() > MAX_FILE)
    }

    /// The file itself, to read from its beginning.
    #[must_use]
    pub fn into_file(self) -> fs::File {
        self.file
    }

    fn bytes(&mut self) -> Result<Vec<u8>, PathError> {
        let mut bytes = Vec::new();
        // Never more than the bound, however the file grows meanwhile.
        let read = self
            .file
            .by_ref()
            .take(MAX_FILE + 1)
            .read_to_end(&mut bytes);
        read.map_err(|error| refusal(&self.path, &error))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(PathError::TooLarge(self.path.clone()));
        }
        Ok(bytes)
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Workspace").field(&self.path).finish()
    }
}

/// A name as a forgiving file system would compare it.
pub(super) fn folded_name(name: &OsStr) -> String {
    names::folded(name)
}

/// Whether a place is one that other programs take code from, or that holds Aside's own settings, by the folded names
/// that lead to it, none of which but the last is one itself.
pub(super) fn is_guarded(names: &[String]) -> bool {
    names::is_guarded(names)
}

/// Where a user's secrets usually are: folders and files below the home, and of the system.
pub(super) fn secret_places(home: &Path) -> Vec<PathBuf> {
    names::secret_places(home)
}

fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from)
}

/// Why changing a file must be asked for.
fn takes_code(path: &str, program: &str) -> String {
    format!("{} can make {program} run commands", short_line(path, 80))
}

/// Where an open file or folder really is, as the kernel says.
fn real_path(opened: &impl AsFd) -> io::Result<PathBuf> {
    #[cfg(target_vendor = "apple")]
    {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let path = rustix::fs::getpath(opened.as_fd())?;
        Ok(PathBuf::from(OsStr::from_bytes(path.as_bytes())))
    }
    #[cfg(not(target_vendor = "apple"))]
    fs::read_link(format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()))
}

fn check_type(path: &str, metadata: &cap_std::fs::Metadata) -> Result<(), PathError> {
    if metadata.is_dir() {
        return Err(PathError::IsFolder(path.to_owned()));
    }
    if metadata.is_file() {
        Ok(())
    } else {
        Err(PathError::Special(path.to_owned()))
    }
}

fn text_path(path: &str, real: &Path) -> Result<String, PathError> {
    let why = || "its real name is not UTF-8".to_owned();
    let text = real.to_str().map(str::to_owned);
    text.ok_or_else(|| PathError::Failed {
        path: path.to_owned(),
        why: why(),
    })
}

fn refusal(path: &str, error: &io::Error) -> PathError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => PathError::Missing(path),
        io::ErrorKind::NotADirectory => PathError::NotFolder(path),
        // The sandboxed open says so without an error number.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            PathError::Outside(path)
        }
        io::ErrorKind::CrossesDevices => PathError::Outside(path),
        _ => PathError::Failed {
            path,
            why: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
