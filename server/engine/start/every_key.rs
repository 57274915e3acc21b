//! Tests that every configuration key has an effect or is refused.

use std::{fmt::Write, sync::Arc};

use aside_config::{
    Configuration, Flag, ModelId, RunContext, SourceFile, Sources, Toggle, ToolFacts,
};
use aside_turn::rules::Model;
use serde_json::Value;

use super::{
    parts::tool_limits,
    system::{inquiry_system, system_text},
    tools::{ToolSet, tool_defaults},
};
use crate::engine::models::{Models, key::EnteredKeys};

/// A model of an unknown provider, so that all of its properties are configured.
const BASE: &str = r#"
    [assistant]
    model = "p/m"
    [providers.p]
    api = "openai-chat"
    base_url = "http://127.0.0.1:1"
    [providers.p.models.m]
    reasoning = "effort"
    prices = { input = 1, output = 2, up_to = 5, beyond = { input = 3, output = 4 } }
"#;

/// Keys whose effect is tested elsewhere.
const ELSEWHERE: [&str; 6] = [
    // `TurnConfig::unsandboxed` and `run_command`.
    "unsandboxed",
    "sandbox",
    "commands",
    // `Engine::server_tools`.
    "mcp",
    // `Models::new`.
    "tls_roots",
    // `run` and `live` on a terminal.
    "screen_reader",
];

/// Everything that a turn is made from, as text.
fn effective_values(configuration: &Configuration, models: &Models) -> String {
    let settings = &configuration.settings;
    let tools = |toggles: &[Toggle]| {
        let set = ToolSet::new(settings, std::iter::empty(), toggles, &[]);
        set.map(|set| format!("{:?} {:?} {:?}", set.enabled, set.specs, set.descriptions))
            .map_err(|error| error.to_string())
    };
    let mut made = String::new();
    let mut say = |part: &dyn std::fmt::Debug| {
        let _ = writeln!(made, "{part:?}");
    };
    for toggles in [
        vec![],
        vec![Toggle::AllOff],
        vec![Toggle::Off("edit_file".into())],
    ] {
        say(&tools(&toggles));
    }
    let facts = |name: &str| (name.to_owned(), ToolFacts::default());
    say(&settings.rules(&RunContext {
        tools: ["edit_file", "run_command"].map(facts).into(),
        model: Model {
            id: "p/m".into(),
            ..Model::default()
        },
        ..RunContext::default()
    }));
    say(&system_text(settings, None, Vec::new()).0);
    say(&tool_limits(&settings.conversation.limits));
    for name in ["inquiry", "edit_file.occurrence"] {
        let assistant = settings.inquiry_assistant(name);
        say(&inquiry_system(&assistant));
        say(&assistant.model);
        let model = ModelId::parse("p/m", settings);
        let endpoint = model.and_then(|model| models.configured(&model, &assistant, settings));
        say(&endpoint.map(|endpoint| (endpoint.kind, endpoint.options)));
    }
    let choice = aside_config::choose_model(settings, &|_| false);
    say(&choice);
    let model = ModelId::parse("p/m", settings);
    let endpoint = model.and_then(|model| models.configured(&model, &settings.assistant, settings));
    say(&endpoint.map(|endpoint| (endpoint.kind, endpoint.options, endpoint.key)));
    say(&configuration.void());
    made
}

fn configure(flag: Option<String>) -> Result<Configuration, String> {
    let sources = Sources {
        user_file: Some(SourceFile {
            path: "~/aside.toml".into(),
            text: BASE.into(),
        }),
        flags: flag.into_iter().map(Flag::Set).collect(),
        ..Sources::default()
    };
    aside_config::load(&sources, &tool_defaults()).map_err(|problems| problems.to_string())
}

/// Values that match a schema, in TOML.
fn candidates(schema: &Value) -> Vec<String> {
    let list = |keyword| schema.get(keyword).and_then(Value::as_array);
    if let Some(choices) = list("anyOf").or_else(|| list("oneOf")) {
        return choices.iter().flat_map(candidates).collect();
    }
    if let Some(values) = list("enum") {
        return values.iter().map(Value::to_string).collect();
    }
    if let Some(only) = schema.get("const") {
        return vec![only.to_string()];
    }
    let kinds = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.clone(),
        Some(kind) => vec![kind.clone()],
        None => Vec::new(),
    };
    let of_kind = |kind: &Value| -> &[&str] {
        match kind.as_str() {
            Some("boolean") => &["true", "false"],
            Some("integer") => &["3", "7"],
            Some("number") => &["0.125"],
            Some("array") => &["[\"x\"]"],
            Some("string") => &["\"p/other\"", "\"required\"", "\"http://127.0.0.1:2\""],
            _ => &["{ a = \"b\" }"],
        }
    };
    let of_kinds = kinds.iter().flat_map(of_kind);
    of_kinds.map(|text| (*text).to_owned()).collect()
}

/// A key with names in place of its stars.
fn named(path: &[String]) -> String {
    let mut named: Vec<&str> = Vec::new();
    for part in path {
        let name = match (part.as_str(), named.last().copied()) {
            ("*", Some("tools")) => "edit_file",
            ("*", Some("questions")) => "occurrence",
            ("*", Some("providers")) => "p",
            ("*", Some("models")) => "m",
            ("*", _) => "x",
            (part, _) => part,
        };
        named.push(name);
    }
    named.join(".")
}

#[test]
fn every_key_has_an_effect_or_is_rejected() {
    let nowhere = std::path::PathBuf::from("/nonexistent");
    let base = configure(None).expect("a configuration");
    let env = Arc::new(|_: &str| Option::<String>::None);
    let entered = EnteredKeys::default();
    let models = Models::new(&base.settings, env, entered, nowhere.clone(), nowhere);
    let before = effective_values(&base, &models);
    assert!(base.void().is_empty());
    let mut ignored = Vec::new();
    let keys = aside_config::keys();
    assert!(keys.len() > 50, "{} keys", keys.len());
    for (path, schema) in keys {
        let key = named(&path);
        let changes = |value: &String| {
            configure(Some(format!("{key}={value}")))
                .is_ok_and(|configuration| effective_values(&configuration, &models) != before)
        };
        let known = ELSEWHERE
            .iter()
            .any(|known| key == *known || key.starts_with(&format!("{known}.")));
        if !known && !candidates(schema).iter().any(changes) {
            ignored.push(key);
        }
    }
    assert!(ignored.is_empty(), "accepted and ignored: {ignored:#?}");
}
