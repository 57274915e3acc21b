//! Tests of the bodies and headers of requests, against the samples.

use aside_test_table::rows;
use aside_turn::{
    Event,
    inquiry::{CallResult, Message},
    record::NativeSummary,
    response::{Feature, Usage},
    rules::ToolChoice,
};

use super::{super::COMPACTION, *};
use crate::{ToolDeclaration, api::WireApi, options::CacheRetention, trial::json_sample};

/// A sample as Aside sends it: without the user's id, and with explicit breakpoints instead of automatic caching. They
/// are at the end of this request and of the previous one.
fn expected(path: &str, breakpoints: &[&str]) -> Value {
    let mut body = json_sample(path);
    let members = body.as_object_mut().unwrap();
    members.remove("metadata");
    members.remove("cache_control");
    for place in breakpoints {
        body.pointer_mut(place).unwrap()["cache_control"] = json!({"type": "ephemeral"});
    }
    body
}

#[test]
fn requests_of_a_conversation_match_the_samples() {
    let mut trial = trial();
    trial.user("Where is retry_after parsed?");
    assert_eq!(
        trial.body(&Anthropic),
        expected(
            "anthropic/02_request_first_turn.json",
            &["/messages/0/content/0"]
        )
    );
    trial.response(&Anthropic, sample(FIRST).as_bytes());
    trial.results(&[
        (1, "no such directory: crates/b", true),
        (0, "crates/a/src/error.rs:606", false),
    ]);
    assert_eq!(
        trial.body(&Anthropic),
        expected(
            "anthropic/04_request_tool_results.json",
            &["/messages/0/content/0", "/messages/2/content/1"]
        )
    );
}

#[test]
fn inquiries_cache_up_to_their_question() {
    let sample = "anthropic/17_request_inquiry_auto.json";
    let mut expected = expected(sample, &["/messages/0/content/0", "/messages/1/content/3"]);
    // Inquiries have the same output limit as other requests.
    expected["max_tokens"] = json!(16_000);
    let text = |at: &str| {
        expected["messages"][2]["content"]
            .pointer(at)
            .unwrap()
            .as_str()
            .unwrap()
    };
    let result = |at: usize| CallResult {
        id: text(&format!("/{at}/tool_use_id")).into(),
        name: "fs_grep".into(),
        content: text(&format!("/{at}/content")).into(),
        is_error: false,
    };
    let question = Message::User {
        results: vec![result(0), result(1)],
        text: text("/2/text").into(),
    };
    let mut trial = called();
    trial.messages = vec![question];
    assert_eq!(trial.body(&Anthropic), expected);
}

#[test]
fn answer_schema_is_enforced() {
    let sample = json_sample("anthropic/19_request_inquiry_structured.json");
    let config = &sample["output_config"];
    let options = ModelOptions {
        reasoning: Some(ReasoningEffort::Low),
        ..model()
    };
    let mut trial = ProviderTrial::new(
        options,
        "Answer the question about the conversation.",
        vec![],
    );
    trial.user("follow symlinks?");
    trial.schema = Some(config["format"]["schema"].clone());
    let body = trial.body(&Anthropic);
    assert_eq!(&body["output_config"], config);
    assert_eq!(body.get("tools").or(body.get("tool_choice")), None);

    trial.without = [Feature::Schema].into();
    assert_eq!(
        trial.body(&Anthropic)["output_config"],
        json!({"effort": "low"})
    );
    trial.without.clear();
    trial.options.abilities.schema = false;
    assert_eq!(
        trial.body(&Anthropic)["output_config"],
        json!({"effort": "low"})
    );
}

#[test]
fn headers_match_the_sample() {
    let sample = sample("anthropic/01_request_headers.http");
    let mut lines = sample.lines();
    let (name, before) = Anthropic.key_header();
    let request = format!("POST {} HTTP/1.1", Anthropic.path("claude-opus-5-5"));
    assert_eq!(lines.next(), Some(request.as_str()));
    let trial = trial();
    let headers = Anthropic.headers(Some(&trial.ask()));
    let mut ours: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    ours.push(format!("{name}: {before}sk-ant-EXAMPLE"));
    ours.sort();
    // The HTTP client adds the other two.
    let client = |line: &&str| line.starts_with("host") || line.starts_with("content-type");
    let mut theirs: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !client(line))
        .collect();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
}

