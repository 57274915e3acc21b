use std::time::Duration;

use super::*;
use crate::provider::key::Key;

const WHO: Who<'_> = Who {
    model: "anthropic/m",
    host: "api.example",
    port: Some(8443),
    key_source: "KEY",
};

/// `<status> <kind> <code> [after] [again|never] | <param>: <message>`, with `-` for what is not there.
fn error(line: &str) -> ApiError {
    let (told, said) = line.split_once(" | ").unwrap_or((line, ""));
    let (param, message) = said.split_once(": ").unwrap_or(("", said));
    let mut told = told.split(' ');
    let mut next = || told.next().filter(|word| *word != "-").unwrap_or_default();
    let (status, kind, code) = (next().parse().ok(), next(), next());
    let rest: Vec<&str> = told.collect();
    ApiError {
        status,
        kind: kind.into(),
        code: code.into(),
        message: message.into(),
        param: param.into(),
        retry_after: rest.contains(&"after").then(|| Duration::from_secs(17)),
        should_retry: match rest.last() {
            Some(&"again") => Some(true),
            Some(&"never") => Some(false),
            _ => None,
        },
        request_id: None,
    }
}

/// Lines of an error and what it comes to.
fn check(table: &[(&str, FailureClass)]) {
    for (line, expected) in table {
        let failure = failure(&error(line), &WHO);
        assert_eq!(failure.class, *expected, "{line}: {}", failure.text);
    }
}

#[test]
fn what_a_person_must_mend_is_told_from_what_time_mends() {
    use FailureClass as C;
    check(&[
        ("401 authentication_error - | invalid x-api-key", C::Auth),
        (
            "401 - invalid_api_key | Incorrect API key provided",
            C::Auth,
        ),
        ("403 permission_error -", C::Auth),
        (
            "400 INVALID_ARGUMENT API_KEY_INVALID | API key not valid.",
            C::Auth,
        ),
        (
            "400 INVALID_ARGUMENT - | API key not valid. Please pass a valid API key.",
            C::Auth,
        ),
        ("404 not_found_error - | model: claude-nope", C::Auth),
        (
            "404 - model_not_found | The model `gpt-9` does not exist",
            C::Auth,
        ),
        ("404 - - | <html>not here</html>", C::Auth),
        ("400 - 400 | nope is not a valid model ID", C::Auth),
        ("402 - 402 | Insufficient credits", C::Money),
        (
            "429 insufficient_quota insufficient_quota | You exceeded your current quota.",
            C::Money,
        ),
        ("429 - credit_balance_exhausted after", C::Money),
        (
            "400 invalid_request_error - | Your credit balance is too low",
            C::Money,
        ),
        ("429 rate_limit_error -", C::Rate),
        ("429 rate_limit_error - | Too many requests", C::Rate),
        (
            "429 rate_limit_error - | Your workspace has reached its spend limit",
            C::Money,
        ),
        ("429 rate_limit_error - | No credits are left", C::Money),
        ("429 rate_limit_error - | Quota exceeded", C::Money),
        ("429 rate_limit_error - after | Quota exceeded", C::Rate),
        (
            "429 rate_limit_error enforced_spend_limit_reached after",
            C::Money,
        ),
        (
            "429 RESOURCE_EXHAUSTED GenerateRequestsPerDayPerProjectPerModel after",
            C::Money,
        ),
        ("429 rate_limit_error - after again", C::Rate),
        ("429 rate_limit_error - again", C::Rate),
        ("429 tokens rate_limit_exceeded after", C::Rate),
        ("429 RESOURCE_EXHAUSTED - after", C::Rate),
        ("429 - - | too many requests", C::Rate),
        ("- rate_limit_error -", C::Rate),
        ("429 rate_limit_error ramp_up_too_fast", C::Overload),
        ("429 - slow_down", C::Overload),
        ("529 overloaded_error - again", C::Overload),
        ("- overloaded_error -", C::Overload),
        ("503 - server_is_overloaded", C::Overload),
        ("503 UNAVAILABLE -", C::Overload),
        ("- UNAVAILABLE -", C::Overload),
    ]);
}

