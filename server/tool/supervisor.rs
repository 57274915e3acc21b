//! The process between Aside and a command:
//! `aside __child <milliseconds> [--input] [--unix] [--hosts <names>] [--repository <path>]... [--walls | --namespace]
//! <program> <arguments>`.
//!
//! The milliseconds bound how long leftover processes may run after the command. With `--walls` the program is
//! bubblewrap, which starts the command in the sandbox: bubblewrap reads the filter of system calls from one descriptor
//! and writes the command's exit status to another. The processes are then in a PID namespace, which the kernel ends
//! with bubblewrap, and bubblewrap ends with us. With `--namespace` bubblewrap only makes the PID namespace.
//!
//! Standard input is the *lifeline*: a socket whose other end only Aside holds. When that end closes, because Aside
//! stops the command, crashes or is killed, every process that the command started is ended, also one that left its
//! session or ignores SIGTERM. The supervisor is a *subreaper*: orphaned descendants become its children, so none is
//! lost; where the system hands none over, they are looked for in the command's group. One line on the lifeline reports
//! how the command ended. If nobody hears it, what the command made in these repositories is taken back here.
//!
//! A separate process makes this work after a SIGKILL of Aside, and without code between `fork` and `exec`.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::PathBuf,
    process::{Command, Stdio, exit},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use aside_base::system::streams::close_inherited;
use rustix::process::{Pid, Signal, WaitOptions};

use super::sandbox::{WallKind, git_back::GitBefore, hosts::AllowedHost};

pub(super) mod handed;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod hello;
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[cfg_attr(target_os = "macos", path = "supervisor/seatbelt_inside.rs")]
mod inside;
#[cfg(target_os = "linux")]
mod own_mounts;
mod processes;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod proxy;
#[cfg_attr(target_os = "macos", path = "supervisor/seatbelt.rs")]
#[cfg_attr(
    not(any(target_os = "linux", target_os = "macos")),
    path = "supervisor/unwalled.rs"
)]
mod walled;

pub(super) use self::processes::sweep;
use self::{
    processes::{LAST, STEP, descendants, processes},
    walled::Walled,
};

/// The hidden first argument with which `aside` is a supervisor.
pub(super) const ARGUMENT: &str = "__child";

/// Argument: the lifeline hands over the command's standard input, behind the mounts that are meant.
pub(super) const INPUT: &str = "--input";

/// Argument: a sandboxed command may make Unix sockets.
pub(super) const UNIX: &str = "--unix";

/// Argument that precedes the comma-separated hosts that a sandboxed command may reach.
pub(super) const HOSTS: &str = "--hosts";

/// Argument that precedes a Git repository in which the command may write; there may be several.
pub(super) const REPOSITORY: &str = "--repository";

/// Argument that precedes a bubblewrap that builds the sandbox; the lifeline first hands over the mounts that are meant.
pub(super) const WALLS: &str = "--walls";

/// Argument that precedes a bubblewrap that only makes a PID namespace.
pub(super) const NAMESPACE: &str = "--namespace";

/// Time between SIGTERM and SIGKILL.
pub(super) const GRACE: Duration = Duration::from_millis(500);
/// Message for a bubblewrap that ended without starting the command.
const NO_WALLS: &str = "its sandbox could not be built";
/// Line on the lifeline: the sandbox is what was meant, and the command starts.
const BUILT: &str = "built\n";
/// Begin of the message for a sandbox that is other than was meant, before the place.
const OTHER_WALLS: &str =
    "its sandbox could not be built, as another program changed what lies at ";

/// End of a command, as reported on the lifeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The command exited with this status.
    Exit(i32),
    /// This signal ended the command.
    Signal(i32),
    /// The command could not be started, for this reason.
    Failed(String),
    /// The sandbox was not built as meant, for this reason, so the command did not start.
    Unbuilt(String),
    /// The command was stopped before it ended by itself.
    Stopped,
}

/// Whether a first argument names a part that [`play`] plays.
#[must_use]
pub fn is_part(first: &OsStr) -> bool {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    let is_inside = first == inside::INSIDE;
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    let is_inside = false;
    first == ARGUMENT || is_inside
}

/// Plays the part that a first argument names, and does not return then: a supervisor, or the first program inside a
/// sandbox.
pub fn play(first: &OsStr, rest: impl IntoIterator<Item = OsString>) {
    if first == ARGUMENT {
        child_main(rest);
    }
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    if first == inside::INSIDE {
        inside::inside_main(rest);
    }
}

