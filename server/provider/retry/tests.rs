use std::time::Duration;

use aside_test_table::rows;

use super::*;
use crate::key::Key;

const WHO: ErrorContext<'_> = ErrorContext {
    model: "anthropic/m",
    host: "api.example",
    port: Some(8443),
    base: "https://api.example:8443/v1",
    key_source: "KEY",
};

/// Parses `<status> <kind> <code> [after] [again|never] | <param>: <message>`, with `-` for an absent value.
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

/// Checks the class of each error: a line is the class, and the error.
fn check(table: &str) {
    for [class, line] in rows(table) {
        let failure = failure(&error(line), &WHO);
        let found = format!("{:?}", failure.class);
        assert_eq!(found, class, "{line}: {}", failure.text);
    }
}

#[test]
fn permanent_errors_differ_from_temporary_ones() {
    check(
        "
        Auth     | 401 authentication_error - | invalid x-api-key
        Auth     | 401 - invalid_api_key | Incorrect API key provided
        Auth     | 403 permission_error -
        Auth     | 400 INVALID_ARGUMENT API_KEY_INVALID | API key not valid.
        Auth     | 400 INVALID_ARGUMENT - | API key not valid. Please pass a valid API key.
        Auth     | 404 not_found_error - | model: claude-nope
        Auth     | 404 - model_not_found | The model `gpt-9` does not exist
        Auth     | 404 - - | <html>not here</html>
        Auth     | 501 - - | Unsupported method
        Auth     | 400 - 400 | nope is not a valid model ID
        Money    | 402 - 402 | Insufficient credits
        Money    | 429 insufficient_quota insufficient_quota | You exceeded your current quota.
        Money    | 429 - credit_balance_exhausted after
        Money    | 400 invalid_request_error - | Your credit balance is too low
        Rate     | 429 rate_limit_error -
        Rate     | 429 rate_limit_error - | Too many requests
        Money    | 429 rate_limit_error - | Your workspace has reached its spend limit
        Money    | 429 rate_limit_error - | No credits are left
        Money    | 429 rate_limit_error - | Quota exceeded
        Money    | 429 - 429 | Your quota has been exhausted. It will reset at 2030-12-01 00:00:00
        Rate     | 429 - 429 after | Your quota has been exhausted.
        Rate     | 429 rate_limit_error - after | Quota exceeded
        Money    | 429 rate_limit_error enforced_spend_limit_reached after
        Money    | 429 RESOURCE_EXHAUSTED GenerateRequestsPerDayPerProjectPerModel after
        Rate     | 429 rate_limit_error - after again
        Rate     | 429 rate_limit_error - again
        Rate     | 429 tokens rate_limit_exceeded after
        Rate     | 429 RESOURCE_EXHAUSTED - after
        Rate     | 429 - - | too many requests
        Rate     | - rate_limit_error -
        Overload | 429 rate_limit_error ramp_up_too_fast
        Overload | 429 - slow_down
        Overload | 529 overloaded_error - again
        Overload | - overloaded_error -
        Overload | 503 - server_is_overloaded
        Overload | 503 UNAVAILABLE -
        Overload | - UNAVAILABLE -
    ",
    );
}

