//! OpenAI's Chat Completions API, which many servers implement.
//!
//! Differences between servers are data (`openai_chat/server.rs`). The turn learns which features a server refuses, and
//! requests then leave them out.
//!
//! | module | contents |
//! |---|---|
//! | `request` | a conversation → the body of a request |
//! | `response`, `chunk` | the events of a stream, one by one → pieces of a response |
//! | `reasoning`, `reasoned` | reasoning options of a request, and reasoning kept for later requests |
//! | `server` | differences between servers |
//! | `tokens` | token counts |

mod chunk;
mod reasoned;
mod reasoning;
mod request;
mod response;
mod server;
#[cfg(test)]
mod tests;
mod tokens;

use aside_turn::{response::Feature, rules::ToolChoice, transcript::Item};
use http::{
    HeaderMap,
    header::{self, HeaderName},
};
use reqwest::Url;
use serde_json::{Value, json};

use self::{request::ChatMessageWriter, response::ChatDecoder, server::ServerTraits};
use super::{
    ToolDeclaration, answer,
    api::{Decoder, EncodedHead, Encoder, ListedModel, RequestContents, StreamFormat, WireApi},
    call_ids::CallIds,
    calls::Calls,
    openai_error, openai_list,
    options::CacheRetention,
    retry::ApiError,
    schema::{complete, for_openai},
};

/// The Chat Completions API of one server.
pub(super) struct OpenaiChat {
    server: ServerTraits,
}

impl OpenaiChat {
    /// The API of the server at this address.
    pub(super) fn new(base: &Url) -> Self {
        Self {
            server: ServerTraits::at(base),
        }
    }

    fn writer<'a>(&'a self, ask: &'a RequestContents<'a>) -> ChatMessageWriter<'a> {
        ChatMessageWriter {
            server: &self.server,
            ask,
            marked: self.marked(ask),
        }
    }

    /// Whether cache breakpoints are marked for this model.
    fn marked(&self, ask: &RequestContents<'_>) -> bool {
        let model = &ask.options.model;
        let begins = |beginning: &&str| model.starts_with(beginning);
        ask.options.cache != CacheRetention::Off && self.server.marked.iter().any(begins)
    }

    fn tool_choice(&self, ask: &RequestContents<'_>) -> Option<Value> {
        let required = self.server.required?;
        if ask.refused(Feature::ForcedTool) {
            return None;
        }
        Some(match ask.tool_choice {
            ToolChoice::Auto => "auto".into(),
            ToolChoice::None => return None,
            ToolChoice::Required => required.into(),
            ToolChoice::Name(name) => json!({"type": "function", "function": {"name": name}}),
        })
    }
}

impl WireApi for OpenaiChat {
    fn path(&self, _model: &str) -> String {
        "/chat/completions".to_owned()
    }

    fn key_header(&self) -> (HeaderName, &'static str) {
        (header::AUTHORIZATION, "Bearer ")
    }

