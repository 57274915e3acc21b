//! `answer_inquiry`: how a model answers an inquiry. The inquiry itself takes the call; one that comes here
//! was made outside of any.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use aside_turn::{effect::CallWork, input::{Preparation, Prepared, ToolOutcome, ToolOutput}};


use super::{AllowToggle, Enable, Tool, ToolContext, ToolSpec};

/// The tool was called although nobody asked.
const NO_INQUIRY: &str = "There is no open inquiry. Continue with your task.";

/// The tool `answer_inquiry`.
pub(super) struct AnswerInquiry(ToolSpec);

impl AnswerInquiry {
    pub(super) fn new() -> Self {
        let mut about = ToolSpec::new(
            "answer_inquiry",
            "Answer an inquiry: a question that a tool asks you before it can go on. Call it only when a \
             message gives you an inquiry id.",
            json!({
                "type": "object",
                "properties": {
                    "inquiry_id": {"type": "string", "description": "The inquiry's id, exactly."},
                    "answer": {"type": "string", "description": "The answer, in the form that the inquiry asks for."}
                },
                "required": ["inquiry_id", "answer"],
                "additionalProperties": false
            }),
        );
        about.strict = true;
        about.hidden = true;
        // The tools of a conversation must not change when a question comes.
        about.enable = Enable {
            state: true,
            allow_toggle: AllowToggle::Never,
        };
        Self(about)
    }
}

#[async_trait]
impl Tool for AnswerInquiry {
    fn about(&self) -> &ToolSpec {
        &self.0
    }

    async fn prepare(&self, _work: &CallWork, _host: &Arc<ToolContext>) -> Preparation {
        Preparation::Ready(Prepared {
            title: "Answer an inquiry".into(),
            sandboxed: true,
            ..Prepared::default()
        })
    }

    async fn run(
        &self,
        _work: &CallWork,
        _host: &Arc<ToolContext>,
        _cancelled: &CancellationToken,
    ) -> ToolOutcome {
        ToolOutcome::Error(ToolOutput::text(NO_INQUIRY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::trial::ToolTrial;

    #[tokio::test]
    async fn says_that_there_is_none() {
        let none = "error: There is no open inquiry. Continue with your task.";
        let args = json!({"inquiry_id": "tool_call.x", "answer": "yes"});
        ToolTrial::new(&[])
            .check("answer_inquiry", args, none)
            .await;
    }

    #[test]
    fn is_strict_with_two_strings() {
        let AnswerInquiry(about) = AnswerInquiry::new();
        assert!(about.strict);
        assert_eq!(
            about.parameters["required"],
            json!(["inquiry_id", "answer"])
        );
        assert_eq!(about.parameters["additionalProperties"], json!(false));
        for property in about.parameters["properties"].as_object().unwrap().values() {
            assert_eq!(property["type"], "string");
        }
    }
}
