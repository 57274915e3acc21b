//! Classifies provider errors and writes the message for the user. (The turn decides whether a request is sent again.)
//!
//! In the tables below the first matching row counts. [`NAMES`] lists the APIs' names for errors; [`MESSAGES`] lists
//! parts of messages that tell why a request was refused; the status comes last.

use std::{borrow::Cow, time::Duration};

pub(super) use super::api_error::ApiError;
use super::api_error::{
    CERTIFICATE, CONNECTION, CUT, GARBLED, LOST, NOT_API, PROXY, PROXY_LOGIN, PROXY_SCHEME,
};

/// Maximum number of characters shown of a provider's message.
const MAX_SHOWN: usize = 300;
/// Minimum waiting time that is worth telling the user.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// The subject of an error message.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorContext<'a> {
    /// The model's full name, `provider/model`.
    pub(super) model: &'a str,
    /// Host of the server.
    pub(super) host: &'a str,
    /// Port of the server.
    pub(super) port: Option<u16>,
    /// The base URL that is configured.
    pub(super) base: &'a str,
    /// Source of the key, for messages; empty if there is none.
    pub(super) key_source: &'a str,
}

/// Meaning of an error. Several meanings may share a class but differ in their advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorMeaning {
    /// The server cannot be reached, or the connection broke.
    Offline,
    /// The connection broke after the request was sent, or nothing came.
    Lost,
    /// The server's certificate is not trusted.
    Certificate,
    /// The proxy cannot be reached.
    Proxy,
    /// The proxy requires a login.
    ProxyLogin,
    /// The scheme of the proxy is not supported.
    ProxyScheme,
    /// The response ended early.
    Cut,
    /// The response is invalid.
    Garbled,
    BadKey,
    UnknownModel,
    /// No API exists at the address.
    NoApi,
    /// A web page answers instead of the API.
    NotApi,
    Money,
    Rate,
    Overload,
    Transient,
    Context,
    Refusal,
    Refused(Feature),
    /// The model does not support tools.
    NoTools,
    Redirect,
    Other,
}

use ErrorMeaning as M;
use aside_base::visible::is_hidden;
use aside_turn::response::{Failure, FailureClass, Feature};

/// Names of errors in APIs, whatever the status: kind or code, in lower case.
const NAMES: &[(&str, ErrorMeaning)] = &[
    (CUT, M::Cut),
    (CONNECTION, M::Offline),
    (LOST, M::Lost),
    (GARBLED, M::Garbled),
    (NOT_API, M::NotApi),
    (CERTIFICATE, M::Certificate),
    (PROXY, M::Proxy),
    (PROXY_LOGIN, M::ProxyLogin),
    (PROXY_SCHEME, M::ProxyScheme),
    // Money precedes rates, because both have the same status.
    ("insufficient_quota", M::Money),
    ("credit_balance_exhausted", M::Money),
    ("credit_balance_too_low", M::Money),
    ("billing_error", M::Money),
    ("billing_hard_limit_reached", M::Money),
    ("billing_not_active", M::Money),
    ("enforced_spend_limit_reached", M::Money),
    ("contract_spend_limit_reached", M::Money),
    // Sent when the number of requests rises too fast.
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
    // The summary that the conversation begins with is not taken; without it the model reads the text.
    ("compaction_block_ambiguous", M::Refused(Feature::History)),
    ("compaction_block_misplaced", M::Refused(Feature::History)),
    (
        "compaction_block_content_mismatch",
        M::Refused(Feature::History),
    ),
    (
        "compaction_block_signature_invalid",
        M::Refused(Feature::History),
    ),
    (
        "compaction_tool_changes_mismatch",
        M::Refused(Feature::History),
    ),
    ("compaction_unavailable", M::Overload),
    // Another summary may be made of this conversation, or of a longer one.
    ("compaction_incomplete_turn", M::Other),
    ("compaction_nothing_to_summarize", M::Other),
    ("compaction_too_many_tool_references", M::Other),
    ("content_filter", M::Refusal),
    ("content_policy_violation", M::Refusal),
    ("invalid_prompt", M::Refusal),
    ("bio_policy", M::Refusal),
    ("refusal", M::Refusal),
];