#[test]
fn broken_responses_are_transient() {
    for status in [408, 409, 500, 502, 504, 520] {
        check(&format!("Transient | {status} - -"));
    }
    check("
        Transient | - api_error -
        Transient | - - 502 | Provider returned error
        Transient | - - - | an error was encountered while running the model
        Transient | 400 - - again | odd
        Transient | 401 - - again
        Other     | 500 - - never
        Other     | 529 overloaded_error - never
        Other     | 400 invalid_request_error - | messages.2: `tool_use` ids were found without `tool_result`
        Other     | - invalid_request_error - | no
        Other     | 418 - -
        Other     | 500 - - | tools param requires --jinja flag
        Other     | 302 - -
    ");
    // What was sent may be charged for.
    let (unsent, sent) = (FailureClass::Transient, FailureClass::Broken);
    for (error, class, said) in [
        (ApiError::cut(), &sent, "api.example ended before"),
        (
            ApiError::connection("dns error"),
            &unsent,
            "api.example:8443 cannot be reached",
        ),
        (
            ApiError::lost("reset"),
            &sent,
            "api.example:8443 cannot be reached, or the connection broke",
        ),
        (
            ApiError::garbled("no JSON"),
            &sent,
            "api.example sent an invalid response",
        ),
    ] {
        let failure = failure(&error, &WHO);
        assert_eq!(failure.class, *class);
        assert!(failure.sentence().contains(said), "{}", failure.text);
    }
}

#[test]
fn full_contexts_and_refusals_are_classified() {
    check(
        "
        Context | 400 invalid_request_error - | prompt is too long: 1000001 tokens > 1000000 maximum
        Context | 400 invalid_request_error context_length_exceeded | messages: too long
        Context | 400 INVALID_ARGUMENT - | The input token count (1048577) exceeds the maximum
        Context | 400 exceed_context_size_error - | the request exceeds the available context size
        Context | 400 - - | This model's maximum context length is 8192 tokens.
        Context | 413 request_too_large -
        Context | - invalid_request_error context_length_exceeded
        Refusal | 400 - content_policy_violation
        Refusal | - server_error bio_policy
    ",
    );
}

#[test]
fn messages_name_the_refused_feature() {
    check(
        r#"
        Refused(ForcedTool)           | 400 - - | tool_choice forces tool use is not compatible with this model
        Refused(ForcedWhileReasoning) | 400 - - | Thinking may not be enabled when tool_choice forces tool use.
        Refused(ForcedTool)           | 404 - 404 | No endpoints found that support the provided 'tool_choice' value
        Refused(ForcedTool)           | 422 - - | tool_choice: Input should be 'auto'
        Refused(Reasoning)            | 400 - - | `thinking.type` does not take this
        Refused(Reasoning)            | 400 - - | "qwen2.5:7b" does not support thinking
        Refused(Reasoning)            | 400 - unsupported_parameter | reasoning_effort: Unsupported parameter
        Refused(Reasoning)            | 400 - - | This model does not support the effort parameter.
        Refused(Reasoning)            | 400 - - | Unknown name "thinkingLevel" at 'generation_config'
        Refused(ReasoningOff)         | 400 - - | thinking.type.disabled is not supported for this model
        Refused(ReasoningOff)         | 400 - - | reasoning.effort: Unsupported value, 'none' is not supported with this model
        Refused(ReasoningOff)         | 400 - - | Budget 0 is invalid. This model only works in thinking mode.
        Refused(History)              | 400 - - | messages.1.content.0: Invalid `signature` in `thinking` block.
        Refused(History)              | 400 - - | `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified
        Refused(History)              | 400 INVALID_ARGUMENT - | Function call is missing a thought_signature
        Refused(History)              | 400 - - | Corrupted thought signature.
        Refused(History)              | 400 - invalid_encrypted_content | could not be verified
        Refused(History)              | 400 - - | Item 'rs_1' of type 'reasoning' was provided without its required following item.
        Refused(SystemMessage)        | 400 - - | role 'system' is not supported on this model
        Refused(SystemMessage)        | 400 - - | messages[0].role: unknown variant `developer`
        Refused(SystemMessage)        | 400 - - | Conversation roles must alternate user/assistant
        Refused(Strict)               | 400 - - | tools.0.custom.strict: Extra inputs are not permitted
        Refused(Strict)               | 400 - invalid_function_parameters | tools[0].function.parameters: Invalid schema for function 'x'
        Refused(Schema)               | 400 - - | response_format: This response_format type is unavailable now
        Refused(Schema)               | 400 - - | output_config.format: Extra inputs are not permitted
        Refused(Schema)               | 400 - - | Function calling with a response mime type: 'application/json' is unsupported
        Refused(StreamUsage)          | 400 - - | stream_options: Extra inputs are not permitted
        Refused(ParallelCalls)        | 400 - - | parallel_tool_calls is not supported
        Refused(ParallelCalls)        | 400 - - | tool_choice.disable_parallel_tool_use is not supported
        Refused(MaxCompletionTokens)  | 422 - - | max_completion_tokens: Extra inputs are not permitted
        Refused(CacheHint)            | 400 - - | prompt_cache_key: Unknown parameter
        Refused(CacheHint)            | 400 - - | cache_control: Extra inputs are not permitted
        Refused(Compaction)           | 400 - - | compaction: Extra inputs are not permitted
        Refused(Compaction)           | 400 - - | Invalid value: 'compaction_trigger'
        Refused(Compaction)           | 400 - - | input[7]: Unknown item type 'compaction_trigger'
        Refused(History)              | 400 - compaction_block_signature_invalid | the summary is not valid
        Refused(History)              | 400 - - | Invalid `signature` in `compaction` block
        Refused(History)              | 400 - - | messages.0.content.0: Input tag 'compaction' does not match any of the expected tags
        Refused(History)              | 400 - - | input[0].type: Invalid value: 'compaction'
        Other                         | 400 - compaction_nothing_to_summarize | compaction: there is nothing to summarize
        Overload                      | 529 - compaction_unavailable | try again
        Refused(ForcedTool)           | - invalid_request_error - | tool_choice is not supported
        Other                         | 400 - - | max_completion_tokens is too large: 32000
        Other                         | 400 - - | "tiny" does not support tools
        Transient                     | 500 - - | thinking crashed
        Auth                          | 401 - - | tool_choice
    "#,
    );
}

#[test]
fn errors_give_advice() {
    let table = "
        401 - - | invalid x-api-key => api.example rejected the API key from KEY (invalid x-api-key); set a key that has access to the model
        404 - model_not_found => api.example has no such model (model_not_found); choose a model from `aside model list`
        404 - - | no page => api.example does not offer this API below https://api.example:8443/v1 (no page); correct the provider's api, or its base_url, perhaps without the /v1
        402 - - => the account has no credit left, or reached its limit (HTTP status 402); add credit or raise the limit with the provider, or choose another model
        418 - - | I am a teapot => api.example answered 418: I am a teapot; check the request and the configuration
        429 - - after | slowly => api.example accepts no more requests for now (slowly); wait a while, then try again
        529 overloaded_error - | Overloaded => api.example is overloaded (Overloaded); wait a while, then try again
        400 - - | prompt is too long => the conversation no longer fits the model's context (prompt is too long); send `/compact`, start a new conversation, or choose a model with a larger context window
        - - refusal | No => the provider refuses this content (No); rephrase the message, or choose another model
        301 - - => api.example redirects to another address (HTTP status 301); set the provider's base_url to that address
        400 - - | `m` does not support tools => the model does not support tools (`m` does not support tools); choose one that does, or turn tools off with -T
        - aside.connection - | tcp connect error => api.example:8443 cannot be reached, or the connection broke (tcp connect error); check that the server is running and that you are online
    ";
    for [line] in rows(table) {
        let (line, expected) = line.split_once(" => ").unwrap();
        let expected = format!("anthropic/m: {expected}");
        assert_eq!(failure(&error(line), &WHO).sentence(), expected);
    }
    let above = ErrorContext {
        base: "https://api.example/",
        ..WHO
    };
    let said = failure(&error("404 - - | no page"), &above).sentence();
    assert!(
        said.ends_with("or its base_url, perhaps with /v1 at its end"),
        "{said}"
    );
    let nobodys = ErrorContext {
        key_source: "",
        ..WHO
    };
    assert_eq!(
        failure(&error("401 - - | who are you?"), &nobodys).sentence(),
        "anthropic/m: api.example requires an API key, and none is set (who are you?); set the provider's api_key_env"
    );
}

#[test]
fn server_messages_are_shortened_sanitized_and_redacted() {
    let long = ApiError {
        status: Some(400),
        message: format!("\u{1b}[31mred\r\n\u{202e}left {}", "x".repeat(1000)),
        ..ApiError::default()
    };
    let text = failure(&long, &WHO).sentence();
    assert!(text.contains("answered 400: [31mred left xxx"), "{text}");
    assert!(text.contains("xxx…; check"), "{text}");
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
            .sentence()
            .contains("(bad key [hidden] given)")
    );
}

#[test]
fn retry_after_is_passed_on() {
    let wait = |line| failure(&error(line), &WHO).retry_after;
    assert_eq!(
        wait("429 rate_limit_error - after"),
        Some(Duration::from_secs(17))
    );
    assert_eq!(wait("500 - -"), None);
}

#[test]
fn long_waiting_times_are_stated() {
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
            let said = failure(&limited, &WHO).sentence();
            assert!(said.ends_with(expected), "{said}");
        }
    }
}

#[test]
fn web_pages_are_detected() {
    let page = |begin: &[u8]| ApiError::page(begin).map(|is| is.is_err());
    assert_eq!(page(b"<!doctype html>"), Some(true));
    assert_eq!(page(b"\xef\xbb\xbf\r\n <html>"), Some(true));
    assert_eq!(page(b"data: <p>"), Some(false));
    assert_eq!(page(b"{\"a\": \"<p>\"}"), Some(false));
    assert_eq!(page(b" \n"), None);
}

#[test]
fn connection_errors_are_classified_and_name_the_proxy() {
    let proxy: http::Uri = "http://name:password@proxy.example:3128".parse().unwrap();
    for (error, class, says) in [
        (
            ApiError::certificate("invalid peer certificate: UnknownIssuer"),
            FailureClass::Other,
            "anthropic/m: the TLS certificate of api.example is not trusted (invalid peer certificate: \
             UnknownIssuer); set tls_roots to \"system\" if your system trusts it",
        ),
        (
            ApiError::page(b"<html>").unwrap().unwrap_err(),
            FailureClass::Auth,
            "anthropic/m: api.example answered with a web page instead of the API; correct the provider's base_url, \
             or log in to your network",
        ),
        (
            ApiError::proxy(&proxy, "Connection refused"),
            FailureClass::Transient,
            "anthropic/m: the proxy proxy.example:3128 cannot be reached, or cannot reach api.example (Connection \
             refused); check that it is running, or set HTTPS_PROXY or NO_PROXY",
        ),
        (
            ApiError::proxy_login(&proxy),
            FailureClass::Other,
            "anthropic/m: the proxy proxy.example:3128 requires a login; add the login to HTTPS_PROXY, as in \
             http://name:password@host",
        ),
        (
            ApiError::proxy_scheme(&proxy, "socks5"),
            FailureClass::Other,
            "anthropic/m: the scheme of the proxy proxy.example:3128 is not supported (socks5); set \
             HTTPS_PROXY to an http or https address",
        ),
    ] {
        let failure = failure(&error, &WHO);
        assert_eq!(failure.sentence(), says);
        assert_eq!(failure.class, class);
    }
}
