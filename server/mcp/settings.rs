//! A server as it is configured.

use std::{fmt, time::Duration};

/// A server of the Model Context Protocol that is a program.
#[derive(Clone, PartialEq, Eq)]
pub struct McpDefinition {
    /// The name of the server, which its tools begin with.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment has beyond the allow-list. It may hold secrets.
    pub environment: Vec<(String, String)>,
    /// Which protocol is spoken with it.
    pub protocol: ProtocolChoice,
    /// How long it may take until its tools are known.
    pub startup: Duration,
}

/// Which protocol is spoken with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// That of 2025-11-25, unless the server wants the newer one.
    #[default]
    Auto,
    /// That of 2025-11-25.
    Older,
    /// That of 2026-07-28.
    Newer,
}

impl McpDefinition {
    /// SHA-256 of the definition. Values of the environment are in it and cannot be read from it.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut parts = vec![self.name.as_str(), &self.command];
        parts.extend(self.args.iter().map(String::as_str));
        for (name, value) in &self.environment {
            parts.extend([name.as_str(), value]);
        }
        crate::digest::of_parts(&parts)
    }
}

impl fmt::Debug for McpDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpDefinition")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("args", &self.args)
            .finish_non_exhaustive()
    }
}
