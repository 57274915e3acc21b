//! What servers that speak OpenAI's APIs say went wrong, in all the forms that they say it in.

use serde_json::Value;

use super::{answer::shown, retry::ApiError};

/// The error that an answer is; `None` where it is no object.
pub(super) fn read(body: &Value) -> Option<ApiError> {
    body.is_object().then(|| of_data(body))
}

/// An error as data: under `error`, or in its place.
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
            said = words(place, &mut found.param);
        }
    }
    // A gateway has what the server behind it said in here, as text.
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

/// What the server behind a gateway said.
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
fn words(body: &Value, param: &mut String) -> String {
    match body {
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
