mod history;

use std::time::Duration;

use aside_test_table::rows;
use aside_turn::{
    inquiry::{CallResult, Message},
    response::{Feature, Finish, Piece},
    rules::ToolChoice,
};
use http::HeaderMap;
use serde_json::{Value, json};

use super::super::{
    abilities::{Abilities, ForcedToolSupport, ReasoningKind, StatedAbilities},
    api::{ListedModel, WireApi},
    google::tests::{http_sample, lines},
    options::{ModelOptions, ReasoningEffort},
    retry::ApiError,
    trial::{ProviderTrial, grep_tool, json_sample, options, sample},
};
use super::{Ollama, show};

const CALLS: &str = "ollama/02_stream_thinking_tools.ndjson";

fn qwen() -> ModelOptions {
    let abilities = Abilities {
        context_window: Some(65_536),
        forced_tools: ForcedToolSupport::No,
        strict: false,
        reasoning: ReasoningKind::Switch,
        ..Abilities::default()
    };
    let mut options = options("ollama/qwen3.5:9b", abilities);
    options.max_output = Some(4_096);
    options.reasoning = Some(ReasoningEffort::Medium);
    options
}

fn trial(options: ModelOptions) -> ProviderTrial {
    let mut trial = ProviderTrial::new(options, "You are a coding agent.", vec![grep_tool()]);
    trial.user("Where?");
    trial
}

/// A sample as Aside sends it: without images, with the model's own sampling options and the server's own `keep_alive`,
/// and without silent truncation. The tool's schema has one more member.
fn request_sample(name: &str) -> Value {
    let mut body = json_sample(name);
    let members = body.as_object_mut().unwrap();
    members.shift_remove("keep_alive");
    members.insert("truncate".into(), false.into());
    members.insert("shift".into(), false.into());
    members.insert(
        "options".into(),
        json!({"num_ctx": 65_536, "num_predict": 4_096}),
    );
    let first = &mut body["messages"].as_array_mut().unwrap()[..];
    for message in first {
        message.as_object_mut().unwrap().shift_remove("images");
    }
    if let Some(tool) = body.pointer_mut("/tools/0/function/parameters") {
        tool["additionalProperties"] = false.into();
    }
    body
}

fn line(message: Value) -> String {
    json!({"created_at": "2026-11-21T20:00:00.5Z", "message": message, "done": false}).to_string()
        + "\n"
}

fn done(reason: &str) -> String {
    json!({"message": {"content": ""}, "done": true, "done_reason": reason}).to_string() + "\n"
}

#[test]
fn requests_match_the_samples() {
    let mut trial = trial(qwen());
    assert_eq!(
        trial.body(&Ollama),
        request_sample("ollama/01_request.json")
    );
    // The sample has only the first of the calls, and no system text.
    trial.head = std::sync::Arc::new(super::super::Head {
        system: String::new(),
        tools: vec![grep_tool()],
    });
    let body = sample(CALLS);
    let first: String = body
        .split_inclusive('\n')
        .filter(|line| !line.contains("call_9m1"))
        .collect();
    trial.response(&Ollama, first.as_bytes());
    trial.results(&[(0, "error.rs:606", false)]);
    let mut expected = request_sample("ollama/03_request_tool_results.json");
    // The sample shows only the history.
    expected["stream"] = true.into();
    expected["think"] = true.into();
    assert_eq!(trial.body(&Ollama), expected);
}

#[test]
fn structured_answer_requests_match_the_sample() {
    let mut trial = ProviderTrial::new(qwen(), "", Vec::new());
    trial.reasoning = false;
    trial.schema = Some(json_sample("ollama/05_request_structured.json")["format"].clone());
    trial.user("follow symlinks? Reply as JSON.");
    assert_eq!(
        trial.body(&Ollama),
        request_sample("ollama/05_request_structured.json")
    );
    trial.schema = Some(json!({"properties": {"a": {"const": 1}}}));
    let value = &trial.body(&Ollama)["format"]["properties"]["a"];
    assert_eq!(value["enum"], json!([1]));
    assert_eq!(value["description"], "(one of [1])");
    trial.without.insert(Feature::Schema);
    assert_eq!(trial.body(&Ollama).get("format"), None);
}

