use http::{HeaderMap, HeaderName, HeaderValue};

use super::{LOCAL, model};
use crate::{api::WireApi, retry::ApiError, trial::sample};

fn error(status: u16, headers: &[(&'static str, &str)], body: &str) -> ApiError {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect();
    let (api, _) = model(LOCAL, "m");
    api.error(status, &headers, body.as_bytes())
}

/// Checks message, kind, code and field of an error with this body.
fn check(body: &str, message: &str, rest: [&str; 3]) {
    let found = error(400, &[], body);
    assert_eq!(found.status, Some(400));
    assert_eq!(found.message, message, "{body}");
    assert_eq!([&*found.kind, &*found.code, &*found.param], rest, "{body}");
}

#[test]
fn errors_are_parsed_in_every_form() {
    let sample = sample("openai_chat/12_error_openrouter_402.http").replace('\r', "");
    let (_, body) = sample.split_once("\n\n").unwrap();
    check(body, "Insufficient credits", ["", "402", ""]);
    check(
        r#"{"error":{"message":"Unknown parameter: 'x'.","type":"invalid_request_error","param":"x","code":null}}"#,
        "Unknown parameter: 'x'.",
        ["invalid_request_error", "", "x"],
    );
    check(
        r#"{"error":"no such model"}"#,
        "no such model",
        ["", "", ""],
    );
    check(
        r#"{"object":"error","message":"Too long","type":"BadRequestError","param":null,"code":400}"#,
        "Too long",
        ["BadRequestError", "400", ""],
    );
    let fault = r#"[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not permitted","input":true}]"#;
    let said = "stream_options.include_usage: Extra inputs are not permitted";
    let field = "stream_options.include_usage";
    check(
        &format!(
            r#"{{"object":"error","message":{{"detail":{fault}}},"type":"invalid_request_error","code":null}}"#
        ),
        said,
        ["invalid_request_error", "", field],
    );
    check(&format!(r#"{{"detail":{fault}}}"#), said, ["", "", field]);
    check(r#"{"detail":"Not Found"}"#, "Not Found", ["", "", ""]);
    check(
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"strict is unknown\",\"param\":\"strict\"}}","provider_name":"P"}}}"#,
        "Provider returned error: strict is unknown",
        ["", "400", "strict"],
    );
    check(
        "<html>\u{7}Bad\ngateway</html>",
        "<html>Badgateway</html>",
        ["", "", ""],
    );
    check(&"x".repeat(10_000), &"x".repeat(200), ["", "", ""]);
    check("{}", "{}", ["", "", ""]);
    check("", "", ["", "", ""]);
}
