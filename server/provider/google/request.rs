//! Encodes requests for Gemini.

use std::{borrow::Cow, fmt::Write};

use aside_turn::{response::Feature, rules::ToolChoice, transcript::Item};
use serde_json::{Map, Value, json};

use super::super::{
    abilities::{ForcedToolSupport, ReasoningKind},
    api::{Encoder, ReasoningRequest, RequestContents, Role, object},
    attached::{Encoded, UserPart, parts, result_parts},
    call_ids::given,
    effort,
    options::ReasoningEffort,
    schema::{complete, for_gemini},
};

/// Placeholder signature for a call by another model: the API refuses a step with calls that are not signed.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";
/// Member that resumes a paused response.
pub(super) const CONTINUE: &str = "continuationToken";

/// Members that vary between requests.
pub(super) fn opening(ask: &RequestContents<'_>) -> String {
    let mut out = format!("\"generationConfig\":{},", generation(ask));
    if let Some(calling) = calling(ask) {
        let calling = json!({ "functionCallingConfig": calling });
        // Writing to a string cannot fail.
        let _ = write!(out, "\"toolConfig\":{calling},");
    }
    out
}

fn generation(ask: &RequestContents<'_>) -> Value {
    let mut out = Map::new();
    if let Some(schema) = ask.answer_schema() {
        out.insert("responseMimeType".into(), "application/json".into());
        let schema = ordered(&for_gemini(schema));
        out.insert("responseJsonSchema".into(), schema);
    }
    out.insert("maxOutputTokens".into(), ask.options.output().into());
    if let Some(thinking) = thinking(ask) {
        out.insert("thinkingConfig".into(), thinking);
    }
    Value::Object(out)
}

/// Adds `propertyOrdering`, which makes the model keep the order of the properties.
fn ordered(schema: &Value) -> Value {
    let each = |members: &Map<String, Value>| -> Map<String, Value> {
        let each = members.iter();
        each.map(|(name, value)| (name.clone(), ordered(value)))
            .collect()
    };
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(list) => return list.iter().map(ordered).collect(),
        other => return other.clone(),
    };
    let mut out = each(members);
    if let Some(Value::Object(properties)) = members.get("properties") {
        let names: Value = properties.keys().map(String::as_str).collect();
        // A property may be named like a keyword of JSON Schema.
        out.insert("properties".into(), each(properties).into());
        out.insert("propertyOrdering".into(), names);
    }
    Value::Object(out)
}

