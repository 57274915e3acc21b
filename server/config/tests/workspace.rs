//! What a workspace may set.

use super::*;

/// Whether a workspace's key counts: `-` not at all, else from the layer on that is named.
#[track_caller]
fn check_workspace(user: &str, key: &str, expected: [bool; 2]) {
    let counts = |trusted: bool| {
        let mut layers = vec![("user", user), ("workspace", key)];
        layers.extend(trusted.then_some(("trusted", "")));
        let configuration = configure(&layers).unwrap();
        let is_kept = configuration.show(None).unwrap().contains("workspace file");
        assert_ne!(
            is_kept,
            !configuration.ignored.is_empty(),
            "kept or ignored: {key}"
        );
        is_kept
    };
    assert_eq!([counts(false), counts(true)], expected, "{key} over {user}");
}

#[test]
fn what_a_workspace_may_set() {
    const ALWAYS: [bool; 2] = [true, true];
    const TRUSTED: [bool; 2] = [false, true];
    const NEVER: [bool; 2] = [false, false];
    let rows = [
        ("assistant.instructions = 'x'", ALWAYS),
        ("assistant.model = 'a/b'", TRUSTED),
        ("assistant.system_prompt = 'x'", TRUSTED),
        ("assistant.reasoning = 'high'", TRUSTED),
        ("assistant.tool_choice = 'required'", TRUSTED),
        ("assistant.request.cache = 'long'", NEVER),
        ("conversation.tools.read_file.enable = false", TRUSTED),
        ("conversation.tools.read_file.style.hidden = true", TRUSTED),
        ("conversation.tools.read_file.summary = 'x'", TRUSTED),
        ("conversation.tools.read_file.description = 'x'", NEVER),
        ("conversation.tools.read_file.command = ['evil']", NEVER),
        ("conversation.tools.lint.command = ['tools/lint']", TRUSTED),
        ("conversation.tools.lint.source = 'local'", TRUSTED),
        ("conversation.tools.lint.source = 'builtin'", NEVER),
        (
            "conversation.tools.lint.parameters.type = 'object'",
            TRUSTED,
        ),
        ("mcp.servers.db.command = 'db'", TRUSTED),
        ("mcp.servers.db.url = 'https://db'", TRUSTED),
        ("conversation.tools.run_command.run = 'ask'", TRUSTED),
        ("conversation.tools.run_command.run = 'deny'", TRUSTED),
        ("conversation.tools.run_command.run = 'unattended'", NEVER),
        ("conversation.tools.run_command.result = 'ask'", TRUSTED),
        (
            "conversation.tools.run_command.result = 'unattended'",
            NEVER,
        ),
        ("conversation.tools.run_command.detached = 'deny'", TRUSTED),
        (
            "conversation.tools.run_command.detached.run = 'deny'",
            TRUSTED,
        ),
        ("conversation.tools.run_command.detached = 'auto'", NEVER),
        (
            "conversation.tools.run_command.detached.tool = 'stop'",
            NEVER,
        ),
        ("conversation.tools.x.questions.q.exclusive = true", TRUSTED),
        ("conversation.tools.x.questions.q.exclusive = false", NEVER),
        ("conversation.tools.x.questions.q.target = 'user'", TRUSTED),
        (
            "conversation.tools.x.questions.q.target = 'assistant'",
            NEVER,
        ),
        (
            "conversation.tools.x.questions.q.target.model = 'a/b'",
            NEVER,
        ),
        ("conversation.tools.x.questions.q.answer = true", NEVER),
        (
            "conversation.tools.x.questions.q.prompt_label = 'Aside'",
            NEVER,
        ),
        ("conversation.tools.defaults.run = 'deny'", TRUSTED),
        ("conversation.tools.defaults.run = 'unattended'", NEVER),
        ("conversation.tools.defaults.enable = true", NEVER),
        ("conversation.tools.defaults.detached = 'auto'", NEVER),
        ("conversation.mode = 'auto'", NEVER),
        ("conversation.limits.steps = 1000", NEVER),
        ("conversation.inquiry.assistant.model = 'a/b'", NEVER),
        ("conversation.inquiry.strategy = 'structured'", NEVER),
        ("commands.allow = ['rm']", NEVER),
        ("sandbox = 'off'", NEVER),
        ("unsandboxed = true", NEVER),
        ("providers.a.base_url = 'https://evil'", NEVER),
        ("providers.a.api_key_env = 'HOME'", NEVER),
        ("providers.a.api_key_command = ['evil']", NEVER),
        ("providers.a.api = 'openai-chat'", NEVER),
        ("providers.a.headers.x-team = 'y'", NEVER),
        ("providers.a.models.m.context_window = 1", NEVER),
        ("providers.a.models.m.prices.input = 0", NEVER),
        ("tls_roots = 'system'", NEVER),
        ("assistant.request.cache = 'long'", NEVER),
        ("assistant.request.max_output_tokens = 1", NEVER),
    ];
    for (key, expected) in rows {
        check_workspace("", key, expected);
    }
}

