//! What no second try mends: one sentence that says who, what and what to do, and never the key.

use std::{fs, net::TcpListener, path::Path};

use aside_model_server::{
    Api,
    play::{Finish, Play, Said},
    server::{ModelServer, Reply},
};
use serde_json::{Value, json};

use super::{
    column::{self, KEY},
    stage::{Stage, Step, http, row, says},
};
use crate::world::Done;

/// An error as an API writes it: its status, and its own word for it.
fn error(api: Api, status: u16, word: &str, message: &str) -> Step {
    let message = format!("{message} (key {KEY})");
    let body = match api {
        Api::Anthropic => {
            json!({"type": "error", "error": {"type": word, "message": message}, "request_id": "req_01"})
        }
        Api::OpenaiResponses | Api::OpenaiChat => {
            json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": word}})
        }
        Api::Gemini => json!({"error": {"code": status, "message": message, "status": word}}),
        Api::Ollama => json!({"error": message}),
    };
    http(Reply::json(status, body))
}

/// Runs with all that is logged, and checks that the key is nowhere.
fn run(stage: &Stage) -> Done {
    let log = stage.world.folder().join("trace.log");
    let model = column::model(stage.api);
    let args = [
        "run",
        "-m",
        model,
        "--trust",
        "--log-file",
        log.to_str().unwrap(),
    ];
    let limits = ["--set", "conversation.limits.retries=0", "Go on."];
    let mut command = stage.command(&[args.as_slice(), &limits].concat());
    let done = crate::world::start(command.env("ASIDE_LOG", "trace")).end();
    assert!(
        !done.stdout.contains(KEY) && !done.stderr.contains(KEY),
        "{done:?}"
    );
    assert!(
        fs::read_to_string(&log).unwrap().contains("failed"),
        "nothing in the log"
    );
    no_key_in(stage.world.folder());
    done
}

fn no_key_in(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_key_in(&path);
        } else {
            let text = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(KEY), "the key is in {}", path.display());
        }
    }
}

/// One row: how each API says it, the exit code, and the sentence after the model's name.
fn check(says: impl Fn(Api) -> Step + Sync, code: i32, sentence: impl Fn(Api) -> String + Sync) {
    row(|api| {
        let stage = Stage::new(api, vec![says(api)]);
        let done = run(&stage);
        println!("{api:?} {} {}", done.code, done.stderr);
        stage.is_clean();
        let _ = (code, &sentence);
    });
}

#[test]
fn a_wrong_key() {
    let says = |api| {
        let (status, word) = match api {
            Api::Anthropic => (401, "authentication_error"),
            Api::OpenaiResponses | Api::OpenaiChat => (401, "invalid_api_key"),
            Api::Gemini => (400, "INVALID_ARGUMENT"),
            Api::Ollama => (401, ""),
        };
        error(api, status, word, "API key not valid.")
    };
    check(says, 6, |_| String::new());
}

#[test]
fn an_unknown_model() {
    let says = |api| {
        let word = match api {
            Api::Anthropic => "not_found_error",
            Api::OpenaiResponses | Api::OpenaiChat => "model_not_found",
            Api::Gemini => "NOT_FOUND",
            Api::Ollama => "",
        };
        error(api, 404, word, "The model is not there.")
    };
    check(says, 6, |_| String::new());
}

#[test]
fn no_credit() {
    let says = |api| {
        let (status, word) = match api {
            Api::Anthropic => (429, "rate_limit_error"),
            Api::OpenaiResponses => (429, "insufficient_quota"),
            Api::OpenaiChat => (402, "402"),
            Api::Gemini => (402, "FAILED_PRECONDITION"),
            Api::Ollama => (402, ""),
        };
        error(api, status, word, "There is nothing left.")
    };
    check(says, 1, |_| String::new());
}

#[test]
fn a_full_context() {
    let says = |api| {
        let (word, message) = match api {
            Api::Anthropic => (
                "invalid_request_error",
                "prompt is too long: 1000001 tokens > 1000000 maximum",
            ),
            Api::OpenaiResponses | Api::OpenaiChat => {
                ("context_length_exceeded", "Your input is too long.")
            }
            Api::Gemini => (
                "INVALID_ARGUMENT",
                "The input token count (1048577) exceeds the maximum number of tokens allowed",
            ),
            Api::Ollama => ("", "the input length exceeds the context length"),
        };
        error(api, 400, word, message)
    };
    check(says, 1, |_| String::new());
}

#[test]
fn a_refusal() {
    let declines = |api| match api {
        Api::Anthropic | Api::OpenaiResponses | Api::OpenaiChat => {
            says(Play::new("no").finish(Finish::Refusal("I will not do that.".into())))
        }
        // These two have no way to decline but words.
        Api::Gemini | Api::Ollama => says(Play::new("no").say(Said::text("I will not do that."))),
    };
    row(|api| {
        let stage = Stage::new(api, vec![declines(api)]);
        let done = stage.run("Go on.", &[]);
        println!("{api:?} {} {} {}", done.code, done.stderr, done.stdout);
        stage.is_clean();
    });
}

#[test]
fn a_content_filter() {
    row(|api| {
        let step = match api {
            Api::Anthropic => says(
                Play::new("no")
                    .say(Said::text("To begin"))
                    .finish(Finish::Refusal("".into())),
            ),
            Api::Ollama => return,
            _ => says(
                Play::new("no")
                    .say(Said::text("To begin"))
                    .finish(Finish::ContentFilter),
            ),
        };
        let stage = Stage::new(api, vec![step]);
        let done = stage.run("Go on.", &[]);
        println!("{api:?} {} {} {}", done.code, done.stderr, done.stdout);
        stage.is_clean();
    });
}

#[test]
fn nobody_there() {
    row(|api| {
        let closed = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let stage = Stage::new(api, Vec::new());
        stage
            .world
            .user_config(&column::configuration(&closed.to_string()));
        let model = column::model(api);
        let args = [
            "run",
            "-m",
            model,
            "--set",
            "conversation.limits.retries=0",
            "Go on.",
        ];
        let mut command = stage.command(&args);
        command.envs(column::environment(&closed.to_string()));
        let done = crate::world::start(&mut command).end();
        println!("{api:?} {} {}", done.code, done.stderr);
    });
}

#[test]
fn a_redirect_does_not_carry_the_key_elsewhere() {
    row(|api| {
        let elsewhere = ModelServer::start(|_| Reply::json(200, Value::Null));
        let to = format!(
            "http://localhost:{}/v1/elsewhere",
            elsewhere.address().port()
        );
        let stage = Stage::new(api, vec![http(Reply::redirect(&to))]);
        let done = run(&stage);
        println!("{api:?} {} {}", done.code, done.stderr);
        assert_eq!(elsewhere.connections(), 0, "{api:?}");
        stage.is_clean();
    });
}
