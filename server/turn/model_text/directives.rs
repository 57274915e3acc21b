//! Directives, which Aside itself sends to the model.

use super::{ModelText, Sentence};
use crate::record::DirectiveKind;

impl ModelText {
    /// The text of a directive. `what` says what the kind does not: what is wrong with an answer or with a line of
    /// the log, or what was taken back.
    #[must_use]
    pub fn directive(&self, kind: &DirectiveKind, what: &str) -> String {
        let (sentence, tool) = match kind {
            DirectiveKind::Cut => (Sentence::Cut, None),
            DirectiveKind::SchemaRepair => (Sentence::SchemaRepair, None),
            DirectiveKind::Force { tool: None } => (Sentence::ForceAny, None),
            DirectiveKind::Force { tool } => (Sentence::Force, tool.as_deref()),
            DirectiveKind::ForceAgain { tool: None } => (Sentence::ForceAnyAgain, None),
            DirectiveKind::ForceAgain { tool } => (Sentence::ForceAgain, tool.as_deref()),
            DirectiveKind::Lost { .. } => (Sentence::Lost, None),
            DirectiveKind::Undone { .. } => (Sentence::Undone, None),
            DirectiveKind::Other { .. } => return what.to_owned(),
        };
        let tool = tool.unwrap_or_default();
        self.render(sentence, &[("tool", tool), ("what", what)])
    }
}
