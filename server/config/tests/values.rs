//! What layers say, what is wrong with them, and which wins.

use serde_json::json;

use super::*;

#[test]
fn what_is_wrong_is_named_with_file_and_line() {
    check(
        &[("user", "[conversation]\n\nmdoe = 'ask'")],
        &["~/aside.toml:3: unknown key `conversation.mdoe`; did you mean `conversation.mode`?"],
    );
    check(
        &[("user", "mode = 'ask'")],
        &["~/aside.toml:1: unknown key `mode`; did you mean `conversation.mode`?"],
    );
    check(
        &[("user", "zzzzzzzz = 1")],
        &["~/aside.toml:1: unknown key `zzzzzzzz`; known here are \
           assistant, conversation, commands, sandbox, unsandboxed, providers, tls_roots, mcp, screen_reader"],
    );
    check(
        &[
            (
                "workspace",
                "a = 1\n[conversation.limits]\nsteps = 0\ntool_seconds = 900",
            ),
            ("trusted", ""),
        ],
        &[
            "work/aside.toml:1: unknown key `a`; known here are \
             assistant, conversation, commands, sandbox, unsandboxed, providers, tls_roots, mcp, screen_reader",
            "work/aside.toml:3: `conversation.limits.steps` must be a whole number of at least 1",
            "work/aside.toml:4: `conversation.limits.tool_seconds` must be a whole number from 1 to 600",
        ],
    );
    check(
        &[("user", "assistant.model = 'a/b'\n[conversation\nmode = 1")],
        &["~/aside.toml:2: it is not TOML: unclosed table, expected `]`"],
    );
    check(
        &[("user", "assistant.model = 'a/b'\nassistant.model = 'a/c'")],
        &["~/aside.toml:2: it is not TOML: duplicate key"],
    );
}

#[test]
fn a_wrong_type_says_what_would_fit_and_never_repeats_the_value() {
    let cases = [
        ("assistant.model = 3", "`assistant.model` must be a text"),
        ("assistant = 'x'", "`assistant` must be a table"),
        (
            "conversation.mode = 'yolo'",
            "`conversation.mode` must be \"ask\" or \"edits\" or \"plan\" or \"auto\"",
        ),
        ("unsandboxed = 'yes'", "`unsandboxed` must be true or false"),
        (
            "conversation.limits.steps = 1e400",
            "`conversation.limits.steps` must be a whole number of at least 1",
        ),
        (
            "conversation.limits.steps = 99999999999999999999",
            "`conversation.limits.steps` must be a whole number of at least 1",
        ),
        (
            "conversation.tools.x.enable = 'on'",
            "`conversation.tools.x.enable` must be true or false or a table",
        ),
        (
            "conversation.tools.x.detached = 'wait'",
            "`conversation.tools.x.detached` must be \"auto\" or \"defaults\" or \"deny\" or \"stop\" or a table",
        ),
        (
            "conversation.tools.x.questions.q.target = 'me'",
            "`conversation.tools.x.questions.q.target` must be \"user\" or \"assistant\" or a table",
        ),
        (
            "conversation.tools.x.command = []",
            "`conversation.tools.x.command` must be a list of texts that is not empty",
        ),
        (
            "conversation.tools.x.questions.q.answer = { a = 3 }",
            "`conversation.tools.x.questions.q.answer` must be a text or true or false or a number or a list of texts",
        ),
        (
            "assistant.tool_choice = 'a b'",
            "`assistant.tool_choice` must be a text of the characters A-Z a-z 0-9 _ -",
        ),
        (
            "mcp.servers.x.env.TOKEN = 123456",
            "`mcp.servers.x.env.TOKEN` must be a text",
        ),
    ];
    for (text, expected) in cases {
        check(&[("user", text)], &[&format!("~/aside.toml:1: {expected}")]);
    }
}