/// Runs the command in the arguments, supervises all of its processes, and exits after the last.
fn child_main(args: impl IntoIterator<Item = OsString>) -> ! {
    close_inherited();
    let (report, before) = match Order::read(args.into_iter().collect()) {
        Ok(order) => {
            let before = GitBefore::look(order.repositories.clone());
            (supervise(order), Some(before))
        }
        Err(what) => (Report::Failed(what.into()), None),
    };
    let written = rustix::io::write(rustix::stdio::stdin(), report.line().as_bytes());
    // Aside itself does so after the report, and names what it took back, but it is gone.
    if let Some(before) = before.filter(|_| written.is_err()) {
        before.take_back();
    }
    exit(0)
}

impl Report {
    fn line(&self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}\n"),
            Self::Signal(signal) => format!("signal {signal}\n"),
            Self::Failed(why) => format!("failed {}\n", why.replace('\n', " ")),
            Self::Unbuilt(why) => format!("unbuilt {}\n", why.replace('\n', " ")),
            Self::Stopped => "stopped\n".to_owned(),
        }
    }

    /// Parses a report; `None` if the supervisor was killed.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = line.strip_prefix(BUILT).unwrap_or(line);
        let line = line.strip_suffix('\n')?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "exit" => rest.parse().ok().map(Self::Exit),
            "signal" => rest.parse().ok().map(Self::Signal),
            "failed" => Some(Self::Failed(rest.to_owned())),
            "unbuilt" => Some(Self::Unbuilt(rest.to_owned())),
            "stopped" => Some(Self::Stopped),
            _ => None,
        }
    }
}

/// Event that wakes the supervisor.
enum Wake {
    /// The command itself ended.
    Ended(Report),
    /// No process of the command is left.
    Alone,
    /// The lifeline closed.
    Stop,
}

/// The command to run, parsed from the arguments.
struct Order {
    drain: Duration,
    /// Whether the lifeline hands over standard input.
    has_input: bool,
    /// Whether a sandboxed command may make Unix sockets.
    has_unix: bool,
    /// Hosts that the command may reach without the network.
    hosts: Option<Vec<AllowedHost>>,
    /// Git repositories in which the command may write.
    repositories: Vec<PathBuf>,
    /// Confinement that the program, bubblewrap, builds.
    walls: Option<WallKind>,
    program: OsString,
    args: Vec<OsString>,
    /// Variables of what is started, besides those of this process.
    env: Vec<(OsString, OsString)>,
}

impl Order {
    fn read(args: Vec<OsString>) -> Result<Self, &'static str> {
        let mut args = args.into_iter().peekable();
        let drain = args.next().and_then(|it| it.to_str()?.parse().ok());
        let drain = drain.ok_or("no milliseconds")?;
        let has_input = args.next_if(|it| it == INPUT).is_some();
        let has_unix = args.next_if(|it| it == UNIX).is_some();
        let hosts = match args.next_if(|it| it == HOSTS) {
            None => None,
            Some(_) => {
                let names = args.next().unwrap_or_default();
                let names = names.to_str().ok_or("no hosts")?.split(',');
                Some(names.map(AllowedHost::parse).collect::<Result<_, _>>()?)
            }
        };
        let mut repositories = Vec::new();
        while args.next_if(|it| it == REPOSITORY).is_some() {
            repositories.push(args.next().ok_or("no repository")?.into());
        }
        let walls = args.next_if(|it| it == WALLS || it == NAMESPACE);
        let walls = walls.map(|it| match it == WALLS {
            true => WallKind::Sandbox,
            false => WallKind::Processes,
        });
        Ok(Self {
            drain: Duration::from_millis(drain),
            has_input,
            has_unix,
            hosts,
            repositories,
            walls,
            program: args.next().ok_or("no program")?,
            args: args.collect(),
            env: Vec::new(),
        })
    }
}

