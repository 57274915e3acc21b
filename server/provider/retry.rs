//! What a provider's error means: the one place that says what is to be done about it. (When a request is sent again
//! is decided by the turn.)
//!
//! The tables below are read from the top, and the first row that matches counts: [`NAMES`], the words that APIs have
//! for errors; [`MESSAGES`], what of a message tells a request that is not taken; then the status.

use std::{borrow::Cow, time::Duration};

pub(super) use super::api_error::ApiError;
use super::api_error::{
    CERTIFICATE, CONNECTION, CUT, GARBLED, NOT_API, PROXY, PROXY_LOGIN, PROXY_SCHEME,
};

/// Characters of a provider's own words that a person is shown.
const SHOWN: usize = 300;
/// A wait that a person is told of.
const LONG: Duration = Duration::from_secs(60);

/// Who failed, for the sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who<'a> {
    /// The model's full name, `provider/model`.
    pub(super) model: &'a str,
    /// The host that was asked.
    pub(super) host: &'a str,
    /// The port at which it was.
    pub(super) port: Option<u16>,
    /// Where the key comes from, in words; empty where there is none.
    pub(super) key_source: &'a str,
}

/// What an error means. Several may come to the same class, with another word of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorMeaning {
    /// Nobody is reached, or the connection broke.
    Offline,
    /// The server's certificate is not trusted.
    Certificate,
    /// The proxy is not reached.
    Proxy,
    /// The proxy wants a login.
    ProxyLogin,
    /// The proxy cannot be used.
    ProxyScheme,
    /// The response ended too early.
    Cut,
    /// The response makes no sense.
    Garbled,
    BadKey,
    UnknownModel,
    /// Nothing is where the API should be.
    NoApi,
    /// What answers is something else.
    NotApi,
    Money,
    Rate,
    Overload,
    Transient,
    Context,
    Refusal,
    Refused(Feature),
    /// The model calls no tools.
    NoTools,
    Redirect,
    Other,
}

use ErrorMeaning as M;
use aside_base::visible::is_hidden;
use aside_turn::response::{Failure, FailureClass, Feature};

/// Words of APIs for errors — kind or code, in small letters — whatever the status is.
const NAMES: &[(&str, ErrorMeaning)] = &[
    (CUT, M::Cut),
    (CONNECTION, M::Offline),
    (GARBLED, M::Garbled),
    (NOT_API, M::NotApi),
    (CERTIFICATE, M::Certificate),
    (PROXY, M::Proxy),
    (PROXY_LOGIN, M::ProxyLogin),
    (PROXY_SCHEME, M::ProxyScheme),
    // Money comes before rates: it has their status.
    ("insufficient_quota", M::Money),
    ("credit_balance_exhausted", M::Money),
    ("credit_balance_too_low", M::Money),
    ("billing_error", M::Money),
    ("billing_hard_limit_reached", M::Money),
    ("billing_not_active", M::Money),
    ("enforced_spend_limit_reached", M::Money),
    ("contract_spend_limit_reached", M::Money),
    // More at once than before: it wants to be asked slowly.
    ("slow_down", M::Overload),
    ("overloaded_error", M::Overload),
    ("server_is_overloaded", M::Overload),
    ("engine_overloaded", M::Overload),
    ("rate_limit_exceeded", M::Rate),
    ("context_length_exceeded", M::Context),
    ("context_window_exceeded", M::Context),
    ("exceed_context_size_error", M::Context),
    ("request_too_large", M::Context),
    ("api_key_invalid", M::BadKey),
    ("invalid_api_key", M::BadKey),
    ("authentication_error", M::BadKey),
    ("permission_error", M::BadKey),
    ("model_not_found", M::UnknownModel),
    ("invalid_model", M::UnknownModel),
    ("invalid_encrypted_content", M::Refused(Feature::History)),
    ("content_filter", M::Refusal),
    ("content_policy_violation", M::Refusal),
    ("invalid_prompt", M::Refusal),
    ("bio_policy", M::Refusal),
    ("refusal", M::Refusal),
];

