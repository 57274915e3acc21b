//! Text, reasoning and calls as they come.

use aside_model_server::{
    Api,
    play::{Play, Said},
    server::{Gate, Received},
};

use serde_json::{Value, json};

use super::{
    heard::tells_reasoning,
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

/// What a request says of how much the model is to reason.
fn says_reasoning(api: Api, received: &Received) -> Value {
    let body = &received.json;
    match api {
        Api::Anthropic => json!([body["thinking"]["type"], body["output_config"]["effort"]]),
        Api::OpenaiResponses => body["reasoning"]["effort"].clone(),
        Api::OpenaiChat => body["reasoning_effort"].clone(),
        Api::Gemini => body["generationConfig"]["thinkingConfig"]["thinkingLevel"].clone(),
        Api::Ollama => body["think"].clone(),
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
        let thought = |text: &str| match tells_reasoning(api) {
            true => format!("thought {text}\n"),
            false => String::new(),
        };
        let expected = format!(
            "user What is in a.txt?\n{}assistant I look at it.\n\
             call read_file {{\"path\":\"a.txt\"}}\nresult A\n\
             {}assistant It says A.\nuser Thanks.\n",
            thought("A file has to be read."),
            thought("Clear."),
        );
        assert_eq!(stage.heard(), expected, "{api:?}");
        let expected = match api {
            Api::Anthropic => json!(["adaptive", "high"]),
            Api::OpenaiResponses | Api::OpenaiChat => json!("high"),
            Api::Gemini => json!("HIGH"),
            // It is on or off.
            Api::Ollama => json!(true),
        };
        assert_eq!(says_reasoning(api, &stage.requests()[0]), expected);
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
        let expected = match api {
            // These models always reason: as little as they can.
            Api::Anthropic => json!(["adaptive", "low"]),
            Api::OpenaiResponses | Api::OpenaiChat => json!("low"),
            Api::Gemini => json!("LOW"),
            Api::Ollama => json!(false),
        };
        assert_eq!(says_reasoning(api, &stage.requests()[0]), expected);
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
        let expected = "\
call Read a.txt: ok
call Read b.txt: ok
text A and B.
completed A and B.
";
        assert_eq!(shown(&done), expected, "{api:?}");
        let expected = "\
user Read both.
call read_file {\"path\":\"a.txt\"}
call read_file {\"path\":\"b.txt\"}
result A
result B
";
        assert_eq!(stage.heard(), expected, "{api:?}");
        stage.is_clean();
    });
}
