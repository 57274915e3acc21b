//! Whether a sandbox works here: one is built as for a command, and tried.
//!
//! That a program which builds walls starts says little: bubblewrap as root may have left every privilege in place. So a
//! script tries from the inside what has to fail, and what it could do is judged from the outside.

use std::{ffi::OsString, io, path::Path, sync::Arc, time::Duration};

use super::{
    ToolContext,
    process::{
        CommandEnd, FoundIn,
        quiet::{Quiet, read_quietly},
    },
    sandbox::{Confinement, Means, Missing, SandboxRules, Walls},
};

#[cfg_attr(target_os = "macos", path = "probe/seatbelt.rs")]
mod built;

/// Bytes of what a trial prints that are read.
const MOST: usize = 64 << 10;

/// Reason why a sandbox does not work.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// The script did not run to its end.
    NotStarted,
    /// Something was reached that must not be.
    Leaks(&'static str),
}

impl Fault {
    /// The reason in words; `unstarted` are those for a script that did not run to its end.
    fn told(&self, unstarted: impl FnOnce() -> String) -> String {
        match self {
            Self::NotStarted => unstarted(),
            Self::Leaks(what) => format!("a command inside it {what}"),
        }
    }
}

/// Confinement of commands in this workspace.
pub(super) async fn confinement(context: &Arc<ToolContext>) -> Confinement {
    let rules = &context.sandbox.rules;
    if !rules.wants_one() {
        let none = Missing {
            why: String::new(),
            mend: String::new(),
        };
        return rules.confine(Err(&none));
    }
    let found = context
        .sandbox
        .means
        .get_or_init(|| stands(rules, context.files.root(), &context.supervisor));
    rules.confine(found.await.as_ref())
}

/// Folders in which a command finds programs. Where the sandbox works, a command outside of it must not take what one
/// inside has put into a folder of `PATH`.
pub(super) fn found_in(held: &Confinement, context: &ToolContext) -> FoundIn {
    let stands = matches!(context.sandbox.means.get(), Some(Ok(_)));
    match held {
        Confinement::Outside(_) if stands => FoundIn::SafeFolders,
        Confinement::Inside(_) | Confinement::Outside(_) | Confinement::Free => FoundIn::Everywhere,
    }
}

/// Tries whether walls stand around a command of this workspace. `holder` is the program that holds child processes.
///
/// # Errors
/// Where they do not.
pub async fn stands(rules: &SandboxRules, root: &Path, holder: &Path) -> Result<Means, Missing> {
    let means = rules.find_means(root, holder)?;
    built::tried(rules, root, holder, &means).await?;
    Ok(means)
}

/// Reason why nothing can be tried.
fn no_ground(error: &io::Error) -> String {
    format!("it cannot be tried, since the state directory cannot be written: {error}")
}

/// Runs a script with these words in walls, and returns how it ended and what it printed.
///
/// # Errors
/// Says why it cannot be started.
async fn run(
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