#[test]
fn names_of_tools_providers_and_servers_are_free_and_checked() {
    let name = "a name is 1 to 64 of the characters A-Z a-z 0-9 _ -";
    check(
        &[(
            "user",
            "conversation.tools.'rm -rf'.run = 'deny'\nproviders.'a/b'.api = 'google'\nmcp.servers.''.url = ''",
        )],
        &[
            &format!("~/aside.toml:1: unknown key `conversation.tools.\"rm -rf\"`: {name}"),
            &format!("~/aside.toml:2: unknown key `providers.\"a/b\"`: {name}"),
            &format!("~/aside.toml:3: unknown key `mcp.servers.\"\"`: {name}"),
        ],
    );
    check(
        &[(
            "user",
            "conversation.tools.git__log.run = 'deny'\nconversation.tools.x.questions.'a b'.exclusive = true",
        )],
        &[
            "conversation.tools.git__log.run = \"deny\"  # from user file ~/aside.toml:1",
            "conversation.tools.x.questions.\"a b\".exclusive = true  # from user file ~/aside.toml:2",
        ],
    );
    // The table of defaults is no tool: it has no command.
    check(
        &[("user", "conversation.tools.defaults.command = ['x']")],
        &[
            "~/aside.toml:1: unknown key `conversation.tools.defaults.command`; known here are \
           enable, run, result, detached",
        ],
    );
}

#[test]
fn a_stronger_layer_wins_key_by_key() {
    let all: [(&str, &str); 7] = [
        ("user", "assistant.model = 'user/m'\nsandbox = 'off'"),
        ("workspace", "assistant.model = 'file/m'"),
        (
            "workspaceConfig",
            r#"{"assistant": {"model": "workspace-config/m"}}"#,
        ),
        (
            "config",
            r#"{"assistant": {"model": "config/m", "reasoning": null}}"#,
        ),
        ("env", "ASIDE_ASSISTANT__MODEL=env/m"),
        ("set", "assistant.model=set/m"),
        ("trusted by client", ""),
    ];
    let models = [
        "\"user/m\"  # from user file ~/aside.toml:1",
        "\"file/m\"  # from workspace file work/aside.toml:1",
        "\"workspace-config/m\"  # from the client's workspaceConfig",
        "\"config/m\"  # from the client's config",
        "\"env/m\"  # from environment ASIDE_ASSISTANT__MODEL",
        "\"set/m\"  # from flag --set assistant.model",
    ];
    for (count, model) in models.iter().enumerate() {
        let layers = [&all[..=count], &all[6..]].concat();
        check(
            &layers,
            &[
                &format!("assistant.model = {model}"),
                "sandbox.state = \"off\"  # from user file ~/aside.toml:2",
            ],
        );
    }
}

#[test]
fn one_key_of_a_built_in_tool_keeps_the_rest() {
    let key = "conversation.tools.ask_user.questions.answer.prompt_label";
    let configuration = configure(&[("user", &format!("{key} = 'Robot'"))]).unwrap();
    assert_eq!(
        configuration
            .show(Some("conversation.tools.ask_user"))
            .unwrap(),
        "conversation.tools.ask_user.enable.allow_toggle = \"if_named\"  # from built-in\n\
         conversation.tools.ask_user.enable.state = true  # from built-in\n\
         conversation.tools.ask_user.questions.answer.prompt_label = \"Robot\"  # from user file ~/aside.toml:1\n\
         conversation.tools.ask_user.style.hidden = true  # from built-in\n"
    );
}

#[test]
fn every_built_in_value_is_shown_and_an_empty_table_sets_nothing() {
    let empty = "[conversation.limits]\n[conversation.tools.ask_user]";
    let configuration = configure(&[("user", empty)]).unwrap();
    assert_eq!(configuration.settings, configure(&[]).unwrap().settings);
    assert_eq!(
        configuration
            .show(Some("conversation.limits"))
            .unwrap()
            .replace("  # from built-in", ""),
        "conversation.limits.calls_in_message = 256\n\
         conversation.limits.output_head = 16384\n\
         conversation.limits.output_tail = 16384\n\
         conversation.limits.retries = 5\n\
         conversation.limits.retry_seconds = 60\n\
         conversation.limits.steps = 100\n\
         conversation.limits.tool_seconds = 120\n\
         conversation.limits.tools_at_once = 16\n"
    );
    assert_eq!(
        configuration.show(Some("assistant.model")).unwrap(),
        "# assistant.model is not set\n"
    );
    assert_eq!(
        configuration.show(Some("assistant.modle")).unwrap_err(),
        "unknown key `assistant.modle`; did you mean `assistant.model`?"
    );
    assert_eq!(
        configuration.show(Some("a b")).unwrap_err(),
        "`a b` is not a key"
    );
    assert_eq!(
        configuration.origin("conversation.mode"),
        Some(Origin::BuiltIn)
    );
}

