//! The context of a command: the workspace and the user's state.

use std::{
    env,
    path::{Path, PathBuf},
};

use aside_config::Configuration;
use aside_session::store::{Store, StoreError, default_state_dir};

use super::failure::CommandFailure;
use crate::{
    engine::{Engine, Layers, TurnNotice},
    front::notices::{TrustWords, notice_text},
};

/// Advice on trust for a person at a terminal.
pub(super) const TRUST: TrustWords = TrustWords {
    never: "This workspace is not trusted, so only tools that read will run; trust it with `aside trust`, \
            or for this run with --trust.",
    again: "then run `aside trust` again",
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
        let folder = cwd.unwrap_or(Path::new("."));
        let unusable = |error: std::io::Error| {
            CommandFailure::usage(format!(
                "cannot use the folder {}: {error}; give an existing one",
                folder.display()
            ))
        };
        let root = folder.canonicalize().map_err(unusable)?;
        if !root.is_dir() {
            return Err(CommandFailure::usage(format!(
                "{} is not a folder; give one that is",
                folder.display()
            )));
        }
        Self::at(root, default_state_dir()?)
    }

    /// Creates the context for a workspace, given by its canonical path, and a state folder.
    ///
    /// # Errors
    /// Fails if the `aside` executable, which supervises child processes, cannot be found.
    pub fn at(root: PathBuf, state_dir: PathBuf) -> Result<Self, CommandFailure> {
        let program = env::current_exe().map_err(|error| {
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
        let current = env::current_dir().and_then(|folder| folder.canonicalize());
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
            configuration.notices.push(notice_text(&ended, &TRUST));
        }
        Ok((configuration, found.trusted))
    }
}

impl From<StoreError> for CommandFailure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unknown(_) | StoreError::Several { .. } | StoreError::NoTurn { .. } => {
                Self::usage(error.to_string())
            }
            _ => Self::internal(error.to_string()),
        }
    }
}
