//! Trials from the inside of what the walls of macOS have to hold back. Nothing is mounted there: a profile names
//! places by their paths, and whether the kernel reads it as it was meant is tried at each place before the command starts.

use std::{
    ffi::OsStr,
    fs,
    net::{Ipv4Addr, TcpStream},
    os::unix::{ffi::OsStrExt, net::UnixStream},
    path::{Path, PathBuf},
    process,
};

use rustix::{
    fs::{
        CWD, CloneFlags, Mode, OFlags, RenameFlags, fclonefileat, mkdir, open, renameat_with,
        rmdir, unlink,
    },
    io::Errno,
};

use crate::sandbox::{layout::Layout, seatbelt::DATA};

/// The byte that ends a word.
const END: u8 = 0;

/// An act that must not work at a place, or must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// Reading it fails.
    Read,
    /// Writing it fails, or making something in it.
    Write,
    /// Removing the folder fails, which is not empty.
    Remove,
    /// Making a folder fails at this path, where nothing is.
    Make,
    /// Exchanging it with another folder fails.
    Exchange,
    /// Cloning the folder at once, with all that lies in it, fails.
    Clone,
    /// No Unix socket there answers.
    Socket,
    /// No port of this machine answers; the path is its number.
    Port,
    /// Making a file in this folder works.
    Open,
}

/// All that has to be tried inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MeantMounts(Vec<(Trial, PathBuf)>);

impl Trial {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::Remove, "remove"),
        (Self::Make, "make"),
        (Self::Exchange, "exchange"),
        (Self::Clone, "clone"),
        (Self::Socket, "socket"),
        (Self::Port, "port"),
        (Self::Open, "open"),
    ];

    fn word(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(it, _)| *it == self).map_or("", |(_, word)| word)
    }

    fn of(word: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, it)| it.as_bytes() == word).map(|(it, _)| *it)
    }

    /// Whether a place is as it has to be.
    fn holds(self, path: &Path) -> bool {
        let plain = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        match self {
            Self::Read => {
                let second = path.strip_prefix("/").map(|it| Path::new(DATA).join(it));
                let both = [Some(path), second.as_deref().ok()].into_iter().flatten();
                let mut read = both.map(|path| open(path, plain | OFlags::RDONLY, Mode::empty()));
                read.all(is_refused)
            }
            Self::Write => match make_in(path) {
                Err(Errno::NOTDIR) => is_refused(open(path, plain | OFlags::WRONLY, Mode::empty())),
                made => is_refused(made),
            },
            // Where this is allowed, the folder is in use by what lies in it.
            Self::Remove => is_refused(rmdir(path)),
            Self::Make => {
                let made = mkdir(path, Mode::RWXU);
                if made.is_ok() {
                    let _ = rmdir(path);
                }
                made == Err(Errno::PERM)
            }
            Self::Exchange => cannot_exchange(path),
            Self::Clone => cannot_clone(path),
            Self::Socket => {
                let reached = UnixStream::connect(path).map(drop);
                reached.is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::PERM))
            }
            Self::Port => {
                let number = path.to_str().and_then(|it| it.parse::<u16>().ok());
                let Some(port) = number else {
                    return false;
                };
                let reached = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop);
                reached.is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::PERM))
            }
            Self::Open => make_in(path) == Ok(true),
        }
    }
}

/// Makes a file in a folder, and returns whether it could be taken away again.
fn make_in(folder: &Path) -> Result<bool, Errno> {
    let path = folder.join(format!(".aside-{}", process::id()));
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(open(&path, flags, Mode::RUSR | Mode::WUSR)?);
    Ok(unlink(&path).is_ok())
}

/// Whether a folder cannot be cloned into the working directory at once.
fn cannot_clone(folder: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(opened) = open(folder, flags, Mode::empty()) else {
        return false;
    };
    let clone = format!(".aside-{}", process::id());
    let cloned = fclonefileat(&opened, CWD, clone.as_str(), CloneFlags::empty());
    if cloned.is_ok() {
        let _ = fs::remove_dir_all(&clone);
    }
    // A disk that clones nothing says so.
    matches!(cloned, Err(Errno::PERM | Errno::NOTSUP))
}

/// Whether another folder cannot take the place of what lies at a path, and that its place.
fn cannot_exchange(path: &Path) -> bool {
    let other = path.with_file_name(format!(".aside-{}", process::id()));
    let exchange = || renameat_with(CWD, path, CWD, &other, RenameFlags::EXCHANGE);
    if mkdir(&other, Mode::RWXU).is_err() {
        return false;
    }
    let exchanged = exchange();
    if exchanged.is_ok() {
        let _ = exchange();
    }
    let _ = rmdir(&other);
    exchanged == Err(Errno::PERM)
}

/// Whether something was refused, or had nothing to work on, as in a Unix socket, which nobody can open. Any other error
/// tells nothing.
fn is_refused<T>(done: Result<T, Errno>) -> bool {
    const REFUSALS: [Errno; 7] = [
        Errno::PERM,
        Errno::ACCESS,
        Errno::ROFS,
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::LOOP,
        Errno::OPNOTSUPP,
    ];
    done.is_err_and(|error| REFUSALS.contains(&error))
}

impl MeantMounts {
    /// All that a layout promises of places that are there.
    pub(crate) fn of(layout: &Layout) -> Self {
        let all = |trial, paths: &mut dyn Iterator<Item = &PathBuf>| {
            let all: Vec<_> = paths.map(|path| (trial, path.clone())).collect();
            all
        };
        let mut hidden = layout.hidden.iter().chain(&layout.masked);
        let mut trials = all(Trial::Read, &mut hidden);
        trials.extend(all(Trial::Write, &mut layout.protected.keys()));
        let pins = layout.pins().into_iter();
        trials.extend(pins.map(|path| (Trial::Remove, path.to_owned())));
        Self(trials)
    }

    /// Adds a trial.
    pub(crate) fn and(mut self, trial: Trial, path: impl Into<PathBuf>) -> Self {
        self.0.push((trial, path.into()));
        self
    }

    /// The trials as the first program inside reads them, their number first.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let count = self.0.len().to_string();
        let words = self.0.iter();
        let words =
            words.flat_map(|(trial, path)| [trial.word().as_bytes(), path.as_os_str().as_bytes()]);
        let mut bytes = Vec::new();
        for word in [count.as_bytes()].into_iter().chain(words) {
            bytes.extend_from_slice(word);
            bytes.push(END);
        }
        bytes
    }

    /// Reads the trials. None if they are not complete.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.split(|byte| *byte == END);
        let count: usize = str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let mut all = Vec::new();
        for _ in 0..count {
            let trial = Trial::of(words.next()?)?;
            all.push((trial, PathBuf::from(OsStr::from_bytes(words.next()?))));
        }
        // Behind the end of the last word there is nothing.
        (words.next() == Some(&[]) && words.next().is_none()).then_some(Self(all))
    }

    /// The first place at which the walls are not what was meant.
    pub(crate) fn differs(&self) -> Option<PathBuf> {
        let mut all = self.0.iter();
        let other = all.find(|(trial, path)| !trial.holds(path));
        other.map(|(_, path)| path.clone())
    }
}
