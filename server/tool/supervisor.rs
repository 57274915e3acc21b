//! The process between Aside and a command:
//! `aside __child <milliseconds> [--input] [--hosts <names>] [--walls | --namespace] <program> <arguments>`.
//!
//! The milliseconds say how long what the command leaves behind may go on after it. With `--walls` the program is
//! bubblewrap, which starts the command in a world of its own: it finds the filter of system calls at one descriptor,
//! and says at another how the command ended. Its processes are in a namespace of their own then, which the kernel ends
//! with bubblewrap, and bubblewrap with us. With `--namespace` it is bubblewrap too, and that is all it is for.
//!
//! It holds the command's kill domain. Its standard input is a *lifeline*: a socket whose other end is held
//! by Aside alone. When that closes — Aside stops the command, crashes, or is killed — every process that
//! the command started is ended, also those that left their session or ignore SIGTERM. As a *subreaper* it
//! is given all of them as children when their own parents end, so none gets out of sight. How the command
//! ended goes back through the lifeline as one line.
//!
//! A process of its own is what makes this hold after a SIGKILL of Aside, and what makes it possible
//! without code between `fork` and `exec`.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, Stdio, exit},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::{FdFlags, fcntl_setfd, ioctl_fionbio},
    process::{Pid, Signal, WaitOptions},
};

use super::sandbox::{
    WallKind, filter,
    hosts::AllowedHost,
    layout::{FILTER_FD, STATUS_FD},
};

pub(super) mod handed;
mod inside;
mod processes;
mod proxy;

pub use self::inside::{INSIDE, inside_main};
pub(super) use self::processes::sweep;
use self::processes::{LAST, STEP, descendants, processes};

/// The hidden first argument under which the program is a supervisor.
pub const ARGUMENT: &str = "__child";

/// The argument that says that the lifeline hands over the command's standard input, before all else.
pub(super) const INPUT: &str = "--input";

/// The argument after which the hosts stand, with commas between them, that a command inside walls is let to.
pub(super) const HOSTS: &str = "--hosts";

/// The argument after which the program is bubblewrap, which builds walls.
pub(super) const WALLS: &str = "--walls";

/// The argument after which the program is bubblewrap, which keeps processes together.
pub(super) const NAMESPACE: &str = "--namespace";

/// How long what a command left behind may go on after it, so that its last output comes through, where nobody says.
pub(super) const DRAIN: Duration = Duration::from_millis(200);
/// How long processes have after SIGTERM before SIGKILL.
pub(super) const GRACE: Duration = Duration::from_millis(500);
/// What is said where bubblewrap ended without a command.
const NO_WALLS: &str = "its sandbox could not be built";

/// How a command ended, as the lifeline tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// With this exit status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It could not be started.
    Failed(String),
    /// It was stopped.
    Stopped,
}

/// Runs the command that the arguments are, holds all of its processes, and ends with them.
pub fn child_main(args: impl IntoIterator<Item = OsString>) -> ! {
    close_inherited();
    let report = supervise(args.into_iter().collect());
    let _ = rustix::io::write(rustix::stdio::stdin(), report.line().as_bytes());
    exit(0)
}

impl Report {
    fn line(&self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}\n"),
            Self::Signal(signal) => format!("signal {signal}\n"),
            Self::Failed(why) => format!("failed {}\n", why.replace('\n', " ")),
            Self::Stopped => "stopped\n".to_owned(),
        }
    }

    /// What bubblewrap's own end means: how its command ended, which it said, or that it never started one.
    fn of_walls(self, mut status: File) -> Self {
        if self == Self::Stopped {
            return self;
        }
        let mut said = Vec::new();
        // Nothing is waited for: it has ended. What is missing then was not said.
        let _ = status.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        let code = said.lines().find_map(|line| {
            let (_, code) = line.split_once("\"exit-code\":")?;
            code.trim_matches([' ', '}']).parse().ok()
        });
        match (code, self) {
            (Some(code), _) => Self::Exit(code),
            (None, Self::Exit(_)) => Self::Failed(NO_WALLS.to_owned()),
            (None, other) => other,
        }
    }

    /// What a line says; none where the supervisor itself came to harm.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = line.strip_suffix('\n')?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "exit" => rest.parse().ok().map(Self::Exit),
            "signal" => rest.parse().ok().map(Self::Signal),
            "failed" => Some(Self::Failed(rest.to_owned())),
            "stopped" => Some(Self::Stopped),
            _ => None,
        }
    }
}

