use std::time::Duration;

use http::HeaderMap;
use serde_json::{Value, json};

use super::super::{
    ToolSpec,
    abilities::{Abilities, Forced, Prices, ReasoningKind},
    api::Api,
    options::{Effort, Options},
    trial::{Trial, answer_tool, grep_tool, json_sample, options, sample},
};
use super::Google;
use crate::turn::{
    inquiry::{CallResult, Message},
    response::{Feature, Finish, Item, Kind, Piece, Usage},
    rules::ToolChoice,
};

/// Pieces as text, a line an item.
pub(in super::super) fn lines(pieces: &[Piece]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut usage = Usage::default();
    for piece in pieces {
        match piece {
            Piece::Open { slot, kind } => {
                assert_eq!(*slot as usize, lines.len(), "slots are dense");
                lines.push(match kind {
                    Kind::ToolCall { id, name } => format!("call {id} {name}"),
                    kind => format!("{kind:?}").to_lowercase(),
                });
            }
            Piece::Delta { slot, text } => lines[*slot as usize] += &format!(" | {text}"),
            Piece::Close {
                slot,
                opaque,
                complete,
            } => {
                let line = &mut lines[*slot as usize];
                *line += if *complete { " ." } else { " …" };
                if let Some(opaque) = opaque {
                    *line += &format!(" {opaque}");
                }
            }
            Piece::Usage(newer) => usage.merge(newer),
            Piece::KeepAlive => {}
            Piece::Finish(finish) => lines.push(format!("= {finish:?}")),
        }
    }
    let Usage {
        input,
        cache_read,
        output,
        ..
    } = usage;
    lines.push(format!("{input} + {cache_read} > {output}"));
    lines.join("\n")
}

fn abilities() -> Abilities {
    let words = ["MINIMAL", "LOW", "MEDIUM", "HIGH"];
    Abilities {
        reasoning: ReasoningKind::Effort,
        reasoning_off: false,
        efforts: words.map(str::to_owned).to_vec(),
        ..Abilities::default()
    }
}

fn argon() -> Options {
    let mut options = options("google/gemini-4-argon", abilities());
    options.reasoning = Some(Effort::Low);
    options
}

fn trial(options: Options) -> Trial {
    let mut trial = Trial::new(options, "You are a coding agent.", vec![grep_tool()]);
    trial.user("Where is retry_after parsed?");
    trial
}

/// A sample of a request as this program sends it: it attaches no images, and lets calls be checked against their
/// schema, which the API's documentation recommends.
fn request_sample(name: &str) -> Value {
    let mut body = json_sample(name);
    let parts = body["contents"][0]["parts"].as_array_mut().unwrap();
    parts.retain(|part| part.get("inlineData").is_none());
    let mode = &mut body["toolConfig"]["functionCallingConfig"]["mode"];
    if mode == "AUTO" {
        *mode = "VALIDATED".into();
    }
    body
}

fn chunks(chunks: &[Value]) -> String {
    chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect()
}

fn parts(parts: Value, reason: &str) -> String {
    let content = json!({"role": "model", "parts": parts});
    let candidate = json!({"content": content, "finishReason": reason});
    chunks(&[json!({"candidates": [candidate], "responseId": "r7"})])
}

#[test]
fn requests_are_as_the_samples_have_them() {
    let mut trial = trial(argon());
    assert_eq!(
        trial.body(&Google),
        request_sample("gemini/02_request_first_turn.json")
    );
    trial.response(&Google, sample(CALLS).as_bytes());
    trial.results(&[(0, "error.rs:606", false), (1, "no such directory", true)]);
    assert_eq!(
        trial.body(&Google),
        request_sample("gemini/04_request_tool_results.json")
    );
}

const CALLS: &str = "gemini/03_stream_thought_and_parallel_calls.sse";
const SIGNED: &str = "gemini/05_stream_text_signature_on_empty_part.sse";

