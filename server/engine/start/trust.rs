//! The configuration of a workspace, and trust in it.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use aside_base::{environment, folder, homes::home, open_places, system::folders::canonical};
use aside_config::{
    Configuration, FILE_NAME, Problems, Sources,
    settings::McpServer,
    trust::{Fingerprint, Trust, TrustStore},
};
use aside_session::store::StoreError;

use super::{
    error::StartError,
    request::{Layers, TrustedBy},
    tools::tool_defaults,
};
use crate::engine::Engine;

/// The current configuration of a workspace.
#[derive(Clone)]
pub struct WorkspaceConfig {
    /// The effective configuration, with the source of each value.
    pub configuration: Configuration,
    /// Whether the workspace is trusted.
    pub trusted: bool,
    /// Changes that ended the trust, as paths in `aside.toml`; empty if trust did not end.
    pub trust_ended: Vec<String>,
    /// Whether there is a workspace; without one there are no tools.
    pub is_workspace: bool,
}

impl WorkspaceConfig {
    /// Checks that every setting has an effect.
    ///
    /// # Errors
    /// [`StartError::Configuration`] with each setting that has none.
    pub fn sound(self) -> Result<Self, StartError> {
        let void = self.configuration.void();
        if void.is_empty() {
            return Ok(self);
        }
        Err(StartError::Configuration(Problems(void)))
    }
}

impl Engine {
    /// Reads the configuration of a workspace and determines trust. Blocks on files.
    ///
    /// # Errors
    /// [`StartError::Workspace`], [`StartError::Configuration`], [`StartError::Trust`] and [`StartError::Store`].
    pub fn configuration(
        &self,
        root: &Path,
        layers: &Layers,
    ) -> Result<WorkspaceConfig, StartError> {
        folder::identity(root).map_err(|source| StartError::Workspace {
            folder: root.display().to_string(),
            source,
        })?;
        open_places::note(self.open_places(root));
        let mut sources = match &layers.instead {
            Some(instead) => instead.clone(),
            None => Sources::from_process(Some(root))?,
        };
        sources.flags.extend(layers.flags.iter().cloned());
        sources.client_config.clone_from(&layers.client_config);
        sources
            .workspace_config
            .clone_from(&layers.workspace_config);
        let status = self.trust_so_far(root, &sources)?;
        let is_workspace = self.is_workspace(root);
        // The user's trust does not cover a file that a command has written.
        let made = status != Trust::Given && self.is_made(root, &sources)?;
        let by = |who| is_workspace && !made && layers.trusted_by == who;
        sources.trusted = by(TrustedBy::Run) || status == Trust::Given;
        sources.trusted_by_client = by(TrustedBy::Client);
        let trust_ended = match status {
            Trust::Ended(changed) if layers.trusted_by == TrustedBy::Store => changed,
            _ if made => vec![FILE_NAME.to_owned()],
            _ => Vec::new(),
        };
        let configuration = aside_config::load(&sources, &tool_defaults())?;
        let writable = configuration.settings.sandbox.writable.iter();
        open_places::note(writable.filter_map(|folder| place(folder).ok()));
        let providers = configuration.settings.providers.values();
        let of_providers = providers.filter_map(|provider| provider.api_key_env.as_deref());
        let servers = configuration.settings.mcp.servers.values();
        let variables = of_providers.chain(servers.flat_map(McpServer::secret_variables));
        if let Err(error) = environment::take_named(variables) {
            tracing::warn!(%error, "a key stays where other processes can read it");
        }
        Ok(WorkspaceConfig {
            configuration,
            trusted: sources.trusted || sources.trusted_by_client,
            trust_ended,
            is_workspace,
        })
    }

    /// The workspace, and those that were trusted: commands write in them, or did. One that holds the user's home does
    /// not count from elsewhere, as hardly a program would be left.
    fn open_places(&self, root: &Path) -> Vec<PathBuf> {
        let trusted = TrustStore::new(self.state_dir()).folders();
        let home = home().map(|home| canonical(&home).unwrap_or(home));
        let holds_home = |folder: &PathBuf| home.as_ref().is_some_and(|it| it.starts_with(folder));
        let trusted = trusted.into_iter().filter(|folder| !holds_home(folder));
        trusted.chain([root.to_owned()]).collect()
    }

    /// Returns the trust in the workspace in its current state, and its fingerprint. Blocks on files.
    ///
    /// # Errors
    /// [`StartError::Trust`], or [`StartError::Store`] if the state directory cannot be used.
    pub fn trust(
        &self,
        root: &Path,
        sources: &Sources,
    ) -> Result<(Trust, Fingerprint), StartError> {
        let file = sources.workspace_file.as_ref();
        let now = Fingerprint::of(root, file.map(|file| file.text.as_str()));
        let now = now.map_err(StartError::Trust)?;
        let status = TrustStore::new(self.state_dir()).status(root, &now);
        let status = status.map_err(|source| self.unreadable(source))?;
        Ok((status, now))
    }

    /// Whether a command has made the workspace's `aside.toml`.
    fn is_made(&self, root: &Path, sources: &Sources) -> Result<bool, StartError> {
        if sources.workspace_file.is_none() {
            return Ok(false);
        }
        let made = TrustStore::new(self.state_dir()).is_made(root);
        made.map_err(|source| self.unreadable(source))
    }

    /// Like [`Engine::trust`], but does not read a workspace that was never trusted.
    fn trust_so_far(&self, root: &Path, sources: &Sources) -> Result<Trust, StartError> {
        let store = TrustStore::new(self.state_dir());
        let knows = || store.knows(root).map_err(|source| self.unreadable(source));
        match self.is_workspace(root) && knows()? {
            true => Ok(self.trust(root, sources)?.0),
            false => Ok(Trust::Never),
        }
    }

    /// Revokes the trust in a workspace, and with it all permanent approvals there.
    ///
    /// # Errors
    /// [`StartError::Trust`] or [`StartError::Store`].
    pub fn revoke_trust(&self, root: &Path) -> Result<(), StartError> {
        let store = TrustStore::new(self.state_dir());
        store.revoke(root).map_err(StartError::Trust)?;
        let approvals = self.conversations().store(root)?.approvals();
        approvals
            .revoke_all()
            .map_err(|source| self.unreadable(source))
    }

    fn unreadable(&self, source: io::Error) -> StartError {
        match source.kind() {
            // This error contains its own advice.
            ErrorKind::InvalidData => StartError::Trust(source),
            _ => StartError::Store(StoreError::Unusable {
                folder: self.state_dir().to_owned(),
                source,
            }),
        }
    }
}

/// A folder of `sandbox.writable`.
pub(super) fn place(folder: &str) -> Result<PathBuf, String> {
    place_from(folder, home().as_deref())
}

fn place_from(folder: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    let path = match folder.strip_prefix("~/").zip(home) {
        Some((below, home)) => home.join(below),
        None => folder.into(),
    };
    path.is_absolute()
        .then_some(path)
        .ok_or_else(|| format!("sandbox.writable: `{folder}` must be absolute or begin with `~/`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_must_be_absolute_or_in_home() {
        let home = Some(Path::new("/home/u"));
        assert_eq!(place_from("/x", home), Ok("/x".into()));
        assert_eq!(place_from("~/.npm", home), Ok("/home/u/.npm".into()));
        let wrong = "sandbox.writable: `.npm` must be absolute or begin with `~/`";
        assert_eq!(place_from(".npm", home), Err(wrong.into()));
        assert!(place_from("~/.npm", None).is_err());
    }
}
