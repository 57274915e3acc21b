//! `describe_tools`: the full descriptions of tools, of which the model was sent the summaries.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use aside_turn::{effect::CallWork, input::{Preparation, Prepared, ToolOutcome, ToolOutput}};
use aside_base::visible::short_line;


use super::{Tool, ToolContext, ToolSpec, arguments, outcome, output::cut};

/// Tools that are described at once.
const NAMES: usize = 64;

/// The tool `describe_tools`.
pub(super) struct DescribeTools(ToolSpec);

#[derive(Deserialize)]
struct DescribeToolsArguments {
    names: Vec<String>,
}

impl DescribeTools {
    pub(super) fn new() -> Self {
        Self(ToolSpec::new(
            "describe_tools",
            "Get the full descriptions of tools. Use it before you call a tool whose description leaves open \
             how.",
            json!({
                "type": "object",
                "properties": {
                    "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": NAMES, "description": "The tools' names."}
                },
                "required": ["names"],
                "additionalProperties": false
            }),
        ))
    }
}

fn run(work: &CallWork, host: &ToolContext) -> Result<ToolOutcome, String> {
    let args: DescribeToolsArguments = arguments(work)?;
    let describe = |name: &String| match host.tools.get(name) {
        Some(description) => format!("# {name}\n\n{description}"),
        None => format!("There is no tool {}.", short_line(name, 64)),
    };
    let mut text = args
        .names
        .iter()
        .map(describe)
        .collect::<Vec<_>>()
        .join("\n\n");
    cut(
        &mut text,
        host.room(),
        "\n[the rest is left out; ask for fewer at once]",
    );
    let summary = format!("{} tools", args.names.len());
    let output = ToolOutput {
        summary,
        ..ToolOutput::text(text)
    };
    let known = args.names.iter().any(|name| host.tools.contains_key(name));
    Ok(if known {
        ToolOutcome::Success(output)
    } else {
        ToolOutcome::Error(output)
    })
}

#[async_trait]
impl Tool for DescribeTools {
    fn about(&self) -> &ToolSpec {
        &self.0
    }

    async fn prepare(&self, work: &CallWork, _host: &Arc<ToolContext>) -> Preparation {
        Preparation::Ready(Prepared {
            title: "Describe tools".into(),
            hash: aside_base::digest::of_parts(&["describe_tools", &work.arguments.to_string()]),
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
        outcome(run(work, host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::trial::ToolTrial;

    #[tokio::test]
    async fn describes_what_there_is() {
        let trial = ToolTrial::new(&[]);
        let check = async |names: &[&str], outcome: &str| {
            trial
                .check("describe_tools", json!({"names": names}), outcome)
                .await;
        };
        check(
            &["first", "none"],
            "ok: # first\n\nThe first tool.\n\nThere is no tool none.",
        )
        .await;
        check(&["none"], "error: There is no tool none.").await;
    }
}
