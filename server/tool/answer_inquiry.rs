//! `answer_inquiry`: how a model answers an inquiry. The inquiry itself takes the call; one that comes here
//! was made outside of any.

use serde::Deserialize;
use serde_json::json;

use aside_turn::input::{ToolOutcome, ToolOutput};

use super::{AllowToggle, BlockingTool, CallPlan, Enable, Planning, ToolSpec, Unplanned};

/// The tool was called although nobody asked.
const NO_INQUIRY: &str = "There is no open inquiry. Continue with your task.";

/// The tool `answer_inquiry`.
#[derive(Deserialize)]
pub(super) struct AnswerInquiry {}

impl BlockingTool for AnswerInquiry {
    fn spec() -> ToolSpec {
        let mut spec = ToolSpec::new(
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
        spec.strict = true;
        spec.hidden = true;
        // The tools of a conversation must not change when a question comes.
        spec.enable = Enable {
            state: true,
            allow_toggle: AllowToggle::Never,
        };
        spec
    }

    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned> {
        let none = |_| Ok(ToolOutcome::Error(ToolOutput::text(NO_INQUIRY)));
        Ok(planning.blocking("Answer an inquiry", none))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;

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
        let spec = AnswerInquiry::spec();
        assert!(spec.strict);
        assert_eq!(spec.parameters["required"], json!(["inquiry_id", "answer"]));
        assert_eq!(spec.parameters["additionalProperties"], json!(false));
        for property in spec.parameters["properties"].as_object().unwrap().values() {
            assert_eq!(property["type"], "string");
        }
    }
}