#[test]
fn enable_is_a_bool_for_both_keys_or_a_table_for_those_it_names() {
    let tool = "conversation.tools.ask_user.enable";
    let from = |line| format!("# from user file ~/aside.toml:{line}");
    check(
        &[("user", &format!("{tool} = false"))],
        &[
            &format!("{tool}.allow_toggle = \"any\"  {}", from(1)),
            &format!("{tool}.state = false  {}", from(1)),
        ],
    );
    check(
        &[("user", &format!("{tool} = {{ state = false }}"))],
        &[&format!("{tool}.state = false  {}", from(1))],
    );
    check(
        &[("user", &format!("{tool} = {{ allow_toggle = 'always' }}"))],
        &[&format!("{tool}.allow_toggle = \"always\"  {}", from(1))],
    );
}

#[test]
fn a_target_is_a_word_or_an_assistant_and_one_replaces_the_other() {
    let key = "conversation.tools.x.questions.q.target";
    check(
        &[
            ("user", &format!("{key} = {{ model = 'a/b' }}")),
            ("set", &format!("{key}=user")),
        ],
        &[&format!("{key} = \"user\"  # from flag --set {key}")],
    );
    check(
        &[
            ("user", &format!("{key} = 'user'")),
            ("set", &format!("{key}.model=a/b")),
        ],
        &[&format!(
            "{key}.model = \"a/b\"  # from flag --set {key}.model"
        )],
    );
}

#[test]
fn the_environment_and_set_read_toml_where_the_key_takes_it() {
    check(
        &[(
            "env",
            "ASIDE_CONVERSATION__LIMITS__STEPS=7\nASIDE_SANDBOX=off\nASIDE_LOG=debug\nPATH=/bin\nASIDE_KEY=x\nASIDE_ASSISTANT__SYSTEM_PROMPT=12",
        )],
        &[
            "assistant.system_prompt = \"12\"  # from environment ASIDE_ASSISTANT__SYSTEM_PROMPT",
            "conversation.limits.steps = 7  # from environment ASIDE_CONVERSATION__LIMITS__STEPS",
            "sandbox.state = \"off\"  # from environment ASIDE_SANDBOX",
        ],
    );
    check(
        &[("env", "ASIDE_MODEL=a/b")],
        &["ASIDE_MODEL is not a setting; did you mean ASIDE_ASSISTANT__MODEL?"],
    );
    check(
        &[(
            "env",
            "ASIDE_ASSISTANT__MODLE=a/b\nASIDE_CONVERSATION__MODE=yolo",
        )],
        &[
            "ASIDE_ASSISTANT__MODLE: unknown key `assistant.modle`; did you mean `assistant.model`?",
            "ASIDE_CONVERSATION__MODE: `conversation.mode` must be \"ask\" or \"edits\" or \"plan\" or \"auto\"",
        ],
    );
    check(
        &[(
            "set",
            "conversation.tools.x.enable={state=true}\nconversation.tools.x.questions.\"a.b\".answer=true\nassistant.instructions = \"a # b\"",
        )],
        &[
            "assistant.instructions = \"a # b\"  # from flag --set assistant.instructions",
            "conversation.tools.x.enable.state = true  # from flag --set conversation.tools.x.enable",
            "conversation.tools.x.questions.\"a.b\".answer = true  # from flag --set conversation.tools.x.questions.\"a.b\".answer",
        ],
    );
    check(
        &[("set", "sandbox\na b=1\nsecret=hunter2")],
        &[
            "--set sandbox: it is written --set KEY=VALUE",
            "--set a b: `a b` is not a key",
            "--set secret: unknown key `secret`; known here are assistant, conversation, commands, sandbox, unsandboxed, providers, tls_roots, mcp, screen_reader",
        ],
    );
}