    fn opening(&self, ask: &RequestContents<'_>) -> String {
        let without = |feature| ask.refused(feature);
        let mut members = ObjectMembers::default();
        members.add("model", &json!(ask.options.model));
        members.add("stream", &json!(true));
        if self.server.stream_usage && !without(Feature::StreamUsage) {
            members.add("stream_options", &json!({"include_usage": true}));
        }
        // Some servers refuse a limit that exceeds the window, so none is sent unless it is known or configured.
        let limit = ask.options.max_output.or(ask.options.abilities.max_output);
        if limit.is_some() {
            let newer = self.server.newer_limit && !without(Feature::MaxCompletionTokens);
            let name = if newer {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            members.add(name, &json!(ask.options.output()));
        }
        if let Some((name, value)) = reasoning::asked(self.server.reasoning, ask) {
            members.add(name, &value);
        }
        let tools = !tools(ask).is_empty();
        if tools && !without(Feature::ParallelCalls) {
            members.add("parallel_tool_calls", &json!(true));
        }
        if self.server.cache_key
            && ask.options.cache != CacheRetention::Off
            && !without(Feature::CacheHint)
        {
            members.add("prompt_cache_key", &json!(ask.conversation));
            if ask.options.cache == CacheRetention::Long {
                let options = json!({"mode": "implicit", "ttl": "12h"});
                members.add("prompt_cache_options", &options);
            }
        }
        if tools && let Some(choice) = self.tool_choice(ask) {
            members.add("tool_choice", &choice);
        }
        if let Some(schema) = ask.answer_schema() {
            members.add("response_format", &response_format(schema, ask));
        }
        members.0
    }

    fn frozen(&self, ask: &RequestContents<'_>) -> EncodedHead {
        let mut bytes = Vec::new();
        let tools: Vec<Value> = tools(ask).iter().map(|tool| described(tool, ask)).collect();
        if !tools.is_empty() {
            bytes.extend_from_slice(format!("\"tools\":{},", Value::from(tools)).as_bytes());
        }
        bytes.extend_from_slice(b"\"messages\":[");
        let mut out = Encoder::default();
        if !ask.head.system.is_empty() {
            self.writer(ask)
                .message(self.server.system, "", &ask.head.system, &mut out);
        }
        let (system, begun, breakpoint) = out.finish();
        let breakpoints = breakpoint.map(|at| bytes.len() + at).into_iter().collect();
        bytes.extend_from_slice(&system);
        EncodedHead {
            bytes,
            breakpoints,
            begun,
        }
    }

    fn encode(&self, items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder) {
        let writer = self.writer(ask);
        if items.iter().any(Item::is_of_model) {
            writer.model_side(items, native, out);
        } else {
            writer.user_side(items, out);
        }
    }

    fn breakpoint(&self, ask: &RequestContents<'_>) -> Option<String> {
        if !self.marked(ask) || ask.refused(Feature::CacheHint) {
            return None;
        }
        let kind = match ask.options.cache {
            CacheRetention::Long => r#"{"type":"ephemeral","ttl":"1h"}"#,
            _ => r#"{"type":"ephemeral"}"#,
        };
        Some(format!(",\"cache_control\":{kind}"))
    }

    fn framing(&self) -> StreamFormat {
        StreamFormat::Sse
    }

    fn decoder(&self, ask: &RequestContents<'_>, calls: CallIds) -> Box<dyn Decoder> {
        let prices = ask.options.abilities.prices.clone();
        let calls = Calls::new(calls, ask);
        Box::new(ChatDecoder::new(prices, self.server.tags, calls))
    }

    fn error(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
        answer::error(status, headers, body, openai_error::read)
    }

    fn models_path(&self, _page: Option<&str>) -> String {
        "/models".to_owned()
    }

    fn models(&self, page: &Value) -> Result<(Vec<ListedModel>, Option<String>), String> {
        openai_list::read(page).map(|models| (models, None))
    }
}

/// Members of an object, each followed by a comma.
#[derive(Default)]
struct ObjectMembers(String);

impl ObjectMembers {
    fn add(&mut self, name: &str, value: &Value) {
        self.0 += &format!("\"{name}\":{value},");
    }
}

/// Tools to declare in the request.
fn tools<'a>(ask: &RequestContents<'a>) -> Vec<&'a ToolDeclaration> {
    match ask.tool_choice {
        ToolChoice::None => Vec::new(),
        _ => ask.tools(),
    }
}

fn described(tool: &ToolDeclaration, ask: &RequestContents<'_>) -> Value {
    let mut function = json!({"name": tool.name});
    if !tool.description.is_empty() {
        function["description"] = json!(tool.description);
    }
    let held = (tool.strict && ask.takes_strict()).then(|| for_openai(&tool.parameters));
    match held.flatten() {
        Some(schema) => {
            function["parameters"] = schema;
            function["strict"] = true.into();
        }
        None => function["parameters"] = complete(&tool.parameters),
    }
    json!({"type": "function", "function": function})
}

fn response_format(schema: &Value, ask: &RequestContents<'_>) -> Value {
    let mut format = json!({"name": "answer"});
    match ask.takes_strict().then(|| for_openai(schema)).flatten() {
        Some(schema) => {
            format["strict"] = true.into();
            format["schema"] = schema;
        }
        None => format["schema"] = schema.clone(),
    }
    json!({"type": "json_schema", "json_schema": format})
}
