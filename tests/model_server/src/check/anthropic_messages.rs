//! Anthropic Messages: the messages, their blocks, breakpoints of the cache, and thinking that comes back.

use std::collections::HashSet;

use serde_json::Value;

use super::claude::Claude;
use super::seen::EarlierReply;
use super::shape::shape;
use super::tools::unanswered;
use super::{
    CURRENT, CheckFindings, CheckRule, CheckedRequest, EarlierReplies, compaction, elements, media,
    seen, text,
};
use crate::ServedApi;

pub(super) const RULES: &[CheckRule] = &[
    messages,
    content,
    system,
    pairing,
    system_messages,
    ending,
    version,
    breakpoints,
    lifetimes,
    seen::unchanged,
    latest_turn,
    compaction::block_is_first,
    compaction::no_double,
];

fn messages(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let mut any = false;
    for (place, message) in elements("/messages", &request.body["messages"]) {
        any = true;
        let may = if message["role"] == "system" {
            "output_config:object clear_at=never,next_user_message"
        } else {
            ""
        };
        shape(
            found,
            &place,
            message,
            "role=user,assistant,system content:string/array",
            may,
        );
    }
    if !any {
        found.say("/messages", "there is no message");
    }
}

/// Members of a block by its type, and the roles whose messages may hold it. Types of the server's own tools are
/// opaque and not listed.
#[rustfmt::skip]
const BLOCKS: &[(&str, &str, &str, &str)] = &[
    ("text",              "user assistant system", "type text:string", "cache_control:object citations"),
    ("image",             "user",                  "type source:object", "cache_control:object transformations:object"),
    ("document",          "user assistant",        "type source:object", "cache_control:object title context citations:object"),
    ("search_result",     "user",                  "type content:array source:string title:string", "citations:object"),
    ("tool_use",          "assistant",             "type id:string name:string input:object", "cache_control:object caller:object"),
    ("tool_result",       "user",                  "type tool_use_id:string", "content:string/array is_error:bool cache_control:object"),
    ("thinking",          "assistant",             "type thinking:string signature:string", ""),
    ("redacted_thinking", "assistant",             "type data:string", ""),
    ("compaction",        "assistant",             "type signature:string", "content:string/null encrypted_content:string/null tool_changes:array cache_control:object"),
    ("tool_addition",     "system",                "type tool:object", ""),
    ("tool_removal",      "system",                "type tool:object", ""),
];

/// What a tool may give back.
const IN_RESULTS: [&str; 5] = [
    "text",
    "image",
    "document",
    "search_result",
    "tool_reference",
];

fn content(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, message) in elements("/messages", &request.body["messages"]) {
        let place = format!("{place}/content");
        let content = &message["content"];
        if *content == "" || content.as_array().is_some_and(Vec::is_empty) {
            found.say(&place, "this is empty");
        }
        for (place, block) in elements(&place, content) {
            one_block(found, &place, block, text(message, "role"));
        }
    }
}

fn one_block(found: &mut CheckFindings, place: &str, block: &Value, role: &str) {
    let kind = text(block, "type");
    let Some((_, roles, must, may)) = BLOCKS.iter().find(|(known, ..)| *known == kind) else {
        if !servers_own(kind) {
            found.say(place, format_args!("a block of type `{kind}` is not known"));
        }
        return;
    };
    shape(found, place, block, must, may);
    if !roles.split_whitespace().any(|known| known == role) {
        found.say(
            place,
            format_args!("a block of type {kind} may not stand in a message of role {role}"),
        );
    }
    if kind == "text" && block["text"] == "" {
        found.say(place, "this text is empty");
    }
    if matches!(kind, "image" | "document") {
        media::source(found, place, block);
    }
    for (place, inner) in elements(&format!("{place}/content"), &block["content"]) {
        let kind = text(inner, "type");
        if !IN_RESULTS.contains(&kind) {
            found.say(
                &place,
                format_args!("a block of type {kind} may not stand in a result"),
            );
        }
        if kind == "text" && inner["text"] == "" {
            found.say(&place, "this text is empty");
        }
    }
}

/// Blocks of tools that the server runs, and of its own bookkeeping.
fn servers_own(kind: &str) -> bool {
    ["server_tool_use", "fallback"].contains(&kind) || servers_result(kind)
}

/// What a tool that the server runs has given.
fn servers_result(kind: &str) -> bool {
    kind.ends_with("_tool_result")
}

fn system(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, block) in elements("/system", &request.body["system"]) {
        if block["text"] == "" {
            found.say(&place, "this text is empty");
        }
    }
}

