//! State that cannot be written, and output that nobody takes.

use std::{fs, fs::File};

use crate::world::{World, start};

const ANSWERS: &str = "[[reply]]\nrepeat = true\nsay = [{ text = 'An answer.' }]";

#[test]
fn a_state_directory_that_is_none_is_said() {
    let check = |state: &str| {
        let world = World::new();
        let model = world.script(ANSWERS);
        let mut command = world.command(&["run", "-m", &model, "Go"]);
        let done = start(command.env("XDG_STATE_HOME", state))
            .end()
            .exits(1)
            .writes("");
        assert!(
            done.stderr
                .contains(&format!("cannot use the state directory {state}/aside: ")),
            "{done:?}"
        );
        assert_eq!(done.stderr.matches('\n').count(), 1, "{done:?}");
    };
    check("/proc");
    check("/dev/null");
}

#[test]
fn an_answer_that_cannot_be_written_is_in_the_log() {
    for output in ["text", "json", "jsonl"] {
        let world = World::new();
        let model = world.script(ANSWERS);
        let mut command = world.command(&["run", "-m", &model, "--output", output, "Go"]);
        let full = File::options().write(true).open("/dev/full").unwrap();
        start(command.stdout(full))
            .end()
            .exits(1)
            .says("the answer could not be written to standard output: No space left on device");
        assert_eq!(world.log().one("user_message")["text"], "Go");
        if output != "jsonl" {
            assert_eq!(world.log().one("turn_end")["answer"], "An answer.");
        }
        // The conversation opens again.
        world
            .aside(&["run", "--continue", "-m", &model, "Again"])
            .exits(0)
            .writes("An answer.\n");
    }
    let demo = World::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    start(demo.command(&["demo"]).stdout(full))
        .end()
        .exits(1)
        .says("the output could not be written: ");
}

#[test]
fn a_disk_that_is_full_fails_the_turn_and_the_conversation_goes_on_later() {
    let script = r#"
        [[reply]]
        when = { step = 1 }
        say = [{ call = "read_file", id = "read", arguments = { path = "a.txt" } }]
        [[reply]]
        when = { step = 2 }
        say = [{ text = "Read." }]
    "#;
    let world = World::new();
    world.write("a.txt", &"a line of the file\n".repeat(400));
    let model = world.script(script);
    // A bound of 16 KiB for each file: the head and the call fit, the result does not.
    let bound = "trap '' XFSZ; ulimit -f 32; exec \"$@\"";
    let args = [
        "-c",
        bound,
        "sh",
        "setsid",
        crate::world::ASIDE,
        "run",
        "-m",
        &model,
        "--output",
        "json",
        "Go",
    ];
    let done = start(&mut world.within("sh", &args)).end();
    println!("{done:#?}");
    let done = done.exits(1);
    let end = done.json();
    assert_eq!(
        [&end["outcome"], &end["error"]["code"]],
        ["failed", "internal"],
        "{end:#}"
    );
    let conversation = &world.conversations()[0];
    let size = fs::metadata(conversation.join("events.jsonl"))
        .unwrap()
        .len();
    assert!(size <= 16 << 10, "{size}");

    world.aside(&["run", "--resume"]).exits(0).writes("Read.\n");
    assert!(world.log().told("read").contains("a line of the file"));
}
