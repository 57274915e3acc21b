//! Responses that end at the token limit.

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedFinish, ReplyItem},
};

use super::{
    shown::shown,
    stage::{AUTO, ModelStage, row, says},
};

fn truncated(play: ModelReply) -> ModelReply {
    play.call(
        "call_cut",
        "run_command",
        [r#"{"command":"echo ran"#, r#" >> runs"}"#],
    )
    .finish(PlayedFinish::MaxTokens)
}

#[test]
fn a_call_that_was_cut_at_the_token_limit_is_dropped_and_the_model_is_told() {
    row(|api| {
        let stage = ModelStage::new(
            api,
            vec![
                says(truncated(ModelReply::new("cut").text("I run it."))),
                says(ModelReply::new("end").text("Shorter.")),
            ],
        );
        let done = stage.run("Run it.", &AUTO).exits(0);
        let expected = "\
text I run it.
notice The response was cut off; the model is asked to go on.
text Shorter.
completed Shorter.
";
        assert_eq!(shown(&done), expected, "{api:?}");
        // A message of Aside's own, where the model takes one in mid-conversation; else the user's side says it.
        let who = match api {
            ServedApi::OpenaiResponses => "system",
            _ => "user",
        };
        let told = "Your last response was cut off before anything in it was complete. \
            Go on from there, in smaller steps.";
        let expected = format!("user Run it.\nassistant I run it.\n{who} {told}\n");
        assert_eq!(stage.heard(), expected, "{api:?}");
        assert!(!stage.world.at("runs").exists());
        stage.is_clean();
    });
}

#[test]
fn a_whole_call_before_the_one_that_was_cut_runs() {
    row(|api| {
        let whole = ReplyItem::call("call_1", "read_file", r#"{"path":"a.txt"}"#);
        let stage = ModelStage::new(
            api,
            vec![
                says(truncated(ModelReply::new("cut").say(whole))),
                says(ModelReply::new("end").text("It says A.")),
            ],
        );
        stage.world.write("a.txt", "A\n");
        let done = stage.run("Run it.", &AUTO).exits(0);
        let expected = "call Read a.txt: ok\ntext It says A.\ncompleted It says A.\n";
        assert_eq!(shown(&done), expected, "{api:?}");
        let expected = "user Run it.\ncall read_file {\"path\":\"a.txt\"}\nresult A\n";
        assert_eq!(stage.heard(), expected, "{api:?}");
        assert!(!stage.world.at("runs").exists());
        stage.is_clean();
    });
}
