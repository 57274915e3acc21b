//! Questions as forms: answers that count, answers that do not fit, and what is none.

use serde_json::{Value, json};

use super::super::typed::{self, TOLD, TypedQuestion};
use crate::{
    Failure, Step, check,
    client::{Asked, Client},
    same,
    script::{Ask, Script, TOLD_DISMISSED, TOLD_NO, TOLD_NOT_SHOWN, TOLD_YES},
    stage::Stage,
};

cases! {
    answer_boolean: "A yes or no is a choice that is not required, so that an untouched form is no answer; `no` reaches the model as false.";
    answer_select: "An option of a select counts as the person's answer.";
    answer_text: "A text counts as the person's answer, character by character.";
    answer_error: "A JSON-RPC error is never a person's decision: the question could not be shown.";
    decline: "The action `decline` is the person's, and the turn goes on." => |stage| dismissed(stage, "decline");
    cancel_action: "The action `cancel` is the person's, and the turn goes on." => |stage| dismissed(stage, "cancel");
    silence: "A form that is never answered is withdrawn when its prompt is cancelled, and the end does not wait for the client.";
    late_after_cancel: "An answer that comes after its prompt was cancelled, even twice, changes nothing.";
    typed_number: "A whole number within its bounds counts; one beyond them, a fraction and a text do not." => |stage| asked(stage, &typed::numbers());
    typed_multi_select: "Several of the options count; too few of them and an unknown one do not." => |stage| asked(stage, &typed::multi_select());
    typed_text: "A text of the form and the length that its question asks for counts; another one does not." => |stage| asked(stage, &typed::texts());
    typed_left_out: "An answer that may be left out is null; where it may not, an untouched form does not count." => |stage| asked(stage, &typed::left_out());
    answer_null: "The result null is no answer: the question could not be shown." => |stage| insists(stage, &Value::Null, 1);
    wrong_type: "A boolean answered with a number is shown again, at most twice, then the question could not be shown." => |stage| insists(stage, &json!({"action": "accept", "content": {"answer": 7}}), 3);
    unknown_option: "An option that does not exist is not taken; the form is shown again and can be answered.";
    unknown_action: "An action that does not exist is no answer: the question could not be shown." => |stage| insists(stage, &json!({"action": "agree", "content": {"answer": "yes"}}), 1);
    answer_missing: "A form that was sent untouched is shown again, at most twice, then the question could not be shown." => |stage| insists(stage, &json!({"action": "accept"}), 3);
    fits_at_last: "After two answers that do not fit, the third still counts.";
}

fn ship_it(stage: &Stage) -> Step<(Client, String, i64)> {
    let (mut client, session) = stage.agent(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let prompt = client.say(&session, "Go");
    Ok((client, session, prompt))
}

fn is_form(asked: &Asked, text: &str) -> Step {
    check(
        asked.is_form && asked.text() == text,
        format!("asked is {}, where {text:?} was due", asked.params),
    )
}

fn answer_boolean(stage: &Stage) -> Step {
    let (mut client, session, prompt) = ship_it(stage)?;
    let asked = client.asked()?;
    is_form(&asked, "Ship it?")?;
    let property = asked.property();
    check(
        property["type"] == "string" && property["oneOf"].is_array(),
        format!("the property is {property}"),
    )?;
    let required = &asked.params["requestedSchema"]["required"];
    check(
        required.is_null() || *required == json!([]),
        "the choice is required",
    )?;
    client.accept(&asked, &json!("no"));
    client.completes(&session, prompt, TOLD_NO)
}

fn answer_select(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::select("Which?", &["oat", "soy"])])
        .told("\"answer\":\"soy\"", "Told soy.");
    let (mut client, session) = stage.agent(&script)?;
    let prompt = client.say(&session, "Go");
    let asked = client.asked()?;
    let options = asked.property()["oneOf"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let options: Vec<_> = options.iter().map(|it| it["const"].clone()).collect();
    same("the options", &options, &["oat", "soy"])?;
    client.accept(&asked, &json!("soy"));
    client.completes(&session, prompt, "Told soy.")
}

