//! `--tool-choice`, with models that take it and models that do not.

use crate::world::TestWorld;

const CALLS: &str = "list_files list {}";

#[test]
fn a_forced_tool_is_forced_until_it_was_called() {
    let world = TestWorld::new();
    let script = format!(
        "{{ step = 1, forced = true }} => {CALLS}
         {{ step = 2, forced = false }} => 'Listed.'"
    );
    world
        .run(&script, &["--tool-choice", "list_files"])
        .exits(0)
        .writes("Listed.\n");
    world
        .run(&script, &["--tool-choice", "required"])
        .exits(0)
        .writes("Listed.\n");
}

/// A model that answers without the call, then calls once it is told again.
fn softly(begin: &str) -> String {
    format!(
        "{begin}
         {{ forced = false, directive = 'Call the tool `list_files` before you answer.' }} => 'No need.'
         {{ forced = false, directive = 'You answered without calling `list_files`.' }} => {CALLS}
         {{ result = {{ tool = 'list_files' }} }} => 'Listed.'"
    )
}

#[track_caller]
fn check_soft(script: &str) -> TestWorld {
    let world = TestWorld::new();
    world
        .run(script, &["--tool-choice", "list_files"])
        .exits(0)
        .writes("Listed.\n");
    let log = world.log();
    assert_eq!(log.all("directive").len(), 2);
    assert_eq!(log.result("list")["status"], "ok");
    // What was said without the call stays.
    assert!(
        log.all("text")
            .iter()
            .any(|text| text["text"] == "No need.")
    );
    world
}

#[test]
fn a_model_that_takes_no_force_is_told_and_told_again() {
    check_soft(&softly("& forces_tools = false"));
    check_soft(&softly(
        "& reasoning = true\n& forces_while_reasoning = false\n& reasoning_switches = false",
    ));
}

#[test]
fn what_a_model_refuses_is_found_out_and_remembered() {
    let refuses =
        "{ forced = true } => -\n& fault = { status = 400, text = 'tool_choice is not supported' }";
    let world = check_soft(&softly(refuses));
    assert_eq!(world.log().one("learned")["refuses"], "forced_tool");
    // The next turn does not try it: there is no reply to a forced request.
    let model = world.script(&softly(""));
    let next = [
        "run",
        "--continue",
        "-m",
        &model,
        "--tool-choice",
        "list_files",
        "Again",
    ];
    world.aside(&next).exits(0).writes("Listed.\n");
}

#[test]
fn a_second_miss_is_shown_as_it_is() {
    let world = TestWorld::new();
    let script = "& forces_tools = false\nalways 'No need.'";
    world
        .run(script, &["--tool-choice", "list_files"])
        .exits(0)
        .writes("No need.\n");
    assert_eq!(world.log().all("directive").len(), 2);
    assert_eq!(world.log().all("request_sent").len(), 2);
}
