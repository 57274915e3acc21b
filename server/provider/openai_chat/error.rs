//! What servers say went wrong, in all the forms that they say it in.

use std::time::Duration;

use http::{HeaderMap, header};
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::provider::retry::ApiError;

/// Characters that are kept of a text that is not in the API's form.
const MAX_TEXT: usize = 200;
/// Headers that name a request.
const REQUEST_IDS: [&str; 3] = ["x-request-id", "x-generation-id", "request-id"];

/// An answer with a bad status.
pub(super) fn of_answer(status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
    let mut error = match serde_json::from_slice::<Value>(body) {
        Ok(told) if told.is_object() => of_data(&told),
        _ => ApiError {
            message: plain(&String::from_utf8_lossy(body)),
            ..ApiError::default()
        },
    };
    error.status = Some(status);
    error.retry_after = retry_after(headers);
    error.should_retry = text(headers, "x-should-retry").and_then(|word| word.parse().ok());
    let mut ids = REQUEST_IDS.iter().filter_map(|name| text(headers, name));
    error.request_id = ids.next().map(str::to_owned);
    error
}

/// An error as data: under `error`, or in its place.
pub(super) fn of_data(told: &Value) -> ApiError {
    let error = match &told["error"] {
        Value::Null => told,
        error => error,
    };
    let mut found = ApiError {
        kind: word(&error["type"]),
        code: word(&error["code"]),
        param: word(&error["param"]),
        ..ApiError::default()
    };
    let mut said = String::new();
    for place in [error, &error["message"], &error["detail"]] {
        if said.is_empty() {
            said = words(place, &mut found.param);
        }
    }
    // A gateway has what the server behind it said in here, as text.
    if let Value::String(raw) = &error["metadata"]["raw"] {
        said = format!("{said}: {}", inner(raw, &mut found));
    }
    found.message = if said.is_empty() {
        plain(&told.to_string())
    } else {
        said
    };
    found
}

/// What the server behind a gateway said.
fn inner(raw: &str, found: &mut ApiError) -> String {
    let Ok(told @ Value::Object(_)) = serde_json::from_str::<Value>(raw) else {
        return plain(raw);
    };
    let inner = of_data(&told);
    if found.param.is_empty() {
        found.param = inner.param;
    }
    inner.message
}

/// A text, or what was found wrong with fields of the request.
fn words(told: &Value, param: &mut String) -> String {
    match told {
        Value::String(text) => text.clone(),
        Value::Array(faults) => {
            let faults = faults.iter().filter_map(|fault| {
                let place: Vec<String> = fault["loc"].as_array()?.iter().map(word).collect();
                // The first is always `body`.
                let place = place.get(1..).unwrap_or_default().join(".");
                let sentence = format!("{place}: {}", word(&fault["msg"]));
                if param.is_empty() {
                    *param = place;
                }
                Some(sentence)
            });
            faults.collect::<Vec<_>>().join("; ")
        }
        Value::Object(members) => match members.get("detail") {
            Some(detail) if !detail.is_object() => words(detail, param),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// A word; codes are numbers at times.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn plain(text: &str) -> String {
    let printed = text.chars().filter(|letter| !letter.is_control());
    printed.take(MAX_TEXT).collect::<String>().trim().to_owned()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// When to come back: in milliseconds, in seconds, or a date, which is told by the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| -> Option<f64> { text(headers, name)?.trim().parse().ok() };
    if let Some(milliseconds) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(milliseconds / 1e3).ok();
    }
    let name = header::RETRY_AFTER.as_str();
    if let Some(seconds) = number(name) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |name: &str| rfc2822::parse(text(headers, name)?).ok();
    let now = date(header::DATE.as_str())?;
    date(name)?.duration_since(&now).try_into().ok()
}
