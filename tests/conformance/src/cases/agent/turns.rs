//! Prompts: steered, cancelled, one after the other, and side by side.

use serde_json::json;

use crate::{
    Step, check, same,
    script::{Ask, Script, TOLD_NO, TOLD_YES, text},
    stage::Stage,
};

cases! {
    second_turn: "A second prompt in a session whose first one waits is played behind it, and is not lost.";
    steer: "What is added while a form is open is taken in at once, and reaches the model with its next request.";
    cancel_in_the_middle: "A prompt that is cancelled while the model speaks ends `cancelled`.";
    cancel_finished: "Cancelling where nothing runs does nothing.";
    turn_after_turn: "A session goes on with a second prompt once the first was cancelled.";
    two_conversations: "Prompts of two sessions wait at the same time, and each gets its own answer.";
}

fn second_turn(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::boolean("Ship it?")]).heard("the second", "Heard the second.");
    let (mut client, session) = stage.agent(&script)?;
    let first = client.say(&session, "Go");
    let asked = client.asked()?;
    let second = client.say(&session, "Go to the second");
    client.accept(&asked, &json!("yes"));
    client.completes(&session, first, TOLD_YES)?;
    client.completes(&session, second, "Heard the second.")
}

fn steer(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::boolean("Ship it?")])
        .heard("Leave the tests alone.", "The model was steered.");
    let (mut client, session) = stage.agent(&script)?;
    let prompt = client.say(&session, "Go");
    let asked = client.asked()?;
    let text = json!([{"type": "text", "text": "Leave the tests alone."}]);
    let taken = client.call(
        "_session/steering",
        json!({"sessionId": session, "prompt": text}),
    )?;
    same(
        "the outcome of `_session/steering`",
        &taken["outcome"],
        &"injected",
    )?;
    client.accept(&asked, &json!("yes"));
    client.completes(&session, prompt, "The model was steered.")
}

fn cancel_in_the_middle(stage: &Stage) -> Step {
    let script = Script::says(&[text("I will look at")]).stalls();
    let (mut client, session) = stage.agent(&script)?;
    let prompt = client.say(&session, "Go");
    let mut said = String::new();
    while said != "I will look at" {
        let piece = client.told(&session, "agent_message_chunk", |_| true)?;
        said += piece["content"]["text"].as_str().unwrap_or_default();
        check(
            "I will look at".starts_with(&said),
            format!("the pieces of the text are {said:?}"),
        )?;
    }
    client.cancel(&session);
    client.is_cancelled(prompt)
}

fn cancel_finished(stage: &Stage) -> Step {
    let script = Script::says(&[text("Done.")]);
    let (mut client, session) = stage.agent(&script)?;
    for _ in 0..2 {
        let prompt = client.say(&session, "Go");
        client.completes(&session, prompt, "Done.")?;
        client.cancel(&session);
    }
    client.sessions(&stage.workspace())?;
    let words = client.words(&session);
    check(
        words.is_empty(),
        format!("cancelling made the agent say {words:?}"),
    )
}

fn turn_after_turn(stage: &Stage) -> Step {
    let (mut client, session) = stage.agent(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let first = client.say(&session, "Go");
    client.asked()?;
    client.cancel(&session);
    client.is_cancelled(first)?;
    let second = client.say(&session, "Go again");
    let asked = client.asked()?;
    client.accept(&asked, &json!("yes"));
    client.completes(&session, second, TOLD_YES)
}

fn two_conversations(stage: &Stage) -> Step {
    let script = Script::asks(&[])
        .asks_for("the first", &[Ask::boolean("Ship the first?")])
        .asks_for("the second", &[Ask::boolean("Ship the second?")]);
    let (mut client, first) = stage.agent(&script)?;
    let second = client.open(&stage.workspace())?;
    check(first != second, "both sessions have one id")?;
    let first_prompt = client.say(&first, "Go to the first");
    let first_asked = client.asked()?;
    let second_prompt = client.say(&second, "Go to the second");
    let second_asked = client.asked()?;
    check(
        first_asked.params["sessionId"] == *first && second_asked.params["sessionId"] == *second,
        "a form is of another session",
    )?;
    client.accept(&second_asked, &json!("no"));
    client.completes(&second, second_prompt, TOLD_NO)?;
    client.accept(&first_asked, &json!("yes"));
    client.completes(&first, first_prompt, TOLD_YES)
}
