//! The path gate: the only way by which tools reach files.
//!
//! Everything is opened beneath a descriptor of the root. Checks use the real path of the opened descriptor, not the
//! text of a path: a link to `.git` is `.git`, whatever its name. A path that leads outside is refused, whether by
//! `..`, by an absolute path or by a link.
//!
//! | module | what lives there |
//! |---|---|
//! | `meant` | the file that a name means, as people and models write names |
//! | `inside` | from a name to the path from the root that it means |
//! | `names` | files that tools never write, and files whose change needs permission |
//! | `protected` | the table of places whose content other programs execute |
//! | `protection` | reasons to ask that lie in what a file is besides its text |
//! | `guard` | places that are guarded by identity and not by name |
//! | `write` | writes of whole files, and only over the expected content |

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read},
    path::{MAIN_SEPARATOR, Path, PathBuf},
    sync::Arc,
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};

use aside_base::{
    digest::sha256,
    homes::homes,
    incoming::PresentFile,
    secrets,
    system::{
        files::{FileFacts, cautious_inside, read_at},
        folders::{AsFolder, open_file, real_path},
    },
    under_way::FilesUnderWay,
    visible::{capitalised, short_line},
};
use aside_turn::attachment::MediaType;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::editor::Buffer;

mod guard;
mod inside;
mod meant;
mod names;
pub(super) mod protected;
mod protection;
mod write;

use guard::{Guard, Guarded};
use meant::unlikely;

/// Maximum size in bytes of a file that is read whole. Larger files can only be searched.
pub const MAX_FILE: u64 = 16 << 20;

/// A folder whose files tools may use.
pub struct Workspace {
    dir: Dir,
    path: PathBuf,
    /// The root as it was given. Absolute paths of a model may begin with this or the real path.
    given: PathBuf,
    guard: Guard,
    under_way: Option<FilesUnderWay>,
    edits: Arc<Mutex<()>>,
}

/// A file that was opened for reading.
#[derive(Debug)]
pub struct OpenedFile {
    /// Real path from the root, with `/`.
    pub path: String,
    /// Whether reading needs permission, because the file may hold secrets.
    pub secret: bool,
    file: fs::File,
}

/// The whole content of a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// Real path from the root, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// SHA-256 of the bytes.
    pub hash: String,
    /// The document that the text comes from, if the file is open in an editor.
    pub buffer: Option<Buffer>,
    /// Advice for who reads the text: the editor has another one.
    pub note: Option<&'static str>,
}

/// A folder beneath the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Real path from the root, with `/`; empty for the root.
    pub path: String,
    /// Absolute real path.
    pub real: PathBuf,
}

/// Destination of a text to write.
#[derive(Debug)]
pub struct WriteTarget {
    /// The real path from the root, with `/`.
    pub path: String,
    /// The existing file.
    pub old: Option<OpenedFile>,
    /// The reason why a person must be asked before anything is written there, whatever the mode: another program
    /// executes the file, or its owner protects it.
    pub must_ask: Option<String>,
}

