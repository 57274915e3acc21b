//! Where a command works: the workspace and the user's state.

use std::{
    env,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::failure::Failure;
use crate::{
    config::{
        self, Configuration, Flag, Settings, Sources,
        trust::{Fingerprint, Trust, TrustStore},
    },
    engine::{assemble::tool_defaults, models::Models},
    session::store::{Store, StoreError, default_state_dir},
};

/// The workspace and the user's state.
#[derive(Clone, Debug)]
pub struct Place {
    /// The workspace: the folder itself, without links in its path.
    pub root: PathBuf,
    /// Where Aside keeps conversations, approvals and trust.
    pub state_dir: PathBuf,
}

impl Place {
    /// The workspace is the folder that is named, or the current one.
    ///
    /// # Errors
    /// Where there is no such folder, or no place for state.
    pub fn find(cwd: Option<&Path>) -> Result<Self, Failure> {
        let folder = cwd.unwrap_or(Path::new("."));
        let unusable = |error: std::io::Error| {
            Failure::usage(format!(
                "the folder {} cannot be used: {error}",
                folder.display()
            ))
        };
        let root = folder.canonicalize().map_err(unusable)?;
        if !root.is_dir() {
            return Err(Failure::usage(format!(
                "{} is not a folder",
                folder.display()
            )));
        }
        let state_dir = default_state_dir()?;
        Ok(Self { root, state_dir })
    }

    /// The conversations of the workspace.
    ///
    /// # Errors
    /// Where the state directory cannot be used.
    pub fn store(&self) -> Result<Store, Failure> {
        Ok(Store::open(&self.state_dir, &self.root)?)
    }

    /// The configuration with these flags, and whether the workspace is trusted: as the user said before, or for
    /// this run.
    ///
    /// # Errors
    /// All that is wrong with it, a line each.
    pub fn configuration(
        &self,
        flags: Vec<Flag>,
        trust: bool,
    ) -> Result<(Configuration, bool), Failure> {
        let unusable = |problems: config::Problems| Failure::usage(problems.to_string());
        let mut sources = Sources::from_process(Some(&self.root)).map_err(unusable)?;
        sources.flags = flags;
        let (status, _) = self.trust(&sources)?;
        sources.trusted = trust || status == Trust::Given;
        let mut configuration = config::load(&sources, &tool_defaults()).map_err(unusable)?;
        if let (Trust::Ended(changed), false) = (&status, trust) {
            configuration.notices.push(format!(
                "This workspace is no longer trusted, for {} changed; look at it, then run `aside trust` again.",
                changed.join(", ")
            ));
        }
        Ok((configuration, sources.trusted))
    }

    /// What models are opened with, in the environment of this process.
    ///
    /// # Errors
    /// Where the program's own file cannot be found.
    pub fn models(&self, settings: &Settings) -> Result<Models, Failure> {
        let env = Arc::new(|name: &str| env::var(name).ok());
        Ok(Models::new(
            settings,
            env,
            own_program()?,
            self.state_dir.clone(),
        ))
    }

    /// Whether the workspace is trusted as it is now, and what that is bound to.
    ///
    /// # Errors
    /// Where that cannot be found out.
    pub fn trust(&self, sources: &Sources) -> Result<(Trust, Fingerprint), Failure> {
        let unknown = |error: std::io::Error| {
            Failure::internal(format!(
                "whether this workspace is trusted cannot be found out: {error}"
            ))
        };
        let text = sources
            .workspace_file
            .as_ref()
            .map(|file| file.text.as_str());
        let now = Fingerprint::of(&self.root, text).map_err(unknown)?;
        let status = TrustStore::new(&self.state_dir)
            .status(&self.root, &now)
            .map_err(|source| match source.kind() {
                // It says itself what is to be done.
                ErrorKind::InvalidData => unknown(source),
                _ => StoreError::Unusable {
                    folder: self.state_dir.clone(),
                    source,
                }
                .into(),
            })?;
        Ok((status, now))
    }
}

/// The program's own file: it holds child processes.
pub(super) fn own_program() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| {
        Failure::internal(format!("the program's own file cannot be found: {error}"))
    })
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unknown(_) | StoreError::Several { .. } | StoreError::NoTurn { .. } => {
                Self::usage(error.to_string())
            }
            _ => Self::internal(error.to_string()),
        }
    }
}
