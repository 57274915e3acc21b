use serde_json::{Value, json};

use super::{LOCAL, model};
use crate::{
    abilities::{ForcedToolSupport, Prices, Rates, ReasoningKind, StatedAbilities},
    api::{ListedModel, WireApi},
    trial::json_sample,
};

fn read(page: &Value) -> Vec<ListedModel> {
    let (api, _) = model(LOCAL, "m");
    let (models, next) = api.models(page).unwrap();
    assert_eq!(next, None);
    models
}

fn one(model: Value) -> StatedAbilities {
    let [ListedModel { abilities, .. }] = &read(&json!({"data": [model]}))[..] else {
        panic!("one model was to be read")
    };
    abilities.clone()
}

#[test]
fn lists_of_names_state_no_abilities() {
    let names = |page: &Value| {
        let models = read(page);
        assert!(
            models
                .iter()
                .all(|it| it.abilities == StatedAbilities::default())
        );
        models.into_iter().map(|it| it.model).collect::<Vec<_>>()
    };
    let list = json_sample("openai_responses/12_models_list.json");
    let expected: Vec<&str> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert_eq!(names(&list), expected);
    assert_eq!(names(&json!([{"id": "a"}, {"name": "no id"}, 7])), ["a"]);
    assert_eq!(names(&json!({"data": []})), Vec::<String>::new());
    let (api, _) = model(LOCAL, "m");
    assert!(api.models(&json!({"data": {}})).is_err());
    assert_eq!(api.models_path(None), "/models");
}

#[test]
fn gateways_state_windows_prices_and_parameters() {
    let told = one(json!({
        "id": "anthropic/claude-opus-5-5",
        "context_length": 1_000_000,
        "top_provider": {"context_length": 400_000, "max_completion_tokens": 64_000},
        "architecture": {"input_modalities": ["text", "image"]},
        "pricing": {"prompt": "0.000004", "completion": "0.00002", "input_cache_read": "0.0000002", "input_cache_write": "0.000005"},
        "supported_parameters": ["tools", "tool_choice", "reasoning", "structured_outputs"],
    }));
    let expected = StatedAbilities {
        context_window: Some(400_000),
        max_output: Some(64_000),
        tools: Some(true),
        schema: Some(true),
        images: Some(true),
        documents: Some(false),
        reasoning: Some(ReasoningKind::Effort),
        efforts: Some(["low", "medium", "high"].map(str::to_owned).to_vec()),
        prices: Some(Prices {
            rates: Rates {
                input: 4.0,
                output: 20.0,
                cache_read: Some(0.2),
                cache_write: Some(5.0),
                cache_write_long: None,
            },
            ..Prices::default()
        }),
        ..StatedAbilities::default()
    };
    assert_eq!(told, expected);
    let told = one(json!({
        "id": "router/auto",
        "context_length": 8192,
        "top_provider": {"context_length": null, "max_completion_tokens": null},
        "pricing": {"prompt": "-1", "completion": "-1"},
        "supported_parameters": ["max_tokens"],
    }));
    let expected = StatedAbilities {
        context_window: Some(8192),
        tools: Some(false),
        schema: Some(false),
        forced_tools: Some(ForcedToolSupport::No),
        reasoning: Some(ReasoningKind::None),
        ..StatedAbilities::default()
    };
    assert_eq!(told, expected);
}

#[test]
fn other_list_formats_are_parsed() {
    let told = one(json!({
        "id": "mistral-medium",
        "max_context_length": 131_072,
        "capabilities": {"completion_chat": true, "function_calling": true, "reasoning": false, "vision": true},
    }));
    let expected = StatedAbilities {
        context_window: Some(131_072),
        tools: Some(true),
        images: Some(true),
        reasoning: Some(ReasoningKind::None),
        ..StatedAbilities::default()
    };
    assert_eq!(told, expected);
    let embeddings = json!({"data": [{"id": "e", "capabilities": {"completion_chat": false}}]});
    assert_eq!(read(&embeddings), []);
    let window = |model: Value| one(model).context_window;
    assert_eq!(
        window(json!({"id": "v", "max_model_len": 32_768})),
        Some(32_768)
    );
    assert_eq!(
        window(json!({"id": "l", "meta": {"n_ctx_train": 40_960}})),
        Some(40_960)
    );
    assert_eq!(window(json!({"id": "z", "max_model_len": 0})), None);
}
