//! The supervisor's part in a sandbox of macOS: a private folder, a proxy at a port of this machine, both of
//! which the profile has to name, and a wire to the first program inside.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use aside_base::system::folders::canonical;
use rustix::io::{FdFlags, fcntl_setfd};
use tempfile::TempDir;

use super::{BUILT, NO_WALLS, OTHER_WALLS, Order, Report, inside, processes::LAST, proxy};
use crate::sandbox::{
    hosts::AllowedHost,
    layout::PROXY_VARIABLES,
    seatbelt::{PROFILE_AT, WIRE_AT, opened},
};

/// Number of ports that are tried for the proxy.
const PORTS: usize = 20;

/// The supervisor's ends of a sandbox.
pub(super) struct Walled {
    /// Deleted with this.
    private: TempDir,
    /// The end of the first program inside, until that has it.
    wire: Option<UnixStream>,
    said: Option<Receiver<InsideAnswer>>,
}

/// Answer of the first program inside.
enum InsideAnswer {
    /// The walls are as they were meant.
    Stands,
    /// They are not, at this place.
    Other(String),
}

impl Walled {
    /// Makes the private folder.
    ///
    /// # Errors
    /// Says why not.
    pub(super) fn open(_has_unix: bool) -> Result<Self, String> {
        let private = tempfile::Builder::new().prefix("aside-").tempdir();
        let private = private.map_err(|error| format!("it gets no private folder: {error}"))?;
        Ok(Self {
            private,
            wire: None,
            said: None,
        })
    }

    /// Adds to the profile what is known by now, and lays the wire. The command's own input stays as it is.
    ///
    /// # Errors
    /// Fails if there is no thread, no socket or no port for that, or no profile.
    pub(super) fn connect(
        &mut self,
        meant: OwnedFd,
        input: OwnedFd,
        order: &mut Order,
    ) -> io::Result<OwnedFd> {
        let mut expected = Vec::new();
        File::from(meant).read_to_end(&mut expected)?;
        let private = canonical(self.private.path())?;
        let port = order.hosts.take().map(serve).transpose()?;
        let further = opened(&private, port).map_err(|_| {
            io::Error::other("its private folder has a name that no profile can spell")
        })?;
        let (ours, theirs) = UnixStream::pair()?;
        fcntl_setfd(&theirs, FdFlags::empty())?;
        if order.args.len() < WIRE_AT {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        order.args[PROFILE_AT].push(further);
        let number = theirs.as_raw_fd().to_string();
        order.args.insert(WIRE_AT, number.into());
        order.env.push(("TMPDIR".into(), private.into()));
        if let Some(port) = port {
            order.env.extend(proxied(port));
        }
        self.wire = Some(theirs);
        let (tell, said) = channel();
        self.said = Some(said);
        thread::Builder::new().spawn(move || hear_inside(ours, &expected, &tell))?;
        Ok(input)
    }

    /// Drops the end of the wire that is another's now.
    pub(super) fn started(&mut self) {
        self.wire = None;
    }

    /// The end of the command. Without a word of the first program inside it did not start.
    pub(super) fn report(self, report: Report) -> Report {
        let said = self.said.and_then(|said| said.recv_timeout(LAST).ok());
        match (said, report) {
            (_, Report::Stopped) => Report::Stopped,
            (Some(InsideAnswer::Stands), report) => report,
            (Some(InsideAnswer::Other(place)), _) => {
                Report::Unbuilt(format!("{OTHER_WALLS}{place}"))
            }
            (None, Report::Failed(why)) => Report::Failed(why),
            (None, _) => Report::Unbuilt(NO_WALLS.to_owned()),
        }
    }
}

/// Serves the proxy, and returns its port. Where there is IPv6, the port is nobody else's there either, as the profile
/// cannot tell the two apart.
///
/// # Errors
/// Fails if no such port is free, or there is no thread.
fn serve(allowed: Vec<AllowedHost>) -> io::Result<u16> {
    for _ in 0..PORTS {
        let first = TcpListener::bind(("127.0.0.1", 0))?;
        let port = first.local_addr()?.port();
        let listeners = match TcpListener::bind(("::1", port)) {
            Ok(second) => vec![first, second],
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => vec![first],
            Err(_) => continue,
        };
        return proxy::serve_at(listeners, allowed).map(|()| port);
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Variables by which programs find the proxy. Node uses them only if it is told to.
fn proxied(port: u16) -> impl Iterator<Item = (OsString, OsString)> {
    let proxy = OsString::from(format!("http://127.0.0.1:{port}"));
    let all = PROXY_VARIABLES.map(|name| (name.into(), proxy.clone()));
    all.into_iter()
        .chain([("NODE_USE_ENV_PROXY".into(), "1".into())])
}

/// Tells the first program inside what is meant, and hears whether it is so.
fn hear_inside(mut wire: UnixStream, expected: &[u8], tell: &Sender<InsideAnswer>) {
    let told = wire
        .write_all(expected)
        .and_then(|()| wire.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    // Nothing comes where the walls could not be built.
    if told.is_err() || wire.read_to_end(&mut answer).is_err() {
        return;
    }
    if answer == inside::STANDS {
        let _ = rustix::io::write(rustix::stdio::stdin(), BUILT.as_bytes());
        let _ = tell.send(InsideAnswer::Stands);
    } else if let Some(place) = answer.strip_prefix(inside::OTHER) {
        let _ = tell.send(InsideAnswer::Other(
            String::from_utf8_lossy(place).into_owned(),
        ));
    }
}
