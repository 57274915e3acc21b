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

use super::{
    BUILT, NO_WALLS, OTHER_WALLS, Order, Report, handed, inside, own_mounts, processes::LAST, proxy,
};
use crate::sandbox::{
    filter,
    hosts::AllowedHost,
    layout::bubblewrap::{FILTER_FD, STATUS_FD},
};

/// Hears [`inside`], reports once the sandbox is built, and serves the proxy once its socket comes. Returns the standard
/// input for [`inside`], over which it is handed what it takes: the mounts that were meant and the command's own input;
/// and the place at which something else is mounted, if one is named.
fn hear_inside(
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

/// The supervisor's ends of a sandbox.
pub(super) struct Walled {
    pipes: Option<WallPipes>,
    status: Option<File>,
    said: Option<Receiver<Option<String>>>,
}

impl Walled {
    /// Prepares for bubblewrap. The process has opened nothing else yet, and has no other threads.
    ///
    /// # Errors
    /// Says why not.
    pub(super) fn open(has_unix: bool) -> Result<Self, String> {
        own_mounts::take().map_err(|error| {
            format!(
                "its walls cannot be kept from what is mounted outside while it runs: {error}; Linux 6.2 can do that by itself"
            )
        })?;
        let pipes = WallPipes::open(has_unix);
        Ok(Self {
            pipes: Some(pipes.map_err(|error| format!("its walls cannot be built: {error}"))?),
            status: None,
            said: None,
        })
    }

    /// Hands over what the first program inside takes, and returns its standard input.
    ///
    /// # Errors
    /// Fails if there is no thread or no socket for that.
    pub(super) fn connect(
        &mut self,
        meant: OwnedFd,
        input: OwnedFd,
        order: &mut Order,
    ) -> io::Result<OwnedFd> {
        let (wire, said) = hear_inside(&[meant, input], order.hosts.take())?;
        self.said = Some(said);
        Ok(wire)
    }

    /// Takes note that bubblewrap runs.
    pub(super) fn started(&mut self) {
        self.status = self.pipes.take().map(WallPipes::started);
    }

    /// The end of the command, from bubblewrap's own.
    pub(super) fn report(self, report: Report) -> Report {
        // Once bubblewrap has ended, nobody holds the other end of the wire.
        let other = self.said.and_then(|said| said.recv_timeout(LAST).ok());
        match self.status {
            Some(status) => report.of_walls(status, other.flatten()),
            None => report,
        }
    }
}

impl Report {
    /// Converts bubblewrap's own end to the end of its command, or to the failure to start one. `other` is the place at
    /// which the first program inside found something else than was meant.
    fn of_walls(self, mut status: File, other: Option<String>) -> Self {
        if self == Self::Stopped {
            return self;
        }
        if let Some(place) = other {
            return Self::Unbuilt(format!("{OTHER_WALLS}{place}"));
        }
        let mut said = Vec::new();
        // Does not block, because bubblewrap has ended; a missing status was never written.
        let _ = status.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        let code = said.lines().find_map(|line| {
            let (_, code) = line.split_once("\"exit-code\":")?;
            code.trim_matches([' ', '}']).parse().ok()
        });
        match (code, self) {
            (Some(code), _) => Self::Exit(code),
            (None, Self::Exit(_)) => Self::Unbuilt(NO_WALLS.to_owned()),
            (None, other) => other,
        }
    }
}

/// Descriptors for bubblewrap.
struct WallPipes {
    filter: OwnedFd,
    status: File,
    status_end: OwnedFd,
}

impl WallPipes {
    /// Opens both descriptors at the numbers that bubblewrap is told. Only 0, 1 and 2 are open before.
    fn open(has_unix: bool) -> io::Result<Self> {
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
    fn started(self) -> File {
        drop((self.filter, self.status_end));
        self.status
    }
}
