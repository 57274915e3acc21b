//! What several APIs write and read alike.

use std::{borrow::Cow, collections::HashSet, time::Duration};

use http::{HeaderMap, header};
use jiff::Timestamp;
use serde_json::value::RawValue;

use super::{ToolSpec, api::Ask, options::Effort, retry::ApiError};

/// Characters of an answer that is not the API's, as far as a person is shown.
const SHOWN: usize = 200;

/// The tools that are sent: none to a model without tools, and each name once.
pub(super) fn tools<'a>(ask: &Ask<'a>) -> Vec<&'a ToolSpec> {
    if !ask.options.abilities.tools {
        return Vec::new();
    }
    let mut names = HashSet::new();
    let tools = ask.head.tools.iter();
    tools.filter(|tool| names.insert(&tool.name)).collect()
}

/// Raw arguments as the text of a JSON object: as they are, where they are one.
pub(super) fn object(arguments: &str) -> Cow<'_, str> {
    let trimmed = arguments.trim();
    if trimmed.is_empty() {
        return "{}".into();
    }
    let is_json = serde_json::from_str::<&RawValue>(trimmed).is_ok();
    if is_json && trimmed.starts_with('{') {
        return trimmed.into();
    }
    serde_json::json!({ "INVALID_JSON": arguments })
        .to_string()
        .into()
}

/// The word of an API that is nearest to an effort. `words` go from little to much; of two that are equally near
/// it is the lesser one.
pub(super) fn word(effort: Effort, words: &[String]) -> Option<&str> {
    let last = words.len().saturating_sub(1);
    let wanted = match effort {
        Effort::Off => return words.first().map(String::as_str),
        Effort::Low => 20,
        Effort::Medium => 30,
        Effort::High => 40,
        Effort::Max => return words.last().map(String::as_str),
    };
    let height = |at: usize, word: &str| match word.to_ascii_lowercase().as_str() {
        "none" => 0,
        "minimal" => 10,
        "low" => 20,
        "medium" => 30,
        "high" => 40,
        "xhigh" => 50,
        "max" => 60,
        // A word that nobody knows is as high as its place.
        _ => 20 + 20 * at / last.max(1),
    };
    let distance = |(at, word): &(usize, &String)| height(*at, word).abs_diff(wanted);
    let nearest = words.iter().enumerate().min_by_key(distance);
    nearest.map(|(_, word)| word.as_str())
}

/// What the headers of an error say: when to come back, whether to, and the request's name.
pub(super) fn hints(headers: &HeaderMap) -> ApiError {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let milliseconds = text("retry-after-ms").and_then(|value| value.trim().parse().ok());
    let after = text(header::RETRY_AFTER.as_str())
        .and_then(|value| seconds(value).or_else(|| until(value, text(header::DATE.as_str())?)));
    ApiError {
        retry_after: milliseconds.map(Duration::from_millis).or(after),
        should_retry: text("x-should-retry").and_then(|value| value.parse().ok()),
        request_id: text("x-request-id").map(str::to_owned),
        ..ApiError::default()
    }
}

/// A number of seconds, with or without a fraction.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// From one HTTP date to another: by the server's clock, since ours may be off.
fn until(then: &str, now: &str) -> Option<Duration> {
    let date = |text: &str| {
        let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
        Some(date.timestamp())
    };
    let (then, now): (Timestamp, Timestamp) = (date(then)?, date(now)?);
    Some(then.duration_since(now).try_into().unwrap_or_default())
}

/// The beginning of a body that is not the API's, fit to be shown.
pub(super) fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let fit = text.chars().filter(|char| !char.is_control());
    fit.take(SHOWN).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_as_an_object_whatever_they_are() {
        for (raw, expected) in [
            ("", "{}"),
            (" \n", "{}"),
            (r#"{"b": 1,  "a": 1.50}"#, r#"{"b": 1,  "a": 1.50}"#),
            (r#"{"a": "#, r#"{"INVALID_JSON":"{\"a\": "}"#),
            (r#"{} {}"#, r#"{"INVALID_JSON":"{} {}"}"#),
            ("[1]", r#"{"INVALID_JSON":"[1]"}"#),
            ("null", r#"{"INVALID_JSON":"null"}"#),
        ] {
            assert_eq!(object(raw), expected);
        }
    }

    #[test]
    fn an_effort_goes_by_the_nearest_word() {
        let table = [
            ("low medium high", "low low medium high high"),
            ("MINIMAL LOW MEDIUM HIGH", "MINIMAL LOW MEDIUM HIGH HIGH"),
            ("LOW HIGH", "LOW LOW LOW HIGH HIGH"),
            ("low medium high xhigh max", "low low medium high max"),
            ("high max", "high high high high max"),
            ("brief deep", "brief brief brief deep deep"),
            ("", ""),
        ];
        for (words, expected) in table {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let efforts = [
                Effort::Off,
                Effort::Low,
                Effort::Medium,
                Effort::High,
                Effort::Max,
            ];
            let found: Vec<&str> = efforts
                .iter()
                .filter_map(|effort| word(*effort, &words))
                .collect();
            assert_eq!(found.join(" "), expected, "of {words:?}");
        }
    }

    #[test]
    fn headers_say_when_to_come_back() {
        let table = [
            ("retry-after: 7", Some(7_000)),
            ("retry-after: 0.25", Some(250)),
            ("retry-after-ms: 1500\nretry-after: 2", Some(1_500)),
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
            ("retry-after: soon", None),
            ("", None),
        ];
        for (text, expected) in table {
            let mut headers = HeaderMap::new();
            for line in text.lines() {
                let (name, value) = line.split_once(": ").unwrap();
                let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
                headers.insert(name, value.parse().unwrap());
            }
            let found = hints(&headers).retry_after;
            assert_eq!(found, expected.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn of_a_foreign_body_its_beginning_is_shown() {
        let body = format!("\u{1b}[31m<html>\r\n{}", "x".repeat(300));
        let found = shown(body.as_bytes());
        assert!(found.starts_with("[31m<html>xxx"), "{found}");
        assert_eq!(found.chars().count(), SHOWN);
    }
}
