//! Questions of tools that the model answers in a side request.

use std::process::Command;

use aside_model_server::{
    Api,
    play::{Play, Said},
    server::Received,
};
use serde_json::json;

use super::{
    heard::heard,
    shown::shown,
    stage::{AUTO, Stage, Step, asked, row, says},
};

/// The ids of the inquiries in a request.
pub(super) fn inquiries(received: &Received) -> Vec<String> {
    let heard = heard(received);
    let ids = heard
        .lines()
        .filter_map(|line| line.strip_prefix("Inquiry "));
    ids.map(str::to_owned).collect()
}

/// Every question is answered alike.
pub(super) fn answers(received: &Received) -> Play {
    let all = inquiries(received);
    let calls = all.iter().enumerate().map(|(at, id)| {
        let arguments = json!({"inquiry_id": id, "answer": "all"});
        Said::call(
            &format!("inquiry_{at}"),
            "answer_inquiry",
            arguments.to_string(),
        )
    });
    calls.fold(Play::new("answers"), Play::say)
}

/// A file with two places where one is meant.
pub(super) const TWICE: &str = "x\nx\n";

/// The model reads these: only a file that was read may be edited.
pub(super) fn reads(paths: &[&str]) -> Step {
    let calls = paths.iter().enumerate().map(|(at, path)| {
        let arguments = json!({"path": path});
        Said::call(&format!("read_{at}"), "read_file", arguments.to_string())
    });
    says(calls.fold(Play::new("reads"), Play::say))
}

/// A call that asks which of two places is meant.
pub(super) fn edit(id: &str, path: &str) -> Said {
    let arguments = json!({"path": path, "old_text": "x", "new_text": "y"});
    Said::call(id, "edit_file", arguments.to_string())
}

/// A command that waits until somebody writes into the pipe of this name.
fn waits(id: &str) -> Said {
    Said::call(id, "run_command", r#"{"command":"cat pipe"}"#)
}

/// A call with an end that needs no time.
fn fails(id: &str) -> Said {
    Said::call(id, "read_file", r#"{"path":7}"#)
}

fn asking(place: usize, pipe: std::path::PathBuf) -> Vec<Step> {
    let mut calls = vec![fails("call_read"), waits("call_run")];
    calls.insert(place, edit("call_edit", "a.txt"));
    let play = calls.into_iter().fold(Play::new("calls"), Play::say);
    let answer = move |received: &Received| {
        let pipe = pipe.clone();
        // The command goes on only now: it runs while the question is asked and answered.
        std::thread::spawn(move || std::fs::write(pipe, "from the pipe\n").unwrap());
        answers(received)
    };
    vec![
        reads(&["a.txt"]),
        says(play),
        asked(answer),
        says(Play::new("end").say(Said::text("Done."))),
    ]
}

/// The asking call is the first, the one in the middle, or the last of three.
fn check(place: usize) {
    row(|api| {
        let stage = Stage::new(api, Vec::new());
        stage.world.write("a.txt", TWICE);
        let pipe = stage.world.at("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        stage.goes_on(asking(place, pipe));
        let done = stage.run("Go on.", &AUTO).exits(0);
        assert_eq!(stage.world.read("a.txt"), "y\ny\n");
        println!(
            "{api:?} {} {} {}",
            shown(&done),
            heard(&stage.requests()[2]),
            stage.heard()
        );
        stage.is_clean();
    });
}

#[test]
fn a_question_of_the_first_of_three_calls_is_answered_while_a_sibling_runs() {
    check(0);
}

#[test]
fn a_question_of_the_second_of_three_calls_is_answered_while_a_sibling_runs() {
    check(1);
}

#[test]
fn a_question_of_the_last_of_three_calls_is_answered_while_a_sibling_runs() {
    check(2);
}

#[test]
fn three_questions_share_one_request() {
    row(|api| {
        let paths = ["a.txt", "b.txt", "c.txt"];
        let play = paths.iter().fold(Play::new("calls"), |play, path| {
            play.say(edit(&format!("call_{path}").replace('.', "_"), path))
        });
        let script = vec![
            reads(&paths),
            says(play),
            asked(answers),
            says(Play::new("end").say(Said::text("Done."))),
        ];
        let stage = Stage::new(api, script);
        for path in paths {
            stage.world.write(path, TWICE);
        }
        let done = stage.run("Go on.", &AUTO).exits(0);
        println!(
            "{api:?} {} {} {}",
            shown(&done),
            heard(&stage.requests()[2]),
            stage.heard()
        );
        for path in paths {
            assert_eq!(stage.world.read(path), "y\ny\n");
        }
        stage.is_clean();
    });
}

/// How a request forces `answer_inquiry`.
fn forced(api: Api, received: &Received) -> String {
    let body = &received.json;
    match api {
        Api::Anthropic | Api::OpenaiResponses | Api::OpenaiChat => body["tool_choice"].to_string(),
        Api::Gemini => body["toolConfig"].to_string(),
        Api::Ollama => body["format"].to_string(),
    }
}

#[test]
fn an_answer_is_forced_where_the_model_takes_it() {
    row(|api| {
        let script = vec![
            reads(&["a.txt"]),
            says(
                Play::new("calls")
                    .say(Said::reasoning("One edit."))
                    .say(edit("call_edit", "a.txt")),
            ),
            asked(answers),
            says(Play::new("end").say(Said::text("Done."))),
        ];
        let stage = Stage::new(api, script);
        stage.world.write("a.txt", TWICE);
        let forces = ["--set", "conversation.inquiry.strategy='forced_tool'"];
        let mut args = [AUTO.as_slice(), &forces].concat();
        if api == Api::Anthropic {
            // The newest refuses forced tools.
            args.extend(["-m", "anthropic/claude-opus-5"]);
        }
        let done = stage.run("Go on.", &args).exits(0);
        println!(
            "{api:?} {} {}",
            shown(&done),
            forced(api, &stage.requests()[2])
        );
        assert_eq!(stage.world.read("a.txt"), "y\ny\n");
        stage.is_clean();
    });
}
