//! OpenAI Responses, without storage on the server.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::schema::{self, SchemaSubset};
use super::shape::{shape, shapes};
use super::{
    CheckFindings, CheckRule, CheckedRequest, EarlierReplies, compaction, elements, media, text,
    tools,
};
use crate::ServedApi;

pub(super) const RULES: &[CheckRule] = &[
    members,
    stateless,
    reasoning_and_text,
    items,
    pairing,
    reasoning_is_followed,
    ids_have_their_reasoning,
    verbatim,
    tool_members,
    tool_choice,
    schemas,
    breakpoints,
    compaction::items_in_place,
    compaction::no_double,
];

/// Shapes that are the same wherever they stand.
const PARTS: &str = "
    /prompt_cache_options | | mode=implicit,explicit ttl=30m,12h prewarm:bool comparison_response_id:string
    /reasoning            | | effort=none,minimal,low,medium,high,xhigh,max summary=auto,concise,detailed \
        context=auto,current_turn,all_turns mode=standard,pro
    /text                 | | format:object verbosity=low,medium,high
";

fn members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let may = "instructions:string/null tools:array tool_choice:string/object parallel_tool_calls:bool \
        reasoning:object text:object max_output_tokens:integer store:bool include:array \
        previous_response_id:string/null conversation truncation=disabled,auto context_management:array \
        prompt_cache_key:string prompt_cache_options:object prompt_cache_retention=in_memory,24h \
        safety_identifier:string metadata:object stream:bool stream_options:object temperature:number \
        top_p:number service_tier=auto,default,flex,priority,fast,ultrafast";
    let must = "model:string input:string/array";
    if request.counting {
        shape(
            found,
            "",
            request.body,
            must,
            &may.replace("max_output_tokens:integer", ""),
        );
    } else {
        shape(found, "", request.body, must, may);
    }
    shapes(found, request.body, PARTS);
    if request.body["metadata"]
        .as_object()
        .is_some_and(|pairs| pairs.len() > 16)
    {
        found.say("/metadata", "there are more than 16 pairs");
    }
}

/// The client keeps the conversation, so nothing may be stored or taken from the store.
fn stateless(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let body = request.body;
    if body["store"] != false && !request.counting {
        found.say("", "`store` must be false");
    }
    for member in ["previous_response_id", "conversation"] {
        if body.get(member).is_some_and(|value| !value.is_null()) {
            found.say("", format_args!("`{member}` needs what is not stored"));
        }
    }
    for (place, item) in elements("/input", &body["input"]) {
        if item["type"] == "item_reference" {
            found.say(&place, "an item_reference needs what is not stored");
        }
        if item["type"] == "reasoning" && !item["encrypted_content"].is_string() {
            found.say(
                &place,
                "reasoning that is not stored needs its `encrypted_content`",
            );
        }
    }
}

fn reasoning_and_text(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let body = request.body;
    for (place, format) in formats(body) {
        let (must, may) = match text(format, "type") {
            "json_schema" => (
                "type name:string schema:object",
                "strict:bool description:string",
            ),
            _ => ("type=text,json_object,json_schema", ""),
        };
        shape(found, &place, format, must, may);
    }
    let reasons = ["gpt-5", "gpt-6", "o3", "o4"]
        .iter()
        .any(|name| request.model.starts_with(name));
    for member in ["temperature", "top_p"]
        .into_iter()
        .filter(|name| body.get(name).is_some())
    {
        if reasons && body["reasoning"]["effort"] != "none" {
            found.say(
                "",
                format_args!("`{member}` is only taken at the effort none"),
            );
        }
    }
}

/// The formats of answers: of the request, and of each update amid the input.
fn formats(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    let updates = elements("/input", &body["input"])
        .filter(|(_, item)| item["type"] == "configuration_update")
        .filter_map(|(place, item)| {
            Some((format!("{place}/text/format"), item["text"].get("format")?))
        });
    let top = body["text"]
        .get("format")
        .map(|format| ("/text/format".to_owned(), format));
    top.into_iter().chain(updates)
}

/// Members of an input item by its type. Items of hosted tools are opaque and not listed.
#[rustfmt::skip]
const ITEMS: &[(&str, &str, &str)] = &[
    ("message",                 "role=user,assistant,system,developer content:string/array", "type id:string status:string phase=commentary,final_answer"),
    ("reasoning",               "type id:string summary:array", "encrypted_content:string content:array status:string"),
    ("function_call",           "type call_id:string name:string arguments:string", "id:string status:string namespace:string"),
    ("function_call_output",    "type call_id:string output:string/array", "id:string status:string"),
    ("custom_tool_call",        "type call_id:string name:string input:string", "id:string status:string namespace:string"),
    ("custom_tool_call_output", "type call_id:string output:string/array", "id:string status:string"),
    ("compaction",              "type encrypted_content:string", "id:string"),
    ("compaction_trigger",      "type", ""),
    ("configuration_update",    "type", "reasoning:object text:object"),
    ("additional_tools",        "type role=developer tools:array", ""),
    ("item_reference",          "type id:string", ""),
];