fn blocks_of<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = (String, &'a Value)> {
    elements("/content", &message["content"]).filter(move |(_, block)| block["type"] == kind)
}

/// Every call is answered in the next message, all in that one, once, and before anything else.
fn pairing(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let messages = request.body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut known = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("/messages/{index}");
        if message["role"] == "assistant" {
            for (at, call) in blocks_of(message, "tool_use") {
                let id = text(call, "id");
                if !known.insert(id) {
                    found.say(
                        &format!("{place}{at}"),
                        format_args!("the id {id} is used twice"),
                    );
                }
                open.push(id);
            }
            continue;
        }
        results(found, &place, message, &mut open);
        unanswered(found, &place, &mut open);
    }
    unanswered(found, "", &mut open);
    let history_has_tools = known.iter().any(|id| !id.is_empty());
    if history_has_tools && request.body["tools"].as_array().is_none_or(Vec::is_empty) {
        found.say(
            "",
            "the history has calls of tools, and `tools` is not there",
        );
    }
}

fn results<'a>(
    found: &mut CheckFindings,
    place: &str,
    message: &'a Value,
    open: &mut Vec<&'a str>,
) {
    let mut answered = HashSet::new();
    let mut other = false;
    for (at, block) in elements("/content", &message["content"]) {
        if block["type"] != "tool_result" {
            other = true;
            continue;
        }
        let place = format!("{place}{at}");
        let id = text(block, "tool_use_id");
        if let Some(at) = open.iter().position(|call| *call == id) {
            open.remove(at);
            answered.insert(id);
        } else if answered.contains(id) {
            found.say(&place, format_args!("the call {id} has a second result"));
        } else {
            found.say(&place, format_args!("the message before has no call {id}"));
        }
        if other {
            found.say(
                &place,
                "results must come before anything else in their message",
            );
        }
    }
}

/// A system message amid the others follows the user's and is the last or followed by the assistant's.
fn system_messages(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let messages = request.body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let refused = Claude::find(request.model).is_some_and(|claude| !claude.takes("system"));
    for (index, _) in messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message["role"] == "system")
    {
        let place = format!("/messages/{index}");
        if refused {
            found.say(
                &place,
                format_args!("{} does not take the role system here", request.model),
            );
        }
        let before = index.checked_sub(1).map(|before| &messages[before]);
        let after_server =
            |message: &Value| servers_result(last_kind(message)) && message["role"] == "assistant";
        if !before.is_some_and(|message| message["role"] == "user" || after_server(message)) {
            found.say(&place, "a system message must follow a message of the user");
        }
        if messages
            .get(index + 1)
            .is_some_and(|next| next["role"] != "assistant")
        {
            found.say(
                &place,
                "a system message must be the last or be followed by the assistant's",
            );
        }
    }
}

fn last_kind(message: &Value) -> &str {
    message["content"]
        .as_array()
        .and_then(|blocks| blocks.last())
        .map_or("text", |block| text(block, "type"))
}

/// What the messages may end in.
fn ending(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let all = elements("/messages", &request.body["messages"]);
    let Some((place, message)) = all
        .filter(|(_, message)| message["role"] == "assistant")
        .last()
    else {
        return;
    };
    let last =
        &request.body["messages"][request.body["messages"].as_array().map_or(0, Vec::len) - 1];
    let blank = |text: &str| !text.is_empty() && text.trim().is_empty();
    let texts = blocks_of(message, "text").map(|(_, block)| text(block, "text"));
    if texts.chain(message["content"].as_str()).any(blank) {
        found.say(
            &place,
            "the last text of the assistant is nothing but white space",
        );
    }
    let prefill = Claude::find(request.model).is_some_and(|claude| claude.takes("prefill"));
    // A pause of the server's own tools is resumed by sending the content again.
    if last["role"] == "assistant" && !prefill && !servers_own(last_kind(last)) {
        found.say(
            &place,
            "the conversation must end with a message of the user",
        );
    }
}