#[test]
fn the_user_s_switch_of_a_server_counts_and_does_not_make_it_the_user_s() {
    let off = "mcp.servers.db.enabled = false";
    check_workspace(off, "mcp.servers.db.command = 'db'", [false, true]);
    check_workspace(off, "mcp.servers.db.enabled = true", [false, false]);
    let own = "mcp.servers.db.command = 'mine'";
    check_workspace(own, "mcp.servers.db.args = ['x']", [false, false]);
}

#[test]
fn a_workspace_only_tightens_what_the_user_set() {
    let rows = [
        (
            "assistant.model = 'a/b'",
            "assistant.model = 'a/b'",
            [true, true],
        ),
        (
            "conversation.inquiry.assistant.model = 'a/b'",
            "assistant.model = 'a/b'",
            [true, true],
        ),
        (
            "assistant.model = 'a/c'",
            "assistant.model = 'a/b'",
            [false, true],
        ),
        (
            "conversation.tools.x.run = 'deny'",
            "conversation.tools.x.run = 'ask'",
            [false, false],
        ),
        (
            "conversation.tools.defaults.run = 'deny'",
            "conversation.tools.x.run = 'ask'",
            [false, false],
        ),
        (
            "conversation.tools.x.run = 'unattended'",
            "conversation.tools.x.run = 'ask'",
            [false, true],
        ),
        (
            "conversation.tools.x.enable = { state = false, allow_toggle = 'never' }",
            "conversation.tools.x.enable = true",
            [false, false],
        ),
        (
            "conversation.tools.deploy.command = ['mine']",
            "conversation.tools.deploy.command = ['evil']",
            [false, false],
        ),
        (
            "conversation.tools.deploy.run = 'ask'",
            "conversation.tools.deploy.command = ['theirs']",
            [false, true],
        ),
        (
            "conversation.tools.read_file.run = 'ask'",
            "conversation.tools.read_file.command = ['evil']",
            [false, false],
        ),
        (
            "mcp.servers.db.command = 'db'",
            "mcp.servers.db.args = ['--evil']",
            [false, false],
        ),
        (
            "mcp.servers.db.command = 'db'",
            "mcp.servers.db.env.PATH = 'evil'",
            [false, false],
        ),
    ];
    for (user, key, expected) in rows {
        check_workspace(user, key, expected);
    }
}

#[test]
fn ignored_keys_are_named() {
    let text = "sandbox = 'off'\nconversation.tools.x.detached = 'auto'";
    let keys = "conversation.tools.x.detached.run, conversation.tools.x.detached.deliver, \
                conversation.tools.x.detached.tool";
    let untrusted = format!(
        "The workspace is not trusted, so these keys of it are ignored: sandbox.state, {keys}. \
         Read them, then trust it, in the editor or with `aside trust`, to let it set what a workspace may."
    );
    check(&[("workspace", text)], &[&untrusted]);
    let trusted = format!(
        "Only you can set these keys, so the workspace's are ignored: sandbox.state, {keys}."
    );
    check(&[("workspace", text), ("trusted", "")], &[&trusted]);
}

#[test]
fn trust_by_folder_does_not_cover_what_the_client_read() {
    let configuration = configure(&[
        ("workspace", "assistant.reasoning = 'low'"),
        (
            "workspaceConfig",
            r#"{"assistant": {"system_prompt": "x"}}"#,
        ),
        ("trusted", ""),
    ])
    .unwrap();
    assert_eq!(configuration.ignored, ["assistant.system_prompt"]);
}

#[test]
fn a_definition_has_a_hash_of_all_that_it_says() {
    let define = |text: &str| {
        let found = configure(&[("workspace", text), ("trusted", "")])
            .unwrap()
            .definitions;
        let [definition] = <[_; 1]>::try_from(found).unwrap();
        (definition.name, definition.hash)
    };
    let first = define("conversation.tools.lint.command = ['lint', '-a']");
    assert_eq!(first.0, "lint");
    assert_eq!(
        first,
        define("[conversation.tools.lint]\ncommand = ['lint', '-a']\nsummary = 'x'")
    );
    assert_ne!(
        first,
        define("conversation.tools.lint.command = ['lint', '-b']")
    );
    assert_ne!(
        first,
        define(
            "conversation.tools.lint.command = ['lint', '-a']\nconversation.tools.lint.description = 'x'"
        )
    );
    assert_ne!(
        define("mcp.servers.x.url = 'a'"),
        define("mcp.servers.x.url = 'b'")
    );
}
