//! A model that says nothing: it is asked once more, and then the turn fails.

use aside_model_server::play::ModelReply;

use super::{
    shown::shown,
    stage::{AUTO, ModelStage, PlayedStep, row, says},
};

fn nothing() -> PlayedStep {
    says(ModelReply::new("nothing"))
}

/// The steps before the model says nothing: none, or a call.
fn before(calls: bool) -> Vec<PlayedStep> {
    let call = ModelReply::new("call").call("call_1", "list_files", r#"{"path":"."}"#);
    Vec::from_iter(calls.then(|| says(call)))
}

#[test]
fn a_model_that_said_nothing_is_asked_once_more() {
    row(|api| {
        for calls in [false, true] {
            let mut script = before(calls);
            script.extend([nothing(), says(ModelReply::new("end").text("Done."))]);
            let stage = ModelStage::new(api, script);
            let done = stage.run("Go.", &AUTO).exits(0);
            assert!(
                shown(&done).ends_with("completed Done.\n"),
                "{api:?}: {done:?}"
            );
            stage.is_clean();
        }
    });
}

#[test]
fn a_model_that_says_nothing_again_fails_the_turn() {
    row(|api| {
        for calls in [false, true] {
            for strict in [&[][..], &["--strict"]] {
                let mut script = before(calls);
                script.extend([nothing(), nothing()]);
                let stage = ModelStage::new(api, script);
                let done = stage.run("Go.", &[&AUTO[..], strict].concat()).exits(1);
                let lines = done.lines();
                let end = &lines.last().unwrap()["params"];
                assert_eq!(end["error"]["code"], "empty", "{api:?}: {end}");
                let why = end["error"]["message"].as_str().unwrap();
                assert!(why.contains("answered nothing"), "{api:?}: {why}");
                stage.is_clean();
            }
        }
    });
}
