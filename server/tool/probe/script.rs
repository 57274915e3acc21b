//! The script of a trial: it runs in walls as a command has them, and the fault that it finds.

use std::{ffi::OsString, io, path::Path, time::Duration};

use crate::{
    process::{
        CommandEnd,
        quiet::{Quiet, read_quietly},
    },
    sandbox::{Means, Walls},
};

/// Bytes of what a trial prints that are read.
pub(super) const MOST: usize = 64 << 10;

/// Reason why a sandbox does not work.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The script did not run to its end.
    NotStarted,
    /// Something was reached that must not be.
    Leaks(&'static str),
}

impl Fault {
    /// The reason in words; `unstarted` are those for a script that did not run to its end.
    pub(super) fn in_words(&self, unstarted: impl FnOnce() -> String) -> String {
        match self {
            Self::NotStarted => unstarted(),
            Self::Leaks(what) => format!("a command inside it {what}"),
        }
    }
}

/// Reason why nothing can be tried.
pub(super) fn no_ground(error: &io::Error) -> String {
    format!("it cannot be tried, since the state directory cannot be written: {error}")
}

/// Runs a script with these words in walls, and returns how it ended and what it printed.
///
/// # Errors
/// Says why it cannot be started.
pub(super) async fn run(
    walls: Walls,
    script: &str,
    words: Vec<OsString>,
    cwd: &Path,
    means: &Means,
    holder: &Path,
    time: Duration,
) -> Result<(CommandEnd, String), String> {
    let script = Quiet {
        program: means.shell.clone().into(),
        args: ["-c".into(), script.into(), "sh".into()]
            .into_iter()
            .chain(words)
            .collect(),
        cwd: cwd.to_owned(),
        env: Vec::new(),
        time,
        most: MOST,
        walls: Some(walls),
    };
    let ran = read_quietly(script, holder).await;
    let (how, output) = ran.map_err(|error| format!("it cannot be started: {error}"))?;
    Ok((how, String::from_utf8_lossy(&output).into_owned()))
}
