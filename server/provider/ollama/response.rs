//! Decodes responses of Ollama.

use aside_turn::response::{Finish, Piece, Usage};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::super::{
    api::Decoder,
    calls::{CallPart, Calls},
    retry::ApiError,
    slots::Slots,
};

/// Parts of the error message of a server that could not parse the model's call, depending on the call format.
const MALFORMED: [&str; 2] = ["error parsing tool call", "XML syntax error"];

/// Decodes one response.
pub(super) struct OllamaDecoder {
    /// Context window of the request, in tokens.
    context: u64,
    slots: Slots,
    calls: Calls,
}

#[derive(Deserialize)]
struct OllamaLine<'a> {
    #[serde(borrow)]
    message: Option<OllamaMessage<'a>>,
    created_at: Option<String>,
    done: Option<bool>,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OllamaMessage<'a> {
    content: Option<String>,
    thinking: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<OllamaCall<'a>>>,
}

#[derive(Deserialize)]
struct OllamaCall<'a> {
    id: Option<String>,
    #[serde(borrow)]
    function: OllamaFunction<'a>,
}

#[derive(Deserialize)]
struct OllamaFunction<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl OllamaDecoder {
    /// `context`: the context window of the request, in tokens.
    pub(super) fn new(context: u64, calls: Calls) -> Self {
        Self {
            context,
            slots: Slots::default(),
            calls,
        }
    }

    fn message(&mut self, message: OllamaMessage<'_>, out: &mut Vec<Piece>) {
        self.slots
            .say(true, message.thinking.unwrap_or_default(), out);
        self.slots
            .say(false, message.content.unwrap_or_default(), out);
        let before = self.calls.count();
        for (place, OllamaCall { id, function }) in
            (0..).zip(message.tool_calls.unwrap_or_default())
        {
            let arguments = function.arguments.map_or("null", RawValue::get);
            let arguments = if arguments == "null" { "{}" } else { arguments };
            let id = id.unwrap_or_default();
            let part = CallPart {
                index: self.calls.index_in_list(&id, place, before),
                id: &id,
                name: &function.name,
                text: arguments,
                whole: true,
            };
            self.calls.take(part, self.slots.next(out), out);
        }
    }

    fn end_calls(&mut self, out: &mut Vec<Piece>) {
        for call in self.calls.end(false, self.slots.next(out), out) {
            out.push(call.close(None, true));
        }
    }

    /// Handles an error line. A call that could not be parsed ends the response; anything else is returned as an error.
    fn failed(&mut self, data: &str, out: &mut Vec<Piece>) -> Option<ApiError> {
        let value: Value = serde_json::from_str(data).unwrap_or_default();
        let error = error(&value).unwrap_or_default();
        if !MALFORMED.iter().any(|what| error.message.contains(what)) {
            return Some(error);
        }
        self.end_calls(out);
        out.push(Piece::Finish(Finish::MalformedCall));
        None
    }

    fn finish(&mut self, line: &OllamaLine<'_>, out: &mut Vec<Piece>) {
        let usage = Usage {
            input: line.prompt_eval_count.unwrap_or(0),
            output: line.eval_count.unwrap_or(0),
            ..Usage::default()
        };
        let finish = match line.done_reason.as_deref() {
            // A full context is reported like the end of the answer.
            Some("length") if usage.input.saturating_add(usage.output) >= self.context => {
                Finish::ContextFull
            }
            Some("length") => Finish::MaxTokens,
            Some("stop") | None if !self.calls.is_empty() => Finish::ToolUse,
            Some("stop") | None => Finish::Stop,
            Some(other) => Finish::Other(other.to_owned()),
        };
        let cut = matches!(finish, Finish::MaxTokens | Finish::ContextFull);
        self.slots.close(!cut, out);
        self.end_calls(out);
        out.push(Piece::Usage(usage));
        out.push(Piece::Finish(finish));
    }
}

impl Decoder for OllamaDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        let mut line: OllamaLine<'_> = serde_json::from_str(data).map_err(|what| {
            ApiError::garbled(format!("a line of the response is invalid: {what}"))
        })?;
        if line.error.is_some() {
            return self.failed(data, out).map_or(Ok(()), Err);
        }
        let before = out.len();
        if let Some(message) = line.message.take() {
            self.calls
                .of_response(line.created_at.as_deref().unwrap_or_default());
            self.message(message, out);
        }
        if line.done == Some(true) {
            self.finish(&line, out);
        }
        if out.len() == before {
            out.push(Piece::KeepAlive);
        }
        Ok(())
    }
}

/// Parses an error of the API. `None` if the value is not one.
pub(super) fn error(value: &Value) -> Option<ApiError> {
    let error = value.get("error").filter(|error| !error.is_null())?;
    let message = match error {
        Value::String(text) => text.clone(),
        // The format of the server's OpenAI-compatible API.
        other => other["message"]
            .as_str()
            .map_or_else(|| other.to_string(), str::to_owned),
    };
    Some(ApiError {
        kind: value["status"].as_str().unwrap_or_default().to_owned(),
        message,
        ..ApiError::default()
    })
}
