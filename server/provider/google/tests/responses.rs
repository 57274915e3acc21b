use super::*;

#[test]
fn responses_are_decoded() {
    let table = [
        (
            CALLS,
            "reasoning | **Searching**\n\n .\n\
             call fc-1 fs_grep | {\"path\":\"crates/a\",\"pattern\":\"retry_after\"} . \
             {\"functionCall\":{\"id\":\"fc-1\",\"name\":\"fs_grep\",\"args\":{\"path\":\"crates/a\",\
             \"pattern\":\"retry_after\"}},\"thoughtSignature\":\"CiQBexampleSignature1==\"}\n\
             call fc-2 fs_grep | {\"path\":\"crates/b\",\"pattern\":\"retry_after\"} .\n\
             = ToolUse\n104 + 4096 > 104",
        ),
        (
            SIGNED,
            "text | It is in  | error.rs. .\n\
             opaque . {\"text\":\"\",\"thoughtSignature\":\"CiQBexampleSignature2==\"}\n\
             = Stop\n104 + 4096 > 60",
        ),
        (
            "gemini/06_stream_prompt_blocked.sse",
            "= ContentFilter\n30 + 0 > 0",
        ),
        (
            "gemini/07_stream_malformed_call.sse",
            "= MalformedCall\n30 + 0 > 0",
        ),
        (
            "gemini/08_stream_continuation.sse",
            "text | long output... .\n= Pause\n104 + 4096 > 60",
        ),
    ];
    let trial = trial(argon());
    for (name, expected) in table {
        let body = sample(name);
        let pieces = trial.decode(&Google, body.as_bytes()).unwrap();
        assert_eq!(lines(&pieces), expected, "{name}");
        trial.check_cuts(&Google, body.as_bytes());
    }
}

#[test]
fn unusual_parts_are_decoded() {
    let table = [
        // Signed text is a separate item, not joined with the text around it.
        (
            json!([
                {"text": "a"}, {"text": "b", "thoughtSignature": "s"}, {"text": "c"},
                {"text": "t", "thought": true, "thoughtSignature": "s"}, {"text": ""},
            ]),
            "STOP",
            "text | a .\n\
             text | b . {\"text\":\"b\",\"thoughtSignature\":\"s\"}\n\
             text | c .\n\
             reasoning | t . {\"text\":\"t\",\"thought\":true,\"thoughtSignature\":\"s\"}\n\
             = Stop\n0 + 0 > 0",
        ),
        // Calls without id or arguments.
        (
            json!([
                {"functionCall": {"name": "a"}}, {"functionCall": {"id": "", "name": "_1b", "args": null}},
            ]),
            "STOP",
            "call aside-r7-0 a | {} . {\"functionCall\":{\"name\":\"a\"}}\n\
             call aside-r7-1 1b | {} . {\"functionCall\":{\"id\":\"\",\"name\":\"_1b\",\"args\":null}}\n\
             = ToolUse\n0 + 0 > 0",
        ),
        // Unknown parts are kept; empty ones are not.
        (
            json!([{"executableCode": {"code": "1"}}, {}, {"text": 7}]),
            "STOP",
            "opaque . {\"executableCode\":{\"code\":\"1\"}}\n\
             opaque . {\"text\":7}\n\
             = Stop\n0 + 0 > 0",
        ),
        (
            json!([{"text": "cut"}]),
            "MAX_TOKENS",
            "text | cut …\n= MaxTokens\n0 + 0 > 0",
        ),
    ];
    let trial = trial(argon());
    for (list, reason, expected) in table {
        let body = parts(list, reason);
        let pieces = trial.decode(&Google, body.as_bytes()).unwrap();
        assert_eq!(lines(&pieces), expected);
        trial.check_cuts(&Google, body.as_bytes());
    }
}

#[test]
fn finish_reasons_are_mapped() {
    let trial = trial(argon());
    for (reason, expected) in [
        ("STOP", Finish::Stop),
        ("SAFETY", Finish::ContentFilter),
        ("RECITATION", Finish::ContentFilter),
        ("UNEXPECTED_TOOL_CALL", Finish::MalformedCall),
        ("MISSING_THOUGHT_SIGNATURE", Finish::MalformedCall),
        ("ESCALATION", Finish::Other("ESCALATION".into())),
    ] {
        let body = parts(json!([{"text": "a"}]), reason);
        let pieces = trial.decode(&Google, body.as_bytes()).unwrap();
        assert_eq!(pieces.last(), Some(&Piece::Finish(expected)));
    }
}

