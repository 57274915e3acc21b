//! Questions that wait: `--detached stop`, and answers given later.

use serde_json::{Value, json};

use crate::world::TestWorld;

/// Two questions beside a call that needs nobody.
const ASKS_TWICE: &str = r#"
    ask_user ship { question = "Ship it?", answer_type = "boolean" }
    + read_file read { path = "a.txt" }
    + ask_user color { question = "Which color?", answer_type = "select", options = ["red", "blue"] }
    { step = 2, result = { tool = "ask_user", contains = '"answer":true' } } => "Shipped."
"#;

struct Parked {
    world: TestWorld,
    end: Value,
}

impl Parked {
    fn new() -> Self {
        let world = TestWorld::new();
        world.write("a.txt", "the file\n");
        let done = world
            .run(ASKS_TWICE, &["--detached", "tool=stop", "--output", "json"])
            .exits(4);
        let end = done.json();
        Self { world, end }
    }

    fn prompt(&self, text: &str) -> &Value {
        let prompts = self.end["prompts"].as_array().unwrap();
        prompts
            .iter()
            .find(|prompt| prompt["text"] == text)
            .unwrap()
    }

    fn id(&self, text: &str) -> &str {
        self.prompt(text)["promptId"].as_str().unwrap()
    }

    fn resume(&self, answers: &[String]) -> crate::world::ProgramResult {
        let mut args = vec![
            "run",
            "--resume",
            "--output",
            "json",
            "--detached",
            "tool=stop",
        ];
        for answer in answers {
            args.extend(["--answer", answer]);
        }
        self.world.aside(&args)
    }
}

#[test]
fn the_turn_stops_at_both_with_the_prompts_as_data() {
    let parked = Parked::new();
    assert_eq!(parked.end["outcome"], "interrupted");
    assert_eq!(parked.end["prompts"].as_array().unwrap().len(), 2);
    let ship = parked.prompt("Ship it?");
    assert_eq!(ship["kind"], "question");
    assert_eq!(ship["label"], "Assistant");
    assert_eq!(ship["answerType"], json!({"type": "boolean"}));
    assert_eq!(ship["tool"]["name"], "ask_user");
    assert_eq!(ship["tool"]["callId"], "ship");
    assert_eq!(
        [&ship["exclusive"], &ship["source"]["type"]],
        [&json!(true), &json!("assistant")]
    );
    assert_eq!(
        parked.prompt("Which color?")["answerType"]["options"],
        json!(["red", "blue"])
    );
    // The call beside them was run to its end.
    assert!(parked.world.log().told("read").contains("the file"));
    assert!(parked.world.log().all("inquiry_response").is_empty());
}

#[test]
fn text_output_says_how_to_answer() {
    let world = TestWorld::new();
    let done = world
        .run(ASKS_TWICE, &["--detached", "stop"])
        .exits(4)
        .writes("");
    let conversation = world.conversation();
    assert_eq!(
        done.stderr.matches("waits: Assistant: ").count(),
        2,
        "{done:?}"
    );
    let says =
        format!("  answer with: aside run -c {conversation} --resume --detached stop --answer ");
    assert_eq!(done.stderr.matches(&says).count(), 2, "{done:?}");
}

