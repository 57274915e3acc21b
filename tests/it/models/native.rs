//! Summaries in the providers' own forms: Anthropic's, whose text anybody can read, and OpenAI's, which its model alone can.

use std::fs;

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedTokens, signature},
    server::{Received, ServedReply},
};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    column,
    heard::heard,
    live::{LONG, Live},
    questions::{TWICE, answers, edit},
    shown::shown,
    stage::{AUTO, ModelStage, PlayedStep, asked, http, says, stalls},
};

/// The APIs that have such summaries.
const NATIVE: [ServedApi; 2] = [ServedApi::Anthropic, ServedApi::OpenaiResponses];
/// Tokens that each model may hold here.
const WINDOW: u64 = 40_000;
/// Tokens of a conversation that has to be summarised before the next request.
const FULL: u64 = 30_000;
/// Tokens of a conversation that has room.
const ROOM: u64 = 5_000;

fn stage(api: ServedApi, script: Vec<PlayedStep>) -> ModelStage {
    let stage = ModelStage::new(api, script);
    let mut config = column::configuration(&stage.server.address().to_string());
    for api in ServedApi::ALL {
        let (provider, model) = column::model(api).split_once('/').unwrap();
        config +=
            &format!("[providers.{provider}.models.\"{model}\"]\ncontext_window = {WINDOW}\n");
    }
    stage.world.user_config(&config);
    stage.world.write("a.txt", TWICE);
    stage
}

/// A reply after which the conversation has so many tokens.
fn holding(reply: ModelReply, tokens: u64) -> PlayedStep {
    says(reply.tokens(PlayedTokens {
        input: tokens - 50,
        output: 50,
        ..PlayedTokens::default()
    }))
}

