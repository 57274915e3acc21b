//! The context of a command: the workspace and the user's state.

use aside_base::system::{folders::canonical, programs};
use std::{
    env,
    path::{Path, PathBuf},
};

use aside_config::Configuration;
use aside_session::store::{Store, StoreError, default_state_dir};
use tempfile::TempDir;

use super::failure::CommandFailure;
use crate::{
    engine::{Engine, Layers, TurnNotice},
    front::notices::{NextWords, notice_text},
};

/// Advice for a person at a terminal.
pub(super) const NEXT: NextWords = NextWords {
    never: "This workspace is not trusted, so only tools that read will run; trust it with `aside trust`, \
            or for this run with --trust.",
    again: "then run `aside trust` again",
    servers: "Run `aside mcp list` to try again.",
};

/// The workspace and the user's state.
#[derive(Clone, Debug)]
pub struct CommandContext {
    /// Canonical path of the workspace.
    pub root: PathBuf,
    /// Engine that runs turns, and keeps conversations, approvals and trust.
    pub engine: Engine,
}

impl CommandContext {
    /// Finds the context for a folder, by default the current one.
    ///
    /// # Errors
    /// Fails if the folder does not exist or there is no folder for state.
    pub fn find(cwd: Option<&Path>) -> Result<Self, CommandFailure> {
        Self::at(workspace(cwd)?, default_state_dir()?)
    }

    /// Finds the context for looking at everything. If there is no place for state, its own place is a folder that goes
    /// with the returned handle, which comes with the failure.
    ///
    /// # Errors
    /// Fails if the folder does not exist.
    pub fn for_doctor(
        cwd: Option<&Path>,
    ) -> Result<(Self, Option<(TempDir, CommandFailure)>), CommandFailure> {
        let Err(no_place) = default_state_dir() else {
            return Ok((Self::find(cwd)?, None));
        };
        let throwaway = tempfile::tempdir().map_err(|error| {
            CommandFailure::usage(format!(
                "cannot use the folder for temporary files: {error}; set TMPDIR to a writable one"
            ))
        })?;
        let place = Self::at(workspace(cwd)?, throwaway.path().to_owned())?;
        Ok((place, Some((throwaway, no_place.into()))))
    }

    /// Creates the context for a workspace, given by its canonical path, and a state folder.
    ///
    /// # Errors
    /// Fails if the `aside` executable, which supervises child processes, cannot be found.
    pub fn at(root: PathBuf, state_dir: PathBuf) -> Result<Self, CommandFailure> {
        let program = programs::own().map_err(|error| {
            CommandFailure::internal(format!(
                "cannot find the aside executable ({error}), which supervises commands; restart aside"
            ))
        })?;
        let engine = Engine::new(state_dir, program, Vec::new());
        Ok(Self { root, engine })
    }

    /// The workspace, unless it is the current folder.
    #[must_use]
    pub fn elsewhere(&self) -> Option<&Path> {
        let current = env::current_dir().and_then(|folder| canonical(&folder));
        (!current.is_ok_and(|folder| folder == self.root)).then_some(&*self.root)
    }

    /// Store of the workspace's conversations.
    ///
    /// # Errors
    /// Fails if the state directory cannot be used.
    pub fn store(&self) -> Result<Store, CommandFailure> {
        Ok(self.engine.conversations().store(&self.root)?)
    }

    /// The configuration of the workspace, and whether the workspace is trusted.
    ///
    /// # Errors
    /// All errors of the configuration, one per line.
    pub fn configuration(&self) -> Result<(Configuration, bool), CommandFailure> {
        let found = self.engine.configuration(&self.root, &Layers::default())?;
        let mut configuration = found.configuration;
        if !found.trust_ended.is_empty() {
            let ended = TurnNotice::TrustEnded(found.trust_ended);
            configuration.notices.push(notice_text(&ended, &NEXT));
        }
        Ok((configuration, found.trusted))
    }
}

/// The canonical path of the workspace, by default of the current folder.
fn workspace(cwd: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    let folder = cwd.unwrap_or(Path::new("."));
    let unusable = |error: std::io::Error| {
        CommandFailure::usage(format!(
            "cannot use the folder {}: {error}; give an existing one",
            folder.display()
        ))
    };
    let root = canonical(folder).map_err(unusable)?;
    if !root.is_dir() {
        return Err(CommandFailure::usage(format!(
            "{} is not a folder; give one that is",
            folder.display()
        )));
    }
    Ok(root)
}

impl From<StoreError> for CommandFailure {
    fn from(error: StoreError) -> Self {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        match error {
            StoreError::Unusable { ref source, .. }
                if matches!(source.kind(), StorageFull | QuotaExceeded) =>
            {
                Self::internal(error.to_string())
            }
            StoreError::Unknown(_)
            | StoreError::Several { .. }
            | StoreError::NoTurn { .. }
            | StoreError::NoPlace
            | StoreError::Unusable { .. } => Self::usage(error.to_string()),
            _ => Self::internal(error.to_string()),
        }
    }
}
