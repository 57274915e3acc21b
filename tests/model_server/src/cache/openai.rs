//! OpenAI: exact prefixes of tools, instructions and input, kept unasked.
//!
//! Models since gpt-5.6 write at breakpoints, one of them implicit at the end of the input, and bill what they
//! write. That an entry lives on when it is used is not documented and assumed here. Older models are in
//! [`super::implicit`].

use std::time::Duration;

use serde_json::{Value, json};

use super::{CachePlan, Mark, Retention, digest, implicit, prefixes};
use crate::ServedApi;
use crate::check::prefix::{PromptBlock, blocks};

/// Tokens below which nothing is cached.
pub(super) const LEAST: u64 = 1024;

/// How many of the latest breakpoints are matched.
const MATCHED: usize = 80;

pub(super) fn plan(api: ServedApi, model: &str, body: &Value) -> CachePlan {
    if !writes(model) {
        return implicit::plan(api, model, body);
    }
    let blocks = blocks(api, body);
    let group = group(model, body);
    let (hashes, ends) = prefixes(
        group,
        &blocks,
        [&settings(body), &Value::Null, &Value::Null],
    );
    CachePlan {
        group,
        hashes,
        ends,
        marks: marks(body, &blocks),
        lookback: usize::MAX,
        least: LEAST,
        step: 1,
        billed: true,
        keep: Retention::Latest(MATCHED),
    }
}

/// Whether the model bills what it writes: gpt-5.6 and later.
fn writes(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let number = name
        .strip_prefix("gpt-")
        .and_then(|rest| rest.split('-').next());
    number
        .and_then(|number| number.parse::<f64>().ok())
        .is_some_and(|number| number >= 5.6)
}

/// Requests with another key are routed elsewhere and share nothing.
pub(super) fn group(model: &str, body: &Value) -> u64 {
    digest(("openai", model, body["prompt_cache_key"].as_str()))
}

/// What the whole prefix depends on. The choice of tools is not among it.
pub(super) fn settings(body: &Value) -> Value {
    let format = body["text"].get("format").or(body.get("response_format"));
    json!([
        format.filter(|format| format["type"] != "text"),
        body["reasoning"]["effort"],
        body["reasoning_effort"],
        body["text"]["verbosity"],
        body["verbosity"],
        body["service_tier"],
    ])
}

fn marks(body: &Value, blocks: &[PromptBlock]) -> Vec<Mark> {
    let options = &body["prompt_cache_options"];
    let mark = |at, own: &Value| {
        let ttl = own["ttl"]
            .as_str()
            .or(options["ttl"].as_str())
            .unwrap_or("30m");
        let long = ttl == "12h";
        let minutes = if long { 12 * 60 } else { 30 };
        Mark {
            at,
            lifetime: Duration::from_secs(minutes * 60),
            long,
        }
    };
    let explicit = |(at, block): (usize, &PromptBlock)| Some(mark(at, block.mark.as_ref()?));
    let mut marks: Vec<_> = blocks.iter().enumerate().filter_map(explicit).collect();
    if let Some(last) = blocks.len().checked_sub(1)
        && options["mode"] != "explicit"
        && marks.last().is_none_or(|mark| mark.at != last)
    {
        marks.push(mark(last, &Value::Null));
    }
    marks
}
