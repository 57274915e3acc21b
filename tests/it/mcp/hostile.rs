//! Servers that are slow, crash, babble, flood, never come to an end or want secrets: each costs itself alone.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{ALLOWED, calls, config, left, told, world};
use crate::{
    lsp::client::{Client, nobody, prompts},
    world::{TestWorld, until},
};

#[test]
fn a_server_that_does_not_start_is_said_to_be_missing_and_the_turn_goes_on() {
    let check = |mode: &str, keys: &str, why: &str| {
        let world = world(mode, keys);
        let script = calls("echo", &json!({}));
        let done = world.run(&script, &ALLOWED).exits(0).writes("Done.\n");
        done.says("The tools of the MCP server srv are unavailable: ")
            .says(why);
        assert_eq!(
            world.log().told("call"),
            "There is no tool srv__echo.",
            "{mode}"
        );
        until("the server has ended", || left(&world).is_empty());
    };
    check(
        "silent",
        "startup_seconds = 1",
        "no answer within 1 s; the first start may have to download it: try again, or increase its `startup_seconds`",
    );
    check(
        "babble",
        "startup_seconds = 1",
        "no answer within 1 s; it printed output that is not MCP (\"xxxxx\"); the first start",
    );
    // Nobody waits for what such a line may have held.
    check(
        "roar",
        "startup_seconds = 600",
        "; it printed output that is not MCP (a line longer than 4 MiB)",
    );
    let world = world("plain", "");
    world.user_config(
        "[mcp.servers.srv]\ncommand = 'sh'\nargs = ['-c', 'echo no licence >&2; exit 1']\n",
    );
    let done = world.run(&calls("echo", &json!({})), &ALLOWED).exits(0);
    done.says("it exited before it answered; its last output was \"no licence\"");
    world.user_config("[mcp.servers.srv]\ncommand = 'nonesuch'\n");
    let done = world.run(&calls("echo", &json!({})), &ALLOWED).exits(0);
    done.says(
        "the program `nonesuch` was not found; install it, or correct the server's `command`",
    );
}

#[test]
fn a_list_with_a_server_that_is_not_there_fails_once_it_is_whole() {
    let list = |world: &TestWorld| {
        world.aside(&["trust", "--yes"]).exits(0);
        world.aside(&["mcp", "list"])
    };
    let done = list(&world("one", "")).exits(0);
    assert!(done.stdout.contains("  1 tool, about "), "{done:?}");

    let world = world("conflict", "");
    let done = list(&world).exits(1);
    let why = "  unavailable: it answered a request that it was not sent";
    assert!(done.stdout.contains(why), "{done:?}");
    done.says("unavailable: srv; the list gives each reason");
}

