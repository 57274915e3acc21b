//! Descriptors sent over the lifeline, the only way to a supervisor, which closes all inherited ones.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Flags that keep a received descriptor from other child processes. Systems without the flag hand nothing over while
/// processes are started.
#[cfg(target_os = "linux")]
const FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const FLAGS: RecvFlags = RecvFlags::empty();

/// Sends a descriptor to the other end, where it waits until it is taken.
pub(crate) fn give(to: impl AsFd, what: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [what.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(to, &[IoSlice::new(b"i")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives the descriptor that is sent first; later data stays unread.
pub(super) fn take(from: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(from, &mut bytes, &mut control, FLAGS)?;
    let mut messages = control.drain();
    let taken = messages.find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let taken = taken.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    #[cfg(not(target_os = "linux"))]
    rustix::io::fcntl_setfd(&taken, rustix::io::FdFlags::CLOEXEC)?;
    Ok(taken)
}