/// Parts of the message, or of the field that it names, that tell why a request was refused: all of a row must occur.
/// In lower case. Used only for requests that the server parsed and rejected.
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
    (&["compaction_trigger"], M::Refused(Feature::Compaction)),
    // A summary in the history, not the request for one.
    (&["compaction", "block"], M::Refused(Feature::History)),
    (&["compaction", "messages."], M::Refused(Feature::History)),
    (&["compaction", "input["], M::Refused(Feature::History)),
    (&["compaction"], M::Refused(Feature::Compaction)),
    // These mention reasoning, but concern the history.
    (&["signature", "thinking"], M::Refused(Feature::History)),
    (&["thought_signature"], M::Refused(Feature::History)),
    (&["thought signature"], M::Refused(Feature::History)),
    (
        &["redacted_thinking", "cannot be modified"],
        M::Refused(Feature::History),
    ),
    (&["required following item"], M::Refused(Feature::History)),
    (&["encrypted content"], M::Refused(Feature::History)),
    // Whether the member is too much or missing is said in many ways.
    (
        &["reasoning_content", "unsupported"],
        M::Refused(Feature::ReasoningText),
    ),
    (
        &["reasoning_content", "not supported"],
        M::Refused(Feature::ReasoningText),
    ),
    (
        &["reasoning_content", "not permitted"],
        M::Refused(Feature::ReasoningText),
    ),
    (
        &["reasoning_content", "not allowed"],
        M::Refused(Feature::ReasoningText),
    ),
    (
        &["reasoning_content", "must"],
        M::Refused(Feature::Unreasoned),
    ),
    (
        &["reasoning_content", "missing"],
        M::Refused(Feature::Unreasoned),
    ),
    (
        &["reasoning_content", "required"],
        M::Refused(Feature::Unreasoned),
    ),
    (&["reasoning_content"], M::Refused(Feature::ReasoningText)),
    (
        &["messages", "'reasoning' is unsupported"],
        M::Refused(Feature::ReasoningText),
    ),
    (
        &["messages", ".reasoning"],
        M::Refused(Feature::ReasoningText),
    ),
    // The member is known but its value is not accepted, or the message recommends the member.
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
    // Precedes reasoning: if the two exclude each other, the forced tool is dropped, or reasoning for one request.
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

/// Classifies an API error and writes the message for the user.
pub(super) fn failure(error: &ApiError, who: &ErrorContext<'_>) -> Failure {
    let meaning = meaning(error);
    Failure {
        class: class(meaning),
        text: text(meaning, error, who),
        advice: Some(next(meaning, error.retry_after, who).into_owned()),
        retry_after: error.retry_after,
    }
}

/// Whether an error may refuse a part of the request by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspicion {
    /// The error is about something else.
    None,
    /// The error may name a part; `strict` if it speaks of strict tools.
    Part { strict: bool },
    /// The request is too large.
    Size,
}

/// Whether an error may refuse a part of the request by its name.
pub(super) fn suspicion(error: &ApiError) -> Suspicion {
    if error.status() == Some(413) {
        return Suspicion::Size;
    }
    if !is_looked_at(error) {
        return Suspicion::None;
    }
    let strict = error.message.to_lowercase().contains("strict")
        || error.param.to_lowercase().contains("strict");
    match named(error).or_else(|| worded(error)) {
        // Properties of a tool may be called like a feature.
        None
        | Some(
            M::Refused(
                Feature::Strict
                | Feature::Schema
                | Feature::Reasoning
                | Feature::ReasoningText
                | Feature::ParallelCalls
                | Feature::CacheHint,
            )
            | M::Other,
        ) => Suspicion::Part { strict },
        Some(_) => Suspicion::None,
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
        // The number of requests rose too fast; codes continue differently.
        error.code.starts_with("ramp").then_some(M::Overload)
    })
}

/// Whether the server parsed the request and rejected it.
fn is_looked_at(error: &ApiError) -> bool {
    match error.status() {
        Some(status) => matches!(status, 400 | 404 | 413 | 422),
        None => error.kind.to_ascii_lowercase().contains("invalid"),
    }
}