#[test]
fn what_broke_is_tried_again() {
    use FailureClass::{Other, Transient};
    for status in [408, 409, 500, 502, 504, 520] {
        check(&[(&format!("{status} - -"), Transient)]);
    }
    check(&[
        ("- api_error -", Transient),
        ("- - 502 | Provider returned error", Transient),
        (
            "- - - | an error was encountered while running the model",
            Transient,
        ),
        ("400 - - again | odd", Transient),
        ("401 - - again", Transient),
        ("500 - - never", Other),
        ("529 overloaded_error - never", Other),
        (
            "400 invalid_request_error - | messages.2: `tool_use` ids were found without `tool_result`",
            Other,
        ),
        ("- invalid_request_error - | no", Other),
        ("418 - -", Other),
        ("302 - -", Other),
    ]);
    for (error, said) in [
        (ApiError::cut(), "api.example ended before"),
        (
            ApiError::connection("dns error"),
            "api.example:8443 cannot be reached",
        ),
        (ApiError::garbled("no JSON"), "api.example is no response"),
    ] {
        let failure = failure(&error, &WHO);
        assert_eq!(failure.class, Transient);
        assert!(failure.text.contains(said), "{}", failure.text);
    }
}

#[test]
fn a_full_context_and_a_refusal_are_no_faults() {
    use FailureClass::{Context, Refusal};
    check(&[
        (
            "400 invalid_request_error - | prompt is too long: 1000001 tokens > 1000000 maximum",
            Context,
        ),
        (
            "400 invalid_request_error context_length_exceeded | messages: too long",
            Context,
        ),
        (
            "400 INVALID_ARGUMENT - | The input token count (1048577) exceeds the maximum",
            Context,
        ),
        (
            "400 exceed_context_size_error - | the request exceeds the available context size",
            Context,
        ),
        (
            "400 - - | This model's maximum context length is 8192 tokens.",
            Context,
        ),
        ("413 request_too_large -", Context),
        ("- invalid_request_error context_length_exceeded", Context),
        ("400 - content_policy_violation", Refusal),
        ("- server_error bio_policy", Refusal),
    ]);
}

#[test]
fn what_a_request_is_better_without_is_told_by_the_message() {
    use Feature as F;
    let table = [
        (
            "400 - - | tool_choice forces tool use is not compatible with this model",
            F::ForcedTool,
        ),
        (
            "400 - - | Thinking may not be enabled when tool_choice forces tool use.",
            F::ForcedWhileReasoning,
        ),
        (
            "404 - 404 | No endpoints found that support the provided 'tool_choice' value",
            F::ForcedTool,
        ),
        (
            "422 - - | tool_choice: Input should be 'auto'",
            F::ForcedTool,
        ),
        ("400 - - | `thinking.type` does not take this", F::Reasoning),
        (
            "400 - - | \"qwen2.5:7b\" does not support thinking",
            F::Reasoning,
        ),
        (
            "400 - unsupported_parameter | reasoning_effort: Unsupported parameter",
            F::Reasoning,
        ),
        (
            "400 - - | This model does not support the effort parameter.",
            F::Reasoning,
        ),
        (
            "400 - - | Unknown name \"thinkingLevel\" at 'generation_config'",
            F::Reasoning,
        ),
        (
            "400 - - | thinking.type.disabled is not supported for this model",
            F::ReasoningOff,
        ),
        (
            "400 - - | reasoning.effort: Unsupported value, 'none' is not supported with this model",
            F::ReasoningOff,
        ),
        (
            "400 - - | Budget 0 is invalid. This model only works in thinking mode.",
            F::ReasoningOff,
        ),
        (
            "400 - - | messages.1.content.0: Invalid `signature` in `thinking` block.",
            F::History,
        ),
        (
            "400 - - | `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
            F::History,
        ),
        (
            "400 INVALID_ARGUMENT - | Function call is missing a thought_signature",
            F::History,
        ),
        ("400 - - | Corrupted thought signature.", F::History),
        (
            "400 - invalid_encrypted_content | could not be verified",
            F::History,
        ),
        (
            "400 - - | Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            F::History,
        ),
        (
            "400 - - | role 'system' is not supported on this model",
            F::SystemMessage,
        ),
        (
            "400 - - | messages[0].role: unknown variant `developer`",
            F::SystemMessage,
        ),
        (
            "400 - - | Conversation roles must alternate user/assistant",
            F::SystemMessage,
        ),
        (
            "400 - - | tools.0.custom.strict: Extra inputs are not permitted",
            F::Strict,
        ),
        (
            "400 - invalid_function_parameters | tools[0].function.parameters: Invalid schema for function 'x'",
            F::Strict,
        ),
        (
            "400 - - | response_format: This response_format type is unavailable now",
            F::Schema,
        ),
        (
            "400 - - | output_config.format: Extra inputs are not permitted",
            F::Schema,
        ),
        (
            "400 - - | Function calling with a response mime type: 'application/json' is unsupported",
            F::Schema,
        ),
        (
            "400 - - | stream_options: Extra inputs are not permitted",
            F::StreamUsage,
        ),
        (
            "400 - - | parallel_tool_calls is not supported",
            F::ParallelCalls,
        ),
        (
            "400 - - | tool_choice.disable_parallel_tool_use is not supported",
            F::ParallelCalls,
        ),
        (
            "422 - - | max_completion_tokens: Extra inputs are not permitted",
            F::MaxCompletionTokens,
        ),
        (
            "400 - - | prompt_cache_key: Unknown parameter",
            F::CacheHint,
        ),
        (
            "400 - - | cache_control: Extra inputs are not permitted",
            F::CacheHint,
        ),
        (
            "- invalid_request_error - | tool_choice is not supported",
            F::ForcedTool,
        ),
    ];
    for (line, feature) in table {
        check(&[(line, FailureClass::Refused(feature))]);
    }
    check(&[
        (
            "400 - - | max_completion_tokens is too large: 32000",
            FailureClass::Other,
        ),
        (
            "400 - - | \"tiny\" does not support tools",
            FailureClass::Other,
        ),
        ("500 - - | thinking crashed", FailureClass::Transient),
        ("401 - - | tool_choice", FailureClass::Auth),
    ]);
}

