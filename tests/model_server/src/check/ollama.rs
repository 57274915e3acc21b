//! Ollama's `/api/chat`.

use serde_json::Value;

use super::schema;
use super::shape::{of_kind, shape, shapes};
use super::{
    CheckFindings, CheckRule, CheckedRequest, EarlierReplies, elements, media, text, tools,
};

pub(super) const RULES: &[CheckRule] = &[
    members,
    context,
    think,
    messages,
    pairing,
    tool_members,
    format,
];

/// Shapes that are the same wherever they stand.
const PARTS: &str = "
    /messages/*/tool_calls/*          | function:object               | id:string
    /messages/*/tool_calls/*/function | name:string arguments:object  | index:integer
    /tools/*                          | type=function function:object |
    /tools/*/function                 | name:string parameters:object | description:string
";

fn members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let may = "tools:array format:string/object think:bool/string stream:bool keep_alive:string/number \
        options:object truncate:bool shift:bool logprobs:bool top_logprobs:integer";
    if request.body.get("tool_choice").is_some() {
        found.say(
            "",
            "there is no `tool_choice`: leave tools out, or ask for one in words",
        );
        let mut rest = request.body.clone();
        rest.as_object_mut()
            .and_then(|body| body.shift_remove("tool_choice"));
        shape(found, "", &rest, "model:string messages:array", may);
    } else {
        shape(found, "", request.body, "model:string messages:array", may);
    }
    shapes(found, request.body, PARTS);
}

/// Without `num_ctx` the server picks a small context and drops old messages without a word.
fn context(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    if !request.context_known && !request.body["options"]["num_ctx"].is_u64() {
        found.say(
            "/options",
            "`num_ctx` must be set while the context of the running model is not known",
        );
    }
}

fn think(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(think) = request.body.get("think") else {
        return;
    };
    if think
        .as_str()
        .is_some_and(|level| !["low", "medium", "high", "max"].contains(&level))
    {
        found.say("/think", "this level is not known");
    }
    if think.is_boolean() && request.model.starts_with("gpt-oss") {
        found.say(
            "/think",
            format_args!("{} takes levels only", request.model),
        );
    }
}

/// Members of a message by its role.
const MESSAGES: &str = "
    system    | role content:string |
    user      | role content:string | images:array
    assistant | role content:string | thinking:string tool_calls:array images:array
    tool      | role content:string tool_name:string tool_call_id:string | images:array
";

fn messages(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, message) in elements("/messages", &request.body["messages"]) {
        let role = text(message, "role");
        let Some([must, may]) = of_kind(MESSAGES, role) else {
            found.say(&place, format_args!("the role `{role}` is not known"));
            continue;
        };
        shape(found, &place, message, must, may);
        for (place, image) in elements(&format!("{place}/images"), &message["images"]) {
            media::image(found, &place, image);
        }
    }
}

/// Results directly after the calls, in their order, with the name that the call has.
fn pairing(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let messages = &request.body["messages"];
    tools::tool_messages(found, messages, false);
    let name_of = |id: &str| {
        elements("", messages)
            .flat_map(|(_, message)| elements("", &message["tool_calls"]).collect::<Vec<_>>())
            .find(|(_, call)| text(call, "id") == id)
            .map(|(_, call)| text(&call["function"], "name"))
    };
    for (place, message) in
        elements("/messages", messages).filter(|(_, message)| message["role"] == "tool")
    {
        let (id, name) = (text(message, "tool_call_id"), text(message, "tool_name"));
        if !name.is_empty() && name_of(id).is_some_and(|called| called != name) {
            found.say(&place, format_args!("the call {id} is not of {name}"));
        }
    }
}

fn tool_members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let all = elements("/tools", &request.body["tools"]);
    let names = all.filter_map(|(place, tool)| Some((place, tool["function"]["name"].as_str()?)));
    tools::names(found, names, "-.:", 64);
}

fn format(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(format) = request.body.get("format") else {
        return;
    };
    if format.as_str().is_some_and(|word| word != "json") {
        found.say("/format", "this is neither `json` nor a schema");
    }
    schema::no_const(found, "/format", format);
    let says_json = |message: &Value| text(message, "content").contains("JSON");
    if !elements("", &request.body["messages"]).any(|(_, message)| says_json(message)) {
        found.say(
            "/format",
            "no message says JSON, so that the answer may be endless white space",
        );
    }
}
