//! `count_lines`: the number of lines of a text file.

use aside_base::visible::short_line;
use aside_turn::input::{ToolOutcome, ToolOutput};
use serde::Deserialize;
use serde_json::json;

use super::{BlockingTool, CallPlan, Planning, ToolSpec, Unplanned};

/// The tool `count_lines`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct CountLines {
    path: String,
}

impl BlockingTool for CountLines {
    fn spec() -> ToolSpec {
        ToolSpec::new(
            "count_lines",
            "Count the lines of a text file.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, from the workspace's root."}
                },
                "required": ["path"],
                "additionalProperties": false
            }),
        )
    }

    fn plan(self, mut planning: Planning) -> Result<CallPlan, Unplanned> {
        let file = planning.open(&self.path)?;
        let title = format!("Count the lines of {}", short_line(file.path(), 80));
        Ok(planning.blocking(title, move |run| {
            let text = file.text(&run.permit)?.text;
            let lines = format!("{} lines", text.lines().count());
            Ok(ToolOutcome::Success(ToolOutput::text(lines)))
        }))
    }
}
