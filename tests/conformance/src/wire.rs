//! The messages of a server, read strictly: as the types that the protocol's page and its samples are tested against.
//!
//! A member that the types do not know is no message of version 1, though a client would ignore it.

pub use aside::front::wire::{
    CallStatus, Preview, Prompt, PromptKind, PromptOutcome, QuestionUpdate, TurnCompleted,
    TurnUpdate, Update,
    methods::{ALL as METHODS, MethodKind, MethodRow, Recipient},
    requests::{
        ConversationRef, ConversationStatus, DismissParams, ListItem, ListResult, PendingResult,
        ReadResult, ReadTurn, StatusParams,
    },
};
pub use aside_turn::{
    question::{AnswerType, Source},
    record::{By, Outcome, Reason, Status},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Params of `window/showMessageRequest`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShowMessage {
    /// 1 to 5.
    #[serde(rename = "type")]
    pub kind: u8,
    /// The text that is shown.
    pub message: String,
    /// The actions among which the user chooses.
    #[serde(default)]
    pub actions: Vec<Action>,
}

/// An action of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Action {
    /// The title that the action is shown with.
    pub title: String,
}

/// The end of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The id of the prompt.
    pub prompt_id: String,
    /// How the prompt was settled.
    pub outcome: PromptOutcome,
    /// Who gave the answer.
    pub by: Option<By>,
    /// Why there is no answer.
    pub reason: Option<Reason>,
    /// The answer, never a secret's. One that was left out is null, which is an answer.
    pub answer: Option<Value>,
}

/// Reads a part of a message.
pub fn read<T: DeserializeOwned + Serialize>(part: &Value) -> Result<T, String> {
    let read = T::deserialize(part).map_err(|error| error.to_string())?;
    let known = serde_json::to_value(&read).map_err(|error| error.to_string())?;
    match undocumented(part, &known) {
        None => Ok(read),
        Some(member) => Err(format!("unknown field `{member}`")),
    }
}

/// The first member that was sent and that the type did not keep. A null is as good as no member.
fn undocumented(sent: &Value, known: &Value) -> Option<String> {
    match (sent, known) {
        (Value::Object(sent), Value::Object(known)) => {
            sent.iter().find_map(|(name, value)| match known.get(name) {
                None => (!matches!(value, Value::Null | Value::Bool(false))).then(|| name.clone()),
                Some(known) => undocumented(value, known).map(|member| format!("{name}.{member}")),
            })
        }
        (Value::Array(sent), Value::Array(known)) => sent
            .iter()
            .zip(known)
            .find_map(|(sent, known)| undocumented(sent, known)),
        _ => None,
    }
}

/// Reads an update that contradicts nothing.
pub fn read_turn_update(params: &Value) -> Result<TurnUpdate, String> {
    let message: TurnUpdate = read(params)?;
    settled(&message.update).map_or(Ok(()), |settled| settled.check())?;
    Ok(message)
}

/// The end of a prompt, if the update is one.
pub fn settled(update: &Update) -> Option<Settled> {
    let Update::Question(QuestionUpdate::Closed {
        prompt_id,
        outcome,
        by,
        reason,
        answer,
        ..
    }) = update
    else {
        return None;
    };
    Some(Settled {
        prompt_id: prompt_id.clone(),
        outcome: *outcome,
        by: *by,
        reason: reason.clone(),
        answer: answer.clone(),
    })
}

