//! The first program inside a sandbox: `aside __inside [--proxy] <program> <arguments>`.
//!
//! The program compares what is mounted with what was meant, which a file tells that comes over a socket, builds the second wall, opens the socket of the command's proxy in the command's
//! own network and hands it to the supervisor, and becomes the command. Where something else is mounted, or that cannot
//! be told, it says so over the same socket and ends.

use std::{
    convert::Infallible,
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    net::TcpListener,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Command, Stdio, exit},
};

use super::handed;
use crate::sandbox::{
    layout::{self, PROXY, PROXY_PORT},
    mounts::MeantMounts,
    second_wall,
};

/// The hidden first argument with which `aside` becomes another program inside the sandbox.
pub(super) const INSIDE: &str = layout::INSIDE;

/// Says that nothing else is mounted than was meant. Where there is a proxy, its socket says that.
pub(super) const STANDS: [u8; 1] = *b".";

/// Precedes the place at which something else is mounted than was meant.
const OTHER: &[u8] = b"!";

/// Stands for that place where the mounts cannot be read.
const UNKNOWN: &str = "/proc/self/mountinfo";

/// Becomes the command in the arguments.
pub(super) fn inside_main(args: impl IntoIterator<Item = OsString>) -> ! {
    let mut args = args.into_iter().peekable();
    let proxied = args.next_if(|it| it == PROXY).is_some();
    let meant = meant().ok().flatten();
    let other = match meant.as_ref().map(MeantMounts::differs) {
        Some(Ok(None)) => None,
        Some(Ok(Some(place))) => Some(place.into_os_string()),
        Some(Err(_)) | None => Some(UNKNOWN.into()),
    };
    if let Some(place) = other {
        let said = [OTHER, place.as_encoded_bytes()].concat();
        let _ = rustix::io::write(rustix::stdio::stdin(), &said);
        exit(127)
    }
    let program = args.next().unwrap_or_default();
    let meant = meant.unwrap_or_default();
    let error = match become_command(&program, args, proxied, &meant) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    let line = format!("{}: {error}\n", program.display());
    let _ = io::stderr().lock().write_all(line.as_bytes());
    exit(127)
}

/// The mounts that are expected. None if they are not complete.
fn meant() -> io::Result<Option<MeantMounts>> {
    let mut bytes = Vec::new();
    File::from(handed::take(rustix::stdio::stdin())?).read_to_end(&mut bytes)?;
    Ok(MeantMounts::read(&bytes))
}

fn become_command(
    program: &OsString,
    args: impl Iterator<Item = OsString>,
    proxied: bool,
    meant: &MeantMounts,
) -> io::Result<Infallible> {
    second_wall::build(meant.writable())?;
    let outside = rustix::stdio::stdin();
    let input = handed::take(outside)?;
    if proxied {
        let listener = TcpListener::bind(("127.0.0.1", PROXY_PORT))?;
        handed::give(outside, &OwnedFd::from(listener))?;
    } else {
        rustix::io::write(outside, &STANDS)?;
    }
    Err(Command::new(program)
        .args(args)
        .stdin(Stdio::from(input))
        .exec())
}
