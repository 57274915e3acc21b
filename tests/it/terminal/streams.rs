//! What goes where: questions to the terminal, what runs to standard error, the answer to standard output.

use serde_json::json;

use super::{
    person::{PtyPerson, PtyStart, output},
    screen::{matches, settled},
};
use crate::world::TestWorld;

const ASKING: &str = r#"
    "I look around."
    + list_files {}
    ask_user { question = "Which way?", answer_type = "select", options = ["left", "right"], default = "left" }
    { result = { contains = '"right"' } } => "Right it is."
    "Nobody said."
"#;

fn answers(world: &TestWorld, start: &PtyStart<'_>) -> String {
    let mut person = PtyPerson::starts(world, start);
    let mut screen = person.is_asked();
    person.types("2\n");
    screen += &person.ends(0);
    assert_eq!(output(world), "Right it is.\n");
    screen
}

#[test]
fn colours() {
    let world = TestWorld::new();
    world.write("notes.md", "one\n");
    let model = world.script(ASKING);
    let run = ["run", "--trust", "-m", &model, "Go"];
    let plain = answers(&world, &PtyStart::aside(&run));
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let painted = PtyStart {
        env: vec![],
        ..PtyStart::aside(&run)
    };
    let painted = answers(&world, &painted).replace('\x1b', "␛");
    matches("colours.txt", &settled(&world, &painted));
    // The paint is all that differs.
    let mut bare = painted;
    for code in ["0", "1", "2", "31", "32", "33"] {
        bare = bare.replace(&format!("␛[{code}m"), "");
    }
    assert_eq!(settled(&world, &bare), settled(&world, &plain));
}

#[test]
fn a_pipe_is_read_and_the_terminal_is_asked() {
    let world = TestWorld::new();
    let model = world.script(ASKING);
    let piped = PtyStart {
        shell: r#"printf '1\nleft\n' | "$@" | cat >"$OUT""#,
        ..PtyStart::aside(&["run", "--trust", "-m", &model, "Go"])
    };
    answers(&world, &piped);
    let log = world.log();
    let attached = &log.one("user_message")["attachments"];
    assert_eq!(*attached, json!([{"name": "stdin", "text": "1\nleft\n"}]));
    let response = log.one("inquiry_response");
    assert_eq!(
        (&response["answer"], &response["by"]),
        (&"right".into(), &"user".into())
    );
}

#[test]
fn nobody_is_asked_who_does_not_want_to_be() {
    let world = TestWorld::new();
    let person = PtyPerson::runs(
        &world,
        ASKING,
        &["--trust", "--non-interactive", "--strict"],
    );
    let screen = person.ends(3);
    assert!(!screen.contains("> "), "{screen}");
    assert!(screen.contains("\nrefused: ask_user `{"), "{screen}");
    assert_eq!(output(&world), "Nobody said.\n");
    assert_eq!(
        world.log().one("inquiry_response")["reason"],
        "no_prompt_backend"
    );
}

/// Each stream somewhere else, with the terminal still there: the question is on it.
#[test]
fn the_terminal_is_asked_wherever_the_streams_lead() {
    for streams in [
        "2>/dev/null",
        "2>stderr",
        "2>&1",
        "</dev/null",
        "</dev/null 2>/dev/null",
        "2>&-",
    ] {
        let world = TestWorld::new();
        let model = world.script(ASKING);
        // The shell stays, for a terminal that no program has open is gone.
        let shell = format!(r#""$@" >"$OUT" {streams}; exit $?"#);
        let elsewhere = PtyStart {
            shell: &shell,
            ..PtyStart::aside(&["run", "--trust", "-m", &model, "Go"])
        };
        let mut person = PtyPerson::starts(&world, &elsewhere);
        person.is_asked();
        person.types("2\n");
        person.ends(0);
        assert!(output(&world).contains("Right it is.\n"), "{streams}");
    }
}

#[test]
fn a_refusal_is_on_the_terminal_wherever_the_streams_lead() {
    let world = TestWorld::new();
    let model = world.script("run_command { command = 'true' }\n'It was refused.'");
    let elsewhere = PtyStart {
        shell: r#"exec "$@" >"$OUT" 2>/dev/null"#,
        ..PtyStart::aside(&[
            "run", "--trust", "--mode", "plan", "--strict", "-m", &model, "Go",
        ])
    };
    let screen = PtyPerson::starts(&world, &elsewhere).ends(0);
    assert!(screen.starts_with("refused: run_command `"), "{screen}");
}

#[test]
fn an_answer_on_the_screen_cannot_act_on_it() {
    let world = TestWorld::new();
    let script = r#""\u001b[2J\u202egone""#;
    let model = world.script(script);
    let here = PtyStart {
        shell: r#"exec "$@""#,
        ..PtyStart::aside(&["run", "--trust", "-m", &model, "Go"])
    };
    let screen = PtyPerson::starts(&world, &here).ends(0);
    assert!(screen.starts_with("␛[2J<U+202E>gone\n"), "{screen:?}");
}

#[test]
fn the_demo_asks_and_tells_what_was_answered() {
    let world = TestWorld::new();
    let mut person = PtyPerson::starts(&world, &PtyStart::aside(&["demo"]));
    // Calls that run side by side end in any order.
    let before = person.sees("\n── ");
    assert!(
        before.contains("Which one is meant? 18 (the model)\n"),
        "{before}"
    );
    let mut screen = person.is_asked();
    person.types("five\n");
    screen += &person.is_asked();
    person.types("2\n");
    screen += &person.ends(0);
    matches("demo.txt", &settled(&world, &format!("── {screen}")));
    let account = output(&world);
    assert!(account.contains("+wait_seconds = 5\n"), "{account}");
    assert!(account.contains("+    attempts = 5\n"), "{account}");
}

/// A file takes the page for a program that shows markdown; a screen takes it for a person.
#[test]
fn on_a_screen_an_account_is_text_for_a_person() {
    let world = TestWorld::new();
    let on_screen = PtyStart {
        shell: r#"exec "$@" 2>/dev/null"#,
        env: vec![],
        ..PtyStart::aside(&["demo"])
    };
    let mut person = PtyPerson::starts(&world, &on_screen);
    for answer in ["five\n", "2\n"] {
        person.is_asked();
        person.types(answer);
    }
    let screen = person.ends(0);
    let (_, account) = screen
        .split_once("The demo, from its log")
        .expect("an account");
    assert!(account.contains("read_file: result\n"), "{account}");
    assert!(account.contains("+    attempts = 5\n"), "{account}");
    for mark in ["<details>", "</summary>", "## "] {
        assert!(!account.contains(mark), "{mark} in {account}");
    }
}