fn version(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    if request.version != CURRENT {
        return;
    }
    for (place, message) in elements("/messages", &request.body["messages"]) {
        if message["role"] == "assistant" {
            for (at, _) in blocks_of(message, "document") {
                let what = "a document may not stand in a message of the assistant";
                found.say(
                    &format!("{place}{at}"),
                    format_args!("{what} since version {CURRENT}"),
                );
            }
            continue;
        }
        let cited = |block: &Value| {
            block["citations"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        };
        for (at, _) in blocks_of(message, "text").filter(|(_, block)| cited(block)) {
            let what = "text of the user may not have citations";
            found.say(
                &format!("{place}{at}"),
                format_args!("{what} since version {CURRENT}"),
            );
        }
    }
}

/// The explicit breakpoints, in the order of the prefix: where, on which type of block, with which `cache_control`.
fn explicit(body: &Value) -> Vec<(String, &str, &Value)> {
    let tools = elements("/tools", &body["tools"]).map(|(place, tool)| (place, "tool", tool));
    let system = elements("/system", &body["system"]).map(|(place, block)| (place, "text", block));
    let messages = elements("/messages", &body["messages"]).flat_map(|(place, message)| {
        let blocks: Vec<_> = elements(&format!("{place}/content"), &message["content"]).collect();
        blocks
            .into_iter()
            .map(|(place, block)| (place, text(block, "type"), block))
    });
    let all = tools.chain(system).chain(messages);
    all.filter_map(|(place, kind, block)| Some((place, kind, block.get("cache_control")?)))
        .collect()
}

fn breakpoints(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let explicit = explicit(request.body);
    let automatic = request.body.get("cache_control");
    for (place, kind, _) in &explicit {
        // The shape of other blocks has no such member and says so.
        let empty = request
            .body
            .pointer(place)
            .is_some_and(|block| block["text"] == "");
        if empty || servers_own(kind) {
            found.say(place, "this block may not have `cache_control`");
        }
    }
    let count = explicit.len() + usize::from(automatic.is_some());
    if count > 4 {
        found.say(
            "",
            format_args!("there are {count} breakpoints; at most 4 are taken"),
        );
    }
}

/// Breakpoints of an hour precede those of five minutes; the automatic one is the last.
fn lifetimes(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let explicit = explicit(request.body);
    let automatic = request.body.get("cache_control");
    let hour = |mark: &Value| mark["ttl"] == "1h";
    let mut short = false;
    for (place, _, mark) in &explicit {
        if short && hour(mark) {
            found.say(place, "a breakpoint of 1h must come before those of 5m");
        }
        short |= !hour(mark);
    }
    let Some(automatic) = automatic else { return };
    let messages = request.body["messages"].as_array().map_or(0, Vec::len);
    let tail = format!("/messages/{}/", messages.saturating_sub(1));
    let on_last = explicit
        .last()
        .filter(|(place, ..)| place.starts_with(&tail));
    if on_last.is_some_and(|(.., mark)| hour(mark) != hour(automatic)) {
        found.say(
            "/cache_control",
            "the last block has a breakpoint with another ttl",
        );
    } else if short && hour(automatic) {
        found.say(
            "/cache_control",
            "a breakpoint of 1h must come before those of 5m",
        );
    }
}

/// Thinking of the latest turn comes back whole: nothing moved, edited or left out beside the calls it led to.
/// Leaving out all thinking of a request is allowed where thinking is bound to what comes before it, and after a
/// change of the model.
fn latest_turn(request: &CheckedRequest, seen: &EarlierReplies, found: &mut CheckFindings) {
    let messages: Vec<_> = elements("/messages", &request.body["messages"]).collect();
    let question = messages.iter().rposition(|(_, message)| {
        message["role"] == "user" && blocks_of(message, "tool_result").next().is_none()
    });
    let is_thinking =
        |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    let thoughts = |blocks: &Value| -> Vec<String> {
        let blocks = elements("", blocks).filter(|(_, block)| is_thinking(block));
        blocks.map(|(_, block)| block.to_string()).collect()
    };
    let none_at_all = messages
        .iter()
        .all(|(_, message)| thoughts(&message["content"]).is_empty());
    let may_strip = Claude::find(request.model).is_some_and(|claude| claude.takes("bound"));
    for (place, message) in &messages[question.map_or(0, |at| at + 1)..] {
        let calls: Vec<_> = blocks_of(message, "tool_use")
            .map(|(_, call)| text(call, "id"))
            .collect();
        let led_here = |reply: &&EarlierReply| {
            let given =
                |item: &Value| item["type"] == "tool_use" && calls.contains(&text(item, "id"));
            reply.items.iter().any(given)
        };
        let sent = thoughts(&message["content"]);
        // The same ids may have been given in several conversations.
        let mut replies = seen
            .replies(ServedApi::Anthropic)
            .filter(led_here)
            .peekable();
        let known = replies.peek().is_some();
        let holds = replies.any(|reply| {
            let stripped = none_at_all && (may_strip || reply.model != request.model);
            stripped || sent.ends_with(&thoughts(&Value::Array(reply.items.clone())))
        });
        if known && !holds {
            found.say(
                place,
                "the thinking of the latest turn does not come back as it was given",
            );
        }
    }
}
