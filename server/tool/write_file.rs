//! `write_file`: a whole file, new or in place of one that the model read.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use aside_turn::{effect::CallWork, input::{Preparation, ToolOutcome}, rules::Class};


use super::{
    Tool, ToolContext, ToolSpec, arguments,
    change::{FileChange, in_turn, known},
    invalid, outcome, preparation,
    workspace::MAX_FILE,
};

/// The tool `write_file`.
pub(super) struct WriteFile(ToolSpec);

#[derive(Deserialize)]
struct WriteFileArguments {
    path: String,
    content: String,
}

impl WriteFile {
    pub(super) fn new() -> Self {
        let mut about = ToolSpec::new(
            "write_file",
            "Write a whole file. Folders that are missing are made. To replace a file that exists, read it \
             first; for a small change in it use edit_file.",
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
        about.class = Class::Edits;
        Self(about)
    }
}

fn plan(work: &CallWork, host: &ToolContext) -> Result<FileChange, String> {
    let args: WriteFileArguments = arguments(work)?;
    if args.content.len() as u64 > MAX_FILE {
        return Err(invalid(&work.tool, "`content` is larger than 16 MiB"));
    }
    Ok(FileChange::new(known(host, &args.path)?, args.content))
}

#[async_trait]
impl Tool for WriteFile {
    fn about(&self) -> &ToolSpec {
        &self.0
    }

    async fn prepare(&self, work: &CallWork, host: &Arc<ToolContext>) -> Preparation {
        preparation(
            in_turn(work, host, |work, host| {
                Ok(Preparation::Ready(plan(work, host)?.prepared(host, work)))
            })
            .await,
        )
    }

    async fn run(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> ToolOutcome {
        let token = cancelled.clone();
        outcome(
            in_turn(work, host, move |work, host| {
                plan(work, host)?.apply(host, work, &token)
            })
            .await,
        )
    }
}
