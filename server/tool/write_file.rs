//! `write_file`: a whole file, new or in place of one that the model read.

use serde::Deserialize;
use serde_json::json;

use aside_turn::rules::Class;

use super::{
    BlockingTool, CallPlan, Planning, ToolSpec, Unplanned, change::FileChange, line_ends,
    workspace::MAX_FILE,
};

/// The tool `write_file`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct WriteFile {
    path: String,
    content: String,
}

impl BlockingTool for WriteFile {
    fn spec() -> ToolSpec {
        let mut spec = ToolSpec::new(
            "write_file",
            "Write a whole file. Folders that are missing are made. To replace a file that exists, read it \
             first; for a small change in it use edit_file. Its line ends and its byte order mark stay.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, from the workspace's root."},
                    "content": {"type": "string", "description": "All of its text."}
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
        );
        spec.class = Class::Edits;
        spec
    }

    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned> {
        if self.content.len() as u64 > MAX_FILE {
            return Err(planning.invalid("`content` is larger than 16 MiB").into());
        }
        let file = planning.known(&self.path)?;
        let new = match &file.old {
            Some(old) => line_ends::for_whole(&old.text, &self.content),
            None => self.content,
        };
        Ok(FileChange::new(file, new).plan(planning))
    }
}