#[test]
fn a_structured_answer_is_asked_for_as_in_the_sample() {
    let mut trial = trial(options("google/gemini-4-argon", Abilities::default()));
    trial.options.max_output = Some(1_000);
    trial.schema = Some(json!({
        "type": "object",
        "properties": {
            "inquiry_id": {"type": "string", "const": "inq_7"},
            "answer": {"type": "boolean"},
        },
        "required": ["inquiry_id", "answer"],
    }));
    assert_eq!(
        trial.body(&Google),
        request_sample("gemini/09_request_structured.json")
    );
    trial.without.insert(Feature::Schema);
    let body = trial.body(&Google);
    assert_eq!(body["generationConfig"], json!({"maxOutputTokens": 1_000}));
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"],
        json!({"mode": "NONE"})
    );
}

#[test]
fn a_tool_is_forced_as_in_the_sample() {
    let mut answer = answer_tool();
    // The sample has a shorter text.
    answer.description = "Answer a question a tool asked.".into();
    let mut trial = Trial::new(
        argon(),
        "You are a coding agent.",
        vec![grep_tool(), answer],
    );
    trial.user("Where is retry_after parsed?");
    trial.tool_choice = ToolChoice::Name("answer_inquiry".into());
    assert_eq!(
        trial.body(&Google),
        request_sample("gemini/10_request_forced_tool.json")
    );
}

#[test]
fn which_calls_there_may_be() {
    let name = || ToolChoice::Name("fs_grep".into());
    let forced = json!({"mode": "ANY", "allowedFunctionNames": ["fs_grep"]});
    let mode = |mode: &str| json!({ "mode": mode });
    let refused = Some(Feature::ForcedTool);
    let table = [
        (ToolChoice::Auto, Forced::Yes, None, mode("VALIDATED")),
        (
            ToolChoice::Auto,
            Forced::Yes,
            Some(Feature::Strict),
            mode("AUTO"),
        ),
        (ToolChoice::None, Forced::Yes, None, mode("NONE")),
        (ToolChoice::Required, Forced::Yes, None, mode("ANY")),
        (ToolChoice::Required, Forced::No, None, mode("VALIDATED")),
        (
            ToolChoice::Required,
            Forced::Yes,
            refused,
            mode("VALIDATED"),
        ),
        (name(), Forced::Yes, None, forced),
        (name(), Forced::No, None, mode("VALIDATED")),
    ];
    for (choice, forced_tools, without, expected) in table {
        let mut trial = trial(argon());
        trial.options.abilities.forced_tools = forced_tools;
        trial.without.extend(without);
        trial.tool_choice = choice.clone();
        let body = trial.body(&Google);
        assert_eq!(
            body["toolConfig"]["functionCallingConfig"], expected,
            "{choice:?}"
        );
        assert_eq!(
            body["tools"][0]["functionDeclarations"][0]["name"],
            "fs_grep"
        );
    }
    let mut trial = trial(argon());
    trial.options.abilities.tools = false;
    let body = trial.body(&Google);
    assert!(
        body.get("tools").is_none() && body.get("toolConfig").is_none(),
        "{body}"
    );
}

#[test]
fn how_much_it_reasons() {
    use Effort::{High, Low, Max, Medium, Off};
    use ReasoningKind as As;
    let level = |level: &str| json!({"includeThoughts": true, "thinkingLevel": level});
    let budget = |tokens: u64| json!({"includeThoughts": true, "thinkingBudget": tokens});
    let shown = || json!({"includeThoughts": true});
    let least = || json!({"thinkingLevel": "MINIMAL"});
    let off = || json!({"thinkingBudget": 0});
    // How, whether it can be turned off, how much, whether it is asked to, what it refused.
    let table = [
        (As::Effort, false, None, true, None, shown()),
        (As::Effort, false, Some(Off), true, None, level("MINIMAL")),
        (As::Effort, false, Some(Low), true, None, level("LOW")),
        (As::Effort, false, Some(Medium), true, None, level("MEDIUM")),
        (As::Effort, false, Some(High), true, None, level("HIGH")),
        (As::Effort, false, Some(Max), true, None, level("HIGH")),
        (As::Effort, false, Some(High), false, None, level("HIGH")),
        (As::Effort, true, Some(High), false, None, least()),
        (
            As::Effort,
            true,
            Some(High),
            false,
            Some(Feature::ReasoningOff),
            level("HIGH"),
        ),
        (
            As::Effort,
            true,
            Some(High),
            true,
            Some(Feature::Reasoning),
            Value::Null,
        ),
        (As::Budget, true, None, false, None, off()),
        (As::Budget, true, Some(Off), false, None, off()),
        (As::Budget, true, Some(Low), true, None, budget(2_048)),
        (As::Budget, true, Some(Medium), true, None, budget(8_192)),
        (As::Budget, true, Some(Max), true, None, budget(12_000)),
        (As::Budget, true, Some(Max), false, None, off()),
        (As::Budget, false, Some(Off), false, None, budget(512)),
        (As::Budget, false, None, false, None, shown()),
        (As::Switch, true, Some(High), true, None, shown()),
        (As::Switch, true, Some(High), false, None, off()),
        (As::None, true, Some(High), true, None, Value::Null),
    ];
    for (kind, can_be_off, effort, asked, without, expected) in table {
        let mut trial = trial(argon());
        trial.options.abilities.reasoning = kind;
        trial.options.abilities.reasoning_off = can_be_off;
        trial.options.reasoning = effort;
        trial.reasoning = asked;
        trial.without.extend(without);
        let body = trial.body(&Google);
        let found = &body["generationConfig"]["thinkingConfig"];
        assert_eq!(*found, expected, "{kind:?} {can_be_off} {effort:?} {asked}");
    }
}