#[test]
fn one_answer_goes_on_with_one_and_the_other_completes_the_same_calls() {
    let parked = Parked::new();
    let color = format!("{}=blue", parked.id("Which color?"));
    let again = parked.resume(&[color]).exits(4).json();
    assert_eq!(again["turnId"], parked.end["turnId"]);
    let prompts = again["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 1);
    assert_eq!(
        prompts[0]["promptId"],
        parked.prompt("Ship it?")["promptId"]
    );
    assert_eq!(
        parked.world.log().told("color"),
        r#"{"answer_type":"select","answer":"blue"}"#
    );

    let ship = format!("{}=true", parked.id("Ship it?"));
    let end = parked.resume(&[ship]).exits(0).json();
    assert_eq!(end["answer"], "Shipped.");
    let log = parked.world.log();
    assert_eq!(
        log.told("ship"),
        r#"{"answer_type":"boolean","answer":true}"#
    );
    assert_eq!(log.all("tool_call").len(), 3);
    assert_eq!(log.all("tool_result").len(), 3);
    let asked = |kind| {
        log.all(kind)
            .iter()
            .map(|event| event["id"].clone())
            .collect::<Vec<_>>()
    };
    let mut answered = asked("inquiry_response");
    answered.reverse();
    assert_eq!(
        asked("inquiry_request"),
        answered,
        "each once, with its own id"
    );
    for response in log.all("inquiry_response") {
        assert_eq!(
            [&response["outcome"], &response["by"]],
            ["answered", "user"]
        );
        assert_eq!(response["shown"]["client"]["name"], "cli", "{response}");
    }
}

#[test]
fn both_answers_at_once_complete_the_turn() {
    let parked = Parked::new();
    let answers = [
        format!("{}=true", parked.id("Ship it?")),
        format!("{}=red", parked.id("Which color?")),
    ];
    parked.resume(&answers).exits(0);
}

#[test]
fn an_answer_that_does_not_fit_is_refused_and_nothing_is_lost() {
    let parked = Parked::new();
    let before = parked.world.log().events().to_vec();
    let color = parked.id("Which color?");
    let check = |answers: &[String], says: &str| {
        let done = parked.resume(answers).exits(2).says(says);
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
        assert_eq!(done.json()["error"]["code"], "usage");
        assert_eq!(parked.world.log().events(), before);
    };
    check(
        &[format!("{color}=green")],
        &format!("the answer to {color} does not fit: "),
    );
    check(
        &[format!("{}=maybe", parked.id("Ship it?"))],
        "does not fit",
    );
    check(
        &["p9999=blue".into()],
        "no prompt p9999 is open in this turn; the open ones are: ",
    );
    // One that fits is not taken where its neighbour does not.
    check(
        &[format!("{color}=blue"), "p9999=x".into()],
        "no prompt p9999 is open",
    );

    parked.resume(&[format!("{color}=blue")]).exits(4);
    let twice = parked.resume(&[format!("{color}=blue")]).exits(2);
    assert!(
        twice.stderr.contains(&format!("no prompt {color} is open")),
        "{twice:?}"
    );
    parked
        .resume(&[format!("{}=true", parked.id("Ship it?"))])
        .exits(0);
}

#[test]
fn without_an_answer_it_parks_again_whatever_detached_says() {
    let parked = Parked::new();
    let args = ["run", "--resume", "--output", "json", "--detached", "deny"];
    let again = parked.world.aside(&args).exits(4).json();
    assert_eq!(again["prompts"], parked.end["prompts"]);
}

#[test]
fn a_permission_parks_too_and_its_answer_runs_the_call() {
    let script = r#"
        run_command run { command = "echo ran >ran.txt" }
        "Over."
    "#;
    let check = |answer: &str, status: &str, told: &str, ran: bool| {
        let world = TestWorld::new();
        let end = world
            .run(
                script,
                &["--trust", "--detached", "run=stop", "--output", "json"],
            )
            .exits(4)
            .json();
        let prompt = &end["prompts"][0];
        assert_eq!(
            [&prompt["kind"], &prompt["preview"]["kind"]],
            ["runTool", "command"]
        );
        assert_eq!(prompt["preview"]["text"], "echo ran >ran.txt");
        let answer = format!("{}={answer}", prompt["promptId"].as_str().unwrap());
        world
            .aside(&["run", "--resume", "--trust", "--answer", &answer])
            .exits(0)
            .writes("Over.\n");
        assert_eq!(world.at("ran.txt").exists(), ran);
        assert_eq!(world.log().result("run")["status"], status);
        assert_eq!(world.log().told("run"), told);
    };
    check("once", "ok", "Exit status 0.\n(no output)", true);
    check(
        "no",
        "denied",
        "The user did not allow run_command to run. Do not retry it in this turn; ask or continue without it.",
        false,
    );
}

#[test]
fn a_new_message_closes_what_waited() {
    let parked = Parked::new();
    let model = parked.world.script("{ turn = 2 } => 'Never mind.'");
    parked
        .world
        .aside(&["run", "--continue", "-m", &model, "Forget it"])
        .exits(0)
        .writes("Never mind.\n");
    let log = parked.world.log();
    assert_eq!(log.told("ship"), "Cancelled by the user.");
    assert_eq!(log.told("color"), "Cancelled by the user.");
    assert!(log.told("read").contains("the file"));
    for response in log.all("inquiry_response") {
        assert_eq!(
            [&response["outcome"], &response["reason"]],
            ["cancelled", "withdrawn"]
        );
    }
    let late = format!("{}=true", parked.id("Ship it?"));
    parked.resume(&[late]).exits(2).says("nothing to resume");
}
