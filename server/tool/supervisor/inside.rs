//! The first program inside a sandbox with allowed hosts: `aside __inside <program> <arguments>`.
//!
//! The program opens the socket of the command's proxy in the command's own network, hands it to the supervisor, and
//! becomes the command.

use std::{
    convert::Infallible,
    ffi::OsString,
    io::{self, Write},
    net::TcpListener,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Command, Stdio, exit},
};

use super::handed;
use crate::sandbox::layout::{self, PROXY_PORT};

/// The hidden first argument with which `aside` becomes another program inside the sandbox.
pub const INSIDE: &str = layout::INSIDE;

/// Becomes the command in the arguments.
pub fn inside_main(args: impl IntoIterator<Item = OsString>) -> ! {
    let mut args = args.into_iter();
    let program = args.next().unwrap_or_default();
    let error = match become_command(&program, args) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    let line = format!("{}: {error}\n", program.display());
    let _ = io::stderr().lock().write_all(line.as_bytes());
    exit(127)
}

fn become_command(
    program: &OsString,
    args: impl Iterator<Item = OsString>,
) -> io::Result<Infallible> {
    let outside = rustix::stdio::stdin();
    let input = handed::take(outside)?;
    let listener = TcpListener::bind(("127.0.0.1", PROXY_PORT))?;
    handed::give(outside, &OwnedFd::from(listener))?;
    Err(Command::new(program)
        .args(args)
        .stdin(Stdio::from(input))
        .exec())
}
