//! What an error says.

use std::time::Duration;

use http::{HeaderMap, header};
use jiff::fmt::rfc2822;
use serde_json::Value;

use super::super::retry::ApiError;

/// Characters that are kept of an answer that is not of this API.
const MAX_FOREIGN: usize = 200;

/// Reads the answer to a request that failed.
pub(super) fn of_answer(status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let error = serde_json::from_slice(body)
        .ok()
        .and_then(|body| of_json(&body))
        .unwrap_or_else(|| ApiError {
            message: foreign(body),
            ..ApiError::default()
        });
    ApiError {
        status: Some(status),
        retry_after: retry_after(headers),
        should_retry: text("x-should-retry").and_then(|word| word.parse().ok()),
        request_id: text("request-id").map(str::to_owned).or(error.request_id),
        ..error
    }
}

/// Reads an error as the API words it; `None` for anything else.
pub(super) fn of_json(body: &Value) -> Option<ApiError> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(ApiError {
        kind: word(&error["type"]),
        code: word(&error["details"]["error_code"]),
        message: match error {
            Value::String(message) => message.clone(),
            error => word(&error["message"]),
        },
        request_id: body["request_id"].as_str().map(str::to_owned),
        ..ApiError::default()
    })
}

fn foreign(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let shown = text.chars().filter(|char| !char.is_control());
    shown.take(MAX_FOREIGN).collect()
}

/// When to come back: milliseconds, seconds, or a date, which counts from the date of the answer.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let seconds = |number: f64| Duration::try_from_secs_f64(number).ok();
    let millis = text("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
    if let Some(wait) = millis.and_then(|millis| seconds(millis / 1e3)) {
        return Some(wait);
    }
    let after = text("retry-after")?.trim();
    if let Ok(number) = after.parse() {
        return seconds(number);
    }
    let date = |text: &str| rfc2822::parse(text).ok();
    let wait = date(after)?.duration_since(&date(text(header::DATE.as_str())?)?);
    // A date that is over says: now.
    Some(wait.try_into().unwrap_or_default())
}