#[test]
fn responses_are_read() {
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
fn parts_that_are_not_in_the_samples() {
    let table = [
        // Signed text is an item of its own; what is said before and after is not joined with it.
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
        // Calls without an id, and without arguments.
        (
            json!([
                {"functionCall": {"name": "a"}}, {"functionCall": {"id": "", "name": "_1b", "args": null}},
            ]),
            "STOP",
            "call aside-r7-0 a | {} . {\"functionCall\":{\"name\":\"a\"}}\n\
             call aside-r7-1 1b | {} . {\"functionCall\":{\"id\":\"\",\"name\":\"_1b\",\"args\":null}}\n\
             = ToolUse\n0 + 0 > 0",
        ),
        // What this program has no word for is kept; what says nothing is not.
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
fn why_a_response_ended() {
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
fn the_price_is_reckoned() {
    let mut trial = trial(argon());
    trial.options.abilities.prices = Some(Prices {
        input: 2.0,
        output: 10.0,
        cache_read: 0.5,
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
fn an_error_in_the_middle_of_a_response() {
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
    let cut = super::super::retry::ApiError::cut();
    assert_eq!(trial.decode(&Google, begun.as_bytes()).unwrap_err(), cut);
    let garbled = format!("{begun}data: <html>\n\n{begun}");
    assert!(
        trial
            .decode(&Google, garbled.as_bytes())
            .unwrap_err()
            .is_garbled()
    );
}

/// Status and body of a sample of an answer.
pub(in super::super) fn http_sample(name: &str) -> (u16, HeaderMap, String) {
    let text = sample(name).replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, HeaderMap::new(), body.to_owned())
}

#[test]
fn errors_are_read() {
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
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}]},
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "contents[0]"}]},
    ]}});
    let error = Google.error(429, &headers, details.to_string().as_bytes());
    assert_eq!(
        (error.code.as_str(), error.param.as_str()),
        ("RequestsPerDay", "contents[0]")
    );
    let error = Google.error(502, &headers, b"<html>\r\nBad Gateway");
    assert_eq!(
        (error.status, error.message.as_str()),
        (Some(502), "<html>Bad Gateway")
    );
}

