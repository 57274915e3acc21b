//! The configured sandbox.

use std::path::{Path, PathBuf};

use super::{config::TurnConfig, trust::place};
use crate::engine::Engine;
use aside_config::{
    settings::{SandboxState, Settings},
    user_folders,
};
use aside_session::store::usual_state_dirs;
use aside_tool::{
    probe,
    sandbox::{Missing, SandboxRules, Walls, hosts::AllowedHost},
};

impl Engine {
    /// The user's settings for the sandbox.
    ///
    /// # Errors
    /// Fails if a writable path is relative or a host is malformed.
    pub fn sandbox_rules(
        &self,
        settings: &Settings,
        unsandboxed: bool,
    ) -> Result<SandboxRules, String> {
        let (settings, commands) = (&settings.sandbox, settings.commands.clone());
        let folders = settings.writable.iter();
        let folders = folders.map(|folder| place(folder));
        Ok(SandboxRules {
            unsandboxed,
            off: settings.state == SandboxState::Off,
            network: settings.network,
            hosts: settings
                .hosts
                .iter()
                .map(|host| allowed(host))
                .collect::<Result<_, _>>()?,
            git: settings.git,
            writable: folders.collect::<Result<_, _>>()?,
            own: own_folders(self.state_dir()),
            commands,
        })
    }
}

impl Engine {
    /// Tests whether a sandbox works in a workspace.
    ///
    /// # Errors
    /// The reason why it does not work, and advice.
    pub async fn try_sandbox(&self, rules: &SandboxRules, root: &Path) -> Result<(), Missing> {
        probe::stands(rules, root, self.program()).await.map(|_| ())
    }

    /// Tests whether a program outside of the sandbox can run in a PID namespace.
    ///
    /// # Errors
    /// The reason why it cannot, and advice.
    pub async fn try_namespace(&self, rules: &SandboxRules, root: &Path) -> Result<Walls, Missing> {
        self.namespaces().walls(rules, root, self.program()).await
    }
}

impl TurnConfig {
    /// The user's settings for the sandbox of the turn, and the turn's workspace.
    ///
    /// # Errors
    /// Like [`Engine::sandbox_rules`].
    pub fn sandbox(&self, engine: &Engine) -> Result<(SandboxRules, PathBuf), String> {
        let settings = &self.configuration.settings;
        let mut rules = engine.sandbox_rules(settings, self.unsandboxed())?;
        // Without trust no command runs, and nothing is started to test the sandbox.
        rules.off |= !self.trusted;
        Ok((rules, self.request.root.clone()))
    }
}

fn allowed(host: &str) -> Result<AllowedHost, String> {
    AllowedHost::parse(host).map_err(|what| format!("sandbox.hosts: `{host}` {what}"))
}

/// Folders with Aside's own files, which decide what may run: the state directory, those that are used without it or
/// without the variable that names it, and the user's settings.
pub(super) fn own_folders(state_dir: &Path) -> Vec<PathBuf> {
    let mut own = vec![state_dir.to_owned()];
    own.extend(usual_state_dirs());
    own.extend(user_folders());
    own
}
