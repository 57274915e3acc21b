//! Standard input and output.
//!
//! A protocol moves descriptors 0 and 1 away, so that only it can use the pipes. Otherwise a stray `print!` of a
//! library, or a child that inherits the descriptors, would break the framing.

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::{
    fs::{File, read_dir},
    io::{self, PipeReader, PipeWriter},
    os::{fd::OwnedFd, unix::net::UnixStream},
};

use rustix::{
    fs::{self, FileType, Mode, OFlags},
    io::fcntl_dupfd_cloexec,
    process::{Resource, getrlimit},
    stdio,
};

/// An open stream that is handed to a child.
pub type OwnedStream = OwnedFd;

/// Lowest number for moved descriptors, above those that programs use by convention.
const FIRST_MOVED: i32 = 64;

/// Most descriptors that are tried where nothing lists the open ones.
const MOST_TRIED: u64 = 65_536;

/// Returns the real standard input, which children do not inherit. Descriptor 0 reads as empty from now on.
///
/// Must be called before anything reads standard input, because buffered input would be lost.
///
/// # Errors
/// If the system has no descriptor left.
pub fn claim_stdin() -> io::Result<File> {
    let claimed = claim(stdio::stdin())?;
    let null = fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    // A pipe into which nobody writes reads as empty, too.
    let empty = null.map_or_else(|_| io::pipe().map(|(empty, _)| empty.into()), Ok)?;
    stdio::dup2_stdin(empty)?;
    Ok(claimed)
}

/// Returns the real standard output, which children do not inherit. Descriptor 1 leads to standard error from now on.
///
/// # Errors
/// If the system has no descriptor left.
pub fn claim_stdout() -> io::Result<File> {
    let claimed = claim(stdio::stdout())?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok(claimed)
}

fn claim(descriptor: rustix::fd::BorrowedFd<'_>) -> io::Result<File> {
    let claimed = fcntl_dupfd_cloexec(descriptor, FIRST_MOVED)?;
    // The client may have passed a non-blocking pipe; the threads that use it expect blocking.
    let flags = fs::fcntl_getfl(&claimed)?;
    if flags.contains(OFlags::NONBLOCK) {
        fs::fcntl_setfl(&claimed, flags - OFlags::NONBLOCK)?;
    }
    Ok(claimed.into())
}

/// Whether standard input is a file, a pipe or a socket, which somebody gave to this process to be read.
#[must_use]
pub fn stdin_is_given() -> bool {
    fs::fstat(stdio::stdin()).is_ok_and(|about| {
        let kind = FileType::from_raw_mode(about.st_mode);
        matches!(
            kind,
            FileType::Fifo | FileType::RegularFile | FileType::Socket
        )
    })
}

/// Whether the process that started this one has the same standard input, as a shell has that reads a script or a loop's
/// list there. False where that is not known.
#[must_use]
pub fn stdin_is_shared() -> bool {
    let Some(parent) = rustix::process::getppid() else {
        return false;
    };
    let of_parent = fs::stat(format!("/proc/{}/fd/0", parent.as_raw_nonzero()));
    let own = fs::fstat(stdio::stdin());
    let same =
        |(its, own): (fs::Stat, fs::Stat)| (its.st_dev, its.st_ino) == (own.st_dev, own.st_ino);
    of_parent.ok().zip(own.ok()).is_some_and(same)
}

/// Descriptors that an event loop takes as it starts, and some more.
const LOOP_DESCRIPTORS: usize = 8;

/// Looks whether there are descriptors for an event loop, which panics where it gets some and not all.
///
/// # Errors
/// What the system says where it gives none.
pub fn look_for_descriptors() -> io::Result<()> {
    let pairs: io::Result<Vec<_>> = (0..LOOP_DESCRIPTORS / 2)
        .map(|_| UnixStream::pair())
        .collect();
    pairs.map(drop)
}

/// Keeps children from inheriting standard streams that they are not given. None does here.
pub fn keep_from_children() {}

/// The end of a pipe as the output of a child, which is read like others.
#[must_use]
pub fn as_output(pipe: PipeReader) -> std::process::ChildStdout {
    OwnedFd::from(pipe).into()
}

/// The end of a pipe as the input of a child, which is written like others.
#[must_use]
pub fn as_input(pipe: PipeWriter) -> std::process::ChildStdin {
    OwnedFd::from(pipe).into()
}

/// Closes all descriptors but 0, 1 and 2, such as those inherited from an editor or a shell. Call it in a process that
/// has opened nothing yet.
#[expect(
    unsafe_code,
    reason = "descriptors of others are known by number alone"
)]
pub fn close_inherited() {
    let open = match cfg!(target_os = "linux") {
        true => "/proc/self/fd",
        false => "/dev/fd",
    };
    let listed = read_dir(open).map(|entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter_map(|name| name.to_str()?.parse().ok())
            .collect()
    });
    // Where nothing lists them, as in a Linux without `/proc`, there may be as many as are allowed.
    let open: Vec<i32> = listed.unwrap_or_else(|_| {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(MOST_TRIED);
        (0..i32::try_from(most.min(MOST_TRIED)).unwrap_or_default()).collect()
    });
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // SAFETY: the caller has opened nothing, so that no value of this process owns the descriptor.
        unsafe {
            // The listing's own descriptor is closed already.
            if rustix::io::fcntl_getfd(rustix::fd::BorrowedFd::borrow_raw(descriptor)).is_ok() {
                rustix::io::close(descriptor);
            }
        }
    }
}