/// What in the message, or the field that it names, tells why a request is not taken: all words of a row, in small
/// letters. Only for requests that were looked at and found wrong.
const MESSAGES: &[(&[&str], ErrorMeaning)] = &[
    (&["api key not valid"], M::BadKey),
    (&["credit balance"], M::Money),
    (&["spend limit"], M::Money),
    (&["prompt is too long"], M::Context),
    (&["token count", "exceeds"], M::Context),
    (&["maximum context length"], M::Context),
    (&["context window"], M::Context),
    (&["context limit"], M::Context),
    (&["context size"], M::Context),
    (&["exceeds the context length"], M::Context),
    (&["not a valid model"], M::UnknownModel),
    (&["invalid model"], M::UnknownModel),
    (&["does not support tools"], M::NoTools),
    (&["support tool use"], M::NoTools),
    // What names reasoning, but is about what was said before.
    (&["signature", "thinking"], M::Refused(Feature::History)),
    (&["thought_signature"], M::Refused(Feature::History)),
    (&["thought signature"], M::Refused(Feature::History)),
    (
        &["redacted_thinking", "cannot be modified"],
        M::Refused(Feature::History),
    ),
    (&["required following item"], M::Refused(Feature::History)),
    (&["encrypted content"], M::Refused(Feature::History)),
    // The name is taken, the number is not; or the name is the one that is wanted.
    (&["max_completion_tokens", "too large"], M::Other),
    (&["max_completion_tokens", "at most"], M::Other),
    (&["max_completion_tokens", "instead"], M::Other),
    (
        &["max_completion_tokens"],
        M::Refused(Feature::MaxCompletionTokens),
    ),
    (&["stream_options"], M::Refused(Feature::StreamUsage)),
    (&["include_usage"], M::Refused(Feature::StreamUsage)),
    (&["parallel_tool_calls"], M::Refused(Feature::ParallelCalls)),
    (
        &["disable_parallel_tool_use"],
        M::Refused(Feature::ParallelCalls),
    ),
    (&["prompt_cache"], M::Refused(Feature::CacheHint)),
    (&["cache_control"], M::Refused(Feature::CacheHint)),
    (&["output_config.format"], M::Refused(Feature::Schema)),
    (&["response_format"], M::Refused(Feature::Schema)),
    (&["json_schema"], M::Refused(Feature::Schema)),
    (&["text.format"], M::Refused(Feature::Schema)),
    (&["responsejsonschema"], M::Refused(Feature::Schema)),
    (&["response_json_schema"], M::Refused(Feature::Schema)),
    (&["response mime type"], M::Refused(Feature::Schema)),
    (&["strict"], M::Refused(Feature::Strict)),
    (
        &["invalid schema for function"],
        M::Refused(Feature::Strict),
    ),
    (&["schema", "too complex"], M::Refused(Feature::Strict)),
    // Before reasoning: where the two exclude each other, it is the force that goes, or reasoning for one request.
    (
        &["thinking", "tool_choice", "forces"],
        M::Refused(Feature::ForcedWhileReasoning),
    ),
    (&["tool_choice"], M::Refused(Feature::ForcedTool)),
    (&["functioncallingconfig"], M::Refused(Feature::ForcedTool)),
    (
        &["function_calling_config"],
        M::Refused(Feature::ForcedTool),
    ),
    (&["thinking", "disabled"], M::Refused(Feature::ReasoningOff)),
    (
        &["thinking", "disabling"],
        M::Refused(Feature::ReasoningOff),
    ),
    (
        &["only works in thinking mode"],
        M::Refused(Feature::ReasoningOff),
    ),
    (
        &["effort", "'none' is not supported"],
        M::Refused(Feature::ReasoningOff),
    ),
    (&["thinking"], M::Refused(Feature::Reasoning)),
    (&["reasoning"], M::Refused(Feature::Reasoning)),
    (&["effort"], M::Refused(Feature::Reasoning)),
    (&["role", "system"], M::Refused(Feature::SystemMessage)),
    (&["role", "developer"], M::Refused(Feature::SystemMessage)),
    (
        &["system message must be at the beginning"],
        M::Refused(Feature::SystemMessage),
    ),
    (
        &["roles must alternate"],
        M::Refused(Feature::SystemMessage),
    ),
];

/// What is to be done about an error, and one sentence for the person.
pub(super) fn failure(error: &ApiError, who: &Who<'_>) -> Failure {
    let meaning = meaning(error);
    Failure {
        class: class(meaning),
        text: text(meaning, error, who),
        retry_after: error.retry_after,
    }
}

fn meaning(error: &ApiError) -> ErrorMeaning {
    let found = named(error)
        .or_else(|| worded(error))
        .unwrap_or_else(|| by_status(error));
    let again = matches!(found, M::Rate | M::Overload | M::Transient);
    match error.should_retry {
        Some(true) if matches!(found, M::BadKey | M::NoApi | M::Money | M::Other) => {
            match error.status() {
                Some(429) => M::Rate,
                _ => M::Transient,
            }
        }
        Some(false) if again => M::Other,
        _ => found,
    }
}