#[test]
fn interleaved_thinking_is_requested_by_header() {
    let mut trial = trial();
    trial.options.abilities.interleaves = true;
    trial.options.abilities.reasoning = ReasoningKind::Budget;
    trial.options.abilities.reasoning_off = true;
    let beta = |trial: &ProviderTrial| {
        let headers = Anthropic.headers(Some(&trial.ask()));
        let beta = headers.get("anthropic-beta");
        beta.map(|beta| beta.to_str().unwrap().to_owned())
    };
    let interleaved = Some("interleaved-thinking-2025-05-14".to_owned());
    assert_eq!(beta(&trial), interleaved);
    trial.reasoning = false;
    assert_eq!(beta(&trial), None, "it does not think");
    trial.reasoning = true;
    trial.options.abilities.interleaves = false;
    assert_eq!(beta(&trial), None);
    assert!(!Anthropic.headers(None).contains_key("anthropic-beta"));
}

/// The history was already encoded with the feature.
#[test]
fn refused_features_are_omitted_from_earlier_messages() {
    let mut trial = called();
    trial.results(&[(0, "a", false), (1, "b", false)]);
    trial.directive("Be brief.").request();
    let strict = |body: &Value| body["tools"][1].get("strict").cloned();
    let roles = |body: &Value| -> Vec<String> {
        let messages = body["messages"].as_array().unwrap().iter();
        messages
            .map(|message| message["role"].as_str().unwrap().to_owned())
            .collect()
    };
    trial.user("Go on.").directive("Be kind.").user("Well?");
    let before = trial.body(&Anthropic);
    assert!(roles(&before).contains(&"system".to_owned()), "{before}");
    assert_eq!(strict(&before), Some(json!(true)));
    trial.without = [Feature::SystemMessage, Feature::Strict].into();
    let after = trial.body(&Anthropic);
    assert!(!roles(&after).contains(&"system".to_owned()), "{after}");
    assert!(after["messages"].to_string().contains("Be kind."));
    assert_eq!(strict(&after), None);
}