/// Reasoning options; `None` leaves reasoning to the model.
fn thinking(ask: &RequestContents<'_>) -> Option<Value> {
    let abilities = &ask.options.abilities;
    let (off, effort) = match ask.reasoning() {
        ReasoningRequest::Unsaid => return None,
        ReasoningRequest::Off => (true, Some(ReasoningEffort::Off)),
        ReasoningRequest::On(effort) => (false, effort),
    };
    let by_level = matches!(
        abilities.reasoning,
        ReasoningKind::Effort | ReasoningKind::Adaptive
    );
    let mut out = Map::new();
    if !off {
        out.insert("includeThoughts".into(), true.into());
    }
    if by_level {
        let level = effort.and_then(|effort| effort::word(effort, &abilities.efforts));
        out.extend(level.map(|level| {
            (
                "thinkingLevel".to_owned(),
                level.to_ascii_uppercase().into(),
            )
        }));
    } else {
        let budget = match (off, abilities.reasoning) {
            (true, _) => Some(0),
            (false, ReasoningKind::Budget) => effort.map(|effort| budget(effort, ask)),
            (false, _) => None,
        };
        out.extend(budget.map(|budget| ("thinkingBudget".to_owned(), budget.into())));
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Number of reasoning tokens, valid for every model that takes a number. A quarter is left for the answer.
fn budget(effort: ReasoningEffort, ask: &RequestContents<'_>) -> u64 {
    let least = 512;
    let wanted = match effort {
        ReasoningEffort::Off => least,
        ReasoningEffort::Low => 2_048,
        ReasoningEffort::Medium => 8_192,
        ReasoningEffort::High => 16_384,
        ReasoningEffort::Max => 24_576,
    };
    wanted.min(ask.options.output() / 4 * 3).max(least)
}

/// Function calling mode; `None` without tools.
fn calling(ask: &RequestContents<'_>) -> Option<Value> {
    let tools = ask.tools();
    if tools.is_empty() {
        return None;
    }
    let may_force = ask.options.abilities.forced_tools != ForcedToolSupport::No;
    let forces = may_force && !ask.refused(Feature::ForcedTool);
    Some(match ask.tool_choice {
        // An answer that follows a schema is not a call.
        _ if ask.schema.is_some() => json!({"mode": "NONE"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required if forces => json!({"mode": "ANY"}),
        ToolChoice::Name(name) if forces => {
            json!({"mode": "ANY", "allowedFunctionNames": [wire_name(name)]})
        }
        _ if ask.takes_strict() => json!({"mode": "VALIDATED"}),
        _ => json!({"mode": "AUTO"}),
    })
}

/// The tool's name in requests, which must begin with a letter or an underscore.
fn wire_name(name: &str) -> Cow<'_, str> {
    match name.chars().next() {
        Some(first) if first != '_' && !first.is_ascii_alphabetic() => format!("_{name}").into(),
        _ => name.into(),
    }
}

/// The tool's own name for a name in a response.
pub(super) fn own_name(name: &str) -> &str {
    match name.strip_prefix('_') {
        Some(rest) if wire_name(rest) == name => rest,
        _ => name,
    }
}

/// System text and tools, up to the history.
pub(super) fn frozen(ask: &RequestContents<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    if !ask.head.system.is_empty() {
        let system = json!({"parts": [{"text": ask.head.system}]});
        let _ = write!(out, "\"systemInstruction\":{system},");
    }
    let tools = ask.tools();
    if !tools.is_empty() {
        let tool = |tool: &&super::super::ToolDeclaration| {
            json!({
                "name": wire_name(&tool.name),
                "description": tool.description,
                "parametersJsonSchema": for_gemini(&complete(&tool.parameters)),
            })
        };
        let tools: Vec<Value> = tools.iter().map(tool).collect();
        let tools = json!([{ "functionDeclarations": tools }]);
        let _ = write!(out, "\"tools\":{tools},");
    }
    out + "\"contents\":["
}

/// Writes one content of the history. Nothing is written for a content without parts.
struct ContentWriter<'a> {
    out: &'a mut Encoder,
    role: Role,
    begun: bool,
}

impl<'a> ContentWriter<'a> {
    fn new(role: Role, out: &'a mut Encoder) -> Self {
        Self {
            out,
            role,
            begun: false,
        }
    }

    /// Begins a part.
    fn part(&mut self) -> &mut Encoder {
        if std::mem::replace(&mut self.begun, true) {
            self.out.raw(",");
        } else {
            self.out.element();
            self.out.raw(match self.role {
                Role::Assistant => r#"{"role":"model","parts":["#,
                _ => r#"{"role":"user","parts":["#,
            });
        }
        self.out
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.part().json(&json!({ "text": text }));
        }
    }

    fn inline(&mut self, Encoded { mime, data }: &Encoded) {
        let out = self.part();
        for text in [
            r#"{"inlineData":{"mimeType":""#,
            mime,
            r#"","data":""#,
            data,
            r#""}}"#,
        ] {
            out.raw(text);
        }
    }

    fn end(self) {
        if self.begun {
            self.out.raw("]}");
            self.out.last = self.role;
        }
    }
}

/// Appends one request or one response to the history.
pub(super) fn encode(items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder) {
    if items.iter().any(Item::is_of_model) {
        return said(items, native, out);
    }
    // All results go together into one content of their own.
    let mut results = ContentWriter::new(Role::User, out);
    for item in items {
        result(item, ask, &mut results);
    }
    results.end();
    let mut words = ContentWriter::new(Role::User, out);
    for item in items {
        match item {
            Item::User { text, attachments } => {
                for part in parts(text, attachments, ask) {
                    match part {
                        UserPart::Text(text) => words.text(&text),
                        UserPart::Image(data) | UserPart::Document(data, _) => words.inline(&data),
                    }
                }
            }
            Item::Directive(text) | Item::Steer(text) => words.text(text),
            _ => {}
        }
    }
    words.end();
    out.after = None;
}

fn result(item: &Item, ask: &RequestContents<'_>, content: &mut ContentWriter<'_>) {
    let Item::ToolResult {
        id,
        name,
        content: text,
        is_error,
        media,
        ..
    } = item
    else {
        return;
    };
    let mut response = Map::new();
    if let Some(id) = given(id) {
        response.insert("id".into(), id.into());
    }
    response.insert("name".into(), wire_name(name).into());
    let what = if *is_error { "error" } else { "output" };
    let (text, media) = result_parts(text, media, ask);
    response.insert("response".into(), json!({ what: text }));
    let inline = |part: &UserPart| match part {
        // The parts of a result are media alone.
        UserPart::Text(_) => None,
        UserPart::Image(Encoded { mime, data }) | UserPart::Document(Encoded { mime, data }, _) => {
            Some(json!({"inlineData": {"mimeType": mime, "data": data}}))
        }
    };
    let media: Vec<Value> = media.iter().filter_map(inline).collect();
    if !media.is_empty() {
        response.insert("parts".into(), media.into());
    }
    content
        .part()
        .json(&json!({ "functionResponse": response }));
}

/// Encodes a response. Signed parts go back verbatim and in their place.
fn said(items: &[Item], native: bool, out: &mut Encoder) {
    let mut content = ContentWriter::new(Role::Assistant, out);
    let mut goes_on = None;
    let mut first_call = true;
    for item in items {
        match item {
            Item::Text { opaque, .. }
            | Item::Reasoning { opaque, .. }
            | Item::ToolCall { opaque, .. }
                if native && opaque.is_some() =>
            {
                let part = opaque.as_deref().unwrap_or_default();
                match part.strip_prefix('{').filter(|rest| is_continuation(rest)) {
                    Some(rest) => goes_on = rest.strip_suffix('}'),
                    None => content.part().raw(part),
                }
            }
            Item::Text { text, .. } => content.text(text),
            Item::ToolCall {
                id,
                name,
                arguments,
                ..
            } => {
                call(id, name, arguments, content.part());
                if !native && first_call {
                    content.out.raw(",\"thoughtSignature\":");
                    content.out.json(&FOREIGN_SIGNATURE);
                }
                content.out.raw("}");
            }
            _ => {}
        }
        first_call &= !matches!(item, Item::ToolCall { .. });
    }
    content.end();
    out.after = goes_on.map(|member| format!(",{member}"));
}

/// Whether this is a continuation token as stored by [`super::response`]; `rest` lacks the opening brace.
fn is_continuation(rest: &str) -> bool {
    let rest = rest
        .strip_prefix('"')
        .and_then(|rest| rest.strip_prefix(CONTINUE));
    rest.is_some_and(|rest| rest.starts_with("\":"))
}

/// Writes a call, without the brace that closes its part.
fn call(id: &str, name: &str, arguments: &str, out: &mut Encoder) {
    out.raw("{\"functionCall\":{");
    if let Some(id) = given(id) {
        out.raw("\"id\":");
        out.json(&id);
        out.raw(",");
    }
    out.raw("\"name\":");
    out.json(&wire_name(name));
    out.raw(",\"args\":");
    out.raw(&object(arguments));
    out.raw("}");
}
