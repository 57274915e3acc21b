//! Failures of commands.

use aside_base::{system::signals::EndSignal, visible::visible};
use aside_turn::{record::ResultReason, resume::ResumeError};

use tokio::task::JoinError;

use super::exit;
use crate::engine::StartError;

/// Advice if something in the state directory cannot be read or written.
pub const CHECK_STATE: &str = "run `aside doctor` to check the state directory";

/// An exit code and the message for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct CommandFailure {
    /// The exit code.
    pub code: u8,
    /// Message: what happened, to what, and what to do next.
    pub text: String,
}

impl CommandFailure {
    /// The command line or the configuration is invalid.
    #[must_use]
    pub fn usage(text: impl Into<String>) -> Self {
        Self::new(exit::USAGE, text.into())
    }

    /// The command failed.
    #[must_use]
    pub fn internal(text: impl Into<String>) -> Self {
        Self::new(1, text.into())
    }

    /// A limit ended the command before there was a turn.
    #[must_use]
    pub fn limit(text: impl Into<String>) -> Self {
        Self::new(exit::LIMIT, text.into())
    }

    /// A signal ended the command before there was a turn.
    #[must_use]
    pub fn signal(signal: EndSignal) -> Self {
        let text = "ended before the turn began, by a signal; nothing was sent or changed";
        Self::new(exit::by_signal(signal), text.into())
    }

    /// The text may quote files and other programs, so hidden characters in it are made visible.
    fn new(code: u8, text: String) -> Self {
        Self {
            code,
            text: visible(&text).into_owned(),
        }
    }
}

impl From<JoinError> for CommandFailure {
    fn from(panicked: JoinError) -> Self {
        Self::internal(panicked.to_string())
    }
}

impl From<StartError> for CommandFailure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Resume(ResumeError::InVain { ref refused, .. }) => {
                let mend = match refused {
                    ResultReason::NotTrusted => {
                        "add --trust again, because files may have changed since the turn began"
                    }
                    ResultReason::DeniedByMode(_) => "go on in another mode, with --mode",
                    _ => "change that first",
                };
                Self::usage(format!("{error}; {mend}"))
            }
            StartError::Configuration(_)
            | StartError::Usage(_)
            | StartError::NothingToResume(_)
            | StartError::Resume(_) => Self::usage(error.to_string()),
            StartError::NoModel(why) => {
                let text = format!("{why}; for one turn, `--model` names one");
                Self::new(exit::NO_PROVIDER, text)
            }
            StartError::NoProvider(text) => Self::new(exit::NO_PROVIDER, text),
            StartError::TimeUp(_) => Self::limit(error.to_string()),
            StartError::Store(error) => error.into(),
            StartError::Taken(_)
            | StartError::NoThread(_)
            | StartError::Trust(_)
            | StartError::Open(_)
            | StartError::Log { .. }
            | StartError::Workspace { .. } => Self::internal(error.to_string()),
        }
    }
}