fn worded(error: &ApiError) -> Option<ErrorMeaning> {
    if !is_looked_at(error) {
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

/// Whether a quota is used up until a date or for good.
fn is_used_up(error: &ApiError) -> bool {
    let says = error.message.to_lowercase();
    says.contains("quota") && (says.contains("exhausted") || says.contains("reset"))
}

fn wants_a_flag(error: &ApiError) -> bool {
    let says = error.message.to_lowercase();
    says.contains("requires") && (says.contains("flag") || says.contains("--"))
}

fn by_status(error: &ApiError) -> ErrorMeaning {
    match error.status() {
        Some(300..=399) => M::Redirect,
        Some(401 | 403) => M::BadKey,
        Some(402) => M::Money,
        Some(404) if error.message.to_lowercase().contains("model") => M::UnknownModel,
        Some(404 | 405 | 501) => M::NoApi,
        Some(408 | 409) => M::Transient,
        Some(413) => M::Context,
        // Anthropic omits the waiting time at a spending limit. Gateways omit it for short limits too, so the message
        // decides.
        Some(429)
            if error.kind == "rate_limit_error"
                && error.retry_after.is_none()
                && speaks_of_money(error) =>
        {
            M::Money
        }
        // A daily quota is not worth waiting for, nor one that ends at a date.
        Some(429) if error.code.to_ascii_lowercase().contains("perday") => M::Money,
        Some(429) if error.retry_after.is_none() && is_used_up(error) => M::Money,
        Some(429) => M::Rate,
        // The server was started without what the request needs, and starts no other way by being asked again.
        Some(500..600) if wants_a_flag(error) => M::Other,
        Some(503 | 529) => M::Overload,
        Some(500..600) => M::Transient,
        Some(_) => M::Other,
        None => match error.kind.to_ascii_lowercase().as_str() {
            "rate_limit_error" | "resource_exhausted" => M::Rate,
            "unavailable" => M::Overload,
            kind if kind.contains("invalid") => M::Other,
            // Servers name failures in the middle of a response in many ways.
            _ => M::Transient,
        },
    }
}

fn class(meaning: ErrorMeaning) -> FailureClass {
    match meaning {
        M::Offline | M::Proxy | M::Transient => FailureClass::Transient,
        M::Lost | M::Cut | M::Garbled => FailureClass::Broken,
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

/// One sentence: the model, what happened with the provider's own words, and what to do.
fn text(meaning: ErrorMeaning, error: &ApiError, who: &ErrorContext<'_>) -> String {
    let what = what(meaning, error, who);
    let said = said(error);
    let said = match (meaning, error.status) {
        (M::Other, Some(_)) | (_, None) if said.is_empty() => String::new(),
        (M::Other, Some(_)) => format!(": {said}"),
        (_, Some(status)) if said.is_empty() => format!(" (HTTP status {status})"),
        _ => format!(" ({said})"),
    };
    format!("{}: {what}{said}", who.model)
}

/// The failure itself: what happened.
fn what(meaning: ErrorMeaning, error: &ApiError, who: &ErrorContext<'_>) -> String {
    let ErrorContext {
        host, key_source, ..
    } = who;
    let proxy = &error.param;
    match meaning {
        // The port is named because a wrong one is a common cause.
        M::Offline | M::Lost => {
            let port = who.port.map_or_else(String::new, |port| format!(":{port}"));
            format!("{host}{port} cannot be reached, or the connection broke")
        }
        M::Certificate => format!("the TLS certificate of {host} is not trusted"),
        M::Proxy => format!("the proxy {proxy} cannot be reached, or cannot reach {host}"),
        M::ProxyLogin => format!("the proxy {proxy} requires a login"),
        M::ProxyScheme => format!("the scheme of the proxy {proxy} is not supported"),
        M::Cut => format!("the response from {host} ended before it was complete"),
        M::Garbled => format!("{host} sent an invalid response"),
        M::BadKey if key_source.is_empty() => {
            format!("{host} requires an API key, and none is set")
        }
        M::BadKey => format!("{host} rejected the API key from {key_source}"),
        M::UnknownModel => format!("{host} has no such model"),
        M::NoApi => format!("{host} does not offer this API below {}", who.base),
        M::NotApi => format!("{host} answered with a web page instead of the API"),
        M::Money => "the account has no credit left, or reached its limit".to_owned(),
        M::Rate => format!("{host} accepts no more requests for now"),
        M::Overload => format!("{host} is overloaded"),
        M::Context => "the conversation no longer fits the model's context".to_owned(),
        M::Refusal => "the provider refuses this content".to_owned(),
        M::Refused(feature) => format!(
            "{host} does not take {} of a request",
            feature_name(feature)
        ),
        M::NoTools => "the model does not support tools".to_owned(),
        M::Redirect => format!("{host} redirects to another address"),
        M::Transient => format!("{host} failed"),
        M::Other => match error.status {
            Some(status) => format!("{host} answered {status}"),
            None => format!("{host} rejected the request"),
        },
    }
}

/// Advice behind it: what to do next.
fn next(
    meaning: ErrorMeaning,
    retry_after: Option<Duration>,
    who: &ErrorContext<'_>,
) -> Cow<'static, str> {
    if let (M::Rate | M::Overload, Some(time)) =
        (meaning, retry_after.filter(|it| *it >= LONG_WAIT))
    {
        return format!("wait {}, then try again", rounded_up(time)).into();
    }
    let next = match meaning {
        M::Offline | M::Lost => "check that the server is running and that you are online",
        M::Certificate => "set tls_roots to \"system\" if your system trusts it",
        M::Proxy => "check that it is running, or set HTTPS_PROXY or NO_PROXY",
        M::ProxyLogin => "add the login to HTTPS_PROXY, as in http://name:password@host",
        M::ProxyScheme => "set HTTPS_PROXY to an http or https address",
        M::Cut => "try again",
        M::Garbled => "try again, or correct the provider's base_url and api",
        M::BadKey if who.key_source.is_empty() => "set the provider's api_key_env",
        M::BadKey => "set a key that has access to the model",
        M::UnknownModel => "choose a model from `aside model list`",
        M::NoApi if who.base.trim_end_matches('/').ends_with("/v1") => {
            "correct the provider's api, or its base_url, perhaps without the /v1"
        }
        M::NoApi => "correct the provider's api, or its base_url, perhaps with /v1 at its end",
        M::NotApi => "correct the provider's base_url, or log in to your network",
        M::Money => "add credit or raise the limit with the provider, or choose another model",
        M::Rate => "wait a while, then try again",
        M::Overload => "wait a while, then try again",
        M::Context => {
            "send `/compact`, start a new conversation, or choose a model with a larger context window"
        }
        M::Refusal => "rephrase the message, or choose another model",
        M::Refused(_) => "choose another model",
        M::NoTools => "choose one that does, or turn tools off with -T",
        M::Redirect => "set the provider's base_url to that address",
        M::Transient => "try again",
        M::Other => "check the request and the configuration",
    };
    next.into()
}

/// A time that is worth saying, never less than it is.
fn rounded_up(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Name of a feature in a sentence.
fn feature_name(feature: Feature) -> &'static str {
    match feature {
        Feature::ForcedTool => "a forced tool",
        Feature::ForcedWhileReasoning => "a forced tool together with reasoning",
        Feature::Reasoning => "the reasoning settings",
        Feature::ReasoningOff => "turning reasoning off",
        Feature::History => "the earlier reasoning",
        Feature::ReasoningText => "the earlier reasoning as text",
        Feature::Unreasoned => "an earlier response without its reasoning",
        Feature::SystemMessage => "a system message in mid-conversation",
        Feature::Strict => "strict tools",
        Feature::Schema => "a schema for the answer",
        Feature::StreamUsage => "the option for usage",
        Feature::ParallelCalls => "the option for parallel calls",
        Feature::MaxCompletionTokens => "the limit of output tokens",
        Feature::CacheHint => "the cache hint",
        Feature::Compaction => "the request for a summary in its own form",
    }
}

/// The provider's own words, fit for a terminal and short, or its name for the error. Empty if it sent neither.
pub(super) fn said(error: &ApiError) -> String {
    let own = [&error.message, &error.code, &error.kind]
        .into_iter()
        .find(|text| !text.trim().is_empty() && !text.starts_with("aside."));
    let Some(own) = own else {
        return String::new();
    };
    let printable: String = own
        .chars()
        .map(|char| if char.is_whitespace() { ' ' } else { char })
        .filter(|char| !is_hidden(*char))
        .collect();
    let mut words = printable.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(MAX_SHOWN) {
        words.truncate(end);
        words.push('…');
    }
    words.trim_end_matches(['.', ';']).to_owned()
}

#[cfg(test)]
mod tests;
