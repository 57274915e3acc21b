//! Programs whose output only Aside reads. No model, client or file gets it.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use aside_turn::record::CallKey;
use tokio::{
    io::AsyncReadExt,
    time::{Instant, sleep_until, timeout},
};

use super::{
    CommandEnd, Errors, FoundIn, Job, Output, PATIENCE, Report, WallKind, Walls, Wires, start,
    supervisor::{self, DRAIN},
};

/// A program whose standard output is read.
#[derive(Clone, Debug)]
pub struct Quiet {
    /// The program, found through `PATH`.
    pub program: OsString,
    /// The arguments that the program is started with.
    pub args: Vec<OsString>,
    /// Working directory of the program.
    pub cwd: PathBuf,
    /// Variables beyond the allow-list.
    pub env: Vec<(OsString, OsString)>,
    /// Time after which the program is ended.
    pub time: Duration,
    /// Maximum number of bytes to keep; the rest is discarded.
    pub most: usize,
    /// Confinement, if any. Standard error is then read too, because it tells why the sandbox failed.
    pub walls: Option<Walls>,
}

/// Runs a program to its end and returns its standard output. Standard error is not read, and standard input is empty.
/// The program ends with Aside, and when the future is dropped.
///
/// # Errors
/// Fails if the supervisor cannot be started.
pub async fn read_quietly(program: Quiet, holder: &Path) -> io::Result<(CommandEnd, Vec<u8>)> {
    let Quiet {
        program,
        args,
        cwd,
        env,
        time,
        most,
        walls,
    } = program;
    let wires = Wires {
        input: None,
        errors: match walls {
            Some(_) => Errors::Together,
            None => Errors::Nowhere,
        },
    };
    let job = Job {
        // The program belongs to no call, and no client is told of it.
        call: CallKey(0),
        program,
        args,
        cwd,
        env,
        time,
        drain: DRAIN,
        found_in: match &walls {
            Some(walls) if walls.kind == WallKind::Sandbox => FoundIn::Everywhere,
            _ => FoundIn::SafeFolders,
        },
        walls,
        inside: None,
    };
    let mark = format!("ASIDE_CHILD={:016x}", fastrand::u64(..));
    let mut running = start(&job, holder, &mark, wires)?;
    let deadline = Instant::now() + time;
    let mut output = Vec::new();
    let ended = loop {
        tokio::select! {
            status = running.child.wait() => {
                status?;
                break true;
            }
            () = sleep_until(deadline) => break false,
            true = more(&mut running.pipes.output, &mut output, most) => {}
        }
    };
    let report = if ended {
        running.report()
    } else {
        running.let_go();
        if timeout(PATIENCE, running.child.wait()).await.is_err() {
            let _ = running.child.kill().await;
        }
        running.report()
    };
    if report.is_none() {
        let id = running.id;
        let _ = tokio::task::spawn_blocking(move || supervisor::sweep(id, &mark)).await;
    }
    let _ = timeout(DRAIN, async {
        while more(&mut running.pipes.output, &mut output, most).await {}
    })
    .await;
    let how = match report {
        _ if !ended => CommandEnd::TimedOut,
        Some(Report::Exit(code)) => CommandEnd::Exit(code),
        Some(Report::Signal(signal)) => CommandEnd::Signal(signal),
        Some(Report::Failed(error)) => CommandEnd::NotStarted(error),
        Some(Report::Unbuilt(why)) => CommandEnd::Unbuilt(why),
        Some(Report::Stopped) | None => CommandEnd::Lost,
    };
    Ok((how, output))
}

/// Reads a piece. Returns false at the end.
async fn more(from: &mut Output, output: &mut Vec<u8>, most: usize) -> bool {
    // On the heap, because the future is part of each turn that looks for a key or a sandbox.
    let mut chunk = vec![0; 4096];
    match from.read(&mut chunk).await {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            let room = most.saturating_sub(output.len()).min(count);
            output.extend_from_slice(&chunk[..room]);
            true
        }
    }
}
