//! Questions of tools that the model answers in a side request.

use std::process::Command;

use aside_model_server::{
    ServedApi,
    play::{ModelReply, ReplyItem},
    server::Received,
};
use serde_json::{Value, json};

use super::{
    heard::heard,
    shown::shown,
    stage::{AUTO, ModelStage, PlayedStep, asked, row, says},
    without_time,
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
pub(super) fn answers(received: &Received) -> ModelReply {
    let all = inquiries(received);
    let calls = all.iter().enumerate().map(|(at, id)| {
        let arguments = json!({"inquiry_id": id, "answer": "all"});
        ReplyItem::call(
            &format!("inquiry_{at}"),
            "answer_inquiry",
            arguments.to_string(),
        )
    });
    calls.fold(ModelReply::new("answers"), ModelReply::say)
}

/// A file with two places where one is meant.
pub(super) const TWICE: &str = "x\nx\n";

/// The model reads these: only a file that was read may be edited.
pub(super) fn reads(paths: &[&str]) -> PlayedStep {
    let calls = paths.iter().enumerate().map(|(at, path)| {
        let arguments = json!({"path": path});
        ReplyItem::call(&format!("read_{at}"), "read_file", arguments.to_string())
    });
    says(calls.fold(ModelReply::new("reads"), ModelReply::say))
}

/// A call that asks which of two places is meant.
pub(super) fn edit(id: &str, path: &str) -> ReplyItem {
    let arguments = json!({"path": path, "old_text": "x", "new_text": "y"});
    ReplyItem::call(id, "edit_file", arguments.to_string())
}

/// A command that waits until somebody writes into the pipe of this name.
fn waits(id: &str) -> ReplyItem {
    ReplyItem::call(id, "run_command", r#"{"command":"cat pipe"}"#)
}

/// A call with an end that needs no time.
fn fails(id: &str) -> ReplyItem {
    ReplyItem::call(id, "read_file", r#"{"path":7}"#)
}

fn asking(place: usize, pipe: std::path::PathBuf) -> Vec<PlayedStep> {
    let mut calls = vec![fails("call_read"), waits("call_run")];
    calls.insert(place, edit("call_edit", "a.txt"));
    let play = calls
        .into_iter()
        .fold(ModelReply::new("calls"), ModelReply::say);
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
        says(ModelReply::new("end").text("Done.")),
    ]
}

/// What the model is told of a call's question.
fn question(id: &str, path: &str) -> String {
    format!(
        "The tool `edit_file` needs an answer before it can go on.
Inquiry tool_call.edit_file.{id}.occurrence.1
1:
> 1 | x
  2 | x

2:
  1 | x
> 2 | x
The text to replace occurs 2 times in {path}. Which one is meant?
Answer with exactly one of:
1
2
all
"
    )
}

/// Lines with one of them put at a place.
fn with<'a>(mut lines: Vec<&'a str>, place: usize, line: &'a str) -> String {
    lines.insert(place, line);
    lines.concat()
}

/// The asking call is the first, the one in the middle, or the last of three.
/// The lines of a question of `edit_file` that the model answers.
fn answered(path: &str) -> String {
    format!(
        "question The text to replace occurs 2 times in {path}. Which one is meant?\n\
         question all (the model)\ninquiry answered\n"
    )
}

fn check(place: usize) {
    row(|api| {
        let stage = ModelStage::new(api, Vec::new());
        stage.world.write("a.txt", TWICE);
        let pipe = stage.world.at("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        stage.goes_on(asking(place, pipe));
        let done = stage.run("Go on.", &AUTO).exits(0);
        assert_eq!(stage.world.read("a.txt"), "y\ny\n");

        let siblings = vec!["call read_file: error\n", "call Run `cat pipe`: ok\n"];
        let calls = with(siblings, place, "call Edit a.txt, lines 1 to 2: ok\n");
        let expected = format!(
            "call Read a.txt: ok\n{calls}inquiry asked\n{}text Done.\ncompleted Done.\n",
            answered("a.txt")
        );
        assert_eq!(shown(&done), expected, "{api:?}");

        let siblings = vec![
            "call read_file {\"path\":7}\n",
            "call run_command {\"command\":\"cat pipe\"}\n",
        ];
        let edit = "call edit_file {\"path\":\"a.txt\",\"old_text\":\"x\",\"new_text\":\"y\"}\n";
        let before = format!(
            "user Go on.\ncall read_file {{\"path\":\"a.txt\"}}\nresult x\nx\n{}",
            with(siblings, place, edit)
        );
        let invalid =
            "result Invalid arguments for read_file: `path`: 7 is not of type \"string\".\n";
        let paused = "result Tool paused: The text to replace occurs 2 times in a.txt. Which one is meant?\n";
        let expected = format!(
            "{before}{}user {}{ONE}\n",
            with(vec![invalid, "result Tool still running.\n"], place, paused),
            question("call_edit", "a.txt"),
        );
        assert_eq!(heard(&stage.requests()[2]), expected, "{api:?}");

        let ended = vec![invalid, "result Exit status 0.\nfrom the pipe\n"];
        let expected = format!(
            "{before}{}",
            with(ended, place, "result Changed `a.txt`.\n")
        );
        assert_eq!(stage.heard(), expected, "{api:?}");
        stage.is_clean();
    });
}

const ONE: &str = "Call answer_inquiry with this inquiry_id and your answer, once. \
    Do not call any other tool. Answer directly, from the conversation.";
const SEVERAL: &str = "Call answer_inquiry once for each of them, with its inquiry_id and your answer. \
    Do not call any other tool. Answer directly, from the conversation.";

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
    without_time::become_program();
    row(|api| {
        let paths = ["a.txt", "b.txt", "c.txt"];
        let id = |path: &str| format!("call_{}", path.replace('.', "_"));
        let calls = paths.iter().fold(ModelReply::new("calls"), |play, path| {
            play.say(edit(&id(path), path))
        });
        let end = says(ModelReply::new("end").text("Done."));
        let stage = ModelStage::new(api, vec![reads(&paths), says(calls), asked(answers), end]);
        for path in paths {
            stage.world.write(path, TWICE);
        }
        // The first waits for the others for 50 ms, which do not pass.
        let test = "models::questions::three_questions_share_one_request";
        let done = stage.run_without_time(test, "Go on.", &AUTO);
        let done = done.exits(0);
        let each = |line: fn(&str) -> String| paths.map(line).concat();
        let expected = format!(
            "{}{}inquiry asked\n{}text Done.\ncompleted Done.\n",
            each(|path| format!("call Read {path}: ok\n")),
            each(|path| format!("call Edit {path}, lines 1 to 2: ok\n")),
            each(answered),
        );
        assert_eq!(shown(&done), expected, "{api:?}");
        for path in paths {
            assert_eq!(stage.world.read(path), "y\ny\n", "{api:?}");
        }
        // The blocks stand in the order in which the calls came to ask.
        let heard_then = heard(&stage.requests()[2]);
        for path in paths {
            let block = question(&id(path), path);
            assert!(heard_then.contains(&block), "{api:?}: {heard_then}");
        }
        let end = format!("all\n\n{SEVERAL}\n");
        assert!(heard_then.ends_with(&end), "{api:?}: {heard_then}");
        let paused = each(|path| {
            format!(
                "result Tool paused: The text to replace occurs 2 times in {path}. Which one is meant?\n"
            )
        });
        assert!(heard_then.contains(&paused), "{api:?}: {heard_then}");
        let expected = each(|path| format!("result Changed `{path}`.\n"));
        assert!(
            stage.heard().ends_with(&expected),
            "{api:?}: {}",
            stage.heard()
        );
        stage.is_clean();
    });
}

/// How a request forces `answer_inquiry`; it is the only tool that there is a way to call.
fn forced(api: ServedApi, received: &Received) -> Value {
    let body = &received.json;
    match api {
        ServedApi::Anthropic | ServedApi::OpenaiResponses | ServedApi::OpenaiChat => {
            body["tool_choice"].clone()
        }
        ServedApi::Gemini => body["toolConfig"]["functionCallingConfig"].clone(),
        // There is no such thing: it is asked in words alone.
        ServedApi::Ollama => Value::Null,
    }
}

#[test]
fn an_answer_is_forced_where_the_model_takes_it() {
    row(|api| {
        let calls = ModelReply::new("calls")
            .reasoning("One edit.")
            .say(edit("call_edit", "a.txt"));
        let end = says(ModelReply::new("end").text("Done."));
        let script = vec![reads(&["a.txt"]), says(calls), asked(answers), end];
        let stage = ModelStage::new(api, script);
        stage.world.write("a.txt", TWICE);
        let forces = ["--set", "conversation.inquiry.strategy='forced_tool'"];
        let mut args = [AUTO.as_slice(), &forces].concat();
        if api == ServedApi::Anthropic {
            // The newest refuses forced tools.
            args.extend(["-m", "anthropic/claude-opus-5"]);
        }
        let done = stage.run("Go on.", &args).exits(0);
        let expected = format!(
            "call Read a.txt: ok\nreasoning One edit.\ncall Edit a.txt, lines 1 to 2: ok\ninquiry asked\n\
             {}text Done.\ncompleted Done.\n",
            answered("a.txt")
        );
        assert_eq!(shown(&done), expected, "{api:?}");
        let name = "answer_inquiry";
        let expected = match api {
            ServedApi::Anthropic => json!({"type": "tool", "name": name}),
            ServedApi::OpenaiResponses => json!({"type": "function", "name": name}),
            ServedApi::OpenaiChat => json!({"type": "function", "function": {"name": name}}),
            ServedApi::Gemini => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
            ServedApi::Ollama => Value::Null,
        };
        assert_eq!(forced(api, &stage.requests()[2]), expected);
        assert_eq!(stage.world.read("a.txt"), "y\ny\n");
        stage.is_clean();
    });
}
