//! What servers ask, and who is there to answer.

use serde_json::{Value, json};

use super::{
    ALLOWED, NEW_IN_THE_SECOND, UNATTENDED, calls, calls_each, config, left, told, two_turns, world,
};
use crate::{
    lsp::client::{Client, answer, nobody, prompts},
    world::{TestWorld, until},
};

/// A turn in the editor, with the questions answered; what was asked, and what the model is told.
pub(super) fn in_the_editor(world: &TestWorld, script: &str) -> (Vec<Value>, String) {
    let mut client = Client::start(world, script, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let mut asked = Vec::new();
    client.play(&turn, |prompt| {
        asked.push(prompt.clone());
        match prompt["answerType"]["type"].as_str() {
            Some("boolean") => answer(true),
            _ if prompt["kind"] == "runTool" => answer("once"),
            _ => answer("production"),
        }
    });
    client.leave();
    (asked, world.log().told("call").to_owned())
}

#[test]
fn a_server_asks_in_the_editor_while_its_call_runs_and_in_place_of_a_result() {
    for mode in ["plain", "modern"] {
        let world = world(mode, "");
        let (asked, told) = in_the_editor(&world, &calls("ask", &json!({})));
        let [run, target, sure] = &asked[..] else {
            panic!("{mode}: {asked:#?}")
        };
        assert_eq!(run["text"], "Run ask of the server srv?");
        assert_eq!([&target["text"], &sure["text"]], ["target", "sure"]);
        assert_eq!(target["context"], "Where to?");
        assert!(
            target["label"].as_str().unwrap().contains("srv"),
            "{target}"
        );
        assert_eq!([&target["exclusive"], &sure["optional"]], [true, true]);
        let sent: Value = serde_json::from_str(&told).unwrap();
        let expected =
            json!({"action": "accept", "content": {"target": "production", "sure": true}});
        assert_eq!(sent, expected, "{mode}");
        until("the server has ended", || left(&world).is_empty());
    }
}

#[test]
fn where_nobody_is_there_its_question_fails_and_the_turn_goes_on() {
    let nobody = "srv__ask cannot run because no interactive client is attached.";
    for mode in ["plain", "modern"] {
        let world = world(mode, "");
        let told = told(&world, "ask", &[]);
        assert!(told.starts_with(nobody), "{mode}: {told}");
        // What it asks while it runs is declined, and whatever it says to that, the call has failed.
        let ends = told.ends_with("The server answered: {\"action\": \"decline\"}");
        assert_eq!(ends, mode == "plain", "{told}");
        let log = world.log();
        assert_eq!(
            log.one("inquiry_response")["reason"],
            "no_prompt_backend",
            "{mode}"
        );
        until("the server has ended", || left(&world).is_empty());
    }
}

#[test]
fn a_call_needs_permission_unless_the_user_lets_the_tool_run_by_its_name() {
    let world = world("plain", "");
    let script = calls("echo", &json!({"n": 1}));
    let args = ["--trust", "--mode", "auto"];
    world.run(&script, &args).exits(0);
    let log = world.log();
    log.told_begins("call", "srv__echo needs approval");

    let by_name = super::world(
        "plain",
        "[conversation.tools.srv__echo]\nrun = 'unattended'",
    );
    by_name.run(&script, &args).exits(0);
    assert_eq!(by_name.log().told("call"), "{\"n\": 1}");

    let for_all = super::world("plain", "[conversation.tools.defaults]\nrun = 'unattended'");
    for_all.run(&script, &args).exits(0);
    let log = for_all.log();
    log.told_begins("call", "srv__echo needs approval");
}

#[test]
fn an_approval_is_for_this_definition() {
    let world = world("changing", "");
    let always = |world: &TestWorld| {
        let mut client = Client::start(world, &calls("echo", &json!({})), prompts());
        let turn = client.turn(json!({ "message": "Go" }));
        let mut asked = 0;
        client.play(&turn, |_| {
            asked += 1;
            answer("always")
        });
        client.leave();
        asked
    };
    // It says another thing of its tool each time that it is started.
    assert_eq!((always(&world), always(&world)), (1, 1));
    let same = super::world("plain", "");
    assert_eq!((always(&same), always(&same)), (1, 0));
}

#[test]
fn before_trust_no_server_is_started() {
    let world = world("plain", "");
    let script = calls("echo", &json!({}));
    world
        .run(&script, &["--mode", "auto", "--unsandboxed"])
        .exits(0);
    assert_eq!(world.log().told("call"), "There is no tool srv__echo.");
    assert!(!world.at("../home/started").exists());
    let listed = world.aside(&["mcp", "list"]).exits(0).says("not trusted");
    assert!(listed.stdout.starts_with("srv  python3 "), "{listed:?}");
    assert!(!world.at("../home/started").exists());

    // Nor one of the workspace's own.
    let theirs = TestWorld::new();
    theirs.write("aside.toml", &config("plain", ""));
    theirs.run(&script, &ALLOWED[1..]).exits(0);
    assert!(!theirs.at("../home/started").exists());
    theirs.aside(&["trust", "--yes"]).exits(0);
    let listed = theirs.aside(&["mcp", "list"]).exits(0);
    assert!(listed.stdout.contains("  2 tools, about "), "{listed:?}");
    assert!(
        listed.stdout.ends_with("  srv__ask\n  srv__echo\n"),
        "{listed:?}"
    );
}

#[test]
fn a_conversation_in_the_editor_keeps_one_server() {
    let world = world(
        "plain",
        "[conversation.tools.srv__echo]\nrun = 'unattended'",
    );
    let script = r#"
        [[reply]]
        when = { step = 1 }
        times = 2
        say = [{ call = "srv__echo", id = "call", arguments = {} }]
        [[reply]]
        times = 2
        say = [{ text = "Done." }]
    "#;
    let mut client = Client::start(&world, script, prompts());
    for _ in 0..2 {
        let turn = client.turn(json!({ "message": "Go" }));
        client.play(&turn, nobody);
    }
    client.leave();
    assert_eq!(world.read("../home/started").lines().count(), 1);
    until("the server has ended", || left(&world).is_empty());
}

#[test]
fn another_choice_of_tools_counts_from_the_next_turn_on() {
    let keys = "[conversation.tools.srv__echo]\nrun = 'unattended'";
    let world = world("plain", keys);
    let script = calls_each(&["srv__echo"]);
    let results = two_turns(&world, &script, || {
        world.user_config(&config("plain", "exclude_tools = ['echo']"));
    });
    // The model still sees it as it was, so that nothing before it changes.
    let denied = "srv__echo is not allowed here (conversation.tools.srv__echo.run). Do not retry it in this turn.";
    assert_eq!(results, ["{}", denied]);
}

#[test]
fn the_protocol_is_agreed_on_anew_with_a_server_that_is_started_again() {
    for mode in ["upgraded", "downgraded"] {
        let world = world(mode, "[conversation.tools.srv__echo]\nrun = 'unattended'");
        let script = calls_each(&["srv__echo", "srv__echo"]);
        world.run(&script, &ALLOWED).exits(0).writes("Done.\n");
        let log = world.log();
        let first = log.told("call 0").to_owned();
        assert!(first.contains("effects are unknown"), "{mode}: {first}");
        assert_eq!(log.told("call 1"), "{}", "{mode}");
        // Each was asked for the older protocol first, and started again where it wanted the newer.
        assert_eq!(world.read("../home/started").lines().count(), 3, "{mode}");
    }
}

#[test]
fn tools_that_changed_are_there_once_from_the_next_turn_on() {
    for mode in ["relisting", "relisting-modern"] {
        let world = world(mode, UNATTENDED);
        // In the turn in which they change, they are what they were.
        let results = two_turns(&world, &calls_each(&["srv__echo", "srv__new0"]), || {});
        assert_eq!(results, NEW_IN_THE_SECOND, "{mode}");
        // Five notices were one change.
        assert_eq!(world.read("../home/listed").len(), 2, "{mode}");
    }
}

#[test]
fn a_field_of_a_form_is_set_by_the_id_that_it_has() {
    let script = calls("ask", &json!({}));
    let world = world("plain", "");
    let run = |answer: &str| {
        let args = [&ALLOWED[..], &["--strict", "--answer", answer]].concat();
        world.run(&script, &args)
    };
    run("srv__ask.target=production")
        .exits(2)
        .says("its questions are fields of forms; write `form.target` for the field `target`");
    run("srv__ask.form.trget=production")
        .exits(3)
        .says("--answer srv__ask.form.trget was not used: srv__ask asked form.");
}
