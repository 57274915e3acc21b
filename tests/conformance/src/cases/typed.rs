//! Questions of the answer types for which only tools from outside ask. The server needs the tool `asker` for them.

use serde_json::{Value, json};

use super::{
    Case,
    answers::counts,
    completes,
    unfit::{shown_again, unhurried},
};
use crate::{
    Failure, Step, check,
    client::answer,
    script::{Item, Script},
    stage::Stage,
    wire::AnswerType,
};

pub(super) const CASES: &[Case] = &[
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
        sentence: "An answer that may be left out is null; where it may not, null does not count.",
        play: typed_left_out,
    },
];

/// Whether a case needs the tool `asker`.
pub fn needs_asker(case: &Case) -> bool {
    CASES.iter().any(|typed| typed.name == case.name)
}

pub(super) const TOLD: &str = "The model was told the answer.";

/// A model that asks a question of this type, and says [`TOLD`] where it was told this answer.
pub(super) fn typed_script(answer_type: &Value, optional: bool, fit: &Value) -> Step<Script> {
    let question =
        json!({"id": "it", "text": "Which?", "answer_type": answer_type, "optional": optional});
    let arguments = toml::Table::try_from(json!({ "questions": [question] }))
        .map_err(|error| Failure(format!("the question cannot be written: {error}")))?;
    Ok(Script::says(vec![Item::call("asker", arguments)]).told(&fit.to_string(), TOLD))
}

/// A question of this type that may be left out or not, answered with what does not fit, at most twice, and then with
/// what does.
fn asked(stage: &Stage, answer_type: &Value, optional: bool, unfit: &[Value], fit: &Value) -> Step {
    let mut client = stage.with(&typed_script(answer_type, optional, fit)?)?;
    let turn = client.ask("Go")?;
    let mut shown = client.prompt()?;
    let id = shown.prompt.prompt_id.clone();
    let expected: AnswerType = serde_json::from_value(answer_type.clone())
        .map_err(|error| Failure(format!("{answer_type} is no type: {error}")))?;
    let prompt = &shown.prompt;
    check(
        prompt.answer_type == expected && prompt.optional == optional,
        format!(
            "the prompt is of type {:?}, optional: {}, where {answer_type}, {optional} was due",
            prompt.answer_type, prompt.optional
        ),
    )?;
    for wrong in unfit {
        unhurried(&mut client)?;
        client.reply(&shown, answer(wrong.clone()));
        shown = shown_again(&mut client, &shown)?;
    }
    unhurried(&mut client)?;
    client.reply(&shown, answer(fit.clone()));
    counts(&mut client, &id, fit)?;
    completes(&mut client, &turn, TOLD).map(drop)
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
    let unfit = [json!("äö"), json!("sechse")];
    asked(stage, &long, false, &unfit, &json!("drei"))?;
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
