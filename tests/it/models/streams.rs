//! Text, reasoning and calls as they come.

use aside_model_server::{
    Api,
    play::{Play, Said},
    server::{Gate, Received},
};

use super::{
    shown::shown,
    stage::{Stage, place, row, says, sent},
};

#[test]
fn text_is_shown_as_it_comes() {
    row(|api| {
        let play = Play::new("text").say(Said::text(["One, ", "two, ", "three."]));
        let gate = Gate::new();
        let at = place(&play, api, "two, ");
        let held = gate.clone();
        let stage = Stage::new(api, vec![sent(play, move |reply| reply.wait_at(at, &held))]);
        let mut run = stage.start("Count.", &[]);
        assert_eq!(run.update("text")["text"], "One, ", "{api:?}");
        gate.open();
        let done = run.end().exits(0);
        let expected = "text One, two, three.\ncompleted One, two, three.\n";
        assert_eq!(shown(&done), expected, "{api:?}");
        assert_eq!(stage.heard(), "user Count.\n", "{api:?}");
        stage.is_clean();
    });
}

/// How a request says that the model is to reason, and how that it is not to.
fn says_reasoning(api: Api, received: &Received) -> String {
    let body = &received.json;
    match api {
        Api::Anthropic => body["thinking"]["type"].to_string(),
        Api::OpenaiResponses => body["reasoning"]["effort"].to_string(),
        Api::OpenaiChat => format!(
            "{} {}",
            body["reasoning_effort"], body["chat_template_kwargs"]
        ),
        Api::Gemini => body["generationConfig"]["thinkingConfig"].to_string(),
        Api::Ollama => body["think"].to_string(),
    }
}

#[test]
fn reasoning_is_shown_and_comes_back() {
    row(|api| {
        let stage = Stage::new(
            api,
            vec![
                says(
                    Play::new("first")
                        .say(Said::reasoning("A file has to be read."))
                        .say(Said::text("I look at it."))
                        .say(Said::call("call_1", "read_file", r#"{"path":"a.txt"}"#)),
                ),
                says(
                    Play::new("second")
                        .say(Said::reasoning("Clear."))
                        .say(Said::text("It says A.")),
                ),
                says(Play::new("third").say(Said::text("You are welcome."))),
            ],
        );
        stage.world.write("a.txt", "A\n");
        let done = stage
            .run(
                "What is in a.txt?",
                &["--set", "assistant.reasoning='high'"],
            )
            .exits(0);
        let expected = "\
reasoning A file has to be read.
text I look at it.
call Read a.txt: ok
reasoning Clear.
text It says A.
completed It says A.
";
        assert_eq!(shown(&done), expected, "{api:?}");
        stage
            .run(
                "Thanks.",
                &["--continue", "--set", "assistant.reasoning='high'"],
            )
            .exits(0);
        println!("{api:?} {}", stage.heard());
        println!("{api:?} {}", says_reasoning(api, &stage.requests()[0]));
        stage.is_clean();
    });
}

#[test]
fn reasoning_that_is_turned_off() {
    row(|api| {
        let stage = Stage::new(api, vec![says(Play::new("text").say(Said::text("Yes.")))]);
        stage
            .run("Is it so?", &["--set", "assistant.reasoning='off'"])
            .exits(0);
        println!("{api:?} off {}", says_reasoning(api, &stage.requests()[0]));
        stage.is_clean();
    });
}

#[test]
fn two_calls_side_by_side_have_their_results_in_call_order() {
    row(|api| {
        let play = Play::new("calls")
            .say(Said::call("call_1", "read_file", r#"{"path":"a.txt"}"#))
            .say(Said::call("call_2", "read_file", r#"{"path":"b.txt"}"#));
        let stage = Stage::new(
            api,
            vec![
                says(play),
                says(Play::new("end").say(Said::text("A and B."))),
            ],
        );
        stage.world.write("a.txt", "A\n");
        stage.world.write("b.txt", "B\n");
        let done = stage.run("Read both.", &[]).exits(0);
        println!("{api:?} {} {}", shown(&done), stage.heard());
        stage.is_clean();
    });
}
