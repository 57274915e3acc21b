//! The client goes away, at every step; another agent then finds what the first left.

use serde_json::json;

use crate::{
    Step, check,
    client::Client,
    same,
    script::{Ask, Script, TOLD_YES},
    stage::Stage,
};

cases! {
    vanish_before_initialize: "The agent ends when its input ends, though nobody ever spoke.";
    vanish_in_a_message: "The agent ends when its input ends in the middle of a message.";
    vanish_at_the_start: "A prompt that was sent and left at once is not there, or can be brought to its end by the next process.";
    vanish_at_the_prompt: "A form whose client vanished is shown again by `/resume` in the next process, and answered it completes.";
    vanish_between_prompts: "Of two forms one was answered: only the other is shown again.";
    vanish_after_completed: "A prompt that was answered before the client vanished is shown as it was, and nothing is left of it to resume.";
    vanish_twice: "A form that is shown again and whose client vanishes again is shown a third time.";
}

fn script() -> Script {
    Script::asks(&[Ask::boolean("Ship it?")])
}

fn vanish_before_initialize(stage: &Stage) -> Step {
    stage.script(&script())?;
    stage.start()?.vanish()
}

fn vanish_in_a_message(stage: &Stage) -> Step {
    let (mut client, _) = stage.agent(&script())?;
    stage.gives_reason_to_complain();
    client.send_bytes(b"{\"jsonrpc\":");
    client.vanish()
}

/// Another process that has the session open, and resumes what was left of it.
fn resumes(stage: &Stage, session: &str) -> Step<(Client, i64)> {
    let mut client = stage.agent_again()?;
    let opens = json!({"sessionId": session, "cwd": stage.workspace(), "mcpServers": []});
    client.call("session/resume", opens)?;
    check(
        client.asked_already().is_none(),
        "the form is shown before its turn is resumed",
    )?;
    let prompt = client.say(session, "/resume");
    Ok((client, prompt))
}

/// A session whose client vanished at a form.
fn left_at_the_form(stage: &Stage) -> Step<String> {
    let (mut client, session) = stage.agent(&script())?;
    client.say(&session, "Go");
    client.asked()?;
    client.vanish()?;
    Ok(session)
}

/// The form is shown, and answered it completes.
fn completes(client: &mut Client, session: &str, prompt: i64) -> Step {
    let asked = client.asked()?;
    client.accept(&asked, &json!("yes"));
    client.completes(session, prompt, TOLD_YES)
}

fn vanish_at_the_prompt(stage: &Stage) -> Step {
    let session = left_at_the_form(stage)?;
    let (mut client, prompt) = resumes(stage, &session)?;
    completes(&mut client, &session, prompt)
}

fn vanish_twice(stage: &Stage) -> Step {
    let session = left_at_the_form(stage)?;
    let (mut client, _) = resumes(stage, &session)?;
    client.asked()?;
    client.vanish()?;
    let (mut client, prompt) = resumes(stage, &session)?;
    completes(&mut client, &session, prompt)
}

fn vanish_between_prompts(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::text("Which name?"), Ask::boolean("Ship it?")]);
    let (mut client, session) = stage.agent(&script)?;
    client.say(&session, "Go");
    let asked = [client.asked()?, client.asked()?];
    for it in asked.iter().filter(|it| it.text() == "Which name?") {
        client.accept(it, &json!("oat"));
    }
    // What comes behind the answer is handled behind it.
    client.sessions(&stage.workspace())?;
    client.vanish()?;
    let (mut client, prompt) = resumes(stage, &session)?;
    let asked = client.asked()?;
    same("what is asked again", &asked.text(), &"Ship it?")?;
    client.accept(&asked, &json!("yes"));
    client.completes(&session, prompt, TOLD_YES)?;
    check(
        client.asked_already().is_none(),
        "the answered form is shown again",
    )
}

fn vanish_at_the_start(stage: &Stage) -> Step {
    let (mut client, session) = stage.agent(&script())?;
    client.say(&session, "Go");
    client.vanish()?;
    let (mut client, prompt) = resumes(stage, &session)?;
    // What was not there cannot be resumed, and says so.
    let asked = match client.asked_or_end(prompt)? {
        Ok(asked) => asked,
        Err(reason) => {
            return check(
                reason.is_empty(),
                format!("`/resume` ended with {reason:?}"),
            );
        }
    };
    client.accept(&asked, &json!("yes"));
    client.completes(&session, prompt, TOLD_YES)
}

fn vanish_after_completed(stage: &Stage) -> Step {
    let (mut client, session) = stage.agent(&script())?;
    let prompt = client.say(&session, "Go");
    let asked = client.asked()?;
    client.accept(&asked, &json!("yes"));
    client.completes(&session, prompt, TOLD_YES)?;
    client.vanish()?;
    let mut client = stage.agent_again()?;
    let opens = json!({"sessionId": session, "cwd": stage.workspace(), "mcpServers": []});
    client.call("session/load", opens)?;
    let words = client.words(&session);
    same("what was said", &words, &TOLD_YES)?;
    let prompt = client.say(&session, "/resume");
    let resumed = client.response(prompt, "`/resume`")?;
    check(resumed.is_err(), "there was something to resume")
}
