//! What no second try mends: one sentence that says who, what and what to do, and never the key.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedFinish, ReplyItem},
    server::{ModelServer, ServedReply},
};
use serde_json::{Value, json};

use super::{
    column::{self, KEY},
    shown::shown,
    stage::{ModelStage, PlayedStep, http, row, says},
};
use crate::world::{ProgramResult, start};

/// An error as an API writes it: its status, and its own word for it.
fn error(api: ServedApi, status: u16, word: &str, message: &str) -> PlayedStep {
    let message = format!("{message} (key {KEY})");
    let body = match api {
        ServedApi::Anthropic => {
            json!({"type": "error", "error": {"type": word, "message": message}, "request_id": "req_01"})
        }
        ServedApi::OpenaiResponses | ServedApi::OpenaiChat => {
            json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": word}})
        }
        ServedApi::Gemini => json!({"error": {"code": status, "message": message, "status": word}}),
        ServedApi::Ollama => json!({"error": message}),
    };
    let reply = ServedReply::json(status, body);
    // Servers name requests as they like.
    let reply = reply.header("request-id", &format!("req_{KEY}"));
    http(reply.header("x-request-id", &format!("req_{KEY}")))
}

/// Runs with all that is logged, and checks that the key is nowhere.
fn run(stage: &ModelStage) -> ProgramResult {
    run_at(stage, &stage.server.address().to_string())
}

/// The same, with the providers at another address.
fn run_at(stage: &ModelStage, address: &str) -> ProgramResult {
    let log = stage.world.folder().join("trace.log");
    let model = column::model(stage.api);
    let limits = "conversation.limits.retries=0";
    let args = ["run", "-m", model, "--trust", "--set", limits, "--log-file"];
    let mut command =
        stage.command(&[args.as_slice(), &[log.to_str().unwrap(), "Go on."]].concat());
    command
        .envs(column::environment(address))
        .env("ASIDE_LOG", "trace");
    let done = start(&mut command).end();
    assert!(!done.stdout.contains(KEY), "{done:?}");
    assert!(!done.stderr.contains(KEY), "{done:?}");
    let mode = fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(
        mode & 0o777,
        0o600,
        "what is logged is for the user's eyes alone"
    );
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("aside::provider"), "nothing is logged: {log}");
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

/// The first line on standard error: who, and then this.
#[track_caller]
fn assert_says(api: ServedApi, done: &ProgramResult, sentence: &str) {
    let said = done.stderr.lines().find(|line| line.starts_with("error: "));
    let expected = format!("error: {}: {sentence}", column::model(api));
    assert_eq!(said, Some(expected.as_str()), "{done:?}");
    assert_eq!(done.stdout, "", "{api:?}");
}

/// One row: how each API says it, the exit code, what happened in Aside's words and what to do.
fn check(
    code: i32,
    what: &str,
    next: &str,
    says: impl Fn(ServedApi) -> (u16, &'static str, &'static str) + Sync,
) {
    check_each(code, what, |_| next.to_owned(), says);
}

/// The same, where what to do depends on the API.
fn check_each(
    code: i32,
    what: &str,
    next: impl Fn(ServedApi) -> String + Sync,
    says: impl Fn(ServedApi) -> (u16, &'static str, &'static str) + Sync,
) {
    row(|api| {
        let (status, word, message) = says(api);
        let stage = ModelStage::new(api, vec![error(api, status, word, message)]);
        let done = run(&stage).exits(code);
        let what = what.replace("KEY", column::key_variable(api));
        let sentence = format!("{what} ({message} (key [hidden])); {}", next(api));
        assert_says(api, &done, &sentence);
        stage.is_clean();
    });
}

