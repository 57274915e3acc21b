//! What several APIs write and read alike.

use std::{collections::HashSet, time::Duration};

use http::{HeaderMap, header};
use jiff::Timestamp;

use crate::{
    provider::{ToolSpec, api::Ask, options::Effort, retry::ApiError},
    turn::event::Attachment,
};

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

/// What a user said, with what was attached before it.
pub(super) fn user_text(text: &str, attachments: &[Attachment]) -> String {
    let mut all = String::new();
    for Attachment { name, text } in attachments {
        let name = name.replace('&', "&amp;").replace('"', "&quot;");
        all += &format!("<attachment name=\"{name}\">\n{text}\n</attachment>\n");
    }
    all + text
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