fn answer_text(stage: &Stage) -> Step {
    let script =
        Script::asks(&[Ask::text("Which name?")]).told("Grüße, 世界 — “no” <b>", "Told the name.");
    let (mut client, session) = stage.agent(&script)?;
    let prompt = client.say(&session, "Go");
    let asked = client.asked()?;
    client.accept(&asked, &json!("Grüße, 世界 — “no” <b>\\n</b>"));
    client.completes(&session, prompt, "Told the name.")
}

fn answer_error(stage: &Stage) -> Step {
    let (mut client, session, prompt) = ship_it(stage)?;
    let asked = client.asked()?;
    client.respond_error(&asked.request, "the window is gone");
    client.completes(&session, prompt, TOLD_NOT_SHOWN)
}

fn dismissed(stage: &Stage, action: &str) -> Step {
    let (mut client, session, prompt) = ship_it(stage)?;
    let asked = client.asked()?;
    client.respond(&asked.request, json!({ "action": action }));
    client.completes(&session, prompt, TOLD_DISMISSED)
}

fn silence(stage: &Stage) -> Step {
    let (mut client, session, prompt) = ship_it(stage)?;
    let asked = client.asked()?;
    client.cancel(&session);
    client.is_cancelled(prompt)?;
    client.withdrawn(&asked)
}

fn late_after_cancel(stage: &Stage) -> Step {
    let (mut client, session, prompt) = ship_it(stage)?;
    let asked = client.asked()?;
    client.cancel(&session);
    client.is_cancelled(prompt)?;
    for _ in 0..2 {
        client.accept(&asked, &json!("yes"));
    }
    client.sessions(&stage.workspace())?;
    let words = client.words(&session);
    check(
        words.is_empty(),
        format!("the late answer made the agent say {words:?}"),
    )?;
    let again = client.say(&session, "Go again");
    let asked = client.asked()?;
    client.accept(&asked, &json!("no"));
    client.completes(&session, again, TOLD_NO)
}

/// Replies with this each time that the form is shown, so often.
fn insists(stage: &Stage, reply: &Value, times: usize) -> Step {
    let (mut client, session, prompt) = ship_it(stage)?;
    for n in 1..=times {
        match client.asked_or_end(prompt)? {
            Ok(asked) => client.respond(&asked.request, reply.clone()),
            Err(reason) => {
                return Err(Failure(format!(
                    "the prompt ended with {reason:?} where the form was due for the {n}th time"
                )));
            }
        }
    }
    client.completes(&session, prompt, TOLD_NOT_SHOWN)?;
    check(
        client.asked_already().is_none(),
        "the form was shown more often",
    )
}

fn unknown_option(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::select("Which?", &["oat", "soy"])])
        .told("\"answer\":\"soy\"", "Told soy.");
    let (mut client, session) = stage.agent(&script)?;
    let prompt = client.say(&session, "Go");
    for answer in ["cow", "soy"] {
        let asked = client.asked()?;
        client.accept(&asked, &json!(answer));
    }
    client.completes(&session, prompt, "Told soy.")
}

fn fits_at_last(stage: &Stage) -> Step {
    let (mut client, session, prompt) = ship_it(stage)?;
    for answer in [json!("true"), json!(1), json!("yes")] {
        let asked = client.asked()?;
        client.accept(&asked, &answer);
    }
    client.completes(&session, prompt, TOLD_YES)
}

/// Each question is answered with what does not fit and then with what does; null is a form that nobody touched.
fn asked(stage: &Stage, questions: &[TypedQuestion]) -> Step {
    questions.iter().try_for_each(|question| {
        let (mut client, session) = stage.agent(&question.script())?;
        let prompt = client.say(&session, "Go");
        for answer in question.unfit.iter().chain([&question.fit]) {
            let asked = client.asked()?;
            is_form(&asked, "Which?")?;
            let content = match answer {
                Value::Null => json!({}),
                answer => json!({ "answer": answer }),
            };
            client.respond(
                &asked.request,
                json!({"action": "accept", "content": content}),
            );
        }
        client.completes(&session, prompt, TOLD)
    })
}
