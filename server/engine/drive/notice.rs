//! Notices for a person at the start of a turn or after its end.

/// A notice for a person at the start of a turn or after its end. Each front end words it or leaves it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnNotice {
    /// A sentence about the configuration.
    Configuration(String),
    /// The tools of this MCP server are missing in the turn.
    ServerMissing {
        /// The server's name.
        server: String,
        /// Why it is not connected.
        why: String,
    },
    /// Trust in the workspace has ended because these files changed: paths as in `aside.toml`.
    TrustEnded(Vec<String>),
    /// The workspace is not trusted, so only tools that read will run.
    NotTrusted,
    /// No folder is open, so there are no tools.
    NoWorkspace,
    /// Commands run without a sandbox.
    Unsandboxed,
    /// A sentence about a damaged log: how it was repaired, or which part could not be read.
    Damage(String),
    /// These files are not as the resumed turn left them.
    Moved(Vec<String>),
    /// The log could not be made durable; the system's error.
    NotDurable(String),
    /// The beginning of requests differs from the last turn, so the prompt cache starts again.
    HeadChanged {
        /// Whether the model or its provider changed.
        model: bool,
        /// Whether the list of tools changed.
        tools: bool,
        /// Whether the system text changed.
        system: bool,
    },
}
