//! The parts of a call that never change.

use serde_json::Value;

use crate::{
    effect::{Prompt, PromptKind},
    question::AnswerType,
    record::{CallKey, PromptId},
    rules::ToolRules,
};

/// The parts of a call that never change.
#[derive(Clone, Debug)]
pub(super) struct CallIdentity {
    pub(super) key: CallKey,
    /// The provider's id.
    pub(super) id: String,
    pub(super) tool: String,
    /// Parsed arguments; null if they were not valid JSON.
    pub(super) arguments: Value,
}

impl CallIdentity {
    /// Creates a prompt of this call with the fields that all kinds share: exclusive, answered by yes or no.
    pub(super) fn prompt(
        &self,
        rules: &ToolRules,
        id: &PromptId,
        kind: PromptKind,
        text: &str,
    ) -> Prompt {
        let label = match (rules.server_label(), kind) {
            (Some(server), _) => server,
            (None, PromptKind::Question) if rules.asks_for_assistant => "Assistant".to_owned(),
            _ => self.tool.clone(),
        };
        Prompt {
            id: id.clone(),
            call: self.key,
            call_id: self.id.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            server: rules.server.clone(),
            kind,
            label,
            text: text.to_owned(),
            context: None,
            answer_type: AnswerType::Boolean,
            optional: false,
            default: None,
            remember: false,
            exclusive: true,
            source: rules.source(&self.tool),
            preview: None,
            turn_permits: None,
            position: (0, 0),
        }
    }
}
