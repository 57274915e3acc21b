//! Questions of the answer types for which only tools from outside ask. The server needs the tool `asker` for them.

use serde_json::{Value, json};

use super::{
    Case,
    answers::counts,
    completes,
    unfit::{shown_again, unhurried},
};
use crate::{
    Step, check,
    client::answer,
    script::{Script, call},
    stage::Stage,
};

cases! {
    typed_number: "A whole number within its bounds counts; one beyond them, a fraction and a text do not." => |stage| asked(stage, &numbers());
    typed_multi_select: "Several of the options count; too few of them and an unknown one do not." => |stage| asked(stage, &multi_select());
    typed_text: "A text of the form and the length that its question asks for counts; another one does not." => |stage| asked(stage, &texts());
    typed_left_out: "An answer that may be left out is null; where it may not, null does not count." => |stage| asked(stage, &left_out());
}

/// Whether a case needs the tool `asker`.
pub fn needs_asker(case: &Case) -> bool {
    CASES.iter().any(|typed| typed.name == case.name)
}

pub(super) const TOLD: &str = "The model was told the answer.";

/// A question with answers that do not fit, at most two, and one that does.
pub(super) struct TypedQuestion {
    pub(super) answer_type: Value,
    /// Whether the answer may be left out: null.
    pub(super) optional: bool,
    pub(super) unfit: Vec<Value>,
    pub(super) fit: Value,
}

impl TypedQuestion {
    fn new(answer_type: Value, unfit: &[Value], fit: Value) -> Self {
        Self {
            answer_type,
            optional: false,
            unfit: unfit.to_vec(),
            fit,
        }
    }

    /// A model that asks the question, and says [`TOLD`] where it was told the answer that fits.
    pub(super) fn script(&self) -> Script {
        let question = json!({"id": "it", "text": "Which?", "answer_type": self.answer_type, "optional": self.optional});
        let asks = Script::says(&[call("asker", &json!({ "questions": [question] }))]);
        asks.told(&self.fit.to_string(), TOLD)
    }
}

pub(super) fn numbers() -> Vec<TypedQuestion> {
    let whole = json!({"type": "number", "integer": true, "minimum": 1, "maximum": 65535});
    let any = json!({"type": "number", "integer": false});
    vec![
        TypedQuestion::new(whole, &[json!(65536), json!(1.5)], json!(8080)),
        TypedQuestion::new(any, &[json!("2.5")], json!(2.5)),
    ]
}

pub(super) fn multi_select() -> Vec<TypedQuestion> {
    let some = json!({"type": "multi_select", "options": ["oat", "soy", "rice"], "minimum": 2, "maximum": 3});
    let unfit = [json!(["oat"]), json!(["oat", "cow"])];
    vec![TypedQuestion::new(some, &unfit, json!(["oat", "rice"]))]
}

pub(super) fn texts() -> Vec<TypedQuestion> {
    let long = json!({"type": "text", "minimum": 3, "maximum": 5});
    let date = json!({"type": "text", "format": "date"});
    vec![
        TypedQuestion::new(long, &[json!("äö"), json!("sechse")], json!("drei")),
        TypedQuestion::new(date, &[json!("tomorrow")], json!("2026-11-22")),
    ]
}

pub(super) fn left_out() -> Vec<TypedQuestion> {
    let number = json!({"type": "number", "integer": false});
    vec![
        TypedQuestion {
            optional: true,
            ..TypedQuestion::new(number.clone(), &[json!(true)], Value::Null)
        },
        TypedQuestion::new(number, &[Value::Null], json!(3)),
    ]
}

fn asked(stage: &Stage, questions: &[TypedQuestion]) -> Step {
    questions.iter().try_for_each(|question| {
        let mut client = stage.with(&question.script())?;
        let turn = client.ask("Go")?;
        let mut shown = client.prompt()?;
        let id = shown.prompt.prompt_id.clone();
        let sent = serde_json::to_value(&shown.prompt.answer_type).unwrap_or_default();
        check(
            sent == question.answer_type && shown.prompt.optional == question.optional,
            format!(
                "the prompt is of type {sent}, optional: {}, where {}, {} was due",
                shown.prompt.optional, question.answer_type, question.optional
            ),
        )?;
        for unfit in &question.unfit {
            unhurried(&mut client)?;
            client.reply(&shown, answer(unfit.clone()));
            shown = shown_again(&mut client, &shown)?;
        }
        unhurried(&mut client)?;
        client.reply(&shown, answer(question.fit.clone()));
        counts(&mut client, &id, &question.fit)?;
        completes(&mut client, &turn, TOLD).map(drop)
    })
}
