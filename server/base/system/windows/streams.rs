//! Standard input and output.
//!
//! A protocol takes the handles of standard input and output away, so that only it can use the pipes. Otherwise a stray
//! `print!` of a library, or a child that inherits the handles, would break the framing.

use std::{
    fs::File,
    io::{self, PipeReader},
    os::windows::io::{AsHandle, IntoRawHandle, OwnedHandle},
};

use windows_sys::Win32::System::Console::{STD_INPUT_HANDLE, STD_OUTPUT_HANDLE};

use super::calls::{self, HandleKind};

/// An open stream that is handed to a child.
pub type OwnedStream = OwnedHandle;

/// Returns the real standard input, which children do not inherit. Standard input reads as empty from now on.
///
/// Must be called before anything reads standard input, because buffered input would be lost.
///
/// # Errors
/// If the system has no handle left.
pub fn claim_stdin() -> io::Result<File> {
    let stdin = io::stdin();
    calls::keep_from_children(stdin.as_handle());
    let claimed = stdin.as_handle().try_clone_to_owned()?;
    let empty = File::open("NUL")?;
    calls::set_standard(STD_INPUT_HANDLE, &empty)?;
    // Standard input is this as long as the process runs.
    let _ = empty.into_raw_handle();
    Ok(claimed.into())
}

/// Returns the real standard output, which children do not inherit. Standard output leads to standard error from now on.
///
/// # Errors
/// If the system has no handle left.
pub fn claim_stdout() -> io::Result<File> {
    let stdout = io::stdout();
    calls::keep_from_children(stdout.as_handle());
    let claimed = stdout.as_handle().try_clone_to_owned()?;
    calls::set_standard(STD_OUTPUT_HANDLE, &io::stderr())?;
    Ok(claimed.into())
}

/// Descriptors that an event loop takes as it starts, and some more.
const LOOP_DESCRIPTORS: usize = 8;

/// Looks whether there are descriptors for an event loop, which panics where it gets some and not all.
///
/// # Errors
/// What the system says where it gives none.
pub fn look_for_descriptors() -> io::Result<()> {
    let pairs: io::Result<Vec<_>> = (0..LOOP_DESCRIPTORS / 2).map(|_| io::pipe()).collect();
    pairs.map(drop)
}

/// Keeps children from inheriting standard streams that they are not given: whoever started this process may have left
/// them so.
pub fn keep_from_children() {
    calls::keep_from_children(io::stdin().as_handle());
    calls::keep_from_children(io::stdout().as_handle());
    calls::keep_from_children(io::stderr().as_handle());
}

/// Whether standard input is a file, a pipe or a socket, which somebody gave to this process to be read.
#[must_use]
pub fn stdin_is_given() -> bool {
    calls::kind(&io::stdin()) != HandleKind::Other
}

/// Whether the process that started this one has the same standard input. That is not known here.
#[must_use]
pub fn stdin_is_shared() -> bool {
    false
}

/// The end of a pipe as the output of a child, which is read like others.
#[must_use]
pub fn as_output(pipe: PipeReader) -> std::process::ChildStdout {
    OwnedHandle::from(pipe).into()
}

/// The end of a pipe as the input of a child, which is written like others.
#[must_use]
pub fn as_input(pipe: io::PipeWriter) -> std::process::ChildStdin {
    OwnedHandle::from(pipe).into()
}
