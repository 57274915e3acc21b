//! `describe_tools`: the full descriptions of tools, of which the model was sent the summaries.

use serde::Deserialize;
use serde_json::json;

use aside_base::visible::short_line;
use aside_turn::input::{ToolOutcome, ToolOutput};

use super::{
    BlockingTool, CallPlan, Planning, ToolContext, ToolRun, ToolSpec, Unplanned, output::cut,
};

/// Tools that are described at once.
const NAMES: usize = 64;

/// The tool `describe_tools`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct DescribeTools {
    names: Vec<String>,
}

impl BlockingTool for DescribeTools {
    fn spec() -> ToolSpec {
        ToolSpec::new(
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
        )
    }

    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned> {
        let describe = move |run: ToolRun| Ok(describe(&self, &run.context));
        Ok(planning.blocking("Describe tools", describe))
    }
}

fn describe(args: &DescribeTools, context: &ToolContext) -> ToolOutcome {
    let describe = |name: &String| match context.tools.get(name) {
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
        context.room(),
        "\n[the rest is left out; ask for fewer at once]",
    );
    let summary = format!("{} tools", args.names.len());
    let output = ToolOutput {
        summary,
        ..ToolOutput::text(text)
    };
    let known = args
        .names
        .iter()
        .any(|name| context.tools.contains_key(name));
    match known {
        true => ToolOutcome::Success(output),
        false => ToolOutcome::Error(output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;

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
