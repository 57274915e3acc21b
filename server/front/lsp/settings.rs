//! The configuration of a turn in the editor: the client's layers among the others, and trust.

use std::{fmt, path::Path};

use serde_json::Value;

use super::hub::{Hub, lock};
use crate::{
    config::{
        self, Configuration, Flag, Sources,
        trust::{Fingerprint, Trust, TrustStore},
    },
    engine::assemble::tool_defaults,
    front::error::{Result, internal, invalid},
};

/// What the client set. It may hold secrets, so it cannot be printed.
#[derive(Default)]
pub(super) struct ClientSettings {
    /// Settings of the user's scope.
    pub(super) config: Option<Value>,
    /// Settings that the workspace has a say in.
    pub(super) workspace_config: Option<Value>,
    /// The client says that the user trusts the workspace.
    pub(super) trusted: bool,
}

/// A configuration, and whether the workspace is trusted.
pub(super) struct Effective {
    pub(super) configuration: Configuration,
    pub(super) trusted: bool,
}

impl Hub {
    /// The configuration of a turn in this workspace.
    pub(super) fn configuration(&self, root: &Path, flags: Vec<Flag>) -> Result<Effective> {
        let unusable = |problems: config::Problems| invalid(problems.to_string());
        let mut sources = Sources::from_process(Some(root)).map_err(unusable)?;
        sources.flags = flags;
        {
            let settings = lock(&self.settings);
            sources.client_config.clone_from(&settings.config);
            sources
                .workspace_config
                .clone_from(&settings.workspace_config);
            sources.trusted_by_client = settings.trusted;
        }
        let (status, _) = self.trust(root, &sources)?;
        sources.trusted = status == Trust::Given;
        let mut configuration = config::load(&sources, &tool_defaults()).map_err(unusable)?;
        if let (Trust::Ended(changed), false) = (&status, sources.trusted_by_client) {
            configuration.notices.push(format!(
                "This workspace is no longer trusted, for {} changed; look at it, then trust it again, \
                 in the editor or with `aside trust`.",
                changed.join(", ")
            ));
        }
        Ok(Effective {
            configuration,
            trusted: sources.trusted || sources.trusted_by_client,
        })
    }

    /// Whether the user trusted the workspace as it is now, and what that is bound to.
    pub(super) fn trust(&self, root: &Path, sources: &Sources) -> Result<(Trust, Fingerprint)> {
        let file = sources.workspace_file.as_ref();
        let now = Fingerprint::of(root, file.map(|file| file.text.as_str())).map_err(internal)?;
        let store = TrustStore::new(&self.state_dir()?);
        let status = store.status(root, &now).map_err(internal)?;
        Ok((status, now))
    }
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSettings")
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}
