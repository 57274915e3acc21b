//! Requests that fail and are sent again.

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedFault},
    server::{ReplyGate, ServedReply},
};
use rustix::process::Signal;
use serde_json::json;

use super::{
    shown::shown,
    stage::{AUTO, ModelStage, after, http, place, row, says, sent},
};

#[test]
fn an_error_inside_a_good_response_takes_back_what_was_shown() {
    row(|api| {
        let broken = ModelReply::new("broken")
            .text(["Half a sentence"])
            .error_inside(1, PlayedFault::Server);
        // What is shown is taken back: so it has to be shown before the error comes.
        let gate = ReplyGate::new();
        let (held, at) = (gate.clone(), after(&broken, api, "sentence"));
        let stage = ModelStage::new(
            api,
            vec![
                sent(broken, move |reply| reply.wait_at(at, &held)),
                says(ModelReply::new("whole").text("All of it.")),
            ],
        );
        let mut run = stage.start("Speak.", &[]);
        run.update("text");
        gate.open();
        let done = run.end().exits(0);
        let expected = "\
text Half a sentence
retry 1, without step 1
text All of it.
completed All of it.
";
        assert_eq!(shown(&done), expected, "{api:?}");
        assert_eq!(stage.heard(), "user Speak.\n", "{api:?}");
        let log = stage.world.log();
        assert_eq!(log.one("text")["text"], "All of it.", "{api:?}");
        stage.is_clean();
    });
}

#[test]
fn a_stream_that_breaks_in_text_and_in_a_call_runs_the_call_once() {
    row(|api| {
        let whole = || {
            ModelReply::new("run").text(["I run ", "it now."]).call(
                "call_1",
                "run_command",
                [r#"{"command":"#, r#""echo ran >> runs"}"#],
            )
        };
        let in_text = place(&whole(), api, "it now.") + 20;
        let in_call = place(&whole(), api, "echo ran >> runs") + 40;
        let stage = ModelStage::new(
            api,
            vec![
                sent(whole(), move |reply| reply.cut_at(in_text)),
                sent(whole(), move |reply| reply.cut_at(in_call)),
                says(whole()),
                says(ModelReply::new("end").text("It ran.")),
            ],
        );
        let done = stage.run("Run it.", &AUTO).exits(0);
        let expected = "\
text I run 
retry 1, without step 1
text I run it now.
retry 2, without step 1
text I run it now.
call Run `echo ran >> runs`: ok
text It ran.
completed It ran.
";
        assert_eq!(shown(&done), expected, "{api:?}");
        assert_eq!(stage.world.read("runs"), "ran\n", "{api:?}");
        stage.is_clean();
    });
}

/// An error as the API writes it, with this status.
fn error(api: ServedApi, status: u16) -> ServedReply {
    let message = "Come back later.";
    let body = match api {
        ServedApi::Anthropic => {
            let kind = match status {
                429 => "rate_limit_error",
                529 => "overloaded_error",
                _ => "api_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_01"})
        }
        ServedApi::OpenaiResponses | ServedApi::OpenaiChat => {
            json!({"error": {"message": message, "type": "server_error", "param": null, "code": null}})
        }
        ServedApi::Gemini => {
            json!({"error": {"code": status, "message": message, "status": "UNAVAILABLE"}})
        }
        ServedApi::Ollama => json!({"error": message}),
    };
    ServedReply::json(status, body)
}

/// Each failure: its status, what it says of when to come back, and how long is waited.
const WAITS: [(u16, Option<&str>, u64); 6] = [
    (429, Some("0"), 500),
    (429, Some("17"), 17_000),
    (529, None, 2_000),
    (529, Some("3"), 3_000),
    (500, None, 500),
    (500, Some("1"), 1_000),
];

#[test]
fn a_failed_request_waits_as_it_is_told() {
    row(|api| {
        for (status, after, waits) in WAITS {
            let mut reply = error(api, status);
            if let Some(after) = after {
                reply = reply.header("retry-after", after);
            }
            let stage = ModelStage::new(api, vec![http(reply)]);
            let mut run = stage.start("Go on.", &[]);
            let retry = run.update("retry");
            assert_eq!(
                retry["afterMs"], waits,
                "{api:?} {status} {after:?}: {retry}"
            );
            let reason = retry["reason"].as_str().unwrap();
            assert!(reason.contains("Come back later"), "{api:?}: {reason}");
            run.signal(Signal::INT);
            run.end().exits(130);
            stage.is_clean();
        }
    });
}

/// Gateways send it, for what will be over soon. What speaks of money is another thing: see `refusals`.
#[test]
fn a_429_without_a_time_is_waited_for() {
    row(|api| {
        let stage = ModelStage::new(api, vec![http(error(api, 429))]);
        let mut run = stage.start("Go on.", &[]);
        assert_eq!(run.update("retry")["afterMs"], 500, "{api:?}");
        run.signal(Signal::INT);
        run.end().exits(130);
        stage.is_clean();
    });
}

/// What is lost of a response may be a call of it, so the rest does not count.
#[test]
fn a_call_of_which_only_garbage_comes_is_asked_for_again() {
    for (api, call) in [
        (ServedApi::Gemini, "functionCall"),
        (ServedApi::OpenaiChat, "tool_calls\":["),
    ] {
        let run = r#"{"command":"echo ran >> runs"}"#;
        let reply = |name: &str| {
            let reply = ModelReply::new(name).text("I run it.");
            reply.call("call_1", "run_command", run)
        };
        let whole = String::from_utf8(reply("lost").stream(api).to_vec()).unwrap();
        let garbled = whole.lines().map(|line| match line.contains(call) {
            true => format!("d@{}\n", &line[2..]),
            false => format!("{line}\n"),
        });
        let garbled: String = garbled.collect();
        assert_ne!(garbled, whole, "{api:?}");
        let script = vec![
            http(ServedReply::stream(api, garbled)),
            says(reply("again")),
            says(ModelReply::new("end").text("Done.")),
        ];
        let stage = ModelStage::new(api, script);
        let done = stage.run("Run it.", &AUTO).exits(0);
        assert!(
            shown(&done).contains("retry 1, without step 1\n"),
            "{api:?}: {done:?}"
        );
        let ran = std::fs::read_to_string(stage.world.at("runs")).unwrap();
        assert_eq!(ran, "ran\n", "{api:?}");
        stage.is_clean();
    }
}