/// Reason why a path cannot be used. Each displays as a sentence for the model.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The path is not beneath the root.
    #[error("`{0}` is outside the workspace; use a path inside it")]
    Outside(String),
    /// Nobody would name a file so.
    #[error("`{path}` is no name of a file here: {why}")]
    NoName {
        /// The path as the model named it.
        path: String,
        /// The reason, and what to write instead.
        why: &'static str,
    },
    /// Tools never write to this place.
    #[error("`{0}` is protected and cannot be changed by a tool; ask the user to change it")]
    Protected(String),
    /// The path does not exist.
    #[error("there is no `{0}`; look with list_files")]
    Missing(String),
    /// The path is a folder, and a file was expected.
    #[error("`{0}` is a folder; name a file")]
    IsFolder(String),
    /// The path is a file, and a folder was expected.
    #[error("`{0}` is not a folder")]
    NotFolder(String),
    /// The path is a pipe, a device or a socket.
    #[error("`{0}` is not a regular file and cannot be used")]
    Special(String),
    /// The file has more than [`MAX_FILE`] bytes.
    #[error("`{0}` is larger than 16 MiB, and no tool changes it; change it with a command")]
    TooLarge(String),
    /// The file is not UTF-8 or contains NUL bytes.
    #[error("`{0}` is binary, not UTF-8 text")]
    Binary(String),
    /// The file is not as expected.
    #[error("`{0}` changed since you read it; read it again before you change it")]
    Stale(String),
    /// The file may hold secrets, and the call was not allowed to read it.
    #[error("`{0}` may hold secrets, and nobody allowed this call to read it")]
    Secret(String),
    /// The operating system refused for another reason.
    #[error("`{path}` cannot be used: {why}")]
    Failed {
        /// The path as the model named it.
        path: String,
        /// The system's message.
        why: String,
    },
}

impl From<PathError> for String {
    /// A whole sentence for the model.
    fn from(error: PathError) -> Self {
        format!("{}.", capitalised(&error.to_string()))
    }
}

/// The `file://` URI of an absolute path.
#[must_use]
pub fn file_uri(path: &Path) -> String {
    match MAIN_SEPARATOR {
        '/' => uri_of(path.as_os_str().as_encoded_bytes()),
        _ => uri_of(path_in_uri(&path.to_string_lossy()).as_bytes()),
    }
}

/// A path of Windows as it stands in a URI: with the letter of its drive behind a slash, or that of another computer.
fn path_in_uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    match path.strip_prefix("//") {
        Some(of_computer) => of_computer.to_owned(),
        None => format!("/{path}"),
    }
}

