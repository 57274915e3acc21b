//! Takes descriptors 0 and 1 away, so that nothing but the protocol can be read or written there.
//!
//! A stray `print!` of a library, or a child that inherits descriptors, would otherwise break the framing.

#[cfg(test)]
mod tests;

use std::{fs::File, io};

use rustix::{
    fs::{self, Mode, OFlags},
    io::fcntl_dupfd_cloexec,
    stdio,
};

/// Where the claimed descriptors go: above those that programs take for granted.
const FIRST: i32 = 64;

/// The real standard input, which children do not inherit; descriptor 0 reads as empty from now on.
///
/// Call it before anything reads standard input: what a buffer holds already is lost.
pub fn claim_stdin() -> io::Result<File> {
    let claimed = claim(stdio::stdin())?;
    let null = fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    stdio::dup2_stdin(null)?;
    Ok(claimed)
}

/// The real standard output, which children do not inherit; what is written to descriptor 1 from now on goes
/// to standard error.
pub fn claim_stdout() -> io::Result<File> {
    let claimed = claim(stdio::stdout())?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok(claimed)
}

fn claim(descriptor: rustix::fd::BorrowedFd<'_>) -> io::Result<File> {
    let claimed = fcntl_dupfd_cloexec(descriptor, FIRST)?;
    // A client may hand us a pipe that does not block; the threads that use it are there to be blocked.
    let flags = fs::fcntl_getfl(&claimed)?;
    if flags.contains(OFlags::NONBLOCK) {
        fs::fcntl_setfl(&claimed, flags - OFlags::NONBLOCK)?;
    }
    Ok(claimed.into())
}