#[test]
fn a_server_starts_in_the_folder_that_is_named_and_no_link_leads_it_out() {
    let named = |cwd: &str| world("plain", &format!("cwd = '{cwd}'"));
    let inside = named("sub");
    inside.write("sub/here", "");
    assert_eq!(told(&inside, "echo", &[]), "{\"n\": 1}");
    assert!(inside.at("sub/started").exists());

    let whole = TestWorld::new();
    let folder = whole.folder().join("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    whole.user_config(&config("plain", &format!("cwd = '{}'", folder.display())));
    assert_eq!(told(&whole, "echo", &[]), "{\"n\": 1}");
    assert!(folder.join("started").exists());

    let missing = |world: &TestWorld, why: &str| {
        let done = world.run(&calls("echo", &json!({})), &ALLOWED).exits(0);
        done.says(why);
    };
    missing(
        &named("none"),
        "the folder `none` does not exist; create it, or correct the server's `cwd`",
    );
    let out = named("out");
    symlink("/", out.at("out")).unwrap();
    missing(&out, "`out` leads out of the workspace");
    missing(&named("../"), "`../` leads out of the workspace");
}

#[test]
fn a_workspace_says_neither_where_a_server_starts_nor_as_what_people_log_in() {
    let world = TestWorld::new();
    let mine = config("plain", "cwd = 'sub'");
    world.write("aside.toml", &mine);
    world.write("sub/here", "");
    assert_eq!(told(&world, "echo", &[]), "{\"n\": 1}");
    assert!(!world.at("sub/started").exists());
}

#[test]
fn an_odd_tool_costs_itself_alone_and_an_odd_part_of_a_result_too() {
    let odd = world("odd", "");
    let script = calls("echo", &json!({"n": 1}));
    let done = odd.run(&script, &ALLOWED).exits(0);
    done.says(
        "The MCP server srv: its tool `bad` is left out: its input schema must describe an object.",
    );
    assert_eq!(odd.log().told("call"), "{\"n\": 1}");
    let kinds = world("kinds", "");
    let expected = "[content of the unknown type `hologram`]\nand text";
    assert_eq!(told(&kinds, "echo", &[]), expected);
}

#[test]
fn a_schema_without_end_costs_its_tool_alone() {
    let world = world("deep", "startup_seconds = 600");
    let done = world.run(&calls("echo", &json!({})), &ALLOWED).exits(0);
    done.says("The MCP server srv: its tool `deep` is left out: its input schema is nested deeper than 64 levels.");
    assert_eq!(world.log().told("call"), "{}");
}

#[test]
fn what_is_odd_in_a_list_costs_that_alone_and_is_said() {
    for (mode, tool, says) in [
        ("empty cursor", "echo", None),
        ("typeless", "echo", None),
        ("marked", "echo", None),
        ("babbles before", "echo", None),
        ("circle", "echo", Some("its list of tools goes in circles.")),
        (
            "endless",
            "t1",
            Some("its list of tools has more than 64 pages, and only those count."),
        ),
    ] {
        let world = world(mode, "");
        let script = calls(tool, &json!({"n": 1}));
        let done = world.run(&script, &ALLOWED).exits(0);
        assert_eq!(world.log().told("call"), "{\"n\": 1}", "{mode}");
        let said = says.map(|says| format!("The MCP server srv: {says}"));
        assert_eq!(
            done.stderr.contains("The MCP server srv"),
            says.is_some(),
            "{mode}: {done:?}"
        );
        assert!(
            said.is_none_or(|said| done.stderr.contains(&said)),
            "{mode}: {done:?}"
        );
    }
}

#[test]
fn a_server_that_is_able_to_nothing_is_there_and_has_no_tools() {
    let world = world("able to nothing", "");
    let done = world.run("'Done.'", &ALLOWED).exits(0);
    assert!(!done.stderr.contains("srv"), "{done:?}");
    world.aside(&["trust", "--yes"]).exits(0);
    let listed = world.aside(&["mcp", "list"]).exits(0);
    assert!(listed.stdout.contains("  0 tools"), "{listed:?}");
}

#[test]
fn an_answer_that_is_too_long_ends_its_call_at_once() {
    let told = told(&world("big", "tool_seconds = 600"), "echo", &[]);
    assert_eq!(
        told,
        "srv__echo: the server srv failed: its answer is longer than 4 MiB."
    );
}

#[test]
fn progress_is_shown_and_keeps_a_call_alive() {
    let world = world(
        "progress",
        "tool_seconds = 2\n[conversation.tools.srv__echo]\nrun = 'unattended'",
    );
    let mut client = Client::start(&world, &calls("echo", &json!({})), prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let (updates, _) = client.play(&turn, nobody);
    client.leave();
    assert_eq!(world.log().told("call"), "all five");
    let shown = updates.iter().filter(|it| it["kind"] == "toolOutput");
    let shown: String = shown.map(|it| it["text"].as_str().unwrap()).collect();
    let steps = (1..=5).map(|step| format!("Step {step} ({step} of 5)\n"));
    assert_eq!(shown, steps.collect::<String>());
}

#[test]
fn an_image_is_kept_and_told_of() {
    let world = world("image", "");
    let told = told(&world, "echo", &[]);
    let name = told.strip_prefix("[image image/png, 3 bytes, kept as ");
    let name = name.and_then(|rest| rest.strip_suffix(']')).expect(&told);
    let kept = world.conversations()[0].join("blobs").join(name);
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "PNG");
}

#[test]
fn noise_on_its_output_is_passed_over() {
    assert_eq!(told(&world("noise", ""), "echo", &[]), "{\"n\": 1}");
}

#[test]
fn a_server_that_crashes_in_a_call_ends_it() {
    let told = told(&world("crash", ""), "echo", &[]);
    assert!(
        told.starts_with("srv__echo: the server srv failed: it ended while the call ran, so the effects are unknown."),
        "{told}"
    );
}

#[test]
fn a_call_that_hangs_ends_with_its_time() {
    let world = world("hang", "");
    let told = told(
        &world,
        "echo",
        &["--set", "conversation.limits.tool_seconds=1"],
    );
    assert!(
        told.contains("ran longer than 1 s and was stopped"),
        "{told}"
    );
    until("the server has ended", || left(&world).is_empty());
}

#[test]
fn a_server_may_have_a_time_of_its_own() {
    // What counts for all tools is as long as ever.
    let short = told(&world("hang", "tool_seconds = 1"), "echo", &[]);
    assert!(
        short.contains("ran longer than 1 s and was stopped"),
        "{short}"
    );
    let all = "conversation.limits.tool_seconds=1";
    let long = world("hang", "tool_seconds = 2");
    let long = told(&long, "echo", &["--set", all]);
    assert!(
        long.contains("ran longer than 2 s and was stopped"),
        "{long}"
    );
}

#[test]
fn a_line_that_is_too_long_is_dropped() {
    assert_eq!(told(&world("flood", ""), "echo", &[]), "after the flood");
}

#[test]
fn a_form_for_a_secret_is_refused_whole() {
    let told = told(&world("secret", ""), "ask", &[]);
    let refused = "srv__ask: the server srv failed: it asked for a secret (`password`) in a form, which is not allowed;";
    assert!(told.starts_with(refused), "{told}");
}
