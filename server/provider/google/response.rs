//! Decodes responses of Gemini.

use std::time::Duration;

use aside_turn::response::{Finish, Kind, Piece, Usage};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::super::{
    abilities::{Prices, Tokens},
    answer,
    api::Decoder,
    calls::{CallPart, Calls},
    retry::ApiError,
    slots::{Slots, text_kind},
};
use super::request::{CONTINUE, own_name};

/// Decodes one response.
pub(super) struct GeminiDecoder {
    prices: Option<Prices>,
    slots: Slots,
    calls: Calls,
    /// The parts that calls came in, with the calls' positions.
    parts: Vec<CallPartOfGemini>,
}

/// The calls of one chunk.
struct CallList {
    /// Number of its calls so far.
    place: u64,
    /// Number of the response's calls before it.
    before: usize,
}

/// The part of a candidate that a call came in.
struct CallPartOfGemini {
    at: usize,
    arguments: String,
    signed: bool,
    raw: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<UsageMetadata>,
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<CandidateContent<'a>>,
    finish_reason: Option<String>,
    continuation_token: Option<String>,
}

#[derive(Deserialize)]
struct CandidateContent<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    id: Option<String>,
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

/// Token counts, all cumulative.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    /// Prompt tokens, cached ones included.
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    /// Tokens of the answer, without reasoning.
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl GeminiDecoder {
    pub(super) fn new(prices: Option<Prices>, calls: Calls) -> Self {
        Self {
            prices,
            slots: Slots::default(),
            calls,
            parts: Vec::new(),
        }
    }

    fn usage(&self, counts: &UsageMetadata) -> Usage {
        let count = |count: Option<u64>| count.unwrap_or(0);
        let cached = count(counts.cached_content_token_count);
        let prompt = count(counts.prompt_token_count).saturating_sub(cached);
        let tokens = Tokens {
            input: prompt.saturating_add(count(counts.tool_use_prompt_token_count)),
            cache_read: cached,
            output: count(counts.candidates_token_count)
                .saturating_add(count(counts.thoughts_token_count)),
            ..Tokens::default()
        };
        tokens.usage(self.prices.as_ref())
    }

    fn part(&mut self, raw: &RawValue, list: &mut CallList, out: &mut Vec<Piece>) {
        let verbatim = || Some(raw.get().to_owned());
        let Ok(part) = serde_json::from_str::<GeminiPart<'_>>(raw.get()) else {
            return self.slots.whole(Kind::Opaque, "", verbatim(), out);
        };
        let reasoning = part.thought == Some(true);
        let signed = part.thought_signature.is_some_and(|text| !text.is_empty());
        match (part.function_call, part.text) {
            (Some(call), _) => {
                self.call(&call, (list, signed), raw, out);
                list.place += 1;
            }
            (None, Some(text)) => match (signed, text.is_empty()) {
                (false, true) => {}
                (false, false) => self.slots.say(reasoning, text, out),
                // A signature without text keeps its own place.
                (true, true) => self.slots.whole(Kind::Opaque, "", verbatim(), out),
                (true, false) => self
                    .slots
                    .whole(text_kind(reasoning), &text, verbatim(), out),
            },
            (None, None) if is_empty(raw) => {}
            (None, None) => self.slots.whole(Kind::Opaque, "", verbatim(), out),
        }
    }

    fn call(
        &mut self,
        call: &FunctionCall<'_>,
        (list, signed): (&CallList, bool),
        raw: &RawValue,
        out: &mut Vec<Piece>,
    ) {
        let arguments = call.args.map_or("null", RawValue::get);
        let arguments = if arguments == "null" { "{}" } else { arguments };
        let id = call.id.as_deref().unwrap_or_default();
        let index = self.calls.index_in_list(id, list.place, list.before);
        let part = CallPart {
            index,
            id,
            name: own_name(&call.name),
            text: arguments,
            whole: true,
        };
        let at = self.calls.take(part, self.slots.next(out), out);
        self.parts.push(CallPartOfGemini {
            at,
            arguments: arguments.to_owned(),
            signed,
            raw: raw.get().to_owned(),
        });
    }

    fn end_calls(&mut self, out: &mut Vec<Piece>) {
        for call in self.calls.end(false, self.slots.next(out), out) {
            let came = |part: &&CallPartOfGemini| part.at == call.at && part.arguments == call.text;
            let part = self
                .parts
                .iter()
                .filter(came)
                .max_by_key(|part| part.signed);
            // A call without an id goes back without one.
            let verbatim = part.filter(|part| part.signed || call.given.is_empty());
            out.push(call.close(verbatim.map(|part| part.raw.clone()), true));
        }
    }

    fn candidate(&mut self, candidate: Candidate<'_>, out: &mut Vec<Piece>) {
        let parts = candidate.content.and_then(|content| content.parts);
        let mut list = CallList {
            place: 0,
            before: self.calls.count(),
        };
        for raw in parts.unwrap_or_default() {
            self.part(raw, &mut list, out);
        }
        if let Some(token) = candidate.continuation_token {
            let opaque = json!({ CONTINUE: token }).to_string();
            self.slots.whole(Kind::Opaque, "", Some(opaque), out);
        }
        if let Some(reason) = candidate.finish_reason {
            let finish = finish(reason, !self.calls.is_empty());
            self.slots.close(finish != Finish::MaxTokens, out);
            self.end_calls(out);
            out.push(Piece::Finish(finish));
        }
    }
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        let chunk: GeminiChunk<'_> = serde_json::from_str(data).map_err(|what| {
            let garbled =
                || ApiError::garbled(format!("a chunk of the response is invalid: {what}"));
            error_in(data).unwrap_or_else(garbled)
        })?;
        if let Some(what) = chunk.error {
            return Err(read(&what));
        }
        let before = out.len();
        if let Some(counts) = chunk.usage_metadata {
            out.push(Piece::Usage(self.usage(&counts)));
        }
        self.calls
            .of_response(chunk.response_id.as_deref().unwrap_or_default());
        let candidate = chunk.candidates.unwrap_or_default().into_iter().next();
        let blocked = chunk
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason);
        match candidate {
            Some(candidate) => self.candidate(candidate, out),
            None if blocked.is_some() => {
                self.end_calls(out);
                out.push(Piece::Finish(Finish::ContentFilter));
            }
            None => {}
        }
        if out.len() == before {
            out.push(Piece::KeepAlive);
        }
        Ok(())
    }

    /// Handles the end of the body. Text outside of events may be an error.
    fn end(&mut self, stray: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        // A server that does not stream sends one JSON document, or a list of all chunks.
        let whole: Vec<&RawValue> = match stray.trim_start().chars().next() {
            Some('[') => serde_json::from_str(stray).unwrap_or_default(),
            Some('{') => serde_json::from_str(stray).into_iter().collect(),
            _ => Vec::new(),
        };
        for part in whole {
            self.event(part.get(), out)?;
            if matches!(out.last(), Some(Piece::Finish(_))) {
                return Ok(());
            }
        }
        Err(error_in(stray).unwrap_or_else(ApiError::cut))
    }
}