fn uri_of(path: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let mut uri = String::from("file://");
    for byte in path {
        if plain(*byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

impl Workspace {
    /// Opens a folder as the root.
    ///
    /// # Errors
    /// Fails if the path is not a folder or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        let real = real_path(&dir, path)?;
        Ok(Self {
            dir,
            path: real,
            given: path.to_owned(),
            guard: Guard::new(Vec::new(), homes()),
            under_way: None,
            edits: Arc::default(),
        })
    }

    /// Adds folders of Aside's own, such as its state and the user's settings. No tool writes in them, by whatever name
    /// they are reached. They need not exist.
    #[must_use]
    pub fn with_own_folders(self, own: Vec<PathBuf>) -> Self {
        Self {
            guard: Guard::new(own, homes()),
            ..self
        }
    }

    /// Adds a place that notes the files being written, so that a later process can remove leftovers.
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

    /// The lock for planning and making an edit: edits of one process run one after another.
    pub(super) fn edit_turn(&self) -> OwnedMutexGuard<()> {
        self.edits.clone().blocking_lock_owned()
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
        // The type is checked first, because opening a device can have effects. The check on the opened file is the one
        // that counts; opening does not block, so that a pipe cannot hold us up.
        check_type(path, &self.dir.metadata(&inside).map_err(refuse)?)?;
        let mut options = OpenOptions::new();
        cautious_inside(options.read(true));
        let file = self.dir.open_with(&inside, &options).map_err(refuse)?;
        let metadata = file.metadata().map_err(refuse)?;
        check_type(path, &metadata)?;
        let real = self.path_of(path, &file, &inside)?;
        let secret = self.is_secret(&inside, &real);
        Ok(OpenedFile {
            path: real,
            secret,
            file: file.into_std(),
        })
    }

    /// Opens a regular file for reading by its name in an open folder; `path` is its path from the root. A link is not
    /// followed.
    ///
    /// # Errors
    /// A [`PathError`]; pipes and devices are never waited for.
    pub(super) fn file_in(
        &self,
        folder: &impl AsFolder,
        name: &OsStr,
        path: &str,
    ) -> Result<OpenedFile, PathError> {
        let file = open_file(folder, name).map_err(|error| refusal(path, &error))?;
        let about = file.metadata().map_err(|error| refusal(path, &error))?;
        if !about.is_file() {
            return Err(PathError::Special(path.to_owned()));
        }
        Ok(OpenedFile {
            secret: self.is_secret(Path::new(path), path),
            path: path.to_owned(),
            file,
        })
    }

    /// Finds a folder; the root is `.` or empty.
    ///
    /// # Errors
    /// Fails if the path leads out of the workspace or is not a folder.
    pub fn folder(&self, path: &str) -> Result<Folder, PathError> {
        self.open_folder(path).map(|(_, folder)| folder)
    }

    /// Finds and opens a folder.
    ///
    /// # Errors
    /// Fails if the path leads out of the workspace or is not a folder.
    pub(super) fn open_folder(&self, path: &str) -> Result<(Dir, Folder), PathError> {
        let inside = self.inside(path)?;
        let dir = self
            .dir
            .open_dir(&inside)
            .map_err(|error| refusal(path, &error))?;
        let from_root = self.path_of(path, &dir, &inside)?;
        let folder = Folder {
            // Joining an empty path would append a slash.
            real: if from_root.is_empty() {
                self.path.clone()
            } else {
                self.path.join(&from_root)
            },
            path: from_root,
        };
        Ok((dir, folder))
    }

    /// Finds the destination of a write, whether a file exists or not.
    ///
    /// # Errors
    /// A [`PathError`], also for places where tools never write.
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
        let opened = old.as_ref().map(|old| FileFacts::of(&old.file));
        let opened = opened.transpose().map_err(|error| refusal(path, &error))?;
        let owned = opened.as_ref().map(|about| self.guard.owns(about));
        let owned = owned.unwrap_or(Some(false));
        if owned == Some(true) {
            return Err(protected());
        }
        let guarded = opened
            .zip(old.as_ref())
            .and_then(|(about, old)| protection::reason(&real, &about, &old.file, &self.path));
        let doubt = owned.is_none().then(|| {
            let path = short_line(&real, 80);
            format!("{path} may be a file of Aside's own, which cannot all be compared with it")
        });
        let (folder, named, below) = self.nearest_folder(path, &real)?;
        let must_ask = self.may_write(path, &folder, named, below)?;
        let named = names::taken_by(&inside).or_else(|| names::taken_by(Path::new(&real)));
        let takes_code = named.map(|program| takes_code(&real, program)).or(must_ask);
        let reasons: Vec<String> = takes_code.into_iter().chain(guarded).chain(doubt).collect();
        Ok(WriteTarget {
            must_ask: (!reasons.is_empty()).then(|| reasons.join("; ")),
            path: real,
            old,
        })
    }

    /// Checks whether a file below a folder may be written, which was opened by a path from the root. Returns the reason
    /// why a person must be asked.
    fn may_write(
        &self,
        path: &str,
        folder: &Dir,
        by: &Path,
        below: Vec<OsString>,
    ) -> Result<Option<String>, PathError> {
        let real = real_path(folder, &self.path.join(by)).map_err(|error| refusal(path, &error))?;
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

    /// The nearest existing folder above a real path, its path from the root, and the names below it.
    fn nearest_folder<'a>(
        &self,
        path: &str,
        real: &'a str,
    ) -> Result<(Dir, &'a Path, Vec<OsString>), PathError> {
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
                    return Ok((dir, folder, below));
                }
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && !at.as_os_str().is_empty() => {}
                Err(error) => return Err(refusal(path, &error)),
            }
        }
    }

    /// Whether reading needs permission, by the path as it was named and the real path from the root.
    fn is_secret(&self, inside: &Path, real: &str) -> bool {
        let has_other_name = inside != Path::new(real);
        let real = self.path.join(real);
        secrets::is_secret(&real)
            || (has_other_name && secrets::is_secret(inside))
            // `/proc` holds the environments of processes.
            || real.starts_with("/proc")
            || self.guard.covers(&real)
    }

    /// Whether a real path is a folder of Aside's own.
    pub(super) fn is_own_folder(&self, real: &Path) -> bool {
        self.guard.covers(real)
    }

    /// The real path from the root of a missing file, and whether reading it would need permission.
    ///
    /// # Errors
    /// Fails if the path leads out of the workspace or through a folder that cannot be opened.
    pub(super) fn absent_file(&self, path: &str) -> Result<(String, bool), PathError> {
        let inside = self.inside(path)?;
        let real = self.absent(path, &inside)?;
        let secret = self.is_secret(&inside, &real);
        Ok((real, secret))
    }

    /// The real path from the root of a missing file: the real path of the nearest existing folder, and the rest as it
    /// was written.
    fn absent(&self, path: &str, inside: &Path) -> Result<String, PathError> {
        if let Some(why) = unlikely(inside) {
            let path = path.to_owned();
            return Err(PathError::NoName { path, why });
        }
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
                    let real = self.path_of(path, &dir, here)?;
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

    /// The real path from the root of a file or folder, which was opened by another path from there.
    fn path_of(&self, path: &str, opened: &impl AsFolder, by: &Path) -> Result<String, PathError> {
        let real = real_path(opened, &self.path.join(by));
        let real = real.map_err(|error| refusal(path, &error))?;
        let beneath = real
            .strip_prefix(&self.path)
            .map_err(|_| PathError::Outside(path.to_owned()))?;
        text_path(path, beneath)
    }
}