fn named(error: &ApiError) -> Option<ErrorMeaning> {
    let is =
        |word: &str| error.code.eq_ignore_ascii_case(word) || error.kind.eq_ignore_ascii_case(word);
    let row = NAMES.iter().find(|(word, _)| is(word));
    row.map(|(_, meaning)| *meaning).or_else(|| {
        // Grew too fast; the codes differ in how they go on.
        error.code.starts_with("ramp").then_some(M::Overload)
    })
}

fn worded(error: &ApiError) -> Option<ErrorMeaning> {
    let looked_at = match error.status() {
        Some(status) => matches!(status, 400 | 404 | 413 | 422),
        None => error.kind.to_ascii_lowercase().contains("invalid"),
    };
    if !looked_at {
        return None;
    }
    let says = format!("{} {}", error.param, error.message).to_lowercase();
    let row = MESSAGES
        .iter()
        .find(|(words, _)| words.iter().all(|word| says.contains(word)));
    row.map(|(_, meaning)| *meaning)
}

fn speaks_of_money(error: &ApiError) -> bool {
    let says = format!("{} {}", error.code, error.message).to_lowercase();
    [
        "credit",
        "quota",
        "spend limit",
        "spend_limit",
        "spending limit",
    ]
    .iter()
    .any(|word| says.contains(word))
}

fn by_status(error: &ApiError) -> ErrorMeaning {
    match error.status() {
        Some(300..=399) => M::Redirect,
        Some(401 | 403) => M::BadKey,
        Some(402) => M::Money,
        Some(404) if error.message.to_lowercase().contains("model") => M::UnknownModel,
        Some(404 | 405) => M::NoApi,
        Some(408 | 409) => M::Transient,
        Some(413) => M::Context,
        // Anthropic's way to say that no waiting helps: a limit of money. Gateways leave the time out, too, of what will be
        // over soon; only what is said tells the two apart.
        Some(429)
            if error.kind == "rate_limit_error"
                && error.retry_after.is_none()
                && speaks_of_money(error) =>
        {
            M::Money
        }
        // A day's quota is not worth waiting for.
        Some(429) if error.code.to_ascii_lowercase().contains("perday") => M::Money,
        Some(429) => M::Rate,
        Some(503 | 529) => M::Overload,
        Some(500..600) => M::Transient,
        Some(_) => M::Other,
        None => match error.kind.to_ascii_lowercase().as_str() {
            "rate_limit_error" | "resource_exhausted" => M::Rate,
            "unavailable" => M::Overload,
            kind if kind.contains("invalid") => M::Other,
            // Servers have many words for having failed in the middle of a response.
            _ => M::Transient,
        },
    }
}

fn class(meaning: ErrorMeaning) -> FailureClass {
    match meaning {
        M::Offline | M::Proxy | M::Cut | M::Garbled | M::Transient => FailureClass::Transient,
        M::BadKey | M::UnknownModel | M::NoApi | M::NotApi => FailureClass::Auth,
        M::Money => FailureClass::Money,
        M::Rate => FailureClass::Rate,
        M::Overload => FailureClass::Overload,
        M::Context => FailureClass::Context,
        M::Refusal => FailureClass::Refusal,
        M::Refused(feature) => FailureClass::Refused(feature),
        M::Certificate | M::ProxyLogin | M::ProxyScheme | M::NoTools | M::Redirect | M::Other => {
            FailureClass::Other
        }
    }
}

/// One sentence: who, what happened, in the provider's own words too, and what to do.
fn text(meaning: ErrorMeaning, error: &ApiError, who: &Who<'_>) -> String {
    let (what, next) = (
        what(meaning, &error.param, who),
        next(meaning, error.retry_after, who),
    );
    let said = said(error);
    let said = if said.is_empty() {
        said
    } else {
        format!(" ({said})")
    };
    format!("{}: {what}{said}; {next}", who.model)
}

