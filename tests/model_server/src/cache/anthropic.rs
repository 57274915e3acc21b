//! Anthropic: breakpoints set by the client.
//!
//! Which change loses which part is told by what the hash of a part begins with: the model and the whole array of
//! tools for all parts, the format of the answer and the speed from the system on, and choices of tools, thinking,
//! effort and the presence of images for messages alone. How thinking and effort act on tools and system differs by
//! model; here they keep them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CachePlan, Mark, Retention, digest, prefixes};
use crate::ServedApi;
use crate::check::claude::Claude;
use crate::check::prefix::{PromptBlock, PromptPart, blocks};

/// How many blocks back from a breakpoint an entry is looked for.
const LOOKBACK: usize = 20;

/// The least prefix of a model that is not listed.
const LEAST: u64 = 1024;

pub(super) fn plan(model: &str, body: &Value) -> CachePlan {
    let blocks = blocks(ServedApi::Anthropic, body);
    let claude = Claude::find(model);
    let group = digest(("anthropic", model));
    let system = json!([
        body["output_config"].get("format"),
        body["speed"].as_str().unwrap_or("standard")
    ]);
    let tools = blocks
        .iter()
        .filter(|block| block.part == PromptPart::Tools);
    let tools = tools.map(|block| block.value.clone()).collect();
    let salts = [&Value::Array(tools), &system, &of_messages(claude, body)];
    let (hashes, ends) = prefixes(group, &blocks, salts);
    CachePlan {
        group,
        hashes,
        ends,
        marks: marks(body, &blocks),
        lookback: LOOKBACK,
        least: claude.map_or(LEAST, |claude| claude.least),
        step: 1,
        billed: true,
        keep: Retention::All,
    }
}

/// What messages depend on beside what comes before them. Leaving out means the default.
fn of_messages(claude: Option<&Claude>, body: &Value) -> Value {
    let choice = &body["tool_choice"];
    let thinking = &body["thinking"];
    let kind = thinking["type"]
        .as_str()
        .or(claude.map(Claude::default_thinking));
    let effort = body["output_config"]["effort"]
        .as_str()
        .or(claude.map(|claude| claude.effort));
    json!([
        choice["type"].as_str().unwrap_or("auto"),
        choice["name"],
        choice["disable_parallel_tool_use"] == true,
        kind,
        thinking["budget_tokens"],
        effort,
        // In text, the quotes would be escaped.
        body["messages"].to_string().contains(r#""type":"image""#),
    ])
}

fn mark(at: usize, control: &Value) -> Mark {
    let long = control["ttl"] == "1h";
    let minutes = if long { 60 } else { 5 };
    Mark {
        at,
        lifetime: Duration::from_secs(minutes * 60),
        long,
    }
}

/// The explicit breakpoints and the automatic one, which stands on the last block that may have one.
fn marks(body: &Value, blocks: &[PromptBlock]) -> Vec<Mark> {
    let marked = |(at, block): (usize, &PromptBlock)| Some(mark(at, block.mark.as_ref()?));
    let mut marks: Vec<_> = blocks.iter().enumerate().filter_map(marked).collect();
    let cacheable = |block: &PromptBlock| {
        let types = ["text", "image", "document", "tool_use", "tool_result"];
        types.iter().any(|kind| block.value["type"] == *kind)
    };
    let last = blocks.iter().rposition(cacheable);
    if let (Some(control), Some(at)) = (body.get("cache_control"), last) {
        marks.push(mark(at, control));
        marks.sort_by_key(|mark| mark.at);
    }
    marks
}
