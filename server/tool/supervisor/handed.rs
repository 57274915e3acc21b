//! A descriptor that goes over the lifeline, which is the only way to a supervisor: it closes what it inherited.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// What comes goes to no child process but the one that it is for, where the system can say so at once. Elsewhere
/// nothing is handed over while processes are started.
#[cfg(target_os = "linux")]
const FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const FLAGS: RecvFlags = RecvFlags::empty();

/// Gives a descriptor to whoever reads the other end. It waits there until it is taken.
pub(in crate::tool) fn give(to: impl AsFd, what: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [what.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(to, &[IoSlice::new(b"i")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Takes the descriptor that comes first of all; what comes after it stays unread.
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
    taken.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
}