impl OpenedFile {
    /// Reads the whole file as text.
    ///
    /// # Errors
    /// Fails if the file is too large or not text.
    pub fn text(mut self) -> Result<TextFile, PathError> {
        let bytes = self.bytes()?;
        let hash = sha256(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(TextFile {
                path: self.path,
                text,
                hash,
                buffer: None,
                note: None,
            }),
            _ => Err(PathError::Binary(self.path)),
        }
    }

    /// The image or PDF that the file is, by its content, with its bytes; `None` if it is neither, or too large for a
    /// model.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn media(&mut self) -> Result<Option<(MediaType, Vec<u8>)>, PathError> {
        let mut beginning = [0; 16];
        let failed = |error| refusal(&self.path, &error);
        let read = read_at(&self.file, &mut beginning, 0).map_err(failed)?;
        let size = self.file.metadata().map_err(failed)?.len();
        let found = MediaType::of(&beginning[..read]);
        match found.filter(|found| size <= found.most().min(MAX_FILE)) {
            Some(found) => Ok(Some((found, self.bytes()?))),
            None => Ok(None),
        }
    }

    /// Whether the file has more than [`MAX_FILE`] bytes.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.file
            .metadata()
            .is_ok_and(|about| about.len() > MAX_FILE)
    }

    /// The file itself, positioned at its start.
    #[must_use]
    pub fn into_file(self) -> fs::File {
        self.file
    }

    /// Reads the whole file, of any content.
    fn present(mut self) -> Result<PresentFile, PathError> {
        let content = self.bytes()?;
        let file = self.file;
        Ok(PresentFile { file, content })
    }

    fn bytes(&mut self) -> Result<Vec<u8>, PathError> {
        let mut bytes = Vec::new();
        // Bounded, because the file may grow meanwhile.
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

/// Folds a name as a case-insensitive file system would.
pub(super) fn folded_name(name: &OsStr) -> String {
    secrets::folded(name)
}

/// The reason for a prompt before a file is changed that `program` executes.
fn takes_code(path: &str, program: &str) -> String {
    format!("{} can make {program} run commands", short_line(path, 80))
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
    let text = real.to_str().map(|text| match MAIN_SEPARATOR {
        '/' => text.to_owned(),
        other => text.replace(other, "/"),
    });
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
        // The sandboxed open reports this without an error number.
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
#[cfg(unix)]
mod tests;
