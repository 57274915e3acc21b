//! Where a command works: the workspace and the user's state.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::failure::CommandFailure;
use crate::{
    config::Configuration,
    engine::{Engine, Layers, TurnNotice},
    front::notices::{TrustWords, sentence},
    session::store::{Store, StoreError, default_state_dir},
};

/// How a person at a terminal trusts a workspace.
pub(super) const TRUST: TrustWords = TrustWords {
    never: "This workspace is not trusted, so only tools that read will run; trust it with `aside trust`, \
            or for this run with --trust.",
    again: "then run `aside trust` again",
};

/// The workspace and the user's state.
#[derive(Clone, Debug)]
pub struct CommandContext {
    /// The workspace: the folder itself, without links in its path.
    pub root: PathBuf,
    /// What runs turns here, and keeps conversations, approvals and trust.
    pub engine: Engine,
}

impl CommandContext {
    /// The workspace is the folder that is named, or the current one.
    ///
    /// # Errors
    /// Where there is no such folder, or no place for state.
    pub fn find(cwd: Option<&Path>) -> Result<Self, CommandFailure> {
        let folder = cwd.unwrap_or(Path::new("."));
        let unusable = |error: std::io::Error| {
            CommandFailure::usage(format!(
                "the folder {} cannot be used: {error}; name one that is there",
                folder.display()
            ))
        };
        let root = folder.canonicalize().map_err(unusable)?;
        if !root.is_dir() {
            return Err(CommandFailure::usage(format!(
                "{} is not a folder; name one that is",
                folder.display()
            )));
        }
        Self::at(root, default_state_dir()?)
    }

    /// The workspace is this folder, without links in its path, and state is kept in that one.
    ///
    /// # Errors
    /// Where the program's own file cannot be found: it holds child processes.
    pub fn at(root: PathBuf, state_dir: PathBuf) -> Result<Self, CommandFailure> {
        let program = env::current_exe().map_err(|error| {
            CommandFailure::internal(format!("the program's own file, which watches over the commands that it runs, cannot be found: {error}; start it again"))
        })?;
        let engine = Engine::new(state_dir, program, Vec::new());
        Ok(Self { root, engine })
    }

    /// The workspace, where it is not the current folder.
    #[must_use]
    pub fn elsewhere(&self) -> Option<&Path> {
        let current = env::current_dir().and_then(|folder| folder.canonicalize());
        (!current.is_ok_and(|folder| folder == self.root)).then_some(&*self.root)
    }

    /// The conversations of the workspace.
    ///
    /// # Errors
    /// Where the state directory cannot be used.
    pub fn store(&self) -> Result<Store, CommandFailure> {
        Ok(self.engine.conversations().store(&self.root)?)
    }

    /// The configuration of the workspace, and whether it is trusted.
    ///
    /// # Errors
    /// All that is wrong with it, a line each.
    pub fn configuration(&self) -> Result<(Configuration, bool), CommandFailure> {
        let found = self.engine.configuration(&self.root, &Layers::default())?;
        let mut configuration = found.configuration;
        if !found.trust_ended.is_empty() {
            let ended = TurnNotice::TrustEnded(found.trust_ended);
            configuration.notices.push(sentence(&ended, &TRUST));
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
