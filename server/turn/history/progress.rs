//! Progress of the last request, and directives about it.

use crate::{model::response::Finish, record::DirectiveKind};

/// Progress of the last request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// No request was sent.
    #[default]
    Begun,
    /// The request was sent, and its response has no end on record.
    Requested,
    /// The response made no calls.
    Answered {
        /// Reason why the response ended; `None` if it was cancelled.
        finish: Option<Finish>,
        /// Whether something came later that the model has not seen.
        owing: bool,
    },
    /// The response made calls.
    Calls,
}

/// Directives to the model about a tool that it must call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForceHistory {
    /// The first directive to call a tool.
    pub(super) asked: Option<DirectiveKind>,
    /// The second one.
    pub(super) asked_again: Option<DirectiveKind>,
    /// Whether the second directive has no response yet.
    pub(super) retrying: bool,
}

impl ForceHistory {
    /// Whether the model was told to call this tool, or any.
    #[must_use]
    pub fn is_asked(&self, tool: Option<&str>) -> bool {
        matches!(&self.asked, Some(DirectiveKind::Force { tool: asked }) if asked.as_deref() == tool)
    }

    /// Whether the model was told a second time.
    #[must_use]
    pub fn is_asked_again(&self, tool: Option<&str>) -> bool {
        matches!(
            &self.asked_again,
            Some(DirectiveKind::ForceAgain { tool: asked }) if asked.as_deref() == tool
        )
    }

    /// Whether the second directive has no response yet.
    #[must_use]
    pub fn is_retrying(&self) -> bool {
        self.retrying
    }
}
