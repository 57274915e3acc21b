//! What configuration makes of the sandbox.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::config::TurnConfig;
use crate::{
    config::{
        settings::{SandboxState, Settings},
        user_folders,
    },
    engine::Engine,
    session::store::default_state_dir,
    tool::{
        probe,
        sandbox::{CommandRules, Missing, SandboxRules, Walls, hosts::AllowedHost},
    },
};

impl Engine {
    /// What the user set about the sandbox.
    ///
    /// # Errors
    /// A folder of which is not said where it is, or a host that is none.
    pub fn sandbox_rules(
        &self,
        settings: &Settings,
        unsandboxed: bool,
    ) -> Result<SandboxRules, String> {
        let (settings, commands) = (&settings.sandbox, settings.commands.clone());
        let home = env::var_os("HOME").map(PathBuf::from);
        let folders = settings.writable.iter();
        let folders = folders.map(|folder| place(folder, home.as_deref()));
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
            commands: CommandRules {
                allow: commands.allow,
                ask: commands.ask,
                deny: commands.deny,
                unsandboxed: commands.unsandboxed,
            },
        })
    }
}

impl Engine {
    /// Tries whether a sandbox works in a workspace.
    ///
    /// # Errors
    /// Where it does not: why, and how to mend it.
    pub async fn try_sandbox(&self, rules: &SandboxRules, root: &Path) -> Result<(), Missing> {
        probe::stands(rules, root, self.program()).await.map(|_| ())
    }

    /// Tries whether a program of a workspace that runs outside of the sandbox can be kept together with its processes.
    ///
    /// # Errors
    /// Where it cannot: why, and how to mend it.
    pub async fn try_namespace(&self, rules: &SandboxRules, root: &Path) -> Result<Walls, Missing> {
        self.namespaces().walls(rules, root, self.program()).await
    }
}

impl TurnConfig {
    /// What the user set about the sandbox of the turn, and its workspace.
    ///
    /// # Errors
    /// As of [`Engine::sandbox_rules`].
    pub fn sandbox(&self, engine: &Engine) -> Result<(SandboxRules, PathBuf), String> {
        let settings = &self.configuration.settings;
        let mut rules = engine.sandbox_rules(settings, self.unsandboxed())?;
        // No command runs before the workspace is trusted, and nothing is started to see whether one could.
        rules.off |= !self.trusted;
        Ok((rules, self.request.root.clone()))
    }
}

fn allowed(host: &str) -> Result<AllowedHost, String> {
    AllowedHost::parse(host).map_err(|what| format!("sandbox.hosts: `{host}` {what}"))
}

fn place(folder: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    let path = match folder.strip_prefix("~/").zip(home) {
        Some((below, home)) => home.join(below),
        None => folder.into(),
    };
    path.is_absolute().then_some(path).ok_or_else(|| {
        format!("sandbox.writable: `{folder}` is neither absolute nor begins with `~/`; write where it is")
    })
}

/// Where Aside's own files are, which decide what may run: its state, also the usual one where another is in use, and
/// the user's settings.
pub(super) fn own_folders(state_dir: &Path) -> Vec<PathBuf> {
    let mut own = vec![state_dir.to_owned()];
    own.extend(default_state_dir());
    own.extend(user_folders());
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_say_where_they_are() {
        let home = Some(Path::new("/home/u"));
        assert_eq!(place("/x", home), Ok("/x".into()));
        assert_eq!(place("~/.npm", home), Ok("/home/u/.npm".into()));
        let wrong =
            "sandbox.writable: `.npm` is neither absolute nor begins with `~/`; write where it is";
        assert_eq!(place(".npm", home), Err(wrong.into()));
        assert!(place("~/.npm", None).is_err());
    }
}
