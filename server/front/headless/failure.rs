//! Why a command could not do what it was asked.

use aside_base::visible::visible;
use aside_turn::{permit::Refused, resume::ResumeError};

use super::exit;
use crate::engine::{StartError, models::NO_MODEL};

/// What to do where something in the state directory cannot be read or written.
pub const CHECK_STATE: &str = "`aside doctor` says whether the state directory can be used";

/// An exit code and the sentence that goes with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct CommandFailure {
    /// The exit code.
    pub code: u8,
    /// What happened, to what, and what to do next.
    pub text: String,
}

impl CommandFailure {
    /// The command line or the configuration is wrong.
    #[must_use]
    pub fn usage(text: impl Into<String>) -> Self {
        Self::new(exit::USAGE, text.into())
    }

    /// It could not be done.
    #[must_use]
    pub fn internal(text: impl Into<String>) -> Self {
        Self::new(1, text.into())
    }

    /// The text may name files and quote what others wrote; a terminal is shown all of it.
    fn new(code: u8, text: String) -> Self {
        Self {
            code,
            text: visible(&text).into_owned(),
        }
    }
}

impl From<StartError> for CommandFailure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Resume(ResumeError::InVain { refused, .. }) => {
                let mend = match refused {
                    Refused::Trust => {
                        "say --trust again, since files may have changed since the turn began"
                    }
                    Refused::Mode => "go on in another mode, with --mode",
                    Refused::Key | Refused::NeedsApproval => "change that first",
                };
                Self::usage(format!("{error}; {mend}"))
            }
            StartError::Configuration(_)
            | StartError::Usage(_)
            | StartError::NothingToResume(_)
            | StartError::Resume(_) => Self::usage(error.to_string()),
            StartError::NoProvider(text) if text == NO_MODEL => {
                let text = format!("{text}; for one turn, `--model` names one");
                Self::new(exit::NO_PROVIDER, text)
            }
            StartError::NoProvider(text) => Self::new(exit::NO_PROVIDER, text),
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
