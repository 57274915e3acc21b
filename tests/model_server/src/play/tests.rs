//! What holds for replies beyond the samples.

use serde_json::Value;

use super::*;

const BINDING: &str = "the conversation so far";

/// The data of each event.
pub(super) fn data(play: &ModelReply, api: ServedApi) -> Vec<Value> {
    let text = String::from_utf8(play.stream(api).to_vec()).expect("text");
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

#[test]
fn text_is_cut_anywhere_between_characters() {
    let cases: [(&str, &[&str]); 5] = [
        ("", &[]),
        ("a", &["a"]),
        ("äöü", &["ä", "ö", "ü"]),
        ("Looking there.", &["Looki", "ng th", "ere."]),
        (
            &"x".repeat(60),
            &[
                "xxxxxxxxxxxxxxxx",
                "xxxxxxxxxxxxxxxx",
                "xxxxxxxxxxxxxxxx",
                "xxxxxxxxxxxx",
            ],
        ),
    ];
    for (text, pieces) in cases {
        assert_eq!(PlayedPieces::from(text).iter().collect::<Vec<_>>(), pieces);
        assert_eq!(PlayedPieces::from(text).whole(), text);
    }
}

#[test]
fn a_malformed_call_has_arguments_that_are_no_json() {
    let play = ModelReply::new(BINDING)
        .call("call_1", "fs_grep", r#"{"path":"src"}"#)
        .finish(PlayedFinish::MalformedCall);
    let arguments = |api: ServedApi, path: &str| -> String {
        data(&play, api)
            .iter()
            .filter_map(|event| {
                event
                    .pointer(path)
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            })
            .collect()
    };
    for (api, path) in [
        (ServedApi::Anthropic, "/delta/partial_json"),
        (ServedApi::OpenaiResponses, "/arguments"),
        (
            ServedApi::OpenaiChat,
            "/choices/0/delta/tool_calls/0/function/arguments",
        ),
    ] {
        assert_eq!(arguments(api, path), r#"{"path":"s"#, "{}", api.name());
    }
    assert_eq!(
        play.stream(ServedApi::Ollama),
        "{\"error\":\"error parsing tool call\"}\n"
    );
}

#[test]
fn a_finish_exists_only_where_the_api_has_it() {
    let finishes = [
        (PlayedFinish::Stop, [true, true, true, true, true]),
        (PlayedFinish::MaxTokens, [true, true, true, true, true]),
        (PlayedFinish::MalformedCall, [true, true, true, true, true]),
        (
            PlayedFinish::Refusal("No.".into()),
            [true, true, true, false, false],
        ),
        (
            PlayedFinish::ContentFilter,
            [false, true, true, true, false],
        ),
        (PlayedFinish::ContextFull, [true, false, true, false, false]),
        (PlayedFinish::Pause, [true, false, false, true, false]),
    ];
    for (finish, expected) in finishes {
        let play = ModelReply::new(BINDING).text("Well").finish(finish.clone());
        for (api, exists) in ServedApi::ALL.into_iter().zip(expected) {
            assert_eq!(
                finish.exists_in(api),
                exists,
                "{finish:?} in {}",
                api.name()
            );
            if exists {
                assert!(!play.stream(api).is_empty());
            }
        }
    }
}

#[test]
fn a_signature_depends_on_the_api_the_conversation_and_the_place() {
    let one = signature(ServedApi::Anthropic, "a", 0);
    assert_eq!(one, signature(ServedApi::Anthropic, "a", 0));
    for other in [
        signature(ServedApi::Gemini, "a", 0),
        signature(ServedApi::Anthropic, "b", 0),
        signature(ServedApi::Anthropic, "a", 1),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn structured_output_is_json_as_text() {
    let json = serde_json::json!({"answer": "yes, \"certainly\""});
    let play = structured(&json);
    let text: String = data(&play, ServedApi::Gemini)
        .iter()
        .filter_map(|event| event["candidates"][0]["content"]["parts"][0]["text"].as_str())
        .collect();
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), json);
}
