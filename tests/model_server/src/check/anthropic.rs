//! Anthropic Messages: members, models, tools and schemas.

use serde_json::Value;

use super::claude::Claude;
use super::schema::{self, SchemaSubset};
use super::shape::{of_kind, shape, shapes};
use super::{
    CURRENT, CheckFindings, CheckRule, CheckedRequest, EarlierReplies, compaction, elements, tools,
};

pub(super) const RULES: &[CheckRule] = &[
    members,
    thinking,
    thinking_of_model,
    sampling,
    tool_members,
    tool_choice,
    schemas,
    warm_up,
    betas,
    compaction::asked,
];

const MAY: &str = "system:string/array tools:array tool_choice:object thinking:object output_config:object \
    cache_control:object stop_sequences:array stream:bool metadata:object \
    service_tier=auto,standard_only speed=standard,fast inference_geo=us,global \
    diagnostics:object container temperature:number top_p:number top_k:integer \
    context_management:object compaction:object thread fallbacks task_budget";

/// Shapes that are the same wherever they stand.
const PARTS: &str = "
    /system/*                             | type=text text:string          | cache_control:object citations
    /output_config                        |                                | effort=low,medium,high,xhigh,max format:object
    /output_config/format                 | type=json_schema schema:object |
    /cache_control                        | type=ephemeral                 | ttl=5m,1h
    /tools/*/cache_control                | type=ephemeral                 | ttl=5m,1h
    /system/*/cache_control               | type=ephemeral                 | ttl=5m,1h
    /messages/*/content/*/cache_control   | type=ephemeral                 | ttl=5m,1h
";

fn members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let must = if request.counting {
        "model:string messages:array"
    } else {
        "model:string max_tokens:integer messages:array"
    };
    shape(found, "", request.body, must, MAY);
    shapes(found, request.body, PARTS);
    if request.version.is_empty() {
        found.say("", "the header anthropic-version is missing");
    }
}

/// Members of `thinking` by its type.
const THINKING: &str = "
    adaptive      | type                       | display=summarized,omitted,updates block_binding:object
    enabled       | type budget_tokens:integer | display=summarized,omitted block_binding:object
    disabled      | type                       |
    between_tools | type                       | display=summarized,omitted,updates block_binding:object
";

fn thinking(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(thinking) = request.body.get("thinking") else {
        return;
    };
    let Some([must, may]) = of_kind(THINKING, super::text(thinking, "type")) else {
        found.say("/thinking", "this type is not known");
        return;
    };
    shape(found, "/thinking", thinking, must, may);
    let Some(budget) = thinking["budget_tokens"].as_i64() else {
        return;
    };
    if budget < 1024 {
        found.say("/thinking", "`budget_tokens` must be at least 1024");
    }
    let interleaved = request.has_beta("interleaved-thinking-2025-05-14");
    if request.body["max_tokens"]
        .as_i64()
        .is_some_and(|most| budget >= most)
        && !interleaved
    {
        found.say(
            "/thinking",
            "`budget_tokens` must be less than `max_tokens`",
        );
    }
}

fn thinking_of_model(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(claude) = Claude::find(request.model) else {
        return;
    };
    let Some(kind) = request.body["thinking"]["type"].as_str() else {
        return;
    };
    let unverified = claude.name == "haiku-5-5" && kind == "between_tools";
    if !claude.thinks(kind) && !unverified {
        found.say(
            "/thinking",
            format_args!("{} does not take the type {kind}", request.model),
        );
    }
    let effort = request.body["output_config"]["effort"]
        .as_str()
        .unwrap_or(claude.effort);
    if claude.name == "opus-5" && kind == "disabled" && ["xhigh", "max"].contains(&effort) {
        found.say(
            "/thinking",
            format_args!("it cannot be disabled at the effort {effort}"),
        );
    }
}

fn sampling(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let model_takes = Claude::find(request.model).is_none_or(|claude| claude.takes("sampling"));
    for name in ["temperature", "top_p", "top_k"] {
        let Some(value) = request.body.get(name) else {
            continue;
        };
        if request.version == CURRENT {
            found.say(
                "",
                format_args!("`{name}` is refused since version {CURRENT}"),
            );
        } else if !(model_takes || name == "temperature" && value.as_f64() == Some(1.0)) {
            found.say("", format_args!("{} does not take `{name}`", request.model));
        }
    }
}

/// The tools that the client runs; a tool of the server has a type of its own.
fn custom(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    elements("/tools", &body["tools"])
        .filter(|(_, tool)| tool.get("type").is_none_or(|kind| kind == "custom"))
}

fn tool_members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let may = "description:string strict:bool eager_input_streaming:bool defer_loading:bool \
        input_examples:array cache_control:object type=custom";
    for (place, tool) in custom(request.body) {
        shape(found, &place, tool, "name:string input_schema:object", may);
        if tool["input_schema"]["type"] != "object" {
            found.say(&place, "`input_schema` must be of type object");
        }
    }
    let all = elements("/tools", &request.body["tools"]);
    let names = all.filter_map(|(place, tool)| Some((place, tool["name"].as_str()?)));
    tools::names(found, names, "-", 64);
}

fn tool_choice(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let body = request.body;
    let Some(choice) = body.get("tool_choice") else {
        return;
    };
    let place = "/tool_choice";
    let named = choice["type"] == "tool";
    let must = if named {
        "type name:string"
    } else {
        "type=auto,any,none"
    };
    shape(found, place, choice, must, "disable_parallel_tool_use:bool");
    if let Some(name) = choice["name"].as_str().filter(|_| named) {
        let known =
            elements("", &body["tools"]).map(|(_, tool)| super::text(tool, "name").to_owned());
        tools::chosen(found, place, name, known);
    }
    if !named && choice["type"] != "any" {
        return;
    }
    if Claude::find(request.model).is_some_and(|claude| !claude.takes("forced")) {
        found.say(
            place,
            format_args!("{} does not take forced tools", request.model),
        );
    }
    if body["thinking"]["type"] == "enabled" {
        found.say(place, "enabled thinking does not go with forced tools");
    }
}

fn schemas(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let body = request.body;
    let mut strict = Vec::new();
    for (place, tool) in custom(body).filter(|(_, tool)| tool["strict"] == true) {
        strict.push((format!("{place}/input_schema"), &tool["input_schema"]));
    }
    if strict.len() > 20 {
        found.say(
            "/tools",
            format_args!("{} tools are strict; at most 20 may be", strict.len()),
        );
    }
    if let Some(schema) = body["output_config"]["format"].get("schema") {
        strict.push(("/output_config/format/schema".to_owned(), schema));
    }
    let mut sum = (0, 0);
    for (place, schema) in strict {
        schema::strict(found, &place, schema, SchemaSubset::Anthropic);
        let (optional, unions) = schema::optional_and_unions(schema);
        sum = (sum.0 + optional, sum.1 + unions);
    }
    if sum.0 > 24 {
        found.say(
            "",
            format_args!(
                "strict schemas have {} optional parameters; at most 24 are taken",
                sum.0
            ),
        );
    }
    if sum.1 > 16 {
        found.say(
            "",
            format_args!(
                "strict schemas have {} union types; at most 16 are taken",
                sum.1
            ),
        );
    }
}

/// `max_tokens` of 0 only warms the cache.
fn warm_up(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let body = request.body;
    if body["max_tokens"] != 0 {
        return;
    }
    let forced = body["tool_choice"]["type"] == "any" || body["tool_choice"]["type"] == "tool";
    let refused = [
        ("stream", body["stream"] == true),
        ("enabled thinking", body["thinking"]["type"] == "enabled"),
        (
            "an output format",
            body["output_config"].get("format").is_some(),
        ),
        ("forced tools", forced),
    ];
    for (what, _) in refused.into_iter().filter(|(_, used)| *used) {
        found.say(
            "",
            format_args!("`max_tokens` of 0 does not go with {what}"),
        );
    }
}

/// Members that need a value in the beta header.
const BETAS: [(&str, &str); 3] = [
    (
        "/thinking/block_binding",
        "thinking-binding-controls-2026-08-01",
    ),
    ("/compaction", compaction::BETA),
    ("/thread", "message-threads-2026-08-12"),
];

/// Members of a system message that need a value in the beta header.
const MESSAGE_BETAS: [(&str, &str); 2] = [
    ("output_config", "mid-conversation-output-config-2026-07-01"),
    ("clear_at", "mid-conversation-system-clear-at-2026-08-21"),
];

fn betas(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let mut need = |place: String, beta: &str| {
        if !request.has_beta(beta) {
            found.say(&place, format_args!("this needs the beta {beta}"));
        }
    };
    for (place, beta) in BETAS
        .into_iter()
        .filter(|(place, _)| request.body.pointer(place).is_some())
    {
        need(place.to_owned(), beta);
    }
    for (place, message) in elements("/messages", &request.body["messages"]) {
        for (member, beta) in MESSAGE_BETAS
            .into_iter()
            .filter(|(name, _)| message.get(name).is_some())
        {
            need(format!("{place}/{member}"), beta);
        }
    }
}