#[test]
fn varying_members_precede_the_history() {
    let mut trial = called();
    trial.schema = Some(json!({"type": "object", "properties": {}}));
    let body = trial.body(&Anthropic);
    let names: Vec<&str> = body
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected =
        "model max_tokens stream thinking output_config tool_choice system tools messages";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn tools_are_sent_for_every_choice() {
    let named = || ToolChoice::Name("fs_grep".into());
    let refused = [Feature::ForcedTool];
    let table: [(ToolChoice, &[Feature], Value); 6] = [
        (ToolChoice::Auto, &[], json!({"type": "auto"})),
        (ToolChoice::None, &[], json!({"type": "none"})),
        (ToolChoice::Required, &[], json!({"type": "any"})),
        (named(), &[], json!({"type": "tool", "name": "fs_grep"})),
        (ToolChoice::Required, &refused, json!({"type": "auto"})),
        (named(), &refused, json!({"type": "auto"})),
    ];
    let tools = called().body(&Anthropic)["tools"].clone();
    for (choice, without, expected) in table {
        let mut trial = called();
        trial.tool_choice = choice.clone();
        trial.without = without.iter().copied().collect();
        let body = trial.body(&Anthropic);
        assert_eq!(body["tool_choice"], expected, "{choice:?} {without:?}");
        assert_eq!(body["tools"], tools, "{choice:?} {without:?}");
    }
}

#[test]
fn tools_are_strict_if_possible_and_sent_once() {
    let spec = |strict, parameters: Value| ToolDeclaration {
        name: "t".into(),
        description: "d".into(),
        parameters,
        strict,
    };
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let open = json!({"type": "object", "additionalProperties": true});
    let open_as_sent = json!({"type": "object", "additionalProperties": true, "properties": {}});
    let strict = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    type Row<'a> = (ToolDeclaration, &'a [Feature], bool, &'a Value, bool);
    let refused = [Feature::Strict];
    let table: [Row<'_>; 5] = [
        (spec(true, closed.clone()), &[], true, &strict, true),
        (spec(false, closed.clone()), &[], true, &closed, false),
        (spec(true, open), &[], true, &open_as_sent, false),
        (spec(true, closed.clone()), &refused, true, &closed, false),
        (spec(true, closed.clone()), &[], false, &closed, false),
    ];
    for (spec, without, able, schema, strict) in table {
        let mut trial = ProviderTrial::new(model(), "", vec![spec.clone(), spec]);
        trial.options.abilities.strict = able;
        trial.options.cache = CacheRetention::Off;
        trial.without = without.iter().copied().collect();
        let mut tool = json!({"name": "t", "description": "d", "input_schema": schema});
        let how = if strict {
            "strict"
        } else {
            "eager_input_streaming"
        };
        tool[how] = json!(true);
        let body = trial.user("Go.").body(&Anthropic);
        assert_eq!(body["tools"], json!([tool]));
        assert_eq!(body.get("system"), None);
    }
}

#[test]
fn breakpoints_state_the_cache_lifetime() {
    let places = [
        "/system/0",
        "/tools/1",
        "/messages/0/content/0",
        "/messages/1/content/3",
    ];
    let table = [
        (CacheRetention::Off, None),
        (CacheRetention::Short, Some(json!({"type": "ephemeral"}))),
        (
            CacheRetention::Long,
            Some(json!({"type": "ephemeral", "ttl": "1h"})),
        ),
    ];
    for (keep, expected) in table {
        let mut trial = called();
        trial.options.cache = keep;
        let body = trial.body(&Anthropic);
        for place in places {
            let block = body.pointer(place).unwrap();
            assert_eq!(
                block.get("cache_control"),
                expected.as_ref(),
                "{keep:?} {place}"
            );
        }
        let count = body.to_string().matches("cache_control").count();
        assert_eq!(count, if expected.is_some() { places.len() } else { 0 });
    }
}

#[test]
fn reasoning_follows_the_model() {
    // Columns of `ProviderTrial::reasons`, and the effort and `thinking` in the request.
    let table = r#"
        adaptive | no  | low medium high xhigh max | -      | yes | - | -      | {"type":"adaptive","display":"summarized"}
        adaptive | no  | low medium high xhigh max | low    | yes | - | low    | {"type":"adaptive","display":"summarized"}
        adaptive | no  | low medium high xhigh max | high   | yes | - | high   | {"type":"adaptive","display":"summarized"}
        adaptive | no  | low medium high xhigh max | max    | yes | - | max    | {"type":"adaptive","display":"summarized"}
        adaptive | no  | low medium high xhigh max | off    | no  | - | low    | {"type":"adaptive","display":"summarized"}
        adaptive | no  | low medium high xhigh max | high   | no  | - | high   | {"type":"adaptive","display":"summarized"}
        adaptive | yes | low medium high xhigh max | off    | no  | - | -      | {"type":"disabled"}
        adaptive | yes | low medium high xhigh max | max    | no  | - | -      | {"type":"disabled"}
        adaptive | yes | low medium high xhigh max | max    | yes | - | max    | {"type":"adaptive","display":"summarized"}
        adaptive | yes | low high                  | medium | yes | - | low    | {"type":"adaptive","display":"summarized"}
        adaptive | yes | low medium high           | max    | yes | - | high   | {"type":"adaptive","display":"summarized"}
        adaptive | yes | odd                       | max    | yes | - | odd    | {"type":"adaptive","display":"summarized"}
        budget   | yes |                           | -      | no  | - | -      | {"type":"disabled"}
        budget   | yes |                           | low    | yes | - | -      | {"type":"enabled","budget_tokens":2048}
        budget   | yes |                           | medium | yes | - | -      | {"type":"enabled","budget_tokens":8192}
        budget   | yes |                           | max    | yes | - | -      | {"type":"enabled","budget_tokens":12000}
        budget   | yes | low high                  | high   | yes | - | high   | {"type":"enabled","budget_tokens":12000}
        budget   | no  |                           | -      | no  | - | -      | null
        switch   | yes |                           | -      | yes | - | -      | {"type":"enabled","budget_tokens":8192}
        effort   | no  | low medium high xhigh max | medium | yes | - | medium | null
        effort   | yes | low medium high xhigh max | off    | no  | - | -      | {"type":"disabled"}
        none     | yes | low medium high xhigh max | high   | no  | - | -      | null
    "#;
    for [kind, off, efforts, effort, asked, refused, told, thinking] in rows(table) {
        let mut trial = trial();
        trial.reasons([kind, off, efforts, effort, asked, refused]);
        let body = trial.user("Go.").body(&Anthropic);
        let said = body["output_config"]["effort"].as_str().unwrap_or("-");
        assert_eq!(
            (body["thinking"].to_string().as_str(), said),
            (thinking, told),
            "{kind} {off} {efforts} {effort} {asked}"
        );
    }
}

#[test]
fn refused_reasoning_options_are_omitted() {
    let mut trial = trial();
    trial.user("Go.");
    trial.without = [Feature::Reasoning].into();
    let body = trial.body(&Anthropic);
    assert_eq!(body.get("thinking").or(body.get("output_config")), None);

    trial.options.abilities.reasoning_off = true;
    trial.reasoning = false;
    trial.without = [Feature::ReasoningOff].into();
    assert_eq!(trial.body(&Anthropic)["thinking"]["type"], "adaptive");
}

#[test]
fn thinking_budget_leaves_room_for_the_answer() {
    for (output, expected) in [
        (1_024, None),
        (1_025, Some(1_024)),
        (4_000, Some(3_000)),
        (128_000, Some(65_536)),
    ] {
        let mut trial = trial();
        trial.options.abilities.reasoning = ReasoningKind::Budget;
        trial.options.reasoning = Some(ReasoningEffort::Max);
        trial.options.max_output = Some(output);
        let body = trial.user("Go.").body(&Anthropic);
        assert_eq!(body["max_tokens"], json!(output));
        assert_eq!(
            body["thinking"]["budget_tokens"].as_u64(),
            expected,
            "{output}"
        );
    }
}

/// A summary of the model of these tests.
fn summarised(summary: &str, model: &str) -> Event {
    Event::Compacted {
        number: 1,
        asked: false,
        summary: summary.into(),
        native: Some(NativeSummary {
            model: model.into(),
            opaque: SUMMARY.into(),
        }),
        ledger: "Ledger.".into(),
        before: 9,
        usage: Usage::default(),
    }
}

const SUMMARY: &str =
    r###"{"type":"compaction","content":"## Goal","signature":"ErX","encrypted_content":null}"###;

#[test]
fn a_summary_is_asked_for_with_what_was_sent_last_and_is_first_from_then_on() {
    let mut trial = called();
    trial.results(&[(0, "a", false), (1, "b", false)]);
    let messages = trial.body(&Anthropic)["messages"].clone();
    trial.response(
        &Anthropic,
        response(&[text("Done.")], "end_turn").as_bytes(),
    );
    trial.compacts = true;
    let beta = |trial: &ProviderTrial| {
        let headers = Anthropic.headers(Some(&trial.ask()));
        headers.get("anthropic-beta").cloned()
    };
    let asks = trial.body(&Anthropic);
    assert_eq!(asks["compaction"], json!({"type": "summarize"}));
    assert_eq!(asks["messages"], messages);
    assert_eq!(beta(&trial).unwrap(), COMPACTION);

    trial.compacts = false;
    trial
        .transcript
        .push(&summarised("## Goal", "anthropic/claude-opus-5-5"));
    trial.user("Go on.");
    let body = trial.body(&Anthropic);
    assert_eq!(body.get("compaction"), None);
    let mut block: Value = serde_json::from_str(SUMMARY).unwrap();
    block["cache_control"] = json!({"type": "ephemeral"});
    let last = "After that you answered:\n\nYou said: Done.";
    let mut end = text("Go on.");
    end["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(
        body["messages"],
        json!([
            {"role": "assistant", "content": [block]},
            {"role": "user", "content": [text(last), text("Ledger."), end]},
        ])
    );
    let bytes = String::from_utf8(trial.bytes(&Anthropic)).unwrap();
    assert!(
        bytes.contains(SUMMARY.strip_suffix('}').unwrap()),
        "{bytes}"
    );
    assert_eq!(beta(&trial).unwrap(), COMPACTION);
}

#[test]
fn another_model_or_one_that_refuses_the_block_reads_the_text_of_a_summary() {
    for (model, refused) in [
        ("anthropic/claude-sonnet-5-5", None),
        ("anthropic/claude-opus-5-5", Some(Feature::History)),
    ] {
        let mut trial = called();
        trial.results(&[(0, "a", false), (1, "b", false)]);
        trial.without.extend(refused);
        trial.transcript.push(&summarised("## Goal", model));
        trial.user("Go on.");
        let body = trial.body(&Anthropic).to_string();
        assert!(!body.contains("ErX"), "{body}");
        assert!(body.contains("The summary:\\n\\n## Goal"), "{body}");
        assert!(
            !Anthropic
                .headers(Some(&trial.ask()))
                .contains_key("anthropic-beta")
        );
    }
}

#[test]
fn a_model_that_cannot_read_a_summary_is_sent_what_it_stands_for() {
    let mut trial = called();
    trial.results(&[(0, "a", false), (1, "b", false)]);
    trial.transcript.push(&summarised("", "openai/gpt-6.1-sol"));
    trial.user("Go on.");
    let body = trial.body(&Anthropic);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(
        messages[0]["content"][0]["text"],
        "Where is retry_after parsed?"
    );
    assert_eq!(messages.last().unwrap()["content"][0]["text"], "Ledger.");
    assert!(
        !body.to_string().contains("only that one can read"),
        "{body}"
    );
    // Where that is too much, it begins with the ledger.
    let fork = trial
        .transcript
        .fork()
        .read_by("anthropic/claude-opus-5-5", true, Some(8));
    let begins = fork.items().into_iter().map(|item| format!("{item:?}"));
    let begins: Vec<String> = begins.collect();
    assert!(begins[0].contains("only that one can read"), "{begins:#?}");
    assert!(begins[1].contains("Ledger."), "{begins:#?}");
}
