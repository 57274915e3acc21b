//! Text, reasoning and calls as they come.

use aside_model_server::{
    ServedApi,
    play::ModelReply,
    server::{Received, ReplyGate},
};

use serde_json::{Value, json};

use super::{
    heard::tells_reasoning,
    shown::shown,
    stage::{ModelStage, place, row, says, sent},
};

#[test]
fn text_is_shown_as_it_comes() {
    row(|api| {
        let play = ModelReply::new("text").text(["One, ", "two, ", "three."]);
        let gate = ReplyGate::new();
        let at = place(&play, api, "two, ");
        let held = gate.clone();
        let stage = ModelStage::new(api, vec![sent(play, move |reply| reply.wait_at(at, &held))]);
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
fn says_reasoning(api: ServedApi, received: &Received) -> Value {
    let body = &received.json;
    match api {
        ServedApi::Anthropic => json!([body["thinking"]["type"], body["output_config"]["effort"]]),
        ServedApi::OpenaiResponses => body["reasoning"]["effort"].clone(),
        ServedApi::OpenaiChat => body["reasoning_effort"].clone(),
        ServedApi::Gemini => body["generationConfig"]["thinkingConfig"]["thinkingLevel"].clone(),
        ServedApi::Ollama => body["think"].clone(),
    }
}

#[test]
fn reasoning_is_shown_and_comes_back() {
    row(|api| {
        let stage = ModelStage::new(
            api,
            vec![
                says(
                    ModelReply::new("first")
                        .reasoning("A file has to be read.")
                        .text("I look at it.")
                        .call("call_1", "read_file", r#"{"path":"a.txt"}"#),
                ),
                says(
                    ModelReply::new("second")
                        .reasoning("Clear.")
                        .text("It says A."),
                ),
                says(ModelReply::new("third").text("You are welcome.")),
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
            ServedApi::Anthropic => json!(["adaptive", "high"]),
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => json!("high"),
            ServedApi::Gemini => json!("HIGH"),
            // It is on or off.
            ServedApi::Ollama => json!(true),
        };
        assert_eq!(says_reasoning(api, &stage.requests()[0]), expected);
        stage.is_clean();
    });
}

#[test]
fn reasoning_that_is_turned_off() {
    row(|api| {
        let stage = ModelStage::new(api, vec![says(ModelReply::new("text").text("Yes."))]);
        stage
            .run("Is it so?", &["--set", "assistant.reasoning='off'"])
            .exits(0);
        let expected = match api {
            // These models always reason: as little as they can.
            ServedApi::Anthropic => json!(["adaptive", "low"]),
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => json!("low"),
            ServedApi::Gemini => json!("LOW"),
            ServedApi::Ollama => json!(false),
        };
        assert_eq!(says_reasoning(api, &stage.requests()[0]), expected);
        stage.is_clean();
    });
}

#[test]
fn two_calls_side_by_side_have_their_results_in_call_order() {
    row(|api| {
        let play = ModelReply::new("calls")
            .call("call_1", "read_file", r#"{"path":"a.txt"}"#)
            .call("call_2", "read_file", r#"{"path":"b.txt"}"#);
        let stage = ModelStage::new(
            api,
            vec![says(play), says(ModelReply::new("end").text("A and B."))],
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