fn supervise(mut order: Order) -> Report {
    let is_sandbox = order.walls == Some(WallKind::Sandbox);
    let mut walled = match is_sandbox.then(|| Walled::open(order.has_unix)).transpose() {
        Ok(walled) => walled,
        Err(why) => return Report::Failed(why),
    };
    let adopts = match adopt_orphans() {
        Ok(adopts) => adopts,
        Err(error) => return Report::Failed(format!("its processes could not be held: {error}")),
    };
    // Taken after the sandbox's descriptors are open, whose numbers are fixed.
    let meant = is_sandbox.then(|| handed::take(rustix::stdio::stdin()));
    let input = match input(&order) {
        Ok(input) => input,
        Err(error) => return Report::Failed(format!("its input did not come: {error}")),
    };
    let input = match meant.zip(walled.as_mut()) {
        None => input,
        Some((meant, walled)) => {
            match meant.and_then(|meant| walled.connect(meant, input, &mut order)) {
                Ok(input) => input,
                Err(error) => return Report::Failed(format!("its sandbox is not heard: {error}")),
            }
        }
    };
    // Without a terminal, nothing that the command starts can ask or read there.
    let _ = rustix::process::setsid();
    let (wake, woken) = channel();
    let (begun, main) = channel();
    if let Err(error) = start_watching(wake, main, adopts) {
        return Report::Failed(format!(
            "its processes could not be held, as the system gives no thread for that: {error}"
        ));
    }
    let mut command = Command::new(order.program);
    // A separate process group, because `kill 0` in a script must not reach us.
    command
        .args(order.args)
        .envs(order.env)
        .stdin(Stdio::from(input))
        .process_group(0);
    let main = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => return Report::Failed(error.to_string()),
    };
    // Drops our end of its input, which could not end otherwise.
    drop(command);
    walled.iter_mut().for_each(Walled::started);
    // The reaping thread waits for this.
    let _ = begun.send(main);
    let held = Held {
        main,
        // On macOS the program becomes the command, and no process around it is left.
        walled: order.walls.is_some() && !cfg!(target_os = "macos"),
    };
    let report = held.hold(order.drain, &woken);
    match walled {
        Some(walled) => walled.report(report),
        None => report,
    }
}

/// The command's standard input.
fn input(order: &Order) -> io::Result<OwnedFd> {
    match order.has_input {
        true => handed::take(rustix::stdio::stdin()),
        false => File::open("/dev/null")
            .map(OwnedFd::from)
            .map_err(|error| io::Error::new(error.kind(), format!("/dev/null: {error}"))),
    }
}

/// The supervised process, and whether it is bubblewrap.
#[derive(Clone, Copy)]
struct Held {
    main: Pid,
    walled: bool,
}

impl Held {
    /// Waits for the end of the command, and ends all leftover processes.
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

    /// Signals the command's group and all of our descendants. Bubblewrap receives only SIGKILL, because its end would
    /// kill all others at once.
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

/// Whether the last process ends within this time. A closing lifeline ends the wait.
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

/// Becomes the parent of orphaned descendants, and returns whether the system hands them over: macOS does not, nor do
/// emulators of Linux, which do not know the call.
///
/// # Errors
/// If a system that knows the call refuses it, or a Linux without `/proc` would not show them.
fn adopt_orphans() -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    if !std::path::Path::new("/proc/self/stat").exists() {
        return Err(io::Error::other(
            "/proc is not mounted; mount it to run commands",
        ));
    }
    #[cfg(target_os = "linux")]
    let adopted = match rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        Err(rustix::io::Errno::INVAL) => Ok(false),
        adopted => Ok(adopted.map(|()| true)?),
    };
    #[cfg(not(target_os = "linux"))]
    let adopted = Ok(false);
    adopted
}

/// Starts the threads that watch the lifeline and the command.
fn start_watching(wake: Sender<Wake>, main: Receiver<Pid>, adopts: bool) -> io::Result<()> {
    let lifeline = wake.clone();
    thread::Builder::new().spawn(move || watch_lifeline(&lifeline))?;
    thread::Builder::new().spawn(move || {
        if let Ok(main) = main.recv() {
            reap(main, &wake, adopts);
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

/// Reaps every process that ends: the command itself and orphaned descendants.
fn reap(main: Pid, wake: &Sender<Wake>, adopts: bool) {
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
    // Orphans that are nobody's are looked for in the command's group.
    while !adopts && rustix::process::test_kill_process_group(main).is_ok() {
        thread::sleep(STEP);
    }
    let _ = wake.send(Wake::Alone);
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
            Report::Unbuilt("its sandbox could not be built".into()),
            Report::Stopped,
        ] {
            let line = report.line();
            assert_eq!(Report::parse(&line), Some(report.clone()));
            assert_eq!(Report::parse(&format!("{BUILT}{line}")), Some(report));
        }
        assert_eq!(Report::parse(""), None, "it was killed");
        assert_eq!(Report::parse("exit 1"), None, "cut short");
    }
}