#[test]
fn a_key_that_comes_back_as_the_models_words_is_taken_out() {
    row(|api| {
        let words = format!("Your key is {KEY}, as I was told.");
        let call = ReplyItem::call("call_1", "read_file", format!(r#"{{"path":"{KEY}"}}"#));
        let script = vec![
            says(ModelReply::new("call").say(call)),
            says(ModelReply::new("end").text(words)),
        ];
        let stage = ModelStage::new(api, script);
        let done = run(&stage).exits(0);
        let said = "Your key is [hidden], as I was told.";
        assert!(done.stdout.contains(said), "{api:?}: {done:?}");
        let requests = stage.requests();
        let body = String::from_utf8_lossy(&requests[1].body).into_owned();
        assert!(!body.contains(KEY), "{api:?}: {body}");
    });
}

#[test]
fn a_key_in_the_id_of_a_request_is_not_logged() {
    row(|api| {
        let stage = ModelStage::new(api, vec![error(api, 400, "bad", "no")]);
        let done = run(&stage);
        assert_ne!(done.code, 0, "{done:?}");
        let log = fs::read_to_string(stage.world.folder().join("trace.log")).unwrap();
        assert!(log.contains("req_[hidden]"), "{api:?}: {log}");
    });
}

#[test]
fn a_wrong_key() {
    let what = "127.0.0.1 rejected the API key from KEY";
    check(
        6,
        what,
        "set a key that has access to the model",
        |api| match api {
            ServedApi::Anthropic => (401, "authentication_error", "invalid x-api-key"),
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => {
                (401, "invalid_api_key", "Incorrect API key.")
            }
            ServedApi::Gemini => (400, "INVALID_ARGUMENT", "API key not valid."),
            ServedApi::Ollama => (401, "", "unauthorized"),
        },
    );
}

#[test]
fn an_unknown_model() {
    let what = "127.0.0.1 has no such model";
    check(
        6,
        what,
        "choose a model from `aside model list`",
        |api| match api {
            ServedApi::Anthropic => (404, "not_found_error", "model: claude-opus-5-5"),
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => {
                (404, "model_not_found", "It is not there.")
            }
            ServedApi::Gemini => (404, "NOT_FOUND", "models/gemini-4-argon is not found."),
            ServedApi::Ollama => (404, "", "model 'qwen3.5:9b' not found"),
        },
    );
}

#[test]
fn no_credit() {
    let what = "the account has no credit left, or reached its limit";
    let next = "add credit or raise the limit with the provider, or choose another model";
    check(1, what, next, |api| match api {
        // A 429 that does not say when to come back.
        ServedApi::Anthropic => (429, "rate_limit_error", "You reached your spend limit."),
        ServedApi::OpenaiResponses => (429, "insufficient_quota", "You exceeded your quota."),
        ServedApi::OpenaiChat => (402, "402", "Insufficient credits."),
        ServedApi::Gemini => (402, "FAILED_PRECONDITION", "Enable billing."),
        ServedApi::Ollama => (402, "", "payment required"),
    });
}

/// The answer to a request for which the context window has no room.
pub(super) fn full(api: ServedApi) -> PlayedStep {
    let (status, word, message) = full_context(api);
    error(api, status, word, message)
}

fn full_context(api: ServedApi) -> (u16, &'static str, &'static str) {
    match api {
        ServedApi::Anthropic => (
            400,
            "invalid_request_error",
            "prompt is too long: 1000001 tokens",
        ),
        ServedApi::OpenaiResponses | ServedApi::OpenaiChat => {
            (400, "context_length_exceeded", "Too long.")
        }
        ServedApi::Gemini => (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1048577) exceeds the maximum.",
        ),
        ServedApi::Ollama => (400, "", "the input length exceeds the context length"),
    }
}

#[test]
fn a_full_context() {
    let what = "the conversation no longer fits the model's context";
    let next = |api| {
        let next = "send `/compact`, start a new conversation, or choose a model with a larger context window";
        match api {
            // A server of one's own, which does not tell it.
            ServedApi::OpenaiChat => format!(
                "{next}; nobody says how large that of {} is: set its `context_window` in the configuration, so that \
                 conversations are summarised in time.",
                column::model(api)
            ),
            _ => next.to_owned(),
        }
    };
    check_each(1, what, next, full_context);
}

/// The model ends like this; what it said until then is taken back.
fn ends(finish: fn(ServedApi) -> Option<PlayedFinish>, sentence: fn(ServedApi) -> &'static str) {
    row(|api| {
        let play = ModelReply::new("no").text("To begin");
        let Some(finish) = finish(api) else {
            // It has no way to end but with words.
            let stage = ModelStage::new(api, vec![says(play)]);
            let done = stage.run("Go on.", &[]).exits(0);
            assert!(shown(&done).ends_with("completed To begin\n"), "{done:?}");
            return stage.is_clean();
        };
        let end = says(ModelReply::new("end").text("Better."));
        let stage = ModelStage::new(api, vec![says(play.finish(finish)), end]);
        let done = stage.run("Go on.", &[]).exits(1);
        assert!(shown(&done).ends_with("failed refused\n"), "{done:?}");
        let is_it = |line: &str| line.starts_with("error: ") && line.ends_with(sentence(api));
        assert!(done.stderr.lines().any(is_it), "{done:?}");
        stage.run("And now?", &["--continue"]).exits(0);
        let heard = stage.heard();
        assert!(!heard.contains("To begin"), "{api:?}: {heard}");
        stage.is_clean();
    });
}

#[test]
fn a_refusal() {
    let refuses = |api| {
        let finish = PlayedFinish::Refusal("I will not do that.".into());
        finish.exists_in(api).then_some(finish)
    };
    ends(
        refuses,
        |_| "refused to go on; ask in another way, or choose another model.",
    );
}

#[test]
fn a_content_filter() {
    // Anthropic's filters refuse in the model's name.
    let filters = |api| match api {
        ServedApi::Anthropic => Some(PlayedFinish::Refusal(String::new())),
        api => PlayedFinish::ContentFilter
            .exists_in(api)
            .then_some(PlayedFinish::ContentFilter),
    };
    ends(filters, |api| match api {
        ServedApi::Anthropic => "refused to go on; ask in another way, or choose another model.",
        _ => {
            "was stopped by its provider's content filter; ask in another way, or choose another model."
        }
    });
}

#[test]
fn nobody_there() {
    row(|api| {
        // No other test can be given this port in the meantime.
        let address = "127.0.0.1:9";
        let stage = ModelStage::new(api, Vec::new());
        stage.world.user_config(&column::configuration(address));
        let done = run_at(&stage, address).exits(1);
        let sentence = format!(
            "{address} cannot be reached, or the connection broke \
             (Connection refused (os error 111)); check that the server is running and that you are online"
        );
        assert_says(api, &done, &sentence);
    });
}

#[test]
fn a_web_page_is_not_asked_again() {
    row(|api| {
        let page = "\n<!doctype html><html><body>It works!</body></html>\n";
        let stage = ModelStage::new(api, vec![http(ServedReply::new(200, "text/html", page))]);
        let done = run(&stage).exits(6);
        let sentence = "127.0.0.1 answered with a web page instead of the API; \
                        correct the provider's base_url, or log in to your network";
        assert_says(api, &done, sentence);
        assert_eq!(stage.requests().len(), 1, "{api:?}");
        assert!(!done.stderr.contains("retry"), "{done:?}");
    });
}

#[test]
fn a_redirect_does_not_carry_the_key_elsewhere() {
    row(|api| {
        let elsewhere = ModelServer::start(|_| ServedReply::json(200, Value::Null));
        let to = format!("http://localhost:{}/v1", elsewhere.address().port());
        for status in [301, 302, 307, 308] {
            let mut reply = ServedReply::redirect(&to);
            reply.status = status;
            let stage = ModelStage::new(api, vec![http(reply)]);
            let done = run(&stage).exits(1);
            let sentence = format!(
                "127.0.0.1 redirects to another address (HTTP status {status}); \
                 set the provider's base_url to that address"
            );
            assert_says(api, &done, &sentence);
            stage.is_clean();
        }
        assert_eq!(elsewhere.connections(), 0, "{api:?}");
    });
}
