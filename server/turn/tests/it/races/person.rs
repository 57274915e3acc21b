//! A random person, and the client in between.

use aside_turn::{
    effect::{Prompt, PromptKind},
    input::{Preview, PromptAnswer, SecretValue},
    question::AnswerType,
};
use serde_json::{Value, json};

use super::{checker::SECRET, tape::Tape};

pub(crate) fn answer(tape: &mut Tape, prompt: &Prompt) -> PromptAnswer {
    match tape.weighted(&[24, 3, 2, 2, 3, 2]) {
        0 => fitting_prompt(tape, prompt),
        1 => PromptAnswer::Decline { note: None },
        2 => PromptAnswer::Decline {
            note: Some("Use the other one.".into()),
        },
        3 => PromptAnswer::Cancel,
        4 => PromptAnswer::value(json!(["no", "answer"])),
        _ => PromptAnswer::Failed("the window is gone".into()),
    }
}

fn fitting_prompt(tape: &mut Tape, prompt: &Prompt) -> PromptAnswer {
    if prompt.optional && tape.one_in(3) {
        return PromptAnswer::value(Value::Null);
    }
    let mut answer = fitting(tape, &prompt.answer_type);
    let diff = matches!(prompt.preview, Some(Preview::Diff { .. }));
    if let PromptAnswer::Answer {
        remember, new_text, ..
    } = &mut answer
    {
        *remember = tape.one_in(2);
        if prompt.kind == PromptKind::RunTool && diff && tape.one_in(6) {
            *new_text = Some("newer".to_owned().into());
        }
    }
    answer
}

/// An answer of this type.
pub(crate) fn fitting(tape: &mut Tape, answer_type: &AnswerType) -> PromptAnswer {
    let value = fitting_value(tape, answer_type);
    PromptAnswer::Answer {
        value: SecretValue(value),
        remember: false,
        new_text: None,
    }
}

fn fitting_value(tape: &mut Tape, answer_type: &AnswerType) -> Value {
    match answer_type {
        AnswerType::Boolean => json!(!tape.one_in(3)),
        AnswerType::Select { options } => json!(tape.of(options)),
        AnswerType::MultiSelect { .. } => tape
            .of(&[json!(["left"]), json!(["right", "left"])])
            .clone(),
        AnswerType::Number { .. } => tape.of(&[json!(1), json!(10), json!(4.0)]).clone(),
        AnswerType::Text { .. } => json!("words"),
        AnswerType::Secret => json!(SECRET),
    }
}