/// Says what happened, as the first half of the sentence; `proxy` counts where it is about one.
fn what(meaning: ErrorMeaning, proxy: &str, who: &Who<'_>) -> String {
    let Who {
        host, key_source, ..
    } = who;
    match meaning {
        // Another port is a usual reason.
        M::Offline => {
            let port = who.port.map_or_else(String::new, |port| format!(":{port}"));
            format!("{host}{port} cannot be reached, or the connection to it broke")
        }
        M::Certificate => format!("the certificate of {host} is none that is trusted"),
        M::Proxy => format!("the proxy {proxy} cannot be reached, or does not reach {host}"),
        M::ProxyLogin => format!("the proxy {proxy} wants a login"),
        M::ProxyScheme => format!("the proxy {proxy} cannot be used"),
        M::Cut => format!("the response from {host} ended before it was complete"),
        M::Garbled => format!("what came from {host} is no response of the API"),
        M::BadKey if key_source.is_empty() => format!("{host} wants a key, and there is none"),
        M::BadKey => format!("{host} does not accept the key from {key_source} for this"),
        M::UnknownModel => format!("{host} has no such model"),
        M::NoApi => format!("there is no such API at {host}"),
        M::NotApi => format!("what answers at {host} is a web page, and not the API"),
        M::Money => "the account has no credit left, or reached its limit".to_owned(),
        M::Rate => format!("{host} takes no more requests for now"),
        M::Overload => format!("{host} is overloaded"),
        M::Context => "the conversation no longer fits the model's context".to_owned(),
        M::Refusal => "the provider refuses this content".to_owned(),
        M::Refused(feature) => format!("{host} does not take {} of a request", words(feature)),
        M::NoTools => "the model calls no tools".to_owned(),
        M::Redirect => format!("{host} redirects to another place"),
        M::Transient => format!("{host} failed"),
        M::Other => format!("{host} did not do it"),
    }
}

/// What to do next.
fn next(meaning: ErrorMeaning, retry_after: Option<Duration>, who: &Who<'_>) -> Cow<'static, str> {
    if let (M::Rate | M::Overload, Some(time)) = (meaning, retry_after.filter(|it| *it >= LONG)) {
        return format!("wait {}, then try again", in_words(time)).into();
    }
    let next = match meaning {
        M::Offline => "look whether it runs and whether you are online",
        M::Certificate => "set tls_roots to \"system\" where the system trusts it",
        M::Proxy => "look whether it runs, or set another in HTTPS_PROXY, or NO_PROXY",
        M::ProxyLogin => "write it into HTTPS_PROXY, as in http://name:password@host",
        M::ProxyScheme => "set one of http or https in HTTPS_PROXY",
        M::Cut => "try again",
        M::Garbled => "try again, or correct the provider's base_url and api",
        M::BadKey if who.key_source.is_empty() => "set the provider's api_key_env",
        M::BadKey => "set one that it accepts",
        M::UnknownModel => "choose one of `aside model list`",
        M::NoApi => "correct the provider's base_url and api",
        M::NotApi => "correct the provider's base_url, or log in to the network that you are in",
        M::Money => "add credit or raise the limit with the provider, or choose another model",
        M::Rate => "wait a while, then try again",
        M::Overload => "wait a while, then try again",
        M::Context => "begin a new one, or choose a model with a larger context",
        M::Refusal => "say it in other words, or choose another model",
        M::Refused(_) => "choose another model",
        M::NoTools => "choose one that does, or turn tools off with -T",
        M::Redirect => "set the provider's base_url to that",
        M::Transient => "try again",
        M::Other => "see what it says, and change the request or the configuration",
    };
    next.into()
}

/// A time that is worth saying, never less than it is.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// What a feature is called in a sentence.
fn words(feature: Feature) -> &'static str {
    match feature {
        Feature::ForcedTool => "the forced tool",
        Feature::ForcedWhileReasoning => "the forced tool together with reasoning",
        Feature::Reasoning => "the reasoning settings",
        Feature::ReasoningOff => "reasoning that is turned off",
        Feature::History => "the earlier reasoning",
        Feature::SystemMessage => "the system message in mid-conversation",
        Feature::Strict => "the strict tools",
        Feature::Schema => "the answer's schema",
        Feature::StreamUsage => "the wish for usage",
        Feature::ParallelCalls => "the word on parallel calls",
        Feature::MaxCompletionTokens => "the limit of output tokens",
        Feature::CacheHint => "the cache hint",
    }
}

/// The provider's own words, fit for a terminal and short; else its word for the error, else the status.
fn said(error: &ApiError) -> String {
    let own = [&error.message, &error.code, &error.kind]
        .into_iter()
        .find(|text| !text.trim().is_empty() && !text.starts_with("aside."));
    let Some(own) = own else {
        let status = error.status.map(|status| format!("HTTP status {status}"));
        return status.unwrap_or_default();
    };
    let printable: String = own
        .chars()
        .map(|char| if char.is_whitespace() { ' ' } else { char })
        .filter(|char| !is_hidden(*char))
        .collect();
    let mut words = printable.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(SHOWN) {
        words.truncate(end);
        words.push('…');
    }
    words.trim_end_matches(['.', ';']).to_owned()
}

#[cfg(test)]
mod tests;
