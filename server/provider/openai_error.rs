//! Parses the error bodies of OpenAI-compatible servers.

use serde_json::Value;

use super::{answer::shown, retry::ApiError};

/// Parses an error body. `None` if it is not an object.
pub(super) fn read(body: &Value) -> Option<ApiError> {
    body.is_object().then(|| of_data(body))
}

/// Parses an error, in the member `error` or at the top level.
pub(super) fn of_data(body: &Value) -> ApiError {
    let error = match &body["error"] {
        Value::Null => body,
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
            said = error_text(place, &mut found.param);
        }
    }
    // A gateway puts the text of the server behind it here.
    if let Value::String(raw) = &error["metadata"]["raw"] {
        said = format!("{said}: {}", inner(raw, &mut found));
    }
    found.message = if said.is_empty() {
        shown(&body.to_string())
    } else {
        said
    };
    found
}

/// The message of the server behind a gateway.
fn inner(raw: &str, found: &mut ApiError) -> String {
    let Ok(body @ Value::Object(_)) = serde_json::from_str::<Value>(raw) else {
        return shown(raw);
    };
    let inner = of_data(&body);
    if found.param.is_empty() {
        found.param = inner.param;
    }
    inner.message
}

/// A text, or what was found wrong with fields of the request.
fn error_text(body: &Value, param: &mut String) -> String {
    match body {
        Value::String(text) => text.clone(),
        Value::Array(faults) => {
            let faults = faults.iter().filter_map(|fault| {
                let place: Vec<String> = fault["loc"].as_array()?.iter().map(word).collect();
                // The first element is always `body`.
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
            Some(detail) if !detail.is_object() => error_text(detail, param),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// A string or a number as text; some codes are numbers.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}