fn reads(number: usize) -> ModelReply {
    let id = format!("call_{number}");
    ModelReply::new(&id)
        .reasoning("I look.")
        .call(&id, "read_file", r#"{"path":"a.txt"}"#)
}

fn answer(text: &str) -> PlayedStep {
    holding(ModelReply::new(text).text(text), ROOM)
}

fn summary() -> ModelReply {
    ModelReply::new("summary").compaction("## Goal\nSummary 1.")
}

/// What vouches for that summary.
fn mark(api: ServedApi) -> String {
    signature(api, "summary", 0)
}

/// A summary, after a turn of one call and an answer.
fn summarised(api: ServedApi) -> ModelStage {
    let script = vec![holding(reads(1), FULL), says(summary()), answer("Noted.")];
    let stage = stage(api, script);
    stage.run("Look.", &AUTO).exits(0);
    stage
}

fn asks_natively(received: &Received) -> bool {
    received.json.get("compaction").is_some()
        || received
            .body
            .ends_with(br#"{"type":"compaction_trigger"}]}"#)
}

fn log(stage: &ModelStage) -> String {
    let folder = stage.world.conversations().remove(0);
    fs::read_to_string(folder.join("events.jsonl")).unwrap()
}

/// The first block or item of a request.
fn first(received: &Received) -> Value {
    match received.api {
        Some(ServedApi::Anthropic) => received.json["messages"][0]["content"][0].clone(),
        _ => received.json["input"][0].clone(),
    }
}

#[track_caller]
fn begins_with_summary(stage: &ModelStage) {
    let requests = stage.requests();
    let last = requests.last().expect("a request");
    let first = first(last);
    assert_eq!(first["type"], "compaction", "{:?}: {first}", stage.api);
    assert!(first.to_string().contains(&mark(stage.api)), "{first}");
    let heard = heard(last);
    assert!(!heard.contains("user Look."), "{:?}: {heard}", stage.api);
    let ledger = "- turn 1: Look.";
    assert!(heard.contains(ledger), "{:?}: {heard}", stage.api);
}

#[test]
fn a_summary_is_first_in_each_request_that_follows_also_of_a_fork_and_of_a_resumed_turn() {
    for api in NATIVE {
        let stage = summarised(api);
        let asked: Vec<bool> = stage
            .requests()
            .iter()
            .map(|it| asks_natively(it))
            .collect();
        assert_eq!(asked, [false, true, false], "{api:?}");
        begins_with_summary(&stage);
        let id = stage.world.conversation();
        let fork = Live::start(stage.command(&["conversation", "fork", &id])).end();
        let fork = fork.exits(0).stdout.trim().to_owned();
        for conversation in [&fork, &id] {
            stage.goes_on(vec![answer(&format!("Answer in {conversation}."))]);
            stage.run("And now?", &["-c", conversation]).exits(0);
            begins_with_summary(&stage);
        }
        // Killed amid a later request, the turn goes on with it.
        let count = stage.requests().len();
        stage.goes_on(vec![stalls()]);
        let run = stage.start("And then?", &["-c", &id]);
        assert!(stage.server.wait_for(count + 1, LONG));
        run.signal(Signal::KILL);
        run.end().exits(-1);
        stage.goes_on(vec![answer("Still there.")]);
        let args = ["run", "-c", &id, "--resume", "--output", "jsonl", "--trust"];
        Live::start(stage.command(&args)).end().exits(0);
        begins_with_summary(&stage);
        stage.is_clean();
    }
}

#[test]
fn a_summary_is_exported_and_shown_with_what_it_stands_for() {
    for api in NATIVE {
        let stage = summarised(api);
        for show in ["show", "export"] {
            let id = stage.world.conversation();
            let done = Live::start(stage.command(&["conversation", show, &id]))
                .end()
                .exits(0);
            for part in ["Look.", "a.txt", "Noted."] {
                assert!(
                    done.stdout.contains(part),
                    "{api:?}, {show}: {part}: {}",
                    done.stdout
                );
            }
            assert!(!done.stdout.contains(&mark(api)), "{api:?}, {show}");
        }
        assert!(log(&stage).contains(&mark(api)), "{api:?}");
    }
}

#[test]
fn a_summary_that_is_taken_back_leaves_the_next_request_as_it_was_without_it() {
    for api in NATIVE {
        let run = |undoes: bool| {
            let script = vec![holding(reads(1), ROOM), answer("Noted.")];
            let stage = stage(api, script);
            stage.run("Look.", &AUTO).exits(0);
            if undoes {
                stage.goes_on(vec![says(summary())]);
                stage.run("/compact", &["--continue"]).exits(0);
                assert!(asks_natively(stage.requests().last().unwrap()), "{api:?}");
                stage.run("/compact undo", &["--continue"]).exits(0);
            }
            stage.goes_on(vec![answer("Well.")]);
            stage.run("And now?", &["--continue"]).exits(0);
            stage.is_clean();
            stage.heard()
        };
        assert_eq!(run(true), run(false), "{api:?}");
    }
}

#[test]
fn another_model_is_told_the_text_or_what_the_summary_stands_for_and_the_first_one_has_it_again() {
    for api in NATIVE {
        for other in ServedApi::ALL.into_iter().filter(|other| *other != api) {
            let stage = summarised(api);
            stage.goes_on(vec![answer("Hello.")]);
            let args = ["--continue", "-m", column::model(other)];
            stage.run("And you?", &args).exits(0);
            let heard = stage.heard();
            assert!(!heard.contains(&mark(api)), "{api:?}, {other:?}: {heard}");
            let told: &[&str] = match api {
                ServedApi::Anthropic => &["Summary 1.", "- turn 1: Look.", "And you?"],
                _ => &[
                    "user Look.",
                    "call read_file",
                    "- turn 1: Look.",
                    "And you?",
                ],
            };
            let mut rest = heard.as_str();
            for part in told {
                let at = rest.find(part);
                let at = at.unwrap_or_else(|| panic!("{api:?}, {other:?}: {part}: {heard}"));
                rest = &rest[at..];
            }
            stage.goes_on(vec![answer("Back.")]);
            let args = ["--continue", "-m", column::model(api)];
            stage.run("And now?", &args).exits(0);
            begins_with_summary(&stage);
            let heard = stage.heard();
            assert!(heard.contains("Hello."), "{api:?}, {other:?}: {heard}");
            stage.is_clean();
        }
    }
}

/// A stream of the summary with one text in it replaced by another.
fn changed(api: ServedApi, replies: &ModelReply, from: &str, to: &str) -> PlayedStep {
    let stream = column::dressed(replies.clone(), 2).stream(api);
    let stream = String::from_utf8(stream.to_vec()).unwrap();
    assert!(stream.contains(from), "{from}: {stream}");
    http(ServedReply::stream(api, stream.replace(from, to)))
}

/// What a provider may give in place of a summary of its own.
fn bad(api: ServedApi) -> Vec<(&'static str, PlayedStep)> {
    let refused = json!({"error": {"message": "compaction: Extra inputs are not permitted"}});
    let empty = match api {
        ServedApi::Anthropic => changed(api, &summary(), r###""## Goal\nSummary 1.""###, "null"),
        _ => changed(api, &summary(), &mark(api), ""),
    };
    let two = summary().compaction("Another.");
    let text = ModelReply::new("text").text("I go on.");
    let call = ModelReply::new("call").call("call_x", "read_file", r#"{"path":"a.txt"}"#);
    vec![
        ("empty", empty),
        ("none", says(text)),
        ("two", says(two)),
        ("a call", says(call)),
        ("nothing", says(ModelReply::new("nothing"))),
        ("refused", http(ServedReply::json(400, refused))),
    ]
}

#[test]
fn in_place_of_what_is_no_summary_an_ordinary_one_is_asked_for_once() {
    for api in NATIVE {
        for (what, step) in bad(api) {
            let ordinary = ModelReply::new("ordinary").text("## Goal\nSummary 2.");
            let script = vec![
                holding(reads(1), FULL),
                step,
                says(ordinary),
                answer("Noted."),
            ];
            let stage = stage(api, script);
            let told = shown(&stage.run("Look.", &AUTO).exits(0));
            assert!(told.contains("was summarised"), "{api:?}, {what}: {told}");
            stage.is_clean();
            let heard = stage.heard();
            assert!(heard.contains("Summary 2."), "{api:?}, {what}: {heard}");
            assert!(!log(&stage).contains("\"native\""), "{api:?}, {what}");
        }
    }
}

#[test]
fn a_summary_that_fails_in_both_forms_is_dropped() {
    for api in NATIVE {
        for (what, step) in bad(api) {
            let empty = |name: &str| says(ModelReply::new(name));
            let mut script = vec![holding(reads(1), FULL), step, empty("empty")];
            if what == "refused" {
                // That is no fault of a summary, so the ordinary one is repaired as usual.
                script.push(empty("again"));
            }
            script.push(answer("Noted."));
            let stage = stage(api, script);
            let told = shown(&stage.run("Look.", &AUTO).exits(0));
            let dropped =
                "could not be shortened (the model answered nothing); it goes on as it is";
            assert!(told.contains(dropped), "{api:?}, {what}: {told}");
            stage.is_clean();
            let heard = stage.heard();
            assert!(heard.contains("user Look."), "{api:?}, {what}: {heard}");
        }
    }
}

#[test]
fn a_summary_that_its_model_does_not_take_back_is_left_out_from_then_on() {
    for api in NATIVE {
        let stage = summarised(api);
        let refused = match api {
            ServedApi::Anthropic => json!({"type": "error", "error": {
                "type": "invalid_request_error",
                "message": "messages.0.content.0: compaction_block_signature_invalid",
            }}),
            _ => json!({"error": {
                "type": "invalid_request_error",
                "code": "invalid_encrypted_content",
                "message": "The encrypted content could not be verified.",
            }}),
        };
        stage.goes_on(vec![
            http(ServedReply::json(400, refused)),
            answer("Well."),
            answer("More."),
        ]);
        stage.run("And now?", &["--continue"]).exits(0);
        stage.run("And then?", &["--continue"]).exits(0);
        stage.is_clean();
        let heard = stage.heard();
        assert!(!heard.contains("compaction"), "{api:?}: {heard}");
        let told = match api {
            ServedApi::Anthropic => "Summary 1.",
            _ => "user Look.",
        };
        assert!(heard.contains(told), "{api:?}: {heard}");
    }
}

#[test]
fn an_assistant_of_the_same_model_is_told_what_the_summary_stands_for_as_text() {
    for api in NATIVE {
        let calls = ModelReply::new("calls").say(edit("call_edit", "a.txt"));
        let script = vec![
            holding(reads(1), FULL),
            says(summary()),
            holding(reads(2), ROOM),
            holding(calls, ROOM),
            asked(answers),
            answer("Done."),
        ];
        let stage = stage(api, script);
        let assistant = format!(
            "conversation.inquiry.assistant.model={}",
            column::model(api)
        );
        let args = [AUTO.as_slice(), &["--set", &assistant]].concat();
        stage.run("Look.", &args).exits(0);
        stage.is_clean();
        let requests = stage.requests();
        let inquiry = heard(&requests[4]);
        let told = match api {
            ServedApi::Anthropic => "Summary 1.",
            _ => "Look.",
        };
        assert!(inquiry.contains(told), "{api:?}: {inquiry}");
        let unreadable = "only that one can read";
        assert!(!inquiry.contains(unreadable), "{api:?}: {inquiry}");
        begins_with_summary(&stage);
    }
}
