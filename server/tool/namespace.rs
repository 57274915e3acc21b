//! Whether a program that runs outside of the sandbox can be kept together with all that it starts: in a namespace of
//! processes, which the kernel ends as a whole.
//!
//! A supervisor ends what a program leaves behind, but nobody does where the supervisor is killed together with Aside.
//! The kernel does then, and nothing in such a namespace gets out of it.

use std::{path::Path, time::Duration};

use tokio::sync::OnceCell;

use super::{
    process::{
        CommandEnd,
        quiet::{Quiet, read_quietly},
    },
    sandbox::{Missing, SandboxRules, Walls, mend, setting, shell},
};

/// Time limit of the trial.
const TIME: Duration = Duration::from_secs(10);
/// Bytes of what bubblewrap says that are read.
const MOST: usize = 16 << 10;
/// Fails where the processes outside can be seen, or the files of the user cannot.
const SCRIPT: &str =
    "test -d . && read -r stat </proc/1/stat && case $stat in *'(bwrap)'*) ;; *) exit 3;; esac";

/// Result of the trial on this machine, once a process.
#[derive(Debug, Default)]
pub struct ProcessNamespaces(OnceCell<Result<(), Missing>>);

impl ProcessNamespaces {
    /// What keeps a program of a workspace together with its processes. `holder` is the program that holds child
    /// processes.
    ///
    /// # Errors
    /// Where nothing does: why, and how to mend it.
    pub async fn walls(
        &self,
        rules: &SandboxRules,
        root: &Path,
        holder: &Path,
    ) -> Result<Walls, Missing> {
        let walls = Walls::around_processes(rules.bubblewrap(root)?);
        let tried = self.0.get_or_init(|| tried(walls.clone(), root, holder));
        tried.await.clone().map(|()| walls)
    }
}

async fn tried(walls: Walls, root: &Path, holder: &Path) -> Result<(), Missing> {
    let failed = |why: String| Missing {
        mend: mend(&why, setting),
        why,
    };
    let (shell, program) = shell(root);
    let script = Quiet {
        program,
        args: shell.arguments(SCRIPT),
        cwd: root.to_owned(),
        env: Vec::new(),
        time: TIME,
        most: MOST,
        walls: Some(walls),
    };
    let ran = read_quietly(script, holder).await;
    let (how, output) = ran.map_err(|error| failed(format!("it cannot be started: {error}")))?;
    if how == CommandEnd::Exit(0) {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&output);
    let said = output.lines().find_map(|line| line.strip_prefix("bwrap: "));
    Err(failed(match said {
        Some(said) => format!("bubblewrap says \"{said}\""),
        None => format!("bubblewrap does not start a program: {}", how.line(TIME)),
    }))
}