/// Parts of a message's content by who speaks.
const ASSISTANT_PARTS: [&str; 2] = ["output_text", "refusal"];
const OTHER_PARTS: [&str; 3] = ["input_text", "input_image", "input_file"];

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or("message")
}

fn items(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, item) in elements("/input", &request.body["input"]) {
        let Some((_, must, may)) = ITEMS.iter().find(|(known, ..)| *known == kind(item)) else {
            if !kind(item).ends_with("_call") && !kind(item).starts_with("mcp_") {
                found.say(
                    &place,
                    format_args!("an item of type `{}` is not known", kind(item)),
                );
            }
            continue;
        };
        shape(found, &place, item, must, may);
        if kind(item) == "configuration_update" && request.body["reasoning"]["mode"] == "pro" {
            found.say(&place, "a configuration_update is not taken in pro mode");
        }
        let role = text(item, "role");
        let parts: &[&str] = if role == "assistant" {
            &ASSISTANT_PARTS
        } else {
            &OTHER_PARTS
        };
        for (place, part) in elements(&format!("{place}/content"), &item["content"]) {
            if kind(item) == "message" && !parts.contains(&text(part, "type")) {
                let part = text(part, "type");
                found.say(
                    &place,
                    format_args!("a part of type {part} may not stand in a message of role {role}"),
                );
            }
            media::input_part(found, &place, part);
        }
        if item["status"] == "incomplete" && kind(item).ends_with("_call") {
            found.say(&place, "a truncated call must not be sent back");
        }
    }
}

/// Each call has one output after it.
fn pairing(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let mut open: Vec<&str> = Vec::new();
    let mut answered = HashSet::new();
    for (place, item) in elements("/input", &request.body["input"]) {
        let id = text(item, "call_id");
        match kind(item) {
            "function_call" | "custom_tool_call" => open.push(id),
            "function_call_output" | "custom_tool_call_output" => {
                if let Some(at) = open.iter().position(|call| *call == id) {
                    open.remove(at);
                    answered.insert(id);
                } else if answered.contains(id) {
                    found.say(&place, format_args!("the call {id} has a second output"));
                } else {
                    found.say(
                        &place,
                        format_args!("there is no call {id} before this output"),
                    );
                }
            }
            _ => {}
        }
    }
    for id in open {
        found.say("/input", format_args!("the call {id} has no output"));
    }
}

