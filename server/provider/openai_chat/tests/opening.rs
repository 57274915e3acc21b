use aside_test_table::rows;
use aside_turn::{response::Feature, rules::ToolChoice};
use serde_json::{Value, json};

use super::{DEEPSEEK, LOCAL, MISTRAL, OLLAMA, OPENAI, OPENROUTER, grep, model, talk};
use crate::{
    abilities::{Abilities, ReasoningKind},
    api::WireApi,
    options::{CacheRetention, ReasoningEffort},
    trial::{ProviderTrial, answer_tool, json_sample},
};

/// Abilities of a model that supports all efforts.
fn reasoning() -> Abilities {
    let words = ["none", "minimal", "low", "medium", "high", "xhigh"];
    Abilities {
        reasoning: ReasoningKind::Effort,
        efforts: words.map(str::to_owned).to_vec(),
        ..Abilities::default()
    }
}

#[test]
fn first_request_matches_the_sample() {
    let (api, mut options) = model(OPENAI, "gpt-6.1-sol");
    options.abilities = reasoning();
    options.reasoning = Some(ReasoningEffort::Medium);
    let mut trial = ProviderTrial::new(options, "You are a coding agent.", vec![grep()]);
    trial.user("Where is retry_after parsed?");
    let mut expected = json_sample("openai_chat/01_request.json");
    // The sample has an image, which Aside does not send.
    expected["messages"][1]["content"] = json!("Where is retry_after parsed?");
    assert_eq!(trial.body(&api), expected);
    let bytes = String::from_utf8(trial.bytes(&api)).unwrap();
    assert!(
        bytes.ends_with(r#"{"role":"user","content":"Where is retry_after parsed?"}]}"#),
        "the history is last: {bytes}"
    );
    assert_eq!(api.path("gpt-6.1-sol"), "/chat/completions");
}

#[test]
fn answer_schema_matches_the_sample() {
    let (api, mut trial) = talk(OPENAI, "gpt-6.1-sol");
    let mut sample = json_sample("openai_chat/04_request_structured.json");
    trial.schema = Some(sample["response_format"]["json_schema"]["schema"].clone());
    trial.user("follow symlinks?");
    // The schema is not only for inquiries.
    sample["response_format"]["json_schema"]["name"] = json!("answer");
    let body = trial.body(&api);
    for member in ["model", "messages", "response_format"] {
        assert_eq!(body[member], sample[member], "{member}");
    }
    trial.without.insert(Feature::Strict);
    let format = trial.body(&api)["response_format"]["json_schema"].clone();
    assert_eq!(format.get("strict"), None);
    trial.without.insert(Feature::Schema);
    assert_eq!(trial.body(&api).get("response_format"), None);
}

#[test]
fn efforts_use_the_names_of_model_and_server() {
    // The server, columns of `ProviderTrial::reasons`, and what a request says.
    let table = r#"
        openai     | none   | yes | none minimal low medium high xhigh | high   | yes | - | {}
        openai     | effort | yes | none minimal low medium high xhigh | -      | yes | - | {}
        openai     | effort | yes | none minimal low medium high xhigh | off    | no  | - | {"reasoning_effort":"none"}
        openai     | effort | no  | none minimal low medium high xhigh | off    | yes | - | {"reasoning_effort":"minimal"}
        openai     | effort | yes | none minimal low medium high xhigh | low    | yes | - | {"reasoning_effort":"low"}
        openai     | effort | yes | none minimal low medium high xhigh | medium | yes | - | {"reasoning_effort":"medium"}
        openai     | effort | yes | none minimal low medium high xhigh | high   | yes | - | {"reasoning_effort":"high"}
        openai     | effort | yes | none minimal low medium high xhigh | max    | yes | - | {"reasoning_effort":"xhigh"}
        openai     | effort | yes | low high                           | medium | yes | - | {"reasoning_effort":"low"}
        openai     | effort | yes | low high                           | max    | yes | - | {"reasoning_effort":"high"}
        local      | effort | yes |                                    | max    | yes | - | {"reasoning_effort":"high"}
        local      | effort | yes |                                    | medium | yes | - | {"reasoning_effort":"medium"}
        # Turned off for this request, if the model allows that.
        openai     | effort | yes | none minimal low medium high xhigh | high   | no  | - | {"reasoning_effort":"none"}
        openai     | effort | yes | none minimal low medium high xhigh | -      | no  | - | {"reasoning_effort":"none"}
        openai     | effort | no  | none minimal low medium high xhigh | high   | no  | - | {"reasoning_effort":"high"}
        openai     | effort | no  | none minimal low medium high xhigh | -      | no  | - | {}
        openrouter | effort | yes | none minimal low medium high xhigh | high   | yes | - | {"reasoning":{"effort":"high"}}
        openrouter | effort | yes | none minimal low medium high xhigh | off    | no  | - | {"reasoning":{"enabled":false}}
        openrouter | switch | yes | none minimal low medium high xhigh | high   | yes | - | {"reasoning":{"enabled":true}}
        local      | switch | yes | none minimal low medium high xhigh | high   | yes | - | {"chat_template_kwargs":{"enable_thinking":true}}
        local      | switch | yes | none minimal low medium high xhigh | high   | no  | - | {"chat_template_kwargs":{"enable_thinking":false}}
        local      | switch | yes | none minimal low medium high xhigh | -      | yes | - | {}
    "#;
    for [server, kind, off, efforts, effort, asked, refused, expected] in rows(table) {
        let base = match server {
            "openai" => OPENAI,
            "openrouter" => OPENROUTER,
            _ => LOCAL,
        };
        let (api, options) = model(base, "m");
        let mut trial = ProviderTrial::new(options, "", vec![]);
        trial.reasons([kind, off, efforts, effort, asked, refused]);
        trial.user("Hm?");
        let body = trial.body(&api);
        let names = ["reasoning_effort", "reasoning", "chat_template_kwargs"];
        let told = body.as_object().unwrap().iter();
        let told: serde_json::Map<String, Value> = told
            .filter(|(name, _)| names.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let case = format!("{server} {kind} {effort} reasoning {asked} off {off}");
        assert_eq!(json!(told).to_string(), expected, "{case}");
        trial.without.insert(Feature::Reasoning);
        let body = trial.body(&api).to_string();
        assert!(
            !body.contains("reasoning") && !body.contains("thinking"),
            "{case}"
        );
    }
}

#[test]
fn mandatory_reasoning_stays_as_configured() {
    let (api, mut trial) = talk(OPENAI, "m");
    trial.options.abilities = reasoning();
    trial.options.reasoning = Some(ReasoningEffort::High);
    trial.reasoning = false;
    trial.without.insert(Feature::ReasoningOff);
    trial.user("Hm?");
    assert_eq!(trial.body(&api)["reasoning_effort"], "high");
}

#[test]
fn each_server_receives_the_members_it_supports() {
    let opening = |base: &str| {
        let (api, mut trial) = talk(base, "m");
        trial.tool_choice = ToolChoice::Required;
        trial.user("Hm?");
        let Value::Object(mut body) = trial.body(&api) else {
            panic!("a body is an object")
        };
        for member in ["model", "stream", "tools", "messages"] {
            body.shift_remove(member).unwrap();
        }
        Value::Object(body)
    };
    let usage = json!({"include_usage": true});
    assert_eq!(
        opening(OPENAI),
        json!({"stream_options": usage, "max_completion_tokens": 16000, "parallel_tool_calls": true,
            "prompt_cache_key": "conv-5f1c", "tool_choice": "required"})
    );
    for base in [OPENROUTER, DEEPSEEK, LOCAL, "https://example.com/api"] {
        assert_eq!(
            opening(base),
            json!({"stream_options": usage, "max_tokens": 16000, "parallel_tool_calls": true,
                "tool_choice": "required"}),
            "{base}"
        );
    }
    assert_eq!(
        opening(MISTRAL),
        json!({"max_tokens": 16000, "parallel_tool_calls": true, "tool_choice": "any"})
    );
    assert_eq!(
        opening(OLLAMA),
        json!({"stream_options": usage, "max_tokens": 16000, "parallel_tool_calls": true})
    );
}

#[test]
fn refused_features_are_omitted() {
    for (feature, member) in [
        (Feature::StreamUsage, "stream_options"),
        (Feature::MaxCompletionTokens, "max_completion_tokens"),
        (Feature::ParallelCalls, "parallel_tool_calls"),
        (Feature::CacheHint, "prompt_cache_key"),
        (Feature::ForcedTool, "tool_choice"),
    ] {
        let (api, mut trial) = talk(OPENAI, "m");
        trial.user("Hm?");
        assert!(trial.body(&api).get(member).is_some(), "{member}");
        trial.without.insert(feature);
        let body = trial.body(&api);
        assert!(body.get(member).is_none(), "{member}");
        let limit = body.get("max_completion_tokens").or(body.get("max_tokens"));
        assert_eq!(limit, Some(&json!(16000)));
    }
    // Tools are encoded once: a refusal counts only if it is known before.
    let (api, mut trial) = talk(OPENAI, "m");
    trial.without.insert(Feature::Strict);
    trial.user("Hm?");
    assert_eq!(trial.body(&api)["tools"][0]["function"].get("strict"), None);
}

#[test]
fn tool_members_require_tools() {
    let (api, options) = model(LOCAL, "m");
    let loose = {
        let mut tool = answer_tool();
        tool.parameters["required"] = json!(["answer"]);
        tool.description.clear();
        tool
    };
    let mut trial = ProviderTrial::new(options, "", vec![grep(), loose, grep()]);
    trial.user("Hm?");
    let body = trial.body(&api);
    let tools = body["tools"].as_array().unwrap();
    let shown = |tool: &Value| {
        let function = &tool["function"];
        (function["name"].clone(), function.get("strict").is_some())
    };
    let expected = [(json!("fs_grep"), true), (json!("answer_inquiry"), false)];
    assert_eq!(tools.iter().map(shown).collect::<Vec<_>>(), expected);
    assert_eq!(tools[1]["function"].get("description"), None);
    assert_eq!(body["tool_choice"], "auto");
    trial.tool_choice = ToolChoice::Name("fs_grep".into());
    let forced = json!({"type": "function", "function": {"name": "fs_grep"}});
    assert_eq!(trial.body(&api)["tool_choice"], forced);
    let bare = |trial: &ProviderTrial| {
        let body = trial.body(&api);
        ["tools", "tool_choice", "parallel_tool_calls"]
            .iter()
            .all(|member| body.get(*member).is_none())
    };
    trial.tool_choice = ToolChoice::None;
    assert!(bare(&trial));
    let (_, mut options) = model(LOCAL, "m");
    options.abilities.tools = false;
    let mut trial = ProviderTrial::new(options, "", vec![grep()]);
    trial.user("Hm?");
    assert!(bare(&trial));
}

#[test]
fn output_limit_is_sent_if_set() {
    for (configured, known, expected) in [
        (None, None, None),
        (Some(500), None, Some(500)),
        (None, Some(8_000), Some(8_000)),
        (None, Some(200_000), Some(32_000)),
        (Some(9_000), Some(8_000), Some(8_000)),
    ] {
        let (api, mut trial) = talk(LOCAL, "m");
        trial.options.max_output = configured;
        trial.options.abilities.max_output = known;
        trial.user("Hm?");
        let told = trial.body(&api).get("max_tokens").and_then(Value::as_u64);
        assert_eq!(told, expected, "{configured:?} {known:?}");
    }
}

#[test]
fn cache_lifetime_is_sent_to_the_official_server() {
    for (keep, key, options) in [
        (CacheRetention::Off, Value::Null, Value::Null),
        (CacheRetention::Short, json!("conv-5f1c"), Value::Null),
        (
            CacheRetention::Long,
            json!("conv-5f1c"),
            json!({"mode": "implicit", "ttl": "12h"}),
        ),
    ] {
        let (api, mut trial) = talk(OPENAI, "m");
        trial.options.cache = keep;
        trial.user("Hm?");
        let body = trial.body(&api);
        assert_eq!(body["prompt_cache_key"], key, "{keep:?}");
        assert_eq!(body["prompt_cache_options"], options, "{keep:?}");
    }
}
