//! OpenAI Chat Completions, and servers that speak it.

use serde_json::Value;

use super::schema::{self, SchemaSubset};
use super::shape::{of_kind, shape, shapes};
use super::{
    CheckFindings, CheckRule, CheckedRequest, EarlierReplies, elements, media, text, tools,
};

pub(super) const RULES: &[CheckRule] = &[
    members,
    stop,
    messages,
    calls,
    pairing,
    reasoning_comes_back,
    tool_members,
    tool_choice,
    response_format,
];

const OFFICIAL: &str = "max_completion_tokens:integer max_tokens:integer response_format:object tools:array \
    tool_choice:string/object reasoning_effort=none,minimal,low,medium,high,xhigh,max \
    parallel_tool_calls:bool stop:string/array stream:bool stream_options:object seed:integer \
    prompt_cache_key:string prompt_cache_options:object temperature:number top_p:number n:integer \
    verbosity=low,medium,high service_tier:string metadata:object store:bool safety_identifier:string";

/// What other servers take as well.
const ELSEWHERE: &str = "reasoning:object reasoning_format:string chat_template_kwargs:object \
    parse_tool_calls:bool thinking_token_budget:integer random_seed:integer prompt_mode:string \
    top_k:integer min_p:number usage:object provider:object";

/// Shapes that are the same whatever the server.
const PARTS: &str = "
    /messages/*/tool_calls/*          | id:string type=function function:object |
    /messages/*/tool_calls/*/function | name:string arguments:string            |
    /tools/*                          | type=function function:object           |
    /tools/*/function                 | name:string                             | description:string parameters:object strict:bool
    /response_format/json_schema      | name:string                             | schema:object strict:bool description:string
";

/// Whether the model is one of OpenAI's own, whoever serves it.
pub(crate) fn of_openai(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.starts_with("gpt-") && !name.starts_with("gpt-oss")
        || name.starts_with("o3")
        || name.starts_with("o4")
}

fn members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let may = if of_openai(request.model) {
        OFFICIAL.to_owned()
    } else {
        format!("{OFFICIAL} {ELSEWHERE}").replace(
            "reasoning_effort=none,minimal,low,medium,high,xhigh,max",
            "reasoning_effort:string",
        )
    };
    shape(found, "", request.body, "model:string messages:array", &may);
    shapes(found, request.body, PARTS);
    if request.body.get("stream_options").is_some() && request.body["stream"] != true {
        found.say("", "`stream_options` is only taken with `stream`");
    }
}

fn stop(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(stop) = request.body.get("stop") else {
        return;
    };
    if stop.as_array().is_some_and(|all| all.len() > 4) {
        found.say("/stop", "at most 4 are taken");
    }
    if of_openai(request.model) {
        found.say(
            "/stop",
            format_args!("{} does not take `stop`", request.model),
        );
    }
}

/// Members of a message by its role.
const MESSAGES: &str = "
    developer | role content:string/array                     | name:string
    system    | role content:string/array                     | name:string
    user      | role content:string/array                     | name:string
    tool      | role tool_call_id:string content:string/array | name:string
    assistant | role                                          | content:string/null tool_calls:array refusal:string/null name:string
";

/// What assistant messages carry on other servers.
const REASONING: &str = "content:string/array/null tool_calls:array refusal:string/null name:string \
    reasoning_content:string reasoning:string reasoning_details:array prefix:bool";

