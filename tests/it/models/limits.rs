//! Responses that end at the token limit.

use aside_model_server::{
    Api,
    play::{Finish, Play, Said},
};

use super::{
    shown::shown,
    stage::{AUTO, Stage, row, says},
};

fn truncated(play: Play) -> Play {
    play.say(Said::call(
        "call_cut",
        "run_command",
        [r#"{"command":"echo ran"#, r#" >> runs"}"#],
    ))
    .finish(Finish::MaxTokens)
}

#[test]
fn a_call_that_was_cut_at_the_token_limit_is_dropped_and_the_model_is_told() {
    row(|api| {
        let stage = Stage::new(
            api,
            vec![
                says(truncated(Play::new("cut").say(Said::text("I run it.")))),
                says(Play::new("end").say(Said::text("Shorter."))),
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
            Api::OpenaiResponses => "system",
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
        let whole = Said::call("call_1", "read_file", r#"{"path":"a.txt"}"#);
        let stage = Stage::new(
            api,
            vec![
                says(truncated(Play::new("cut").say(whole))),
                says(Play::new("end").say(Said::text("It says A."))),
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
