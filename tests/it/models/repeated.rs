//! Servers that say a call again: twice in one response, or with the ids of each response before, `call_0` again and again.

use std::fs;

use aside_model_server::play::{ModelReply, ReplyItem};

use super::stage::{AUTO, ModelStage, PlayedStep, row, says};

/// A step with two calls whose ids are those of every other step.
fn calls() -> PlayedStep {
    let read = |at: usize| {
        let arguments = format!(r#"{{"path":"{at}.txt"}}"#);
        ReplyItem::call(&format!("call_{at}"), "read_file", arguments)
    };
    says(ModelReply::new("calls").say(read(0)).say(read(1)))
}

fn done() -> PlayedStep {
    says(ModelReply::new("end").text("Done."))
}

#[test]
fn ids_that_repeat_over_a_conversation_are_told_apart() {
    row(|api| {
        let stage = ModelStage::new(api, vec![calls(), calls(), done()]);
        stage.world.write("0.txt", "A\n");
        stage.world.write("1.txt", "B\n");
        stage.run("One.", &AUTO).exits(0);
        for message in ["Two.", "Three."] {
            stage.goes_on(vec![calls(), done()]);
            let more = [AUTO.as_slice(), &["--continue"]].concat();
            stage.run(message, &more).exits(0);
        }
        let heard = stage.heard();
        let told = "result A\nresult B\n";
        assert_eq!(heard.matches(told).count(), 4, "{api:?}: {heard}");
        stage.is_clean();
    });
}

#[test]
fn a_command_runs_as_often_as_it_was_called() {
    let arguments = r#"{"command":"echo ran >> effect.txt"}"#;
    for (ids, times) in [
        (&["one", "one"][..], 1),
        (&["one", "one", "one"], 1),
        (&["one", "two"], 2),
        (&["one", "two", "one"], 2),
    ] {
        row(|api| {
            let calls = ids.iter().fold(ModelReply::new("calls"), |reply, id| {
                reply.call(id, "run_command", arguments)
            });
            let stage = ModelStage::new(api, vec![says(calls), done()]);
            stage.run("Go.", &AUTO).exits(0);
            let ran = fs::read_to_string(stage.world.at("effect.txt")).unwrap();
            assert_eq!(ran, "ran\n".repeat(times), "{api:?}: {ids:?}");
            stage.is_clean();
        });
    }
}
