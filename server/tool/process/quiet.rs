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
    process::ChildStdout as Output,
    time::{Instant, sleep_until, timeout},
};

use super::{
    FoundIn, HeldCommand, PATIENCE,
    job::{CommandEnd, Errors, Job, Wires},
};
use crate::{
    frame::DRAIN,
    sandbox::{WallKind, Walls},
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
        verbatim: false,
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
    let (mut held, mut pipes) = HeldCommand::start(&job, holder, wires)?;
    let deadline = Instant::now() + time;
    let mut output = Vec::new();
    let ended = loop {
        tokio::select! {
            all = held.ended() => {
                all?;
                break true;
            }
            () = sleep_until(deadline) => break false,
            true = more(&mut pipes.output, &mut output, most) => {}
        }
    };
    if !ended {
        held.let_go();
        if timeout(PATIENCE, held.ended()).await.is_err() {
            held.kill().await;
        }
    }
    let how = held.how().await;
    let _ = timeout(DRAIN, async {
        while more(&mut pipes.output, &mut output, most).await {}
    })
    .await;
    let how = match ended {
        true => how,
        false => CommandEnd::TimedOut,
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
