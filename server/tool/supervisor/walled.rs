//! What a supervisor and bubblewrap say to each other, and to the first program inside.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    sync::mpsc::{Receiver, channel},
    thread,
};

use aside_base::system::files::unnamed;
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};

use super::{BUILT, handed, inside, proxy};
use crate::sandbox::{
    filter,
    hosts::AllowedHost,
    layout::{FILTER_FD, STATUS_FD},
};

/// Hears [`inside`], reports once the sandbox is built, and serves the proxy once its socket comes. Returns the standard
/// input for [`inside`], over which it is handed what it takes: the mounts that were meant and the command's own input;
/// and the place at which something else is mounted, if one is named.
pub(super) fn hear_inside(
    handed_on: &[OwnedFd],
    hosts: Option<Vec<AllowedHost>>,
) -> io::Result<(OwnedFd, Receiver<Option<String>>)> {
    let (mut ours, theirs) = UnixStream::pair()?;
    for descriptor in handed_on {
        handed::give(&ours, descriptor)?;
    }
    let (tell, said) = channel();
    thread::Builder::new().spawn(move || {
        let socket = hosts.as_ref().and_then(|_| handed::take(&ours).ok());
        let is_built = match hosts {
            Some(_) => socket.is_some(),
            None => {
                let mut byte = [0];
                ours.read_exact(&mut byte).is_ok() && byte == inside::STANDS
            }
        };
        if is_built {
            drop(ours);
            let _ = rustix::io::write(rustix::stdio::stdin(), BUILT.as_bytes());
            let _ = tell.send(None);
            if let Some((socket, hosts)) = socket.zip(hosts) {
                proxy::serve(socket, hosts);
            }
            return;
        }
        // The sandbox could not be built, or a place follows.
        let mut place = Vec::new();
        let _ = ours.read_to_end(&mut place);
        let place = String::from_utf8_lossy(&place).into_owned();
        let _ = tell.send((!place.is_empty()).then_some(place));
    })?;
    Ok((theirs.into(), said))
}

/// Descriptors for bubblewrap.
pub(super) struct WallPipes {
    filter: OwnedFd,
    status: File,
    status_end: OwnedFd,
}

impl WallPipes {
    /// Opens both descriptors at the numbers that bubblewrap is told. Only 0, 1 and 2 are open before.
    pub(super) fn open(has_unix: bool) -> io::Result<Self> {
        let Some(program) = filter::program(has_unix) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let mut filter = unnamed()?;
        filter.write_all(&program)?;
        filter.rewind()?;
        let (status, status_end) = io::pipe()?;
        // Non-blocking, because bubblewrap may end without writing a status.
        ioctl_fionbio(&status, true)?;
        for kept in [filter.as_fd(), status_end.as_fd()] {
            fcntl_setfd(kept, FdFlags::empty())?;
        }
        if filter.as_raw_fd() != FILTER_FD || status_end.as_raw_fd() != STATUS_FD {
            return Err(io::Error::other("a descriptor is taken"));
        }
        Ok(Self {
            filter: filter.into(),
            status: OwnedFd::from(status).into(),
            status_end: status_end.into(),
        })
    }

    /// Closes bubblewrap's ends and returns the file of its status.
    pub(super) fn started(self) -> File {
        drop((self.filter, self.status_end));
        self.status
    }
}