#[test]
fn reasoning_option_of_requests() {
    // Columns of `ProviderTrial::reasons`, and `think` in the request.
    let table = r#"
        switch | yes | low medium high | -    | yes | -             | null
        switch | yes | low medium high | low  | yes | -             | true
        switch | yes | low medium high | off  | no  | -             | false
        switch | yes | low medium high | -    | no  | -             | false
        switch | no  | low medium high | off  | yes | -             | true
        switch | yes | low medium high | -    | no  | reasoning_off | null
        switch | yes | low medium high | -    | yes | reasoning     | null
        effort | no  | low medium high | -    | yes | -             | null
        effort | no  | low medium high | off  | yes | -             | "low"
        effort | no  | low medium high | high | yes | -             | "high"
        effort | no  | low medium high | max  | yes | -             | "high"
        effort | yes | low medium high | high | no  | -             | false
        none   | yes | low medium high | high | yes | -             | null
    "#;
    for [kind, off, efforts, effort, asked, refused, expected] in rows(table) {
        let mut trial = trial(qwen());
        trial.reasons([kind, off, efforts, effort, asked, refused]);
        let found = trial.body(&Ollama)["think"].to_string();
        assert_eq!(found, expected, "{kind} {off} {effort} {asked} {refused}");
    }
}

#[test]
fn requests_that_forbid_calls_have_no_tools() {
    let mut trial = trial(qwen());
    trial.tool_choice = ToolChoice::None;
    assert_eq!(trial.body(&Ollama).get("tools"), None);
    // The API cannot force a call.
    trial.tool_choice = ToolChoice::Required;
    let body = trial.body(&Ollama);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body.get("tool_choice"), None);
    trial.options.abilities.context_window = None;
    assert_eq!(trial.body(&Ollama)["options"]["num_ctx"], 32_768);
}

#[test]
fn responses_are_decoded() {
    let table = [
        (
            CALLS,
            "reasoning | Need |  to search. .\n\
             call call_8k2 fs_grep | {\"path\":\"crates/a\",\"pattern\":\"x\"} .\n\
             call call_9m1 fs_grep | {\"path\":\"crates/b\",\"pattern\":\"x\"} .\n\
             = ToolUse\n58 + 0 > 39",
        ),
        (
            "ollama/06_stream_length.ndjson",
            "text | cut …\n= MaxTokens\n4096 + 0 > 10",
        ),
    ];
    let trial = trial(qwen());
    for (name, expected) in table {
        let body = sample(name);
        let pieces = trial.decode(&Ollama, body.as_bytes()).unwrap();
        assert_eq!(lines(&pieces), expected, "{name}");
        trial.check_cuts(&Ollama, body.as_bytes());
    }
}

#[test]
fn unusual_lines_are_decoded() {
    let two = json!({"content": "Hm.", "tool_calls": [
        {"function": {"name": "a", "arguments": {"b": 1.0, "a": 2}}},
        {"id": "", "function": {"name": "b", "arguments": null}},
    ]});
    let table = [
        // Several calls on a line, after text and without ids; numbers keep their spelling.
        (
            line(two) + &line(json!({"content": "So."})) + &done("stop"),
            "text | Hm. .\n\
             call aside-20261121T2000005Z-0 a | {\"b\":1.0,\"a\":2} .\n\
             call aside-20261121T2000005Z-1 b | {} .\n\
             text | So. .\n= ToolUse\n0 + 0 > 0",
        ),
        (
            line(json!({"content": "a", "thinking": ""})) + "{\"new\":{}}\n" + &done("load"),
            "text | a .\n= Other(\"load\")\n0 + 0 > 0",
        ),
        (done("stop"), "= Stop\n0 + 0 > 0"),
        ("{\"done\":true}".to_owned(), "= Stop\n0 + 0 > 0"),
        // The context is full; the output limit was not reached.
        (
            line(json!({"content": "a"}))
                + r#"{"done":true,"done_reason":"length","prompt_eval_count":65000,"eval_count":536}"#,
            "text | a …\n= ContextFull\n65000 + 0 > 536",
        ),
        (
            line(json!({"thinking": "a"}))
                + r#"{"error":"error parsing tool call: raw='{', err=unexpected end"}"#,
            "reasoning | a .\n= MalformedCall\n0 + 0 > 0",
        ),
    ];
    let trial = trial(qwen());
    for (body, expected) in table {
        let pieces = trial.decode(&Ollama, body.as_bytes()).unwrap();
        assert_eq!(lines(&pieces), expected);
        trial.check_cuts(&Ollama, body.as_bytes());
    }
}

