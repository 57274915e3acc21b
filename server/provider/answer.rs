//! Answers with an error: what all APIs have in common.

use std::time::Duration;

use aside_base::visible::is_hidden;
use http::{HeaderMap, header};
use serde_json::Value;

use super::retry::ApiError;

/// Characters of an answer that is not the API's, as far as a person is shown.
const SHOWN: usize = 200;
/// Headers that name a request.
const REQUEST_IDS: [&str; 4] = [
    "request-id",
    "x-request-id",
    "x-generation-id",
    "x-goog-request-id",
];

/// What an answer with an error says. `read` finds the API's error in it; where it finds none, the body itself is
/// what was said.
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

/// By which the provider knows the request.
pub(super) fn request_id(headers: &HeaderMap) -> Option<&str> {
    REQUEST_IDS.iter().find_map(|name| text(headers, name))
}

/// When to come back: milliseconds, seconds, or a date. A date counts from the answer's own: by the server's clock,
/// since ours may be off.
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
    // A date that is over says: now.
    Some(wait.try_into().unwrap_or_default())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A number of seconds, with or without a fraction.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// The beginning of a text that is not in the API's form, fit to be shown within a sentence: without hidden
/// characters, and without line feeds and tabs, which are not hidden.
pub(super) fn shown(text: &str) -> String {
    let fit = text
        .chars()
        .filter(|char| !char.is_control() && !is_hidden(*char));
    fit.take(SHOWN).collect::<String>().trim().to_owned()
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
    fn headers_say_when_to_come_back() {
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
    fn an_answer_says_what_its_body_and_its_headers_say() {
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
    fn of_a_foreign_body_its_beginning_is_shown() {
        let body = format!("\u{1b}[31m<html>\r\n{}", "x".repeat(300));
        let found = error(502, &HeaderMap::new(), body.as_bytes(), |_| None).message;
        assert!(found.starts_with("[31m<html>xxx"), "{found}");
        assert_eq!(found.chars().count(), SHOWN);
    }
}