#[test]
fn models_are_listed() {
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

/// What comes back to the provider is what it gave, byte for byte.
#[test]
fn signed_parts_come_back_as_they_were() {
    let odd =
        r#"{"text" : "b\u00e9", "thoughtSignature":"s/+=", "partMetadata": {"z":1.0e2,"a":[ ]}}"#;
    let stream = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"a\"}},{odd},{{\"text\":\"c\"}}]}},\
         \"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let mut trial = trial(argon());
    trial.response(&Google, stream.as_bytes()).user("And?");
    let bytes = String::from_utf8(trial.bytes(&Google)).unwrap();
    let expected = format!(r#"{{"role":"model","parts":[{{"text":"a"}},{odd},{{"text":"c"}}]}}"#);
    assert!(bytes.contains(&expected), "{bytes}");
}

#[test]
fn another_model_gets_neither_reasoning_nor_signatures() {
    let mut trial = trial(argon());
    trial.response(&Google, sample(CALLS).as_bytes());
    trial.results(&[(0, "x", false), (1, "y", false)]);
    trial.response(&Google, sample(SIGNED).as_bytes());
    trial.transcript.change();
    trial.user("And?");
    let call = |id: &str, path: &str| json!({"id": id, "name": "fs_grep", "args": {"path": path, "pattern": "retry_after"}});
    let result = |id: &str, what: &str| json!({"functionResponse": {"id": id, "name": "fs_grep", "response": {"output": what}}});
    let expected = json!([
        {"role": "user", "parts": [{"text": "Where is retry_after parsed?"}]},
        {"role": "model", "parts": [
            {"functionCall": call("fc-1", "crates/a"), "thoughtSignature": "skip_thought_signature_validator"},
            {"functionCall": call("fc-2", "crates/b")},
        ]},
        {"role": "user", "parts": [result("fc-1", "x"), result("fc-2", "y")]},
        {"role": "model", "parts": [{"text": "It is in error.rs."}]},
        {"role": "user", "parts": [{"text": "And?"}]},
    ]);
    assert_eq!(trial.body(&Google)["contents"], expected);
}

#[test]
fn an_id_that_is_ours_is_not_sent() {
    let calls = parts(
        json!([{"functionCall": {"name": "fs_grep", "args": {}}}]),
        "STOP",
    );
    let expected = |call: Value| {
        json!([
            {"role": "user", "parts": [{"text": "Where is retry_after parsed?"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [{"functionResponse": {"name": "fs_grep", "response": {"output": "x"}}}]},
        ])
    };
    let mut trial = trial(argon());
    trial
        .response(&Google, calls.as_bytes())
        .results(&[(0, "x", false)]);
    let call = json!({"functionCall": {"name": "fs_grep", "args": {}}});
    assert_eq!(trial.body(&Google)["contents"], expected(call.clone()));
    trial.transcript.change();
    let mut signed = call;
    signed["thoughtSignature"] = "skip_thought_signature_validator".into();
    assert_eq!(trial.body(&Google)["contents"], expected(signed));
}

#[test]
fn a_response_that_paused_goes_on_by_its_token() {
    let paused = json!({"candidates": [{
        "content": {"parts": [{"text": "long"}]}, "finishReason": "CONTINUATION", "continuationToken": "t/1\"",
    }]});
    let mut trial = trial(argon());
    trial
        .response(&Google, chunks(&[paused]).as_bytes())
        .request();
    let body = trial.body(&Google);
    assert_eq!(body["continuationToken"], "t/1\"");
    assert_eq!(
        body["contents"][1],
        json!({"role": "model", "parts": [{"text": "long"}]})
    );
    trial.response(
        &Google,
        parts(json!([{"text": " output"}]), "STOP").as_bytes(),
    );
    trial.user("And?");
    let body = trial.body(&Google);
    assert!(body.get("continuationToken").is_none(), "{body}");
    assert_eq!(
        body["contents"][2],
        json!({"role": "model", "parts": [{"text": " output"}]})
    );
}

#[test]
fn results_first_then_what_is_said_in_a_content_of_its_own() {
    let mut trial = trial(argon());
    trial.response(&Google, sample(CALLS).as_bytes());
    trial.directive("Hurry.").steer("Also b.");
    trial.results(&[(1, "y", false), (0, "", true)]);
    let body = trial.body(&Google);
    let result = |id: &str, response: Value| json!({"functionResponse": {"id": id, "name": "fs_grep", "response": response}});
    assert_eq!(
        body["contents"][2]["parts"],
        json!([
            result("fc-1", json!({"error": ""})),
            result("fc-2", json!({"output": "y"})),
        ])
    );
    let said = json!({"role": "user", "parts": [{"text": "Hurry."}, {"text": "Also b."}]});
    assert_eq!(body["contents"][3], said);
    assert_eq!(body["contents"].as_array().unwrap().len(), 4);
}

#[test]
fn nothing_that_is_empty_is_sent() {
    let mut trial = Trial::new(argon(), "", Vec::new());
    trial.user("").user("Go.");
    let reasoned = parts(json!([{"text": "Hm.", "thought": true}]), "STOP");
    trial.response(&Google, reasoned.as_bytes()).user("Well?");
    let body = trial.body(&Google);
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["generationConfig", "contents"]);
    let text = |text: &str| json!({"role": "user", "parts": [{ "text": text }]});
    assert_eq!(body["contents"], json!([text("Go."), text("Well?")]));
}

#[test]
fn a_name_that_the_api_refuses_is_sent_as_another() {
    let tool = ToolSpec {
        name: "1st".into(),
        ..grep_tool()
    };
    let mut trial = Trial::new(argon(), "", vec![tool.clone(), tool]);
    trial.tool_choice = ToolChoice::Name("1st".into());
    trial.user("Go.");
    let call = json!({"functionCall": {"id": "c", "name": "_1st", "args": {"b": 1, "a": 2}}});
    trial.response(&Google, parts(json!([call]), "STOP").as_bytes());
    trial.results(&[(0, "x", false)]);
    let body = trial.body(&Google);
    let tools = body["tools"][0]["functionDeclarations"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!("_1st")));
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"],
        json!(["_1st"])
    );
    assert_eq!(body["contents"][1]["parts"], json!([call]));
    assert_eq!(
        body["contents"][2]["parts"][0]["functionResponse"]["name"],
        "_1st"
    );
}

#[test]
fn an_inquiry_adds_to_the_same_history() {
    let mut trial = trial(argon());
    trial.response(&Google, sample(CALLS).as_bytes());
    let main = trial.bytes(&Google);
    let result = |id: &str| CallResult {
        id: id.into(),
        name: "fs_grep".into(),
        content: "Tool still running.".into(),
        is_error: false,
    };
    let reply = Item {
        kind: Kind::Text,
        text: String::new(),
        opaque: Some(r#"{"text":"Yes?","thoughtSignature":"q"}"#.into()),
        complete: true,
    };
    trial.messages = vec![
        Message::User {
            results: vec![result("fc-1"), result("fc-2")],
            text: "May I?".into(),
        },
        Message::Assistant(vec![reply]),
        Message::User {
            results: Vec::new(),
            text: "Call it.".into(),
        },
    ];
    let fork = trial.bytes(&Google);
    let shared = main.len() - "]}".len();
    assert_eq!(fork[..shared], main[..shared]);
    let body = trial.body(&Google);
    let shown: Vec<String> = body["contents"].as_array().unwrap()[2..]
        .iter()
        .map(Value::to_string)
        .collect();
    let expected = [
        r#"{"role":"user","parts":[{"functionResponse":{"id":"fc-1","name":"fs_grep","response":{"output":"Tool still running."}}},{"functionResponse":{"id":"fc-2","name":"fs_grep","response":{"output":"Tool still running."}}}]}"#,
        r#"{"role":"user","parts":[{"text":"May I?"}]}"#,
        r#"{"role":"model","parts":[{"text":"Yes?","thoughtSignature":"q"}]}"#,
        r#"{"role":"user","parts":[{"text":"Call it."}]}"#,
    ];
    assert_eq!(shown, expected);
}

/// Each request begins with the bytes of the one before, up to the end of its history.
#[test]
fn a_request_begins_as_the_one_before() {
    let mut trial = trial(argon());
    let mut before: Vec<u8> = Vec::new();
    let without = parts(json!([{"functionCall": {"name": "fs_grep"}}]), "STOP");
    for round in 0..60 {
        let bytes = trial.bytes(&Google);
        assert!(bytes.starts_with(&before), "in round {round}");
        assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
        before = bytes[..bytes.len() - "]}".len()].to_vec();
        let calls = round / 3 * 3;
        match round % 3 {
            0 => {
                trial.response(&Google, sample(CALLS).as_bytes());
                trial.results(&[(calls, "x", false), (calls + 1, "y", true)]);
            }
            1 => {
                trial.response(&Google, without.as_bytes());
                trial.steer("More.").results(&[(calls + 2, "z", false)]);
            }
            _ => {
                trial
                    .response(&Google, sample(SIGNED).as_bytes())
                    .user("Go on.");
            }
        }
    }
}