#[test]
fn every_error_says_what_to_do() {
    let table = [
        (
            "401 - - | invalid x-api-key",
            "anthropic/m: api.example does not accept the key from KEY for this (invalid x-api-key); set one that it accepts",
        ),
        (
            "404 - model_not_found",
            "anthropic/m: api.example has no such model (model_not_found); choose one of `aside model list`",
        ),
        (
            "404 - - | no page",
            "anthropic/m: there is no such API at api.example (no page); correct the provider's base_url and api",
        ),
        (
            "402 - -",
            "anthropic/m: the account has no credit left, or reached its limit (HTTP status 402); \
             add credit or raise the limit with the provider, or choose another model",
        ),
        (
            "429 - - after | slowly",
            "anthropic/m: api.example takes no more requests for now (slowly); wait a while, then try again",
        ),
        (
            "529 overloaded_error - | Overloaded",
            "anthropic/m: api.example is overloaded (Overloaded); wait a while, then try again",
        ),
        (
            "400 - - | prompt is too long",
            "anthropic/m: the conversation no longer fits the model's context (prompt is too long); \
             begin a new one, or choose a model with a larger context",
        ),
        (
            "- - refusal | No",
            "anthropic/m: the provider refuses this content (No); say it in other words, or choose another model",
        ),
        (
            "301 - -",
            "anthropic/m: api.example redirects to another place (HTTP status 301); set the provider's base_url to that",
        ),
        (
            "400 - - | `m` does not support tools",
            "anthropic/m: the model calls no tools (`m` does not support tools); \
             choose one that does, or turn tools off with -T",
        ),
        (
            "- aside.connection - | tcp connect error",
            "anthropic/m: api.example:8443 cannot be reached, or the connection to it broke (tcp connect error); \
             look whether it runs and whether you are online",
        ),
    ];
    for (line, expected) in table {
        assert_eq!(failure(&error(line), &WHO).text, expected);
    }
    let nobodys = Who {
        key_source: "",
        ..WHO
    };
    assert_eq!(
        failure(&error("401 - - | who are you?"), &nobodys).text,
        "anthropic/m: api.example wants a key, and there is none (who are you?); set the provider's api_key_env"
    );
}

