//! Questions as forms: answers that count, answers that do not fit, and what is none.

use serde_json::{Value, json};

use super::super::{
    Case,
    typed::{TOLD, typed_script},
};
use crate::{
    Failure, Step, check,
    client::{Asked, Client},
    script::{Ask, Script, TOLD_DISMISSED, TOLD_NO, TOLD_NOT_SHOWN, TOLD_YES},
    stage::Stage,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "answer_boolean",
        sentence: "A yes or no is a choice that is not required, so that an untouched form is no answer; `no` reaches the model as false.",
        play: answer_boolean,
    },
    Case {
        name: "answer_select",
        sentence: "An option of a select counts as the person's answer.",
        play: answer_select,
    },
    Case {
        name: "answer_text",
        sentence: "A text counts as the person's answer, character by character.",
        play: answer_text,
    },
    Case {
        name: "answer_error",
        sentence: "A JSON-RPC error is never a person's decision: the question could not be shown.",
        play: answer_error,
    },
    Case {
        name: "decline",
        sentence: "The action `decline` is the person's, and the turn goes on.",
        play: |stage| dismissed(stage, "decline"),
    },
    Case {
        name: "cancel_action",
        sentence: "The action `cancel` is the person's, and the turn goes on.",
        play: |stage| dismissed(stage, "cancel"),
    },
    Case {
        name: "silence",
        sentence: "A form that is never answered is withdrawn when its prompt is cancelled, and the end does not wait for the client.",
        play: silence,
    },
    Case {
        name: "late_after_cancel",
        sentence: "An answer that comes after its prompt was cancelled, even twice, changes nothing.",
        play: late_after_cancel,
    },
    Case {
        name: "typed_number",
        sentence: "A whole number within its bounds counts; one beyond them, a fraction and a text do not.",
        play: typed_number,
    },
    Case {
        name: "typed_multi_select",
        sentence: "Several of the options count; too few of them and an unknown one do not.",
        play: typed_multi_select,
    },
    Case {
        name: "typed_text",
        sentence: "A text of the form and the length that its question asks for counts; another one does not.",
        play: typed_text,
    },
    Case {
        name: "typed_left_out",
        sentence: "An answer that may be left out is null; where it may not, an untouched form does not count.",
        play: typed_left_out,
    },
    Case {
        name: "answer_null",
        sentence: "The result null is no answer: the question could not be shown.",
        play: |stage| insists(stage, &Value::Null, 1),
    },
    Case {
        name: "wrong_type",
        sentence: "A boolean answered with a number is shown again, at most twice, then the question could not be shown.",
        play: |stage| {
            insists(
                stage,
                &json!({"action": "accept", "content": {"answer": 7}}),
                3,
            )
        },
    },
    Case {
        name: "unknown_option",
        sentence: "An option that does not exist is not taken; the form is shown again and can be answered.",
        play: unknown_option,
    },
    Case {
        name: "unknown_action",
        sentence: "An action that does not exist is no answer: the question could not be shown.",
        play: |stage| {
            insists(
                stage,
                &json!({"action": "agree", "content": {"answer": "yes"}}),
                1,
            )
        },
    },
    Case {
        name: "answer_missing",
        sentence: "A form that was sent untouched is shown again, at most twice, then the question could not be shown.",
        play: |stage| insists(stage, &json!({"action": "accept"}), 3),
    },
    Case {
        name: "fits_at_last",
        sentence: "After two answers that do not fit, the third still counts.",
        play: fits_at_last,
    },
];

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
    check(
        options == ["oat", "soy"],
        format!("the options are {options:?}"),
    )?;
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

/// A question of this type, answered with what does not fit, at most twice, and then with what does; null is a form that
/// nobody touched.
fn asked(stage: &Stage, answer_type: &Value, optional: bool, unfit: &[Value], fit: &Value) -> Step {
    let (mut client, session) = stage.agent(&typed_script(answer_type, optional, fit)?)?;
    let prompt = client.say(&session, "Go");
    for answer in unfit.iter().chain([fit]) {
        let asked = client.asked()?;
        is_form(&asked, "Which?")?;
        let content = if answer.is_null() {
            json!({})
        } else {
            json!({ "answer": answer })
        };
        client.respond(
            &asked.request,
            json!({"action": "accept", "content": content}),
        );
    }
    client.completes(&session, prompt, TOLD)
}

fn typed_number(stage: &Stage) -> Step {
    let whole = json!({"type": "number", "integer": true, "minimum": 1, "maximum": 65535});
    asked(
        stage,
        &whole,
        false,
        &[json!(65536), json!(1.5)],
        &json!(8080),
    )?;
    let any = json!({"type": "number", "integer": false});
    asked(stage, &any, false, &[json!("2.5")], &json!(2.5))
}

fn typed_multi_select(stage: &Stage) -> Step {
    let some = json!({"type": "multi_select", "options": ["oat", "soy", "rice"], "minimum": 2, "maximum": 3});
    let unfit = [json!(["oat"]), json!(["oat", "cow"])];
    asked(stage, &some, false, &unfit, &json!(["oat", "rice"]))
}

fn typed_text(stage: &Stage) -> Step {
    let long = json!({"type": "text", "minimum": 3, "maximum": 5});
    asked(
        stage,
        &long,
        false,
        &[json!("äö"), json!("sechse")],
        &json!("drei"),
    )?;
    let date = json!({"type": "text", "format": "date"});
    asked(
        stage,
        &date,
        false,
        &[json!("tomorrow")],
        &json!("2026-11-22"),
    )
}

fn typed_left_out(stage: &Stage) -> Step {
    let number = json!({"type": "number", "integer": false});
    asked(stage, &number, true, &[json!(true)], &Value::Null)?;
    asked(stage, &number, false, &[Value::Null], &json!(3))
}
