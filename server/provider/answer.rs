//! Error responses: the parts common to all APIs.

use std::time::Duration;

use aside_base::visible::is_hidden;
use http::{HeaderMap, header};
use serde_json::Value;

use super::retry::ApiError;

/// Maximum number of characters shown of a body that is not in the API's format.
const MAX_SHOWN: usize = 200;
/// Headers that may carry the id of a request.
const REQUEST_IDS: [&str; 4] = [
    "request-id",
    "x-request-id",
    "x-generation-id",
    "x-goog-request-id",
];

/// Parses an error response. `read` extracts the API's error from the body; if it finds none, the beginning of the body
/// becomes the message.
pub(super) fn error(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    read: impl Fn(&Value) -> Option<ApiError>,
) -> ApiError {
    let said = serde_json::from_slice(body).ok();
    let said = said.as_ref().and_then(read).unwrap_or_else(|| ApiError {
        message: shown(&String::from_utf8_lossy(body)),
        ..ApiError::default()
    });
    ApiError {
        status: Some(status),
        retry_after: retry_after(headers).or(said.retry_after),
        should_retry: text(headers, "x-should-retry").and_then(|word| word.parse().ok()),
        request_id: request_id(headers).map(str::to_owned).or(said.request_id),
        ..said
    }
}

/// Returns the provider's id of the request.
pub(super) fn request_id(headers: &HeaderMap) -> Option<&str> {
    REQUEST_IDS.iter().find_map(|name| text(headers, name))
}

/// Returns the time to wait before another attempt. The headers give milliseconds, seconds, or a date. A date is
/// compared with the `date` header, because the local clock may be wrong.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| seconds(text(headers, name)?);
    if let Some(thousandfold) = number("retry-after-ms") {
        return Some(thousandfold / 1000);
    }
    let after = header::RETRY_AFTER.as_str();
    if let Some(seconds) = number(after) {
        return Some(seconds);
    }
    let date = |name: &str| jiff::fmt::rfc2822::parse(text(headers, name)?.trim()).ok();
    let wait = date(after)?.duration_since(&date(header::DATE.as_str())?);
    // A date in the past means: retry at once.
    Some(wait.try_into().unwrap_or_default())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Parses a number of seconds, with or without a fraction.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// Returns the beginning of a text that is not in the API's format, fit to be quoted within a sentence: without hidden
/// characters, line feeds and tabs.
pub(super) fn shown(text: &str) -> String {
    let fit = text
        .chars()
        .filter(|char| !char.is_control() && !is_hidden(*char));
    fit.take(MAX_SHOWN).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(text: &str) -> HeaderMap {
        let line = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            (name, value.parse().unwrap())
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn retry_after_is_read_from_headers() {
        let table = [
            ("retry-after: 7", Some(7_000)),
            ("retry-after: 0.25", Some(250)),
            ("retry-after-ms: 1500\nretry-after: 2", Some(1_500)),
            ("retry-after-ms: soon\nretry-after: 2", Some(2_000)),
            (
                "retry-after: Sun, 22 Nov 2026 01:00:09 GMT\ndate: Sun, 22 Nov 2026 01:00:00 GMT",
                Some(9_000),
            ),
            (
                "retry-after: Sun, 22 Nov 2026 01:00:00 GMT\ndate: Sun, 22 Nov 2026 01:00:09 GMT",
                Some(0),
            ),
            ("retry-after: Sun, 22 Nov 2026 01:00:00 GMT", None),
            ("retry-after: -1", None),
            ("retry-after: 1e300", None),
            ("retry-after: soon", None),
            ("", None),
        ];
        for (text, expected) in table {
            let found = retry_after(&headers(text));
            assert_eq!(found, expected.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn errors_combine_body_and_headers() {
        let read = |body: &Value| {
            Some(ApiError {
                message: body["error"].as_str()?.to_owned(),
                request_id: Some("of the body".into()),
                retry_after: Some(Duration::from_secs(9)),
                ..ApiError::default()
            })
        };
        let found = |text: &str| error(429, &headers(text), br#"{"error":"busy"}"#, read);
        let metadata = found("x-request-id: a\nx-should-retry: false\nretry-after: 1");
        let expected = ApiError {
            status: Some(429),
            message: "busy".into(),
            request_id: Some("a".into()),
            should_retry: Some(false),
            retry_after: Some(Duration::from_secs(1)),
            ..ApiError::default()
        };
        assert_eq!(metadata, expected);
        let metadata = found("");
        assert_eq!(metadata.request_id.as_deref(), Some("of the body"));
        assert_eq!(metadata.retry_after, Some(Duration::from_secs(9)));
    }

    #[test]
    fn foreign_bodies_are_quoted_from_their_beginning() {
        let body = format!("\u{1b}[31m<html>\r\n{}", "x".repeat(300));
        let found = error(502, &HeaderMap::new(), body.as_bytes(), |_| None).message;
        assert!(found.starts_with("[31m<html>xxx"), "{found}");
        assert_eq!(found.chars().count(), MAX_SHOWN);
    }
}