#[test]
fn errors_are_parsed() {
    let trial = trial(qwen());
    let body = sample("ollama/04_stream_error.ndjson");
    let error = trial.decode(&Ollama, body.as_bytes()).unwrap_err();
    assert_eq!(
        error.message,
        "an error was encountered while running the model"
    );
    assert_eq!(error.status, None);
    trial.check_cuts(&Ollama, body.as_bytes());
    let (status, mut headers, body) = http_sample("ollama/07_error_404.http");
    headers.insert("retry-after", "3".parse().unwrap());
    let error = Ollama.error(status, &headers, body.as_bytes());
    assert_eq!(
        (error.status, error.message.as_str()),
        (Some(404), "model 'nope' not found")
    );
    assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
    for (body, expected) in [
        (r#"{"error":{"message":"No."}}"#, "No."),
        (r#"{"error":7}"#, "7"),
        (r#"{"error":null}"#, r#"{"error":null}"#),
        ("404 page not found\n", "404 page not found"),
    ] {
        let error = Ollama.error(404, &HeaderMap::new(), body.as_bytes());
        assert_eq!(error.message, expected);
    }
    let cut = ApiError::cut();
    let begun = line(json!({"content": "a"}));
    assert_eq!(trial.decode(&Ollama, begun.as_bytes()).unwrap_err(), cut);
    let garbled = format!("{begun}<html>\n{begun}");
    assert!(
        trial
            .decode(&Ollama, garbled.as_bytes())
            .unwrap_err()
            .is_garbled()
    );
}

#[test]
fn model_lists_and_descriptions_are_parsed() {
    let told = StatedAbilities {
        tools: Some(true),
        forced_tools: Some(ForcedToolSupport::No),
        strict: Some(false),
        images: Some(true),
        reasoning: Some(ReasoningKind::Switch),
        ..StatedAbilities::default()
    };
    let listed = ListedModel {
        model: "qwen3.5:9b".into(),
        abilities: told.clone(),
    };
    let found = Ollama.models(&json_sample("ollama/08_tags.json"));
    assert_eq!(found, Ok((vec![listed], None)));
    let described = StatedAbilities {
        context_window: Some(262_144),
        ..told
    };
    assert_eq!(show(&json_sample("ollama/09_show.json")), Ok(described));
    let other = json!({"models": [
        {"name": "embed", "capabilities": ["embedding"]},
        {"name": "plain", "capabilities": ["completion"]},
        {"name": "old"},
    ]});
    let (models, _) = Ollama.models(&other).unwrap();
    let said: Vec<_> = models
        .iter()
        .map(|listed| {
            (
                listed.model.as_str(),
                listed.abilities.tools,
                listed.abilities.reasoning,
            )
        })
        .collect();
    let plain = ("plain", Some(false), Some(ReasoningKind::None));
    assert_eq!(said, [plain, ("old", None, None)]);
    assert!(Ollama.models(&json!({"error": "no"})).is_err());
    assert_eq!(show(&json!({})).map(|told| told.context_window), Ok(None));
    assert!(show(&json!([])).is_err());
}

#[test]
fn empty_items_are_omitted() {
    let mut trial = ProviderTrial::new(qwen(), "", vec![grep_tool(), grep_tool()]);
    trial
        .user("")
        .user("Go.")
        .response(&Ollama, done("stop").as_bytes());
    trial.user("Well?");
    let body = trial.body(&Ollama);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    let user = |text: &str| json!({"role": "user", "content": text});
    assert_eq!(body["messages"], json!([user("Go."), user("Well?")]));
    trial.options.abilities.tools = false;
    assert_eq!(
        ProviderTrial::new(trial.options, "", vec![grep_tool()])
            .body(&Ollama)
            .get("tools"),
        None
    );
}

#[test]
fn finish_is_reported_once() {
    let trial = trial(qwen());
    let body = done("stop") + &line(json!({"content": "late"})) + &done("stop");
    let pieces = trial.decode(&Ollama, body.as_bytes()).unwrap();
    let ends = pieces
        .iter()
        .filter(|piece| matches!(piece, Piece::Finish(_)));
    assert_eq!(ends.count(), 1);
    assert_eq!(pieces.last(), Some(&Piece::Finish(Finish::Stop)));
}
