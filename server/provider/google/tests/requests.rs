use aside_test_table::rows;

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
    use ForcedToolSupport::{No, Yes};
    use ToolChoice::{Auto, None as Never, Required};
    let name = || ToolChoice::Name("fs_grep".into());
    let forced = json!({"mode": "ANY", "allowedFunctionNames": ["fs_grep"]});
    let mode = |mode: &str| json!({ "mode": mode });
    let refused = Some(Feature::ForcedTool);
    let table = [
        (Auto, Yes, None, mode("VALIDATED")),
        (Auto, Yes, Some(Feature::Strict), mode("AUTO")),
        (Never, Yes, None, mode("NONE")),
        (Required, Yes, None, mode("ANY")),
        (Required, No, None, mode("VALIDATED")),
        (Required, Yes, refused, mode("VALIDATED")),
        (name(), Yes, None, forced),
        (name(), No, None, mode("VALIDATED")),
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
    // Columns of `ProviderTrial::reasons`, and `thinkingConfig` in the request.
    let table = r#"
        effort | no  | MINIMAL LOW MEDIUM HIGH | -      | yes | -             | {"includeThoughts":true}
        effort | no  | MINIMAL LOW MEDIUM HIGH | off    | yes | -             | {"includeThoughts":true,"thinkingLevel":"MINIMAL"}
        effort | no  | MINIMAL LOW MEDIUM HIGH | low    | yes | -             | {"includeThoughts":true,"thinkingLevel":"LOW"}
        effort | no  | MINIMAL LOW MEDIUM HIGH | medium | yes | -             | {"includeThoughts":true,"thinkingLevel":"MEDIUM"}
        effort | no  | MINIMAL LOW MEDIUM HIGH | high   | yes | -             | {"includeThoughts":true,"thinkingLevel":"HIGH"}
        effort | no  | MINIMAL LOW MEDIUM HIGH | max    | yes | -             | {"includeThoughts":true,"thinkingLevel":"HIGH"}
        effort | no  | MINIMAL LOW MEDIUM HIGH | high   | no  | -             | {"includeThoughts":true,"thinkingLevel":"HIGH"}
        effort | yes | MINIMAL LOW MEDIUM HIGH | high   | no  | -             | {"thinkingLevel":"MINIMAL"}
        effort | yes | MINIMAL LOW MEDIUM HIGH | high   | no  | reasoning_off | {"includeThoughts":true,"thinkingLevel":"HIGH"}
        effort | yes | MINIMAL LOW MEDIUM HIGH | high   | yes | reasoning     | null
        budget | yes | MINIMAL LOW MEDIUM HIGH | -      | no  | -             | {"thinkingBudget":0}
        budget | yes | MINIMAL LOW MEDIUM HIGH | off    | no  | -             | {"thinkingBudget":0}
        budget | yes | MINIMAL LOW MEDIUM HIGH | low    | yes | -             | {"includeThoughts":true,"thinkingBudget":2048}
        budget | yes | MINIMAL LOW MEDIUM HIGH | medium | yes | -             | {"includeThoughts":true,"thinkingBudget":8192}
        budget | yes | MINIMAL LOW MEDIUM HIGH | max    | yes | -             | {"includeThoughts":true,"thinkingBudget":12000}
        budget | yes | MINIMAL LOW MEDIUM HIGH | max    | no  | -             | {"thinkingBudget":0}
        budget | no  | MINIMAL LOW MEDIUM HIGH | off    | no  | -             | {"includeThoughts":true,"thinkingBudget":512}
        budget | no  | MINIMAL LOW MEDIUM HIGH | -      | no  | -             | {"includeThoughts":true}
        switch | yes | MINIMAL LOW MEDIUM HIGH | high   | yes | -             | {"includeThoughts":true}
        switch | yes | MINIMAL LOW MEDIUM HIGH | high   | no  | -             | {"thinkingBudget":0}
        none   | yes | MINIMAL LOW MEDIUM HIGH | high   | yes | -             | null
    "#;
    for [kind, off, efforts, effort, asked, refused, expected] in rows(table) {
        let mut trial = trial(argon());
        trial.reasons([kind, off, efforts, effort, asked, refused]);
        let body = trial.body(&Google);
        let found = body["generationConfig"]["thinkingConfig"].to_string();
        assert_eq!(found, expected, "{kind} {off} {effort} {asked} {refused}");
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
