//! Every key that a workspace may set, sorted: a new key fails until somebody has thought of it.

use serde_json::json;

use super::*;
use crate::{preview::TrustPreview, schema};

/// The kinds of keys of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sorted {
    /// Starts nothing and leads nothing anywhere.
    Harmless,
    /// Decides what is started or where something goes: trust shows its value whole, and ends when it changes.
    Shown,
}

use Sorted::{Harmless, Shown};

const SETTABLE: &[(&str, Sorted)] = &[
    ("assistant.instructions", Harmless),
    ("assistant.model", Harmless),
    ("assistant.reasoning", Harmless),
    ("assistant.system_prompt", Harmless),
    ("assistant.tool_choice", Harmless),
    ("conversation.tools.*.command", Shown),
    ("conversation.tools.*.description", Shown),
    ("conversation.tools.*.detached.deliver", Harmless),
    ("conversation.tools.*.detached.run", Harmless),
    ("conversation.tools.*.detached.tool", Harmless),
    ("conversation.tools.*.enable.allow_toggle", Harmless),
    ("conversation.tools.*.enable.state", Harmless),
    ("conversation.tools.*.options", Shown),
    ("conversation.tools.*.parameters", Shown),
    ("conversation.tools.*.questions.*.exclusive", Harmless),
    ("conversation.tools.*.result", Harmless),
    ("conversation.tools.*.run", Harmless),
    ("conversation.tools.*.source", Shown),
    ("conversation.tools.*.style.hidden", Harmless),
    ("conversation.tools.*.summary", Harmless),
    ("conversation.tools.defaults.detached.deliver", Harmless),
    ("conversation.tools.defaults.detached.run", Harmless),
    ("conversation.tools.defaults.detached.tool", Harmless),
    ("conversation.tools.defaults.result", Harmless),
    ("conversation.tools.defaults.run", Harmless),
    ("mcp.servers.*.args", Shown),
    ("mcp.servers.*.command", Shown),
    ("mcp.servers.*.enabled", Harmless),
    ("mcp.servers.*.env.*", Shown),
    ("mcp.servers.*.exclude_tools", Harmless),
    ("mcp.servers.*.include_tools", Harmless),
    ("mcp.servers.*.may_change", Shown),
    ("mcp.servers.*.protocol", Harmless),
    ("mcp.servers.*.startup_seconds", Harmless),
    ("mcp.servers.*.tool_seconds", Harmless),
    ("mcp.servers.*.url", Shown),
];

/// The sources of a trusted workspace that sets a key to a value.
fn sources(key: &str, value: &Value) -> Sources {
    let key = key.replace('*', "canary_name");
    let text = toml::Value::try_from(value).unwrap();
    Sources {
        workspace_file: Some(SourceFile {
            path: "work/aside.toml".into(),
            text: format!("{key} = {text}\n"),
        }),
        trusted: true,
        ..Sources::default()
    }
}

/// The values of a key, of many that were tried, that count in a trusted workspace.
fn kept(key: &str, schema: &Value) -> Vec<Value> {
    let words = [
        "canary",
        "deny",
        "ask",
        "local",
        "user",
        "high",
        "auto",
        "any",
        "2025-11-25",
        "off",
        "a/b",
    ];
    let words = words.iter().map(|word| json!(word));
    let more = [
        json!(true),
        json!(false),
        json!(7),
        json!(["canary"]),
        json!({"canary": "canary"}),
    ];
    let fitting = words
        .chain(more)
        .filter(|value| schema::fits(schema, value));
    let counts = |value: &Value| {
        let loaded = load(&sources(key, value), &tool_defaults());
        loaded.is_ok_and(|configuration| {
            let shown = configuration.show(None).unwrap();
            shown.contains("work/aside.toml")
        })
    };
    fitting.filter(counts).collect()
}

#[test]
fn every_key_that_a_workspace_may_set_is_sorted() {
    let mut found = Vec::new();
    for (path, schema) in keys() {
        let key = path.join(".");
        let values = kept(&key, schema);
        if values.is_empty() {
            continue;
        }
        let sorted = SETTABLE.iter().find(|(known, _)| *known == key);
        let Some((known, sorted)) = sorted else {
            panic!("{key}: is it harmless, or shown whole? Sort it in `SETTABLE`");
        };
        found.push(*known);
        for value in values.iter().filter(|_| *sorted == Shown) {
            let sources = sources(&key, value);
            let preview = TrustPreview::of(&sources, &tool_defaults()).unwrap();
            let shown = preview.settings.iter().any(|of| {
                of.setting.value == *value
                    || value
                        .as_object()
                        .is_some_and(|all| all.values().any(|it| *it == of.setting.value))
            });
            assert!(shown, "{key} = {value} is not shown whole: {preview:?}");
        }
    }
    let all: Vec<&str> = SETTABLE.iter().map(|(key, _)| *key).collect();
    let gone: Vec<&&str> = all.iter().filter(|key| !found.contains(key)).collect();
    assert!(gone.is_empty(), "no workspace sets {gone:?} any more");
}

#[test]
fn a_workspace_passes_no_variable_of_the_user_s_on() {
    let text = "[mcp.servers.s]\ncommand = 'sh'\nenv_vars = ['ANTHROPIC_API_KEY', 'LANG']\n";
    let configuration = configure(&[("workspace", text), ("trusted", "")]).unwrap();
    assert_eq!(configuration.ignored, ["mcp.servers.s.env_vars"]);
    assert!(configuration.settings.mcp.servers["s"].env_vars.is_empty());
}