fn is_empty(raw: &RawValue) -> bool {
    let members = serde_json::from_str::<serde_json::Map<String, Value>>(raw.get());
    members.is_ok_and(|members| members.is_empty())
}

fn finish(reason: String, called: bool) -> Finish {
    match reason.as_str() {
        "STOP" if called => Finish::ToolUse,
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::MaxTokens,
        "CONTINUATION" => Finish::Pause,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            Finish::ContentFilter
        }
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "MISSING_THOUGHT_SIGNATURE"
        | "TOO_MANY_TOOL_CALLS"
        | "UNEXPECTED_TOOL_CALL" => Finish::MalformedCall,
        _ => Finish::Other(reason),
    }
}

fn error_in(text: &str) -> Option<ApiError> {
    error(&serde_json::from_str(text).ok()?)
}

/// Parses an error of the API. `None` if the value is not one.
pub(super) fn error(value: &Value) -> Option<ApiError> {
    // Some errors come as a list with one element.
    let holder = value.get(0).unwrap_or(value);
    holder.get("error").map(read)
}

fn read(error: &Value) -> ApiError {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let details = error["details"].as_array().map_or(&[][..], Vec::as_slice);
    let detail = |name: &str| {
        let is = |detail: &&Value| {
            let kind = detail["@type"].as_str();
            kind.is_some_and(|kind| kind.ends_with(name))
        };
        details.iter().find(is).unwrap_or(&Value::Null)
    };
    let reason = &detail("ErrorInfo")["reason"];
    // The id of a quota tells whether it applies per minute or per day; the longest counts.
    let violations = detail("QuotaFailure")["violations"].as_array();
    let quotas = violations.into_iter().flatten();
    let quotas = quotas.filter_map(|violation| violation["quotaId"].as_str());
    let quota = quotas.max_by_key(|quota| quota.to_ascii_lowercase().contains("perday"));
    let delay = detail("RetryInfo")["retryDelay"].as_str();
    ApiError {
        kind: text(&error["status"]),
        code: quota.map_or_else(|| text(reason), str::to_owned),
        message: text(&error["message"]),
        param: text(&detail("BadRequest")["fieldViolations"][0]["field"]),
        retry_after: delay.and_then(delay_of),
        ..ApiError::default()
    }
}

/// Reads a duration such as `38s`.
fn delay_of(text: &str) -> Option<Duration> {
    answer::seconds(text.strip_suffix('s')?)
}
