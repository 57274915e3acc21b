//! Layers as texts, and what comes of them.

mod run;
mod settable;
mod values;
mod workspace;

use super::*;

/// The layers of a configuration by name: `user` and `workspace` are TOML, `workspaceConfig` and `config` JSON,
/// `env` and `set` lines of `NAME=value`; `trusted` and `trusted by client` have no text.
type Layers<'a> = &'a [(&'a str, &'a str)];

fn configure(layers: Layers<'_>) -> Result<Configuration, Problems> {
    let mut sources = Sources::default();
    let file = |path: &str, text: &str| {
        Some(SourceFile {
            path: path.into(),
            text: text.into(),
        })
    };
    for (name, text) in layers {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        match *name {
            "user" => sources.user_file = file("~/aside.toml", text),
            "workspace" => sources.workspace_file = file("work/aside.toml", text),
            "workspaceConfig" => sources.workspace_config = serde_json::from_str(text).ok(),
            "config" => sources.client_config = serde_json::from_str(text).ok(),
            "env" => {
                let pairs = lines.map(|line| line.split_once('=').unwrap());
                sources
                    .environment
                    .extend(pairs.map(|(name, value)| (name.into(), value.into())));
            }
            "set" => sources
                .flags
                .extend(lines.map(|line| Flag::Set(line.to_owned()))),
            "trusted" => sources.trusted = true,
            "trusted by client" => sources.trusted_by_client = true,
            other => panic!("no layer is called {other}"),
        }
    }
    load(&sources, &tool_defaults())
}

fn tool_defaults() -> toml::Table {
    toml::from_str(
        r#"
        ask_user = { enable = { state = true, allow_toggle = "if_named" }, style.hidden = true, questions.answer.prompt_label = "Assistant" }
        read_file = {}
        run_command = {}
        "#,
    )
    .unwrap()
}

/// What comes of the layers: each value that is not built in, and notices; or what is wrong.
#[track_caller]
fn check(layers: Layers<'_>, expected: &[&str]) {
    let found = match configure(layers) {
        Ok(configuration) => {
            let shown = configuration.show(None).unwrap();
            let lines = shown
                .lines()
                .filter(|line| !line.ends_with("# from built-in"));
            lines
                .map(ToOwned::to_owned)
                .chain(configuration.notices)
                .collect()
        }
        Err(problems) => problems
            .to_string()
            .lines()
            .map(ToOwned::to_owned)
            .collect::<Vec<_>>(),
    };
    assert_eq!(found, expected);
}

#[test]
fn the_schema_takes_what_is_taken_and_nothing_else() {
    let validator = jsonschema::draft202012::new(schema()).unwrap();
    let rows = [
        ("", true),
        ("assistant.model = 'a/b'", true),
        (
            "conversation.tools.x = { enable = true, detached = 'stop' }",
            true,
        ),
        (
            "conversation.tools.x.enable.allow_toggle = 'if_named'",
            true,
        ),
        (
            "conversation.tools.x.parameters = { type = 'object', properties.a.type = 'string' }",
            true,
        ),
        (
            "conversation.tools.x.questions.q.target.model = 'a/b'",
            true,
        ),
        (
            "providers.mine = { api = 'openai-chat', base_url = 'http://localhost', api_key_env = 'KEY' }",
            true,
        ),
        (
            "mcp.servers.db = { command = 'db', args = ['-x'], env.A = 'b' }",
            true,
        ),
        ("assistant.modle = 'a/b'", false),
        ("conversation.tools.x.enable.allow = 'any'", false),
        ("conversation.tools.'a b'.run = 'deny'", false),
        ("conversation.tools.defaults.command = ['x']", false),
        ("conversation.limits.tool_seconds = 601", false),
        ("providers.mine.api_key = 'sk-123'", false),
        (
            "providers.mine.models.'org/m:8b' = { context_window = 65536, forced_tools = 'without_reasoning', \
             efforts = ['low'], prices = { input = 1, output = 2.5, up_to = 9, beyond = { input = 2, output = 5 } } }",
            true,
        ),
        ("providers.mine.models.m.contextwindow = 1", false),
        ("providers.mine.models.m.context_window = 0", false),
        ("providers.mine.models.m.reasoning = 'deep'", false),
        ("providers.mine.models.m.prices.inptu = 1", false),
        ("providers.mine.models.m.prices.input = -1", false),
        ("tls_roots = 'system'", true),
        ("tls_roots = 'none'", false),
    ];
    for (text, fits) in rows {
        let value = serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
        assert_eq!(validator.is_valid(&value), fits, "the schema on {text}");
        assert_eq!(configure(&[("user", text)]).is_ok(), fits, "loading {text}");
    }
}

#[test]
fn the_schema_knows_no_null_and_describes_every_key() {
    fn walk(schema: &Value, path: &str) {
        assert!(!schema.to_string().contains("\"null\""), "{path}");
        for (key, child) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            assert!(
                child["description"].is_string(),
                "{path} has no description"
            );
            walk(child, &path);
        }
    }
    walk(schema(), "");
}
