//! Anthropic's Messages API.
//!
//! Thinking is valid only after the same preceding content, so a response goes back exactly as it came and in its
//! place. Directives in mid-conversation become system messages if the model accepts them.

mod block;
mod history;
mod listed;
mod reasoning;
mod response;
#[cfg(test)]
mod tests;
mod usage;

use aside_turn::{response::Feature, rules::ToolChoice, transcript::Item};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Map, Value, json};

use super::{
    ToolDeclaration, answer,
    api::{Decoder, EncodedHead, Encoder, ListedModel, RequestContents, StreamFormat, WireApi},
    call_ids::CallIds,
    calls::Calls,
    options::CacheRetention,
    retry::ApiError,
    schema,
    tags::TaggedDecoder,
};

/// API version that this module implements.
const VERSION: &str = "2026-10-21";

/// Beta header that lets models think between calls which otherwise think only before the first.
const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";
/// Beta header of requests for a summary, and of those that begin with one.
const COMPACTION: &str = "compact-2026-09-04";

/// The Messages API. The key goes into the header `x-api-key`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Anthropic;

impl WireApi for Anthropic {
    fn path(&self, _model: &str) -> String {
        "/v1/messages".to_owned()
    }

    fn key_header(&self) -> (HeaderName, &'static str) {
        (HeaderName::from_static("x-api-key"), "")
    }

    fn headers(&self, ask: Option<&RequestContents<'_>>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let version = HeaderValue::from_static(VERSION);
        headers.insert(HeaderName::from_static("anthropic-version"), version);
        if let Some(ask) = ask {
            let stream = HeaderValue::from_static("text/event-stream");
            headers.insert(header::ACCEPT, stream);
            let interleaves = ask.options.abilities.interleaves && reasoning::is_budgeted(ask);
            let betas = [
                (interleaves, INTERLEAVED_THINKING),
                (ask.compacts || ask.is_compacted, COMPACTION),
            ];
            let betas = betas.into_iter().filter(|(is_needed, _)| *is_needed);
            let betas: Vec<&str> = betas.map(|(_, beta)| beta).collect();
            if let Some(value) = HeaderValue::from_str(&betas.join(","))
                .ok()
                .filter(|value| !value.is_empty())
            {
                headers.insert(HeaderName::from_static("anthropic-beta"), value);
            }
        }
        headers
    }

    fn opening(&self, ask: &RequestContents<'_>) -> String {
        let mut members = Map::new();
        let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
        add("model", json!(ask.options.model));
        add("max_tokens", json!(ask.options.output()));
        add("stream", json!(true));
        let thinking = reasoning::thinking(ask);
        if let Some(thinking) = thinking.member {
            add("thinking", thinking);
        }
        if let Some(config) = output_config(ask, thinking.effort) {
            add("output_config", config);
        }
        if let Some(choice) = tool_choice(ask) {
            add("tool_choice", choice);
        }
        if ask.compacts {
            add("compaction", json!({"type": "summarize"}));
        }
        let text = Value::Object(members).to_string();
        format!("{},", &text[1..text.len() - 1])
    }

    fn frozen(&self, ask: &RequestContents<'_>) -> EncodedHead {
        let mut text = String::new();
        let mut breakpoints = Vec::new();
        if !ask.head.system.trim().is_empty() {
            let system = json!({"type": "text", "text": ask.head.system}).to_string();
            text += &format!(r#""system":[{system}],"#);
            breakpoints.push(text.len() - "}],".len());
        }
        let tools = ask.tools();
        if !tools.is_empty() {
            let tools = tools.into_iter().map(|spec| tool(spec, ask)).collect();
            text += &format!(r#""tools":{},"#, Value::Array(tools));
            breakpoints.push(text.len() - "}],".len());
        }
        text += r#""messages":["#;
        EncodedHead {
            bytes: text.into_bytes(),
            breakpoints,
            begun: false,
        }
    }

    fn encode(&self, items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder) {
        if items.iter().any(Item::is_of_model) {
            history::assistant(items, native, out);
        } else {
            history::user(items, ask, out);
        }
    }

    fn summary(&self, opaque: &str, out: &mut Encoder) {
        history::summary(opaque, out);
    }

    fn breakpoint(&self, ask: &RequestContents<'_>) -> Option<String> {
        let ttl = match ask.options.cache {
            CacheRetention::Off => return None,
            CacheRetention::Short => "",
            CacheRetention::Long => r#","ttl":"1h""#,
        };
        Some(format!(r#","cache_control":{{"type":"ephemeral"{ttl}}}"#))
    }

    fn framing(&self) -> StreamFormat {
        StreamFormat::Sse
    }

    fn decoder(&self, ask: &RequestContents<'_>, calls: CallIds) -> Box<dyn Decoder> {
        let prices = ask.options.abilities.prices.clone();
        let decoder = Box::new(response::AnthropicDecoder::new(
            prices,
            Calls::new(calls, ask),
        ));
        TaggedDecoder::unless_at("api.anthropic.com", &ask.options.base, decoder)
    }

    fn error(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
        answer::error(status, headers, body, response::error)
    }

    fn models_path(&self, page: Option<&str>) -> String {
        listed::path(page)
    }

    fn models(&self, page: &Value) -> Result<(Vec<ListedModel>, Option<String>), String> {
        listed::read(page)
    }
}

fn tool(spec: &ToolDeclaration, ask: &RequestContents<'_>) -> Value {
    let strict = (spec.strict && ask.takes_strict())
        .then(|| schema::for_anthropic(&spec.parameters))
        .flatten();
    let mut tool = json!({"name": spec.name, "description": spec.description});
    match strict {
        Some(schema) => {
            tool["input_schema"] = schema;
            tool["strict"] = json!(true);
        }
        None => {
            tool["input_schema"] = schema::complete(&spec.parameters);
            // Without this member the API holds each argument back until it is complete.
            tool["eager_input_streaming"] = json!(true);
        }
    }
    tool
}

/// Tool choice of the request. The tools stay in the request whatever the choice is: earlier thinking depends on them.
fn tool_choice(ask: &RequestContents<'_>) -> Option<Value> {
    if ask.tools().is_empty() {
        return None;
    }
    let forced = !ask.refused(Feature::ForcedTool);
    Some(match ask.tool_choice {
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required if forced => json!({"type": "any"}),
        ToolChoice::Name(name) if forced => json!({"type": "tool", "name": name}),
        _ => json!({"type": "auto"}),
    })
}

fn output_config(ask: &RequestContents<'_>, effort: Option<String>) -> Option<Value> {
    let mut config = Map::new();
    if let Some(effort) = effort {
        config.insert("effort".to_owned(), json!(effort));
    }
    if let Some(schema) = ask.answer_schema().and_then(schema::for_anthropic) {
        let format = json!({"type": "json_schema", "schema": schema});
        config.insert("format".to_owned(), format);
    }
    (!config.is_empty()).then_some(Value::Object(config))
}
