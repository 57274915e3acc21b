//! Native summaries: Anthropic's `compaction`, and the `compaction_trigger` of Responses.

use serde_json::Value;

use super::shape::shape;
use super::{CheckFindings, CheckedRequest, EarlierReplies, elements, text};
use crate::ServedApi;

/// The value of the beta header that a request for a block needs, and each one that has the block.
pub(super) const BETA: &str = "compact-2026-09-04";
/// Characters of the instructions for a summary.
const INSTRUCTIONS: usize = 16_384;

/// Whether a block or an item is a summary of the provider's own.
pub(super) fn is_summary(value: &Value) -> bool {
    value["type"] == "compaction"
}

/// What asks Anthropic for a summary, and what does not go with it.
pub(super) fn asked(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let body = request.body;
    let Some(asked) = body.get("compaction") else {
        return;
    };
    let place = "/compaction";
    shape(found, place, asked, "type=summarize", "instructions:string");
    if text(asked, "instructions").chars().count() > INSTRUCTIONS {
        found.say(
            place,
            format_args!("`instructions` has more than {INSTRUCTIONS} characters"),
        );
    }
    let forced = ["any", "tool"].contains(&text(&body["tool_choice"], "type"));
    let format = body["output_config"].get("format").is_some();
    let refused = [
        (
            "`context_management`",
            body.get("context_management").is_some(),
        ),
        ("`stop_sequences`", body.get("stop_sequences").is_some()),
        ("an output format", format),
        ("forced tools", forced),
        (
            "`remaining` of a budget",
            body["task_budget"].get("remaining").is_some(),
        ),
    ];
    for (what, _) in refused.into_iter().filter(|(_, used)| *used) {
        found.say(place, format_args!("this does not go with {what}"));
    }
    let mut blocks = messages(body).flat_map(|(place, message)| content(&place, message));
    if blocks.all(|(_, block)| is_summary(block)) && !has_plain_text(body) {
        found.say("/messages", "there is nothing to summarise");
    }
}

fn has_plain_text(body: &Value) -> bool {
    messages(body).any(|(_, message)| message["content"].is_string())
}

fn messages(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    elements("/messages", &body["messages"])
}

fn content<'a>(place: &str, message: &'a Value) -> Vec<(String, &'a Value)> {
    elements(&format!("{place}/content"), &message["content"]).collect()
}

/// The block of Anthropic's is the first of all, and the only one; each request that has it says so in its header.
pub(super) fn block_is_first(
    request: &CheckedRequest,
    _: &EarlierReplies,
    found: &mut CheckFindings,
) {
    let all = messages(request.body).flat_map(|(place, message)| content(&place, message));
    let all: Vec<(String, &Value)> = all.filter(|(_, block)| is_summary(block)).collect();
    for (place, _) in all.iter().skip(1) {
        found.say(place, "there is a compaction block before this one");
    }
    let Some((place, _)) = all.first() else {
        return;
    };
    if place != "/messages/0/content/0" {
        found.say(
            place,
            "a compaction block must be the first of all messages",
        );
    }
    if !request.has_beta(BETA) {
        found.say(place, format_args!("this needs the beta {BETA}"));
    }
}

/// What asks Responses for a summary is the last item; before a summary stand messages of the user alone.
pub(super) fn items_in_place(
    request: &CheckedRequest,
    _: &EarlierReplies,
    found: &mut CheckFindings,
) {
    let input: Vec<(String, &Value)> = elements("/input", &request.body["input"]).collect();
    for (at, (place, item)) in input.iter().enumerate() {
        if item["type"] == "compaction_trigger" && at + 1 < input.len() {
            found.say(place, "a compaction_trigger must be the last item");
        }
        if !is_summary(item) {
            continue;
        }
        let before = &input[..at];
        if before.iter().any(|(_, item)| is_summary(item)) {
            found.say(place, "there is a compaction item before this one");
        } else if before.iter().any(|(_, item)| item["role"] != "user") {
            found.say(place, "only messages of the user may stand before this");
        }
    }
    if input
        .last()
        .is_some_and(|(_, item)| item["type"] == "compaction_trigger")
        && input.len() == 1
    {
        found.say("/input", "there is nothing to summarise");
    }
}

/// What a summary stands for is not sent beside it: no provider refuses that, and the model reads it twice.
pub(super) fn no_double(
    request: &CheckedRequest,
    seen: &EarlierReplies,
    found: &mut CheckFindings,
) {
    let api = request.api;
    let sent = parts(api, request.body);
    let Some(at) = sent.iter().position(|(_, part)| is_summary(part)) else {
        return;
    };
    let mut given = seen.replies(api).filter(|reply| {
        let is_it = |item: &Value| is_summary(item) && opaque(api, item) == opaque(api, sent[at].1);
        reply.items.iter().any(is_it)
    });
    let Some(given) = given.next() else {
        return;
    };
    for (place, part) in &sent[at + 1..] {
        let is_own = call(part).is_some_and(|id| given.calls.iter().any(|own| own == id));
        if is_own {
            found.say(place, "the summary stands for this, and it is sent again");
        }
    }
    let next = sent.get(at + 1).map(|(place, part)| (place, *part));
    if let Some((place, _)) =
        next.filter(|(_, part)| call(part).is_none() && given.first == Some(without_mark(part)))
    {
        found.say(place, "the summary stands for this, and it is sent again");
    }
}

/// The text by which a summary is known.
pub(super) fn opaque(api: ServedApi, summary: &Value) -> Option<&str> {
    match api {
        ServedApi::Anthropic => summary["signature"].as_str(),
        _ => summary["encrypted_content"].as_str(),
    }
}

/// Blocks of messages, or items of the input.
fn parts(api: ServedApi, body: &Value) -> Vec<(String, &Value)> {
    match api {
        ServedApi::Anthropic => {
            let all = messages(body).flat_map(|(place, message)| content(&place, message));
            all.collect()
        }
        _ => elements("/input", &body["input"]).collect(),
    }
}

fn call(part: &Value) -> Option<&str> {
    match text(part, "type") {
        "tool_use" => part["id"].as_str(),
        "function_call" | "custom_tool_call" => part["call_id"].as_str(),
        _ => None,
    }
}

/// The ids of all calls of a request, and the first thing that a message says.
pub(super) fn summarised(request: &CheckedRequest) -> (Vec<String>, Option<Value>) {
    if !matches!(
        request.api,
        ServedApi::Anthropic | ServedApi::OpenaiResponses
    ) {
        return (Vec::new(), None);
    }
    let parts = parts(request.api, request.body);
    let calls = parts.iter().filter_map(|(_, part)| call(part));
    let calls = calls.map(str::to_owned).collect();
    let first = parts.iter().find(|(_, part)| !is_summary(part));
    (calls, first.map(|(_, part)| without_mark(part)))
}

fn without_mark(part: &Value) -> Value {
    let mut part = part.clone();
    if let Some(members) = part.as_object_mut() {
        members.shift_remove("cache_control");
    }
    part
}