impl Settled {
    fn check(&self) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("the closing of {} {what}", self.prompt_id));
        match (self.outcome, self.by, &self.reason, &self.answer) {
            (PromptOutcome::Answered | PromptOutcome::Redacted, None, ..) => {
                wrong("does not say by whom")
            }
            (PromptOutcome::Redacted, _, _, Some(_)) => wrong("tells a secret"),
            (PromptOutcome::Cancelled, _, None, _) => wrong("has no reason"),
            (_, _, Some(Reason::Other(_)), _) => wrong("has a reason that is not documented"),
            (PromptOutcome::Cancelled, _, _, Some(_)) => {
                wrong("has an answer although it was cancelled")
            }
            _ => Ok(()),
        }
    }

    /// Whether a person's answer was counted, and it is this one.
    pub fn is_answer(&self, answer: &Value) -> bool {
        self.outcome == PromptOutcome::Answered
            && self.by == Some(By::User)
            && self.answer.as_ref() == Some(answer)
    }

    /// Whether it was cancelled for this reason.
    pub fn is_cancelled(&self, reason: &Reason) -> bool {
        self.outcome == PromptOutcome::Cancelled && self.reason.as_ref() == Some(reason)
    }
}

/// Reads a prompt that contradicts nothing.
pub fn read_prompt(params: &Value) -> Result<Prompt, String> {
    let prompt: Prompt = read(params)?;
    let wrong = |what: &str| Err(format!("the prompt {} {what}", prompt.prompt_id));
    if let AnswerType::Select { options } | AnswerType::MultiSelect { options, .. } =
        &prompt.answer_type
    {
        if options.is_empty() {
            return wrong("offers no option");
        }
        if (1..options.len()).any(|place| options[..place].contains(&options[place])) {
            return wrong("offers an option twice");
        }
    }
    let fits = |default: &Value| {
        prompt.answer_type != AnswerType::Secret && prompt.answer_type.accept(default).is_ok()
    };
    if !prompt.default.as_ref().is_none_or(fits) {
        return wrong("has a default that does not fit");
    }
    if prompt.text.is_empty() || prompt.text.contains('\n') {
        return wrong("has a text that is not one line");
    }
    if prompt.position.n == 0 || prompt.position.n > prompt.position.of {
        return wrong("has a position outside of the open ones");
    }
    Ok(prompt)
}

/// The row of a method, if it is one of the protocol's.
pub fn method(name: &str) -> Option<&'static MethodRow> {
    METHODS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use aside_test_table::rows;
    use serde_json::json;

    use super::*;

    fn update(update: &Value) -> Result<TurnUpdate, String> {
        read_turn_update(&json!({"conversationId": "c", "turnId": "t", "seq": 1, "update": update}))
    }

    #[test]
    fn what_is_missing_unknown_or_of_another_type_is_named() {
        let text = json!({"kind": "text", "step": 1, "text": "x"});
        assert!(update(&text).is_ok());
        let table = r#"
            kind        | {"step": 1}
            weather     | {"kind": "weather", "sun": true}
            step        | {"kind": "text", "text": "x"}
            u32         | {"kind": "text", "step": "1", "text": "x"}
            update.mood | {"kind": "text", "step": 1, "text": "x", "mood": 1}
            done        | {"kind": "toolCall", "step": 1, "callId": "c", "name": "n", "title": "t", "arguments": {}, "status": "done"}
        "#;
        for [member, broken] in rows(table) {
            let error = update(&broken.parse().unwrap()).unwrap_err();
            assert!(error.contains(member), "{broken}: {error}");
        }
    }

    #[test]
    fn contradictions_are_no_closings() {
        let table = r#"
            yes | {"outcome": "answered", "by": "user", "answer": true}
            yes | {"outcome": "answered", "by": "user", "answer": null}
            no  | {"outcome": "answered", "answer": true}
            yes | {"outcome": "redacted", "by": "user"}
            no  | {"outcome": "redacted", "by": "user", "answer": "s3cret"}
            yes | {"outcome": "cancelled", "reason": "user"}
            no  | {"outcome": "cancelled"}
            no  | {"outcome": "cancelled", "reason": "weather"}
            no  | {"outcome": "cancelled", "reason": "user", "answer": 1}
        "#;
        for [holds, closing] in rows(table) {
            let mut whole: Value = closing.parse().unwrap();
            whole["kind"] = json!("question");
            whole["promptId"] = json!("p");
            whole["text"] = json!("yes (you)");
            assert_eq!(update(&whole).is_ok(), holds == "yes", "{closing}");
        }
    }
}
