//! Files that Unix sockets are bound to, as the kernel tells them: by number, whatever name each has by now.

use std::io;

use rustix::{
    io::retry_on_intr,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    },
};

/// Sockets that listen, and those that take what anybody sends.
const STATES: u32 = 1 << 10 | 1 << 7;
/// Asks for the file of each socket.
const SHOW_FILE: u32 = 2;
/// The attribute that tells it.
const FILE: u16 = 1;

/// Kinds of messages, and flags of the request.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_ALL: u16 = 0x301;

/// Sizes of the head of a message, of what is said of a socket before its attributes, and of the head of an attribute.
const HEAD: usize = 16;
const SOCKET: usize = 16;
const ATTRIBUTE: usize = 4;
/// Maximum size of what comes at once.
const MOST: usize = 64 << 10;

/// A file that a socket of this network is bound to, which may have no name any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoundFile {
    /// The number of the socket.
    pub(super) socket: u32,
    /// The file system, as the kernel lists its mounts.
    pub(super) device: String,
    /// The number of the file, without what exceeds 32 bits.
    pub(super) number: u32,
}

/// The files of all sockets of this network to which somebody could connect.
///
/// # Errors
/// Fails if the kernel does not tell them.
pub(super) fn bound_files() -> io::Result<Vec<BoundFile>> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    let wire = socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    send(&wire, &request(), SendFlags::empty())?;
    let mut all = Vec::new();
    let mut bytes = vec![0; MOST];
    loop {
        let (_, size) = retry_on_intr(|| recv(&wire, &mut bytes[..], RecvFlags::TRUNC))?;
        let said = bytes.get(..size).and_then(|said| read(said, &mut all));
        if said.ok_or(io::ErrorKind::InvalidData)? {
            return Ok(all);
        }
    }
}

fn request() -> Vec<u8> {
    let mut rest = Vec::new();
    rest.extend(BY_FAMILY.to_ne_bytes());
    rest.extend(REQUEST_ALL.to_ne_bytes());
    rest.extend([0; 8]);
    // The family of Unix sockets.
    rest.extend([1, 0, 0, 0]);
    for word in [STATES, 0, SHOW_FILE, u32::MAX, u32::MAX] {
        rest.extend(word.to_ne_bytes());
    }
    let size = u32::try_from(rest.len() + 4).unwrap_or_default();
    [&size.to_ne_bytes()[..], &rest].concat()
}

/// Reads messages, and returns whether the last was among them. None if they are not what was asked for.
fn read(mut said: &[u8], all: &mut Vec<BoundFile>) -> Option<bool> {
    while !said.is_empty() {
        let size = number(said, 0)? as usize;
        let message = said.get(..size).filter(|it| it.len() >= HEAD)?;
        match short(message, 4)? {
            DONE => return (number(message, HEAD)? == 0).then_some(true),
            ERROR => return None,
            _ => all.extend(bound(message.get(HEAD..)?)),
        }
        said = said.get(size.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(false)
}

/// The file of one socket, if it is bound to one.
fn bound(about: &[u8]) -> Option<BoundFile> {
    let socket = number(about, 4)?;
    let mut attributes = about.get(SOCKET..)?;
    loop {
        let size = usize::from(short(attributes, 0)?).max(ATTRIBUTE);
        if short(attributes, 2)? == FILE {
            let device = number(attributes, ATTRIBUTE + 4)?;
            return Some(BoundFile {
                socket,
                device: format!("{}:{}", device >> 20, device & 0xf_ffff),
                number: number(attributes, ATTRIBUTE)?,
            });
        }
        attributes = attributes.get(size.next_multiple_of(4)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    bytes.try_into().ok().map(u16::from_ne_bytes)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::net::UnixListener, path::Path};

    use super::*;
    use crate::sandbox::mountinfo::{identity, mounts};

    #[test]
    fn a_socket_is_known_by_its_file_whatever_that_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let _listener = UnixListener::bind(&first).unwrap();
        fs::rename(&first, &second).unwrap();
        let mounts = mounts().unwrap();
        let file =
            |path: &Path| identity(path, &mounts).map(|(device, it)| (device.to_owned(), it));
        let (device, number) = file(&second).unwrap();
        let files = bound_files().unwrap();
        let is_it =
            |it: &&BoundFile| it.device == device && u64::from(it.number) == number & 0xffff_ffff;
        assert_eq!(files.iter().filter(is_it).count(), 1, "{files:?}");
    }

    #[test]
    fn what_the_kernel_does_not_say_so_is_not_read() {
        let message = |kind: u16, rest: &[u8]| {
            let size = u32::try_from(HEAD + rest.len()).unwrap();
            [&size.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], rest].concat()
        };
        let socket = [&[1, 1, 10, 0][..], &7_u32.to_ne_bytes(), &[0; 8]].concat();
        let named = [&7_u16.to_ne_bytes()[..], &0_u16.to_ne_bytes(), b"/s\0\0"].concat();
        let words = [5_u32, 254 << 20 | 3].map(u32::to_ne_bytes).concat();
        let file = [&12_u16.to_ne_bytes()[..], &FILE.to_ne_bytes(), &words].concat();
        let whole = message(BY_FAMILY, &[&socket[..], &named, &file].concat());
        let all = |said: &[u8]| {
            let mut all = Vec::new();
            let is_last = read(said, &mut all);
            (is_last, all)
        };
        let expected = BoundFile {
            socket: 7,
            device: "254:3".to_owned(),
            number: 5,
        };
        assert_eq!(all(&whole), (Some(false), vec![expected.clone()]));
        let done = message(DONE, &[0; 4]);
        assert_eq!(
            all(&[&whole[..], &done].concat()),
            (Some(true), vec![expected])
        );
        assert_eq!(all(&message(BY_FAMILY, &socket)), (Some(false), vec![]));
        assert_eq!(all(&message(ERROR, &[0; 20])).0, None);
        assert_eq!(all(&whole[..whole.len() - 1]).0, None);
        assert_eq!(all(&[0; 16]).0, None);
    }
}
