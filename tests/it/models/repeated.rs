//! Servers that count the calls of each response anew: `call_0` again and again.

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
