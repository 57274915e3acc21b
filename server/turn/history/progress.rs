//! How far the last request came, and what the model was told of it.

use crate::{model::response::Finish, record::DirectiveKind};

/// How far the last request came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// There was none.
    #[default]
    Begun,
    /// Its response has no end on record.
    Requested,
    /// It was answered without calls.
    Answered {
        /// Why the response ended; none where it was cancelled.
        finish: Option<Finish>,
        /// Something came after it that the model has not seen.
        owing: bool,
    },
    /// It was answered with calls.
    Calls,
}

/// What the model was told of a tool that it must call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForceHistory {
    /// It was told to call a tool.
    pub(super) asked: Option<DirectiveKind>,
    /// It was told a second time.
    pub(super) asked_again: Option<DirectiveKind>,
    /// The second time has no response yet.
    pub(super) retrying: bool,
}

impl ForceHistory {
    /// Whether the model was told to call this tool, or any.
    #[must_use]
    pub fn is_asked(&self, tool: Option<&str>) -> bool {
        matches!(&self.asked, Some(DirectiveKind::Force { tool: asked }) if asked.as_deref() == tool)
    }

    /// Whether it was told a second time.
    #[must_use]
    pub fn is_asked_again(&self, tool: Option<&str>) -> bool {
        matches!(
            &self.asked_again,
            Some(DirectiveKind::ForceAgain { tool: asked }) if asked.as_deref() == tool
        )
    }

    /// Whether the second time has no response yet.
    #[must_use]
    pub fn is_retrying(&self) -> bool {
        self.retrying
    }
}