fn messages(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, message) in elements("/messages", &request.body["messages"]) {
        let role = text(message, "role");
        let Some([must, may]) = of_kind(MESSAGES, role) else {
            found.say(&place, format_args!("the role `{role}` is not known"));
            continue;
        };
        let elsewhere = role == "assistant" && !of_openai(request.model);
        shape(
            found,
            &place,
            message,
            must,
            if elsewhere { REASONING } else { may },
        );
        if role == "assistant"
            && message["content"].is_null()
            && message.get("tool_calls").is_none()
        {
            found.say(&place, "there is neither content nor a call");
        }
        let parts: &[&str] = match role {
            "user" => &["text", "image_url", "file", "input_audio"],
            "assistant" => &["text", "refusal", "thinking"],
            _ => &["text"],
        };
        for (place, part) in elements(&format!("{place}/content"), &message["content"]) {
            let kind = text(part, "type");
            if !parts.contains(&kind) {
                found.say(
                    &place,
                    format_args!("a part of type {kind} may not stand in a message of role {role}"),
                );
            }
            media::chat_part(found, &place, part);
        }
    }
}

fn calls(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, message) in elements("/messages", &request.body["messages"]) {
        for (place, call) in elements(&format!("{place}/tool_calls"), &message["tool_calls"]) {
            let arguments = call["function"]["arguments"].as_str();
            if arguments.is_some_and(|raw| serde_json::from_str::<Value>(raw).is_err()) {
                found.say(&format!("{place}/function"), "`arguments` is not JSON");
            }
        }
    }
}

/// One message of role tool for each call, directly after the message of the calls.
fn pairing(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    tools::tool_messages(found, &request.body["messages"], true);
}

/// DeepSeek's thinking models want their reasoning back on every message.
fn reasoning_comes_back(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    if !request.model.contains("deepseek") {
        return;
    }
    for (place, message) in elements("/messages", &request.body["messages"]) {
        if message["role"] == "assistant" && text(message, "reasoning_content").is_empty() {
            found.say(&place, "`reasoning_content` must come back");
        }
    }
}

fn tool_members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, tool) in elements("/tools", &request.body["tools"]) {
        let (place, function) = (format!("{place}/function/parameters"), &tool["function"]);
        if function["strict"] == true {
            schema::strict(found, &place, &function["parameters"], SchemaSubset::Openai);
        }
    }
    let all = elements("/tools", &request.body["tools"]);
    let names = all.filter_map(|(place, tool)| Some((place, tool["function"]["name"].as_str()?)));
    tools::names(found, names, "-", 64);
}

fn tool_choice(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(choice) = request.body.get("tool_choice") else {
        return;
    };
    let place = "/tool_choice";
    let known = || {
        elements("", &request.body["tools"])
            .map(|(_, tool)| text(&tool["function"], "name").to_owned())
    };
    if let Some(word) = choice.as_str() {
        // `any` is Mistral's word for `required`.
        let any = word == "any" && !of_openai(request.model);
        if !any && !["auto", "none", "required"].contains(&word) {
            found.say(place, format_args!("`{word}` is no choice"));
        }
    } else if choice["type"] == "allowed_tools" {
        shape(found, place, choice, "type allowed_tools:object", "");
        for (place, allowed) in elements(
            "/tool_choice/allowed_tools/tools",
            &choice["allowed_tools"]["tools"],
        ) {
            tools::chosen(found, &place, text(&allowed["function"], "name"), known());
        }
    } else {
        shape(found, place, choice, "type=function function:object", "");
        tools::chosen(found, place, text(&choice["function"], "name"), known());
    }
}

fn response_format(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(format) = request.body.get("response_format") else {
        return;
    };
    let place = "/response_format";
    match (text(format, "type"), of_openai(request.model)) {
        ("json_schema", true) => shape(found, place, format, "type json_schema:object", ""),
        ("json_schema" | "json_object", false) => {
            shape(
                found,
                place,
                format,
                "type",
                "json_schema:object schema:object",
            );
        }
        _ => shape(
            found,
            place,
            format,
            "type=text,json_object,json_schema",
            "",
        ),
    }
    let Some(inner) = format.get("json_schema") else {
        return;
    };
    let place = "/response_format/json_schema/schema";
    if inner["strict"] == true {
        schema::strict(found, place, &inner["schema"], SchemaSubset::Openai);
    }
}
