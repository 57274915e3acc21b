use super::*;

/// A sample as Aside sends it: without images, and with calls checked against their schema, as the API's documentation
/// recommends.
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

#[test]
fn requests_match_the_samples() {
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

#[test]
fn structured_answer_requests_match_the_sample() {
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
fn forced_tool_requests_match_the_sample() {
    let mut answer = answer_tool();
    // The sample has a shorter description.
    answer.description = "Answer a question a tool asked.".into();
    let mut trial = ProviderTrial::new(
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
fn tool_choices_are_encoded() {
    let name = || ToolChoice::Name("fs_grep".into());
    let forced = json!({"mode": "ANY", "allowedFunctionNames": ["fs_grep"]});
    let mode = |mode: &str| json!({ "mode": mode });
    let refused = Some(Feature::ForcedTool);
    let table = [
        (
            ToolChoice::Auto,
            ForcedToolSupport::Yes,
            None,
            mode("VALIDATED"),
        ),
        (
            ToolChoice::Auto,
            ForcedToolSupport::Yes,
            Some(Feature::Strict),
            mode("AUTO"),
        ),
        (ToolChoice::None, ForcedToolSupport::Yes, None, mode("NONE")),
        (
            ToolChoice::Required,
            ForcedToolSupport::Yes,
            None,
            mode("ANY"),
        ),
        (
            ToolChoice::Required,
            ForcedToolSupport::No,
            None,
            mode("VALIDATED"),
        ),
        (
            ToolChoice::Required,
            ForcedToolSupport::Yes,
            refused,
            mode("VALIDATED"),
        ),
        (name(), ForcedToolSupport::Yes, None, forced),
        (name(), ForcedToolSupport::No, None, mode("VALIDATED")),
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
fn reasoning_options_of_requests() {
    use ReasoningEffort::{High, Low, Max, Medium, Off};
    use ReasoningKind as As;
    let level = |level: &str| json!({"includeThoughts": true, "thinkingLevel": level});
    let budget = |tokens: u64| json!({"includeThoughts": true, "thinkingBudget": tokens});
    let shown = || json!({"includeThoughts": true});
    let least = || json!({"thinkingLevel": "MINIMAL"});
    let off = || json!({"thinkingBudget": 0});
    // Columns: control, can be turned off, effort, requested, refused.
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
fn invalid_names_are_replaced() {
    let tool = ToolDeclaration {
        name: "1st".into(),
        ..grep_tool()
    };
    let mut trial = ProviderTrial::new(argon(), "", vec![tool.clone(), tool]);
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
fn empty_items_are_omitted() {
    let mut trial = ProviderTrial::new(argon(), "", Vec::new());
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
fn property_order_is_stated_for_every_object() {
    let mut trial = trial(argon());
    let inner =
        json!({"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "string"}}});
    trial.schema = Some(json!({"type": "object", "properties": {
        "properties": {"type": "string"},
        "list": {"type": "array", "items": inner},
    }}));
    let schema = &trial.body(&Google)["generationConfig"]["responseJsonSchema"];
    assert_eq!(schema["propertyOrdering"], json!(["properties", "list"]));
    assert_eq!(
        schema["properties"]["properties"],
        json!({"type": "string"})
    );
    assert_eq!(schema["properties"].as_object().unwrap().len(), 2);
    assert_eq!(
        schema["properties"]["list"]["items"]["propertyOrdering"],
        json!(["z", "a"])
    );
}