#[test]
fn cost_is_computed() {
    let mut trial = trial(argon());
    trial.options.abilities.prices = Some(Prices {
        rates: Rates {
            input: 2.0,
            output: 10.0,
            cache_read: Some(0.5),
            ..Rates::default()
        },
        ..Prices::default()
    });
    let pieces = trial.decode(&Google, sample(CALLS).as_bytes()).unwrap();
    let cost = pieces.iter().rev().find_map(|piece| match piece {
        Piece::Usage(usage) => usage.cost,
        _ => None,
    });
    let expected = (104.0 * 2.0 + 4_096.0 * 0.5 + 104.0 * 10.0) / 1e6;
    assert!((cost.unwrap() - expected).abs() < 1e-12, "{cost:?}");
}

#[test]
fn errors_in_a_response_are_reported() {
    let begun = chunks(&[json!({"candidates": [{"content": {"parts": [{"text": "a"}]}}]})]);
    let error = json!({"error": {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}});
    let trial = trial(argon());
    for text in [
        format!("{begun}{error:#}\n"),
        format!("{begun}[{error:#}]\n"),
        format!("{begun}{error}"),
        format!("{begun}data: {error}\n\n"),
        format!("{begun}data: [{error}]\n\n"),
    ] {
        let found = trial.decode(&Google, text.as_bytes()).unwrap_err();
        assert_eq!(
            (found.kind.as_str(), found.message.as_str()),
            ("UNAVAILABLE", "Busy."),
            "{text}"
        );
        trial.check_cuts(&Google, text.as_bytes());
    }
    let cut = ApiError::cut();
    assert_eq!(trial.decode(&Google, begun.as_bytes()).unwrap_err(), cut);
    let garbled = format!("{begun}data: <html>\n\n{begun}");
    assert!(
        trial
            .decode(&Google, garbled.as_bytes())
            .unwrap_err()
            .is_garbled()
    );
}

#[test]
fn errors_are_parsed() {
    let (status, headers, body) = http_sample("gemini/11_error_429.http");
    let error = Google.error(status, &headers, body.as_bytes());
    assert_eq!(
        (error.status, error.kind.as_str()),
        (Some(429), "RESOURCE_EXHAUSTED")
    );
    assert_eq!(error.retry_after, Some(Duration::from_secs(38)));
    let (status, headers, body) = http_sample("gemini/12_error_400_missing_signature.http");
    let error = Google.error(status, &headers, body.as_bytes());
    assert_eq!(
        (error.status, error.kind.as_str()),
        (Some(400), "INVALID_ARGUMENT")
    );
    assert!(error.message.contains("thought_signature"), "{error:?}");
    let details = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
            {"quotaId": "RequestsPerMinute"}, {"quotaId": "RequestsPerDay"}, {"quotaId": "TokensPerMinute"},
        ]},
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED"},
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "contents[0]"}]},
    ]}});
    let error = Google.error(429, &headers, details.to_string().as_bytes());
    assert_eq!(
        (error.code.as_str(), error.param.as_str()),
        ("RequestsPerDay", "contents[0]")
    );
    let details = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
    ]}});
    let error = Google.error(400, &headers, details.to_string().as_bytes());
    assert_eq!(error.code, "API_KEY_INVALID");
    let error = Google.error(502, &headers, b"<html>\r\nBad Gateway");
    assert_eq!(
        (error.status, error.message.as_str()),
        (Some(502), "<html>Bad Gateway")
    );
}

#[test]
fn model_lists_are_parsed() {
    let (models, next) = Google
        .models(&json_sample("gemini/13_models_list.json"))
        .unwrap();
    assert_eq!(next.as_deref(), Some("tok"));
    let [argon] = models.as_slice() else {
        panic!("{models:?}")
    };
    assert_eq!(argon.model, "gemini-4-argon");
    assert_eq!(argon.abilities.context_window, Some(1_048_576));
    assert_eq!(argon.abilities.reasoning, None);
    assert_eq!(
        Google.models_path(Some("a b&c")),
        "/v1beta/models?pageSize=1000&pageToken=a+b%26c"
    );
    let other = json!({"models": [
        {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/plain", "thinking": false},
    ]});
    let (models, next) = Google.models(&other).unwrap();
    let plain = models.first().unwrap();
    assert_eq!((models.len(), next), (1, None));
    assert_eq!(plain.abilities.reasoning, Some(ReasoningKind::None));
    assert!(Google.models(&json!({"error": {}})).is_err());
}
