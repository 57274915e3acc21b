//! Processes of the machine from `/proc`: descendants of a process, and its leftovers.

use std::{
    collections::HashMap,
    fs, io, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal};

/// Time during which SIGKILL is repeated; a process that hangs in the kernel is given up then.
pub(super) const LAST: Duration = Duration::from_secs(1);
/// Pause between two looks at the remaining processes.
pub(super) const STEP: Duration = Duration::from_millis(10);

/// A process, from its line in `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pid: i32,
    parent: i32,
    session: i32,
}

/// All processes that have not ended.
pub(super) fn processes() -> Vec<ProcessStat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?))
        .collect()
}

/// Parses a line. The name of a process is in parentheses and may contain anything; the fields after the last one are
/// plain.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<ProcessStat> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(&stat[end + 1..]);
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    (state != "Z" && state != "X").then_some(ProcessStat {
        pid,
        parent,
        session,
    })
}

pub(super) fn descendants(root: Pid, all: &[ProcessStat]) -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in all {
        children
            .entry(process.parent)
            .or_default()
            .push(process.pid);
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw_nonzero().get()];
    while let Some(pid) = open.pop() {
        let next = children.remove(&pid).unwrap_or_default();
        found.extend(next.iter().filter_map(|pid| Pid::from_raw(*pid)));
        open.extend(next);
    }
    found
}

/// Ends the leftovers of a supervisor that was killed: the processes of its session, and those with its mark in their
/// environment.
pub(crate) fn sweep(supervisor: i32, mark: &str) {
    let last = Instant::now() + LAST;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    while Instant::now() < last {
        let left: Vec<_> = processes()
            .into_iter()
            .filter(|process| process.pid != own)
            .filter(|process| process.session == supervisor || is_marked(process.pid, mark))
            .filter_map(|process| Pid::from_raw(process.pid))
            .collect();
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        thread::sleep(STEP);
    }
}

fn is_marked(pid: i32, mark: &str) -> bool {
    let environment: io::Result<Vec<u8>> = fs::read(format!("/proc/{pid}/environ"));
    environment.is_ok_and(|all| {
        all.split(|byte| *byte == 0)
            .any(|one| one == mark.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pose_as_a_state() {
        let process = ProcessStat {
            pid: 7,
            parent: 5,
            session: 3,
        };
        assert_eq!(
            parse_stat(7, b"7 (a) Z 1 1 (b) S 5 4 3 0 -1"),
            Some(process)
        );
        assert_eq!(parse_stat(7, b"7 (sh) Z 5 4 3 0 -1"), None);
        assert_eq!(parse_stat(7, b"7 (sh"), None);
    }

    #[test]
    fn descendants_are_all_of_them() {
        let all = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 9)];
        let all = all.map(|(pid, parent)| ProcessStat {
            pid,
            parent,
            session: 0,
        });
        let mut found: Vec<_> = descendants(Pid::from_raw(2).unwrap(), &all)
            .into_iter()
            .map(|pid| pid.as_raw_nonzero().get())
            .collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
    }
}