/// Reasoning stands before the item that it led to.
fn reasoning_is_followed(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let input = request.body["input"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    for (index, _) in input
        .iter()
        .enumerate()
        .filter(|(_, item)| kind(item) == "reasoning")
    {
        let led_to = input.get(index + 1).is_some_and(|next| match kind(next) {
            "message" => next["role"] == "assistant",
            kind => kind == "reasoning" || kind.ends_with("_call") || kind.starts_with("mcp_"),
        });
        if !led_to {
            found.say(
                &format!("/input/{index}"),
                "the item that this reasoning led to does not follow it",
            );
        }
    }
}

/// What comes back by its id comes with the reasoning that led to it, whichever model is asked now: the server knows by
/// the id which reasoning that was.
fn ids_have_their_reasoning(
    request: &CheckedRequest,
    seen: &EarlierReplies,
    found: &mut CheckFindings,
) {
    let input: Vec<_> = elements("/input", &request.body["input"]).collect();
    let sent: HashSet<&str> = input
        .iter()
        .filter_map(|(_, item)| item["id"].as_str())
        .collect();
    for (place, item) in &input {
        let Some(id) = item["id"]
            .as_str()
            .filter(|_| !["reasoning", "compaction"].contains(&kind(item)))
        else {
            continue;
        };
        let led_to_it = |given: &[Value]| -> Option<Vec<String>> {
            let at = given.iter().position(|given| given["id"] == id)?;
            let before = given[..at].iter().rev();
            let reasoning = before
                .skip_while(|item| kind(item) != "reasoning")
                .take_while(|item| kind(item) == "reasoning");
            Some(reasoning.map(|item| text(item, "id").to_owned()).collect())
        };
        let replies = seen.replies(ServedApi::OpenaiResponses);
        let given: Vec<_> = replies
            .filter_map(|reply| led_to_it(&reply.items))
            .collect();
        let is_whole = |ids: &Vec<String>| ids.iter().all(|id| sent.contains(id.as_str()));
        if let Some(ids) = given.first().filter(|_| !given.iter().any(is_whole)) {
            let missing = ids.iter().find(|id| !sent.contains(id.as_str()));
            let missing = missing.map_or("", String::as_str);
            found.say(
                place,
                format_args!("the item {id} comes back without its reasoning {missing}"),
            );
        }
    }
}

/// The order of members counts, which equality of values leaves out.
fn json(item: &Value) -> String {
    item.to_string()
}

/// The items of one response come back as given, all of them, in their order and side by side. The same ids may
/// have been given in several conversations; then one of the responses must fit.
fn verbatim(request: &CheckedRequest, seen: &EarlierReplies, found: &mut CheckFindings) {
    let input: Vec<_> = elements("/input", &request.body["input"]).collect();
    let mut kept = HashSet::new();
    let mut broken = BTreeMap::new();
    for reply in seen.replies(ServedApi::OpenaiResponses) {
        let own = |item: &Value| {
            let id = item["id"].as_str();
            id.is_some() && reply.items.iter().any(|given| given["id"].as_str() == id)
        };
        let start = input.iter().position(|(_, item)| own(item));
        let Some(start) = start.filter(|_| reply.model == request.model) else {
            continue;
        };
        let differs = |(offset, given): &(usize, &Value)| {
            let sent = input.get(start + offset);
            sent.is_none_or(|(_, sent)| json(sent) != json(given))
        };
        match reply.items.iter().enumerate().find(differs) {
            None => {
                kept.insert(start);
            }
            Some((offset, given)) => {
                let furthest = broken.entry(start).or_insert((start, given));
                if start + offset >= furthest.0 {
                    *furthest = (start + offset, given);
                }
            }
        }
    }
    for (_, (at, given)) in broken
        .into_iter()
        .filter(|(start, _)| !kept.contains(start))
    {
        let place = input.get(at).map_or("/input", |(place, _)| place);
        let id = given["id"].as_str().unwrap_or("without an id");
        found.say(
            place,
            format_args!("the item {id} should stand here as it was given"),
        );
    }
}

fn tool_members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, tool) in elements("/tools", &request.body["tools"]) {
        let (must, may) = match text(tool, "type") {
            "function" => (
                "type name:string parameters:object",
                "description:string strict:bool defer_loading:bool async:bool",
            ),
            "custom" => ("type name:string", "description:string format:object"),
            "namespace" => ("type name:string tools:array", "description:string"),
            "" => ("type:string", "name description parameters strict"),
            _ => continue,
        };
        shape(found, &place, tool, must, may);
    }
    let all = elements("/tools", &request.body["tools"]);
    tools::names(
        found,
        all.filter_map(|(place, tool)| Some((place, tool["name"].as_str()?))),
        "-",
        64,
    );
}

fn tool_choice(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(choice) = request.body.get("tool_choice") else {
        return;
    };
    let place = "/tool_choice";
    let tools =
        || elements("", &request.body["tools"]).map(|(_, tool)| text(tool, "name").to_owned());
    if let Some(word) = choice.as_str() {
        if !["auto", "none", "required"].contains(&word) {
            found.say(place, format_args!("`{word}` is no choice"));
        }
        return;
    }
    if choice["type"] == "allowed_tools" {
        shape(
            found,
            place,
            choice,
            "type mode=auto,required tools:array",
            "",
        );
        for (place, allowed) in elements("/tool_choice/tools", &choice["tools"]) {
            tools::chosen(found, &place, text(allowed, "name"), tools());
        }
    } else {
        shape(found, place, choice, "type=function,custom name:string", "");
        tools::chosen(found, place, text(choice, "name"), tools());
    }
}

fn schemas(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, tool) in elements("/tools", &request.body["tools"]) {
        if tool["strict"] == true {
            let place = format!("{place}/parameters");
            schema::strict(found, &place, &tool["parameters"], SchemaSubset::Openai);
        }
    }
    for (place, format) in formats(request.body) {
        if format["strict"] == true {
            let place = format!("{place}/schema");
            schema::strict(found, &place, &format["schema"], SchemaSubset::Openai);
        }
    }
}

fn breakpoints(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let parts = elements("", &request.body["input"])
        .flat_map(|(_, item)| elements("", &item["content"]).collect::<Vec<_>>());
    let count = parts
        .filter(|(_, part)| part.get("prompt_cache_breakpoint").is_some())
        .count();
    let most = if request.body["prompt_cache_options"]["mode"] == "explicit" {
        4
    } else {
        3
    };
    if count > most {
        found.say(
            "",
            format_args!("there are {count} explicit breakpoints; at most {most} are taken"),
        );
    }
}