#[test]
fn a_flag_of_its_own_is_shown_by_its_name() {
    let flag = Flag::Typed {
        name: "--model".into(),
        key: "assistant.model".into(),
        value: json!("a/b"),
    };
    let sources = Sources {
        flags: vec![flag],
        ..Sources::default()
    };
    let shown = load(&sources, &toml::Table::new())
        .unwrap()
        .show(Some("assistant.model"))
        .unwrap();
    assert_eq!(shown, "assistant.model = \"a/b\"  # from flag --model\n");
}

#[test]
fn the_environment_of_a_server_is_never_shown() {
    let configuration = configure(&[("user", "mcp.servers.x.env.TOKEN = 'hunter2'")]).unwrap();
    let shown = format!("{}{configuration:?}", configuration.show(None).unwrap());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(
        configuration.settings.mcp.servers["x"].env["TOKEN"].reveal(),
        "hunter2"
    );
}

#[test]
fn what_may_be_a_key_is_never_shown() {
    check(
        &[(
            "user",
            "mcp.servers.x = { command = 'db', args = ['--access-token', 'canary-1', '-v'] }\n\
             mcp.servers.y = { url = 'https://h/mcp?api_key=canary-2&a=b', bearer_token_env = 'sk_live_9f8e7d6c5b4a' }\n\
             providers.p = { api_key_env = 'sk_live_9f8e7d6c5b4a', headers.x-key = 'canary-3' }\n\
             providers.q = { api_key_env = 'Q_KEY', api_key_command = ['vault', '--token=canary-4'] }",
        )],
        &[
            r#"mcp.servers.x.args = ["--access-token", "[hidden]", "-v"]  # from user file ~/aside.toml:1"#,
            r#"mcp.servers.x.command = "db"  # from user file ~/aside.toml:1"#,
            r#"mcp.servers.y.bearer_token_env = "[hidden]"  # from user file ~/aside.toml:2"#,
            r#"mcp.servers.y.url = "https://h/mcp?api_key=[hidden]&a=b"  # from user file ~/aside.toml:2"#,
            r#"providers.p.api_key_env = "[hidden]"  # from user file ~/aside.toml:3"#,
            r#"providers.p.headers.x-key = "[hidden]"  # from user file ~/aside.toml:3"#,
            r#"providers.q.api_key_command = ["vault", "--token=[hidden]"]  # from user file ~/aside.toml:4"#,
            r#"providers.q.api_key_env = "Q_KEY"  # from user file ~/aside.toml:4"#,
        ],
    );
}

#[test]
fn a_value_is_shown_on_one_line_and_without_anything_hidden() {
    check(
        &[
            (
                "user",
                r#"assistant.instructions = "a \"b\"\n\u001b[31m \u202e""#,
            ),
            (
                "set",
                "conversation.tools.x.command=['a', 'b c']\nconversation.tools.x.parameters={type='object', 'a b'=[1, true]}",
            ),
        ],
        &[
            r#"assistant.instructions = "a \"b\"\n\U0000001B[31m \U0000202E"  # from user file ~/aside.toml:1"#,
            r#"conversation.tools.x.command = ["a", "b c"]  # from flag --set conversation.tools.x.command"#,
            r#"conversation.tools.x.parameters = { type = "object", "a b" = [1, true] }  # from flag --set conversation.tools.x.parameters"#,
        ],
    );
    check(
        &[("user", "\"\\u001b[2J\" = 1")],
        &[
            r#"~/aside.toml:1: unknown key `"\U0000001B[2J"`; known here are assistant, conversation, commands, sandbox, unsandboxed, providers, tls_roots, mcp, screen_reader"#,
        ],
    );
}