/// What wakes the supervisor.
enum Wake {
    /// The command itself ended.
    Ended(Report),
    /// No process of it is left.
    Alone,
    /// The lifeline closed.
    Stop,
}

/// What is to be run, as the arguments say it.
struct Order {
    drain: Duration,
    /// The lifeline hands over its standard input.
    has_input: bool,
    /// The hosts that it is let to, if it has no other way out.
    hosts: Option<Vec<AllowedHost>>,
    /// What the program builds, which is bubblewrap then.
    walls: Option<WallKind>,
    program: OsString,
    args: Vec<OsString>,
}

impl Order {
    fn read(args: Vec<OsString>) -> Result<Self, &'static str> {
        let mut args = args.into_iter().peekable();
        let drain = args.next().and_then(|it| it.to_str()?.parse().ok());
        let drain = drain.ok_or("no milliseconds")?;
        let has_input = args.next_if(|it| it == INPUT).is_some();
        let hosts = match args.next_if(|it| it == HOSTS) {
            None => None,
            Some(_) => {
                let names = args.next().unwrap_or_default();
                let names = names.to_str().ok_or("no hosts")?.split(',');
                Some(names.map(AllowedHost::parse).collect::<Result<_, _>>()?)
            }
        };
        let walls = args.next_if(|it| it == WALLS || it == NAMESPACE);
        let walls = walls.map(|it| match it == WALLS {
            true => WallKind::Sandbox,
            false => WallKind::Processes,
        });
        Ok(Self {
            drain: Duration::from_millis(drain),
            has_input,
            hosts,
            walls,
            program: args.next().ok_or("no program")?,
            args: args.collect(),
        })
    }
}

fn supervise(args: Vec<OsString>) -> Report {
    let order = match Order::read(args) {
        Ok(order) => order,
        Err(what) => return Report::Failed(what.into()),
    };
    let is_sandbox = order.walls == Some(WallKind::Sandbox);
    let pipes = match is_sandbox.then(WallPipes::open).transpose() {
        Ok(pipes) => pipes,
        Err(error) => return Report::Failed(format!("its walls cannot be built: {error}")),
    };
    // After the walls' own descriptors, whose numbers are settled.
    let input = match input(&order) {
        Ok(input) => input,
        Err(error) => return Report::Failed(format!("its input did not come: {error}")),
    };
    let input = match order.hosts {
        None => Stdio::from(input),
        Some(hosts) => match let_out(input, hosts) {
            Ok(wire) => Stdio::from(wire),
            Err(error) => return Report::Failed(format!("its proxy does not start: {error}")),
        },
    };
    // No terminal: nothing that the command starts can ask or read there.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        return Report::Failed(format!("its processes could not be held: {error}"));
    }
    let (wake, woken) = channel();
    let (begun, main) = channel();
    if let Err(error) = start_watching(wake, main) {
        return Report::Failed(format!(
            "its processes could not be held, as the system gives no thread for that: {error}"
        ));
    }
    let mut command = Command::new(order.program);
    // A group of its own: `kill 0` in a script must not reach us.
    command.args(order.args).stdin(input).process_group(0);
    let main = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => return Report::Failed(error.to_string()),
    };
    // Our end of its input: it could not end while that lives.
    drop(command);
    let status = pipes.map(WallPipes::started);
    // Its thread is there, and waits for this.
    let _ = begun.send(main);
    let held = Held {
        main,
        walled: order.walls.is_some(),
    };
    let report = held.hold(order.drain, &woken);
    match status {
        Some(status) => report.of_walls(status),
        None => report,
    }
}

/// The command's standard input.
fn input(order: &Order) -> io::Result<OwnedFd> {
    match order.has_input {
        true => handed::take(rustix::stdio::stdin()),
        false => File::open("/dev/null").map(OwnedFd::from),
    }
}

/// Serves the command's way to some hosts, once [`inside`] hands out where it listens. Returns the standard input of that,
/// over which it is given the command's.
fn let_out(input: OwnedFd, hosts: Vec<AllowedHost>) -> io::Result<OwnedFd> {
    let (ours, theirs) = UnixStream::pair()?;
    handed::give(&ours, &input)?;
    thread::Builder::new().spawn(move || {
        // Nothing comes where the walls could not be built.
        if let Ok(socket) = handed::take(&ours) {
            drop(ours);
            proxy::serve(socket, hosts);
        }
    })?;
    Ok(theirs.into())
}

/// What bubblewrap gets from us besides its arguments.
struct WallPipes {
    filter: OwnedFd,
    status: File,
    status_end: OwnedFd,
}

