//! `read_output`: the rest of an output that was cut.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use aside_turn::{effect::CallWork, input::{Preparation, Prepared, ToolOutcome, ToolOutput}};
use aside_base::visible::{printable, short_line};


use super::{Tool, ToolContext, ToolSpec, arguments, off_thread, outcome};

/// The tool `read_output`.
pub(super) struct ReadOutput(ToolSpec);

#[derive(Deserialize)]
struct ReadOutputArguments {
    id: String,
    #[serde(default)]
    from: u64,
    length: Option<u64>,
}

impl ReadOutput {
    pub(super) fn new() -> Self {
        Self(ToolSpec::new(
            "read_output",
            "Read on in an output that was too long to be shown whole.",
            json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "The id that stands where the output was cut."},
                    "from": {"type": "integer", "minimum": 0, "description": "The first byte, counted from 0. Default: 0."},
                    "length": {"type": "integer", "minimum": 1, "description": "How many bytes. Default: as many as can be shown."}
                },
                "required": ["id"],
                "additionalProperties": false
            }),
        ))
    }
}

fn run(work: &CallWork, host: &ToolContext) -> Result<ToolOutcome, String> {
    let args: ReadOutputArguments = arguments(work)?;
    let unknown = || format!("There is no output {}.", short_line(&args.id, 80));
    if !aside_base::digest::is_sha256(&args.id) {
        return Err(unknown());
    }
    let room = host.room() as u64;
    let length = args.length.unwrap_or(room).min(room);
    let end = args.from.saturating_add(length);
    let bytes = (host.read_blob)(&args.id, args.from..end).map_err(|_| unknown())?;
    let mut content = match bytes.is_empty() {
        true => "[the output ends before]".to_owned(),
        false => printable(&bytes),
    };
    if bytes.len() as u64 == length {
        content.push_str(&format!("\n[go on with from={end}]"));
    }
    let summary = format!("{} bytes", bytes.len());
    Ok(ToolOutcome::Success(ToolOutput {
        content,
        summary,
        ..ToolOutput::default()
    }))
}

#[async_trait]
impl Tool for ReadOutput {
    fn about(&self) -> &ToolSpec {
        &self.0
    }

    async fn prepare(&self, work: &CallWork, _host: &Arc<ToolContext>) -> Preparation {
        Preparation::Ready(Prepared {
            title: "Read on in an output".into(),
            hash: aside_base::digest::of_parts(&["read_output", &work.arguments.to_string()]),
            sandboxed: true,
            ..Prepared::default()
        })
    }

    async fn run(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        _cancelled: &CancellationToken,
    ) -> ToolOutcome {
        outcome(off_thread(work, host, run).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::trial::ToolTrial;

    #[tokio::test]
    async fn reads_on() {
        let trial = ToolTrial::new(&[]);
        let id = (trial.host.keep_blob)(b"0123456789").unwrap();
        let check = async |from: u64, length: Option<u64>, outcome: &str| {
            let args = match length {
                Some(length) => json!({"id": id, "from": from, "length": length}),
                None => json!({"id": id, "from": from}),
            };
            trial.check("read_output", args, outcome).await;
        };
        check(0, None, "ok: 0123456789").await;
        check(2, Some(3), "ok: 234\n[go on with from=5]").await;
        check(8, Some(3), "ok: 89").await;
        check(10, None, "ok: [the output ends before]").await;
        check(u64::MAX, Some(2), "ok: [the output ends before]").await;
    }

    #[tokio::test]
    async fn an_id_is_no_path() {
        let trial = ToolTrial::new(&[]);
        let unknown = "0".repeat(64);
        for id in ["../events.jsonl", "", unknown.as_str()] {
            let text = format!("error: There is no output {id}.");
            trial.check("read_output", json!({"id": id}), &text).await;
        }
    }
}
