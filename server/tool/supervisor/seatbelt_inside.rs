//! The first program inside a sandbox of macOS: `aside __inside <wire> [--cache <name> <folder>]... <program> <arguments>`.
//!
//! The program tries whether the walls are as they were meant, of which the descriptor tells, says so there, and becomes
//! the command. Otherwise it says where they are not, and ends.

use std::{
    env,
    ffi::OsString,
    io::{self, Read, Write},
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Command, exit},
};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::sandbox::{layout, mounts::MeantMounts, seatbelt::CACHE};

/// The hidden first argument with which `aside` becomes another program inside the sandbox.
pub(super) const INSIDE: &str = layout::INSIDE;

/// Says that the walls are as they were meant.
pub(super) const STANDS: &[u8] = b".";

/// Precedes the place at which they are not.
pub(super) const OTHER: &[u8] = b"!";

/// Stands for that place where it is not known what is meant.
const UNKNOWN: &str = "the whole sandbox";

/// Becomes the command in the arguments.
pub(super) fn inside_main(args: impl IntoIterator<Item = OsString>) -> ! {
    let mut args = args.into_iter().peekable();
    let Some(mut wire) = wire(args.next()) else {
        exit(127)
    };
    let answer = match meant(&mut wire).map(|meant| meant.differs()) {
        None => [OTHER, UNKNOWN.as_bytes()].concat(),
        Some(Some(place)) => [OTHER, place.as_os_str().as_encoded_bytes()].concat(),
        Some(None) => STANDS.to_vec(),
    };
    let told = wire.write_all(&answer);
    drop(wire);
    if told.is_err() || answer != STANDS {
        exit(127)
    }
    let private = env::var_os("TMPDIR").map(PathBuf::from).unwrap_or_default();
    let mut caches = Vec::new();
    while args.next_if(|it| it == CACHE).is_some() {
        let (name, folder) = (args.next(), args.next());
        caches.extend(name.zip(folder.map(|folder| private.join(folder))));
    }
    let program = args.next().unwrap_or_default();
    let error = Command::new(&program).args(args).envs(caches).exec();
    let line = format!("{}: {error}\n", program.display());
    let _ = io::stderr().lock().write_all(line.as_bytes());
    exit(127)
}

/// The wire, by the number of its descriptor.
#[expect(
    unsafe_code,
    reason = "a descriptor that is handed on has a number alone"
)]
fn wire(number: Option<OsString>) -> Option<UnixStream> {
    let number: i32 = number?.to_str()?.parse().ok()?;
    // SAFETY: the supervisor handed this descriptor on to this process, which has opened nothing yet.
    let wire = unsafe { OwnedFd::from_raw_fd((number > 2).then_some(number)?) };
    fcntl_setfd(&wire, FdFlags::CLOEXEC).ok()?;
    Some(wire.into())
}

/// The walls as they are meant. None if not all of it comes.
fn meant(wire: &mut UnixStream) -> Option<MeantMounts> {
    let mut bytes = Vec::new();
    wire.read_to_end(&mut bytes).ok()?;
    MeantMounts::read(&bytes)
}
