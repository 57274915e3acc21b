//! `read_output`: the rest of an output that was cut.

use serde::Deserialize;
use serde_json::json;

use aside_base::visible::{printable, short_line};
use aside_turn::input::{ToolOutcome, ToolOutput};

use super::{BlockingTool, CallPlan, Planning, ToolContext, ToolRun, ToolSpec, Unplanned};

/// The tool `read_output`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct ReadOutput {
    id: String,
    #[serde(default)]
    from: u64,
    length: Option<u64>,
}

impl BlockingTool for ReadOutput {
    fn spec() -> ToolSpec {
        ToolSpec::new(
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
        )
    }

    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned> {
        let read = move |run: ToolRun| read(&self, &run.context);
        Ok(planning.blocking("Read on in an output", read))
    }
}

fn read(args: &ReadOutput, context: &ToolContext) -> Result<ToolOutcome, String> {
    let unknown = || format!("There is no output {}.", short_line(&args.id, 80));
    if !aside_base::digest::is_sha256(&args.id) {
        return Err(unknown());
    }
    let room = context.room() as u64;
    let length = args.length.unwrap_or(room).min(room);
    let end = args.from.saturating_add(length);
    let bytes = (context.read_blob)(&args.id, args.from..end).map_err(|_| unknown())?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;

    #[tokio::test]
    async fn reads_on() {
        let trial = ToolTrial::new(&[]);
        let id = (trial.context.keep_blob)(b"0123456789").unwrap();
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
