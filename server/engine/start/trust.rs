//! The configuration of a workspace, and whether it is trusted.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use aside_base::environment;

use super::{
    error::StartError,
    request::{Layers, TrustedBy},
    tools::tool_defaults,
};
use crate::{
    config::{
        self, Configuration, FILE_NAME, Problems, Sources,
        settings::McpServer,
        trust::{Fingerprint, Trust, TrustStore},
    },
    engine::Engine,
    session::store::StoreError,
};

/// The configuration of a workspace as it is now.
#[derive(Clone)]
pub struct WorkspaceConfig {
    /// The effective configuration, with where each value comes from.
    pub configuration: Configuration,
    /// Whether the workspace is trusted.
    pub trusted: bool,
    /// What changed since it was trusted, as `aside.toml` has the paths; empty where trust did not end.
    pub trust_ended: Vec<String>,
    /// There is a workspace; without one there are no tools.
    pub is_workspace: bool,
}

impl WorkspaceConfig {
    /// The same, where everything that is set can count.
    ///
    /// # Errors
    /// [`StartError::Configuration`], with each setting that could not.
    pub fn sound(self) -> Result<Self, StartError> {
        let void = self.configuration.void();
        if void.is_empty() {
            return Ok(self);
        }
        Err(StartError::Configuration(Problems(void)))
    }
}

impl Engine {
    /// Reads the configuration of a workspace, and whether it is trusted. Blocks on files.
    ///
    /// # Errors
    /// [`StartError::Configuration`], [`StartError::Trust`] and [`StartError::Store`].
    pub fn configuration(
        &self,
        root: &Path,
        layers: &Layers,
    ) -> Result<WorkspaceConfig, StartError> {
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
        // What a command wrote is nothing that the user's word for the workspace speaks of.
        let made = status != Trust::Given && self.is_made(root, &sources)?;
        let by = |who| is_workspace && !made && layers.trusted_by == who;
        sources.trusted = by(TrustedBy::Run) || status == Trust::Given;
        sources.trusted_by_client = by(TrustedBy::Client);
        let trust_ended = match status {
            Trust::Ended(changed) if layers.trusted_by == TrustedBy::Store => changed,
            _ if made => vec![FILE_NAME.to_owned()],
            _ => Vec::new(),
        };
        let configuration = config::load(&sources, &tool_defaults())?;
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

    /// Whether the user trusted the workspace as it is now, and what that is bound to. Blocks on files.
    ///
    /// # Errors
    /// [`StartError::Trust`], and [`StartError::Store`] where the state directory cannot be used.
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

    /// Whether a command wrote the workspace's `aside.toml` as it is.
    fn is_made(&self, root: &Path, sources: &Sources) -> Result<bool, StartError> {
        let Some(file) = &sources.workspace_file else {
            return Ok(false);
        };
        let made = TrustStore::new(self.state_dir()).is_made(root, &file.text);
        made.map_err(|source| self.unreadable(source))
    }

    /// The same, without a look at a workspace that nobody ever trusted.
    fn trust_so_far(&self, root: &Path, sources: &Sources) -> Result<Trust, StartError> {
        let store = TrustStore::new(self.state_dir());
        let knows = || store.knows(root).map_err(|source| self.unreadable(source));
        match self.is_workspace(root) && knows()? {
            true => Ok(self.trust(root, sources)?.0),
            false => Ok(Trust::Never),
        }
    }

    /// Trusts a workspace no more. What was approved for good there ends with the trust that it was given in.
    ///
    /// # Errors
    /// [`StartError::Trust`] and [`StartError::Store`].
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
            // It says itself what is to be done.
            ErrorKind::InvalidData => StartError::Trust(source),
            _ => StartError::Store(StoreError::Unusable {
                folder: self.state_dir().to_owned(),
                source,
            }),
        }
    }
}
