//! What a person should know as a turn begins, or behind its end.

/// What a person should know as a turn begins, or behind its end. Each front end words it, or leaves it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnNotice {
    /// A sentence about the configuration.
    Configuration(String),
    /// The workspace was trusted until these changed: paths as `aside.toml` has them.
    TrustEnded(Vec<String>),
    /// The workspace is not trusted, so only tools that read will run.
    NotTrusted,
    /// No folder is open, so there are no tools.
    NoWorkspace,
    /// Commands run without a sandbox.
    Unsandboxed,
    /// A sentence about a log that was damaged: how it was repaired, or what of it could not be read.
    Damage(String),
    /// The system did not bring the log onto the disk; its words.
    NotDurable(String),
    /// What requests begin with is other than in the last turn, so that the prompt cache starts again.
    HeadChanged {
        /// The model or its provider.
        model: bool,
        /// Whether the array of tools changed.
        tools: bool,
        /// Whether the system text changed.
        system: bool,
    },
}