#[test]
fn the_servers_words_are_shown_short_and_harmless_and_without_the_key() {
    let long = ApiError {
        status: Some(400),
        message: format!("\u{1b}[31mred\r\n\u{202e}left {}", "x".repeat(1000)),
        ..ApiError::default()
    };
    let text = failure(&long, &WHO).text;
    assert!(text.contains("([31mred left xxx"), "{text}");
    assert!(text.contains("xxx…); see"), "{text}");
    assert!(text.chars().count() < 450 && !text.contains('\u{1b}'));

    let key = Key::new("sk-0123456789abcdef");
    let echo = ApiError {
        code: "sk-0123456789abcdef".into(),
        request_id: Some("sk-0123456789abcdef".into()),
        ..error("401 - - | bad key sk-0123456789abcdef given")
    };
    let hidden = echo.without(&key);
    assert!(!format!("{hidden:?}").contains("sk-0"));
    assert!(
        failure(&hidden, &WHO)
            .text
            .contains("(bad key [hidden] given)")
    );
}

#[test]
fn what_the_server_says_of_the_wait_is_passed_on() {
    let wait = |line| failure(&error(line), &WHO).retry_after;
    assert_eq!(
        wait("429 rate_limit_error - after"),
        Some(Duration::from_secs(17))
    );
    assert_eq!(wait("500 - -"), None);
}

#[test]
fn a_long_wait_is_said() {
    for (seconds, expected) in [
        (17.0, "wait a while, then try again"),
        (60.0, "wait 60 s, then try again"),
        (120.1, "wait 3 min, then try again"),
        (3600.0, "wait 60 min, then try again"),
        (36_001.0, "wait 11 h, then try again"),
    ] {
        for status in ["429", "503"] {
            let limited = ApiError {
                retry_after: Some(Duration::from_secs_f64(seconds)),
                ..error(&format!("{status} - - | slowly"))
            };
            let said = failure(&limited, &WHO).text;
            assert!(said.ends_with(expected), "{said}");
        }
    }
}

#[test]
fn a_page_for_a_browser_is_no_answer_of_an_api() {
    let page = |begin: &[u8]| ApiError::page(begin).map(|is| is.is_err());
    assert_eq!(page(b"<!doctype html>"), Some(true));
    assert_eq!(page(b"\xef\xbb\xbf\r\n <html>"), Some(true));
    assert_eq!(page(b"data: <p>"), Some(false));
    assert_eq!(page(b"{\"a\": \"<p>\"}"), Some(false));
    assert_eq!(page(b" \n"), None);
}

#[test]
fn what_cannot_get_better_is_not_tried_again_and_a_proxy_is_named() {
    let proxy: http::Uri = "http://name:password@proxy.example:3128".parse().unwrap();
    for (error, class, says) in [
        (
            ApiError::certificate("invalid peer certificate: UnknownIssuer"),
            FailureClass::Other,
            "anthropic/m: the certificate of api.example is none that is trusted (invalid peer certificate: \
             UnknownIssuer); set tls_roots to \"system\" where the system trusts it",
        ),
        (
            ApiError::page(b"<html>").unwrap().unwrap_err(),
            FailureClass::Auth,
            "anthropic/m: what answers at api.example is a web page, and not the API; correct the provider's base_url, \
             or log in to the network that you are in",
        ),
        (
            ApiError::proxy(&proxy, "Connection refused"),
            FailureClass::Transient,
            "anthropic/m: the proxy proxy.example:3128 cannot be reached, or does not reach api.example (Connection \
             refused); look whether it runs, or set another in HTTPS_PROXY, or NO_PROXY",
        ),
        (
            ApiError::proxy_login(&proxy),
            FailureClass::Other,
            "anthropic/m: the proxy proxy.example:3128 wants a login; write it into HTTPS_PROXY, as in \
             http://name:password@host",
        ),
        (
            ApiError::proxy_scheme(&proxy, "socks5"),
            FailureClass::Other,
            "anthropic/m: the proxy proxy.example:3128 cannot be used (socks5); set one of http or https in \
             HTTPS_PROXY",
        ),
    ] {
        let failure = failure(&error, &WHO);
        assert_eq!((failure.class, failure.text.as_str()), (class, says));
    }
}