impl WallPipes {
    /// Opens both descriptors where bubblewrap is told that they are: nothing but 0, 1 and 2 is open before.
    fn open() -> io::Result<Self> {
        let Some(program) = filter::program() else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let mut filter = unnamed()?;
        filter.write_all(&program)?;
        filter.rewind()?;
        let (status, status_end) = io::pipe()?;
        // Nothing is waited for where bubblewrap has ended without a word.
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

    /// Closes bubblewrap's ends, and returns where it tells how it went.
    fn started(self) -> File {
        drop((self.filter, self.status_end));
        self.status
    }
}

/// What is held: the process that was started, and whether it is bubblewrap.
#[derive(Clone, Copy)]
struct Held {
    main: Pid,
    walled: bool,
}

impl Held {
    /// Waits for the end, and sees to it that it is one.
    fn hold(self, drain: Duration, woken: &Receiver<Wake>) -> Report {
        let report = loop {
            match woken.recv() {
                Ok(Wake::Ended(report)) => break report,
                Ok(Wake::Alone) => {}
                Ok(Wake::Stop) | Err(_) => {
                    self.signal_all(Signal::TERM);
                    break Report::Stopped;
                }
            }
        };
        let patience = if report == Report::Stopped {
            GRACE
        } else {
            drain
        };
        if is_alone(woken, patience) {
            return report;
        }
        let last = Instant::now() + LAST;
        while Instant::now() < last {
            self.signal_all(Signal::KILL);
            if is_alone(woken, STEP) {
                break;
            }
        }
        report
    }

    /// Signals the command's group and every process that descends from us. Bubblewrap itself would take all others
    /// along at once, so that it hears of nothing but the last signal.
    fn signal_all(self, signal: Signal) {
        let spares_main = self.walled && signal != Signal::KILL;
        if !spares_main {
            let _ = rustix::process::kill_process_group(self.main, signal);
        }
        for pid in descendants(rustix::process::getpid(), &processes()) {
            if pid != self.main || !spares_main {
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }
}

/// Whether the last process goes within this time. A closing lifeline cuts the wait short.
fn is_alone(woken: &Receiver<Wake>, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        match woken.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Wake::Alone) | Err(RecvTimeoutError::Disconnected) => return true,
            Ok(Wake::Ended(_)) => {}
            Ok(Wake::Stop) | Err(RecvTimeoutError::Timeout) => return false,
        }
    }
}

/// Starts the threads that watch the lifeline and, once it is there, the command.
fn start_watching(wake: Sender<Wake>, main: Receiver<Pid>) -> io::Result<()> {
    let lifeline = wake.clone();
    thread::Builder::new().spawn(move || watch_lifeline(&lifeline))?;
    thread::Builder::new().spawn(move || {
        if let Ok(main) = main.recv() {
            reap(main, &wake);
        }
    })?;
    Ok(())
}

fn watch_lifeline(wake: &Sender<Wake>) {
    let mut byte = [0];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(1..) => {}
            Ok(_) | Err(_) => break,
        }
    }
    let _ = wake.send(Wake::Stop);
}

/// Takes in every process that ends, the command's own and those that were left to us.
fn reap(main: Pid, wake: &Sender<Wake>) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == main => {
                let report = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Report::Exit(code),
                    (None, Some(signal)) => Report::Signal(signal),
                    (None, None) => continue,
                };
                let _ = wake.send(Wake::Ended(report));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let _ = wake.send(Wake::Alone);
}

/// A file without a name, which a child process reads in place of a pipe.
pub(super) fn unnamed() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{MemfdFlags, memfd_create};
        Ok(memfd_create("unnamed", MemfdFlags::CLOEXEC)?.into())
    }
    #[cfg(not(target_os = "linux"))]
    tempfile::tempfile()
}

/// Closes what an editor or a shell may have left open in us: the command gets 0, 1 and 2 alone.
fn close_inherited() {
    let open = match cfg!(target_os = "linux") {
        true => "/proc/self/fd",
        false => "/dev/fd",
    };
    let Ok(entries) = fs::read_dir(open) else {
        return;
    };
    let open: Vec<i32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The listing's own descriptor is closed already; that error is the expected one.
        let _ = nix::unistd::close(descriptor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_through() {
        for report in [
            Report::Exit(3),
            Report::Signal(9),
            Report::Failed("No such file".into()),
            Report::Stopped,
        ] {
            assert_eq!(Report::parse(&report.line()), Some(report));
        }
        assert_eq!(Report::parse(""), None, "it was killed");
        assert_eq!(Report::parse("exit 1"), None, "cut short");
    }
}
