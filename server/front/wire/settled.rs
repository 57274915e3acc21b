//! A settled prompt, as data and in words. Front ends show the words as they are, after the question.

use aside_turn::record::{By, Reason};
use serde_json::Value;

use super::{PromptOutcome, QuestionUpdate};

impl QuestionUpdate {
    /// A prompt that was settled with an answer; `None` for a secret.
    #[must_use]
    pub fn answered(prompt_id: String, by: By, answer: Option<Value>) -> Self {
        let words = answer
            .as_ref()
            .map_or_else(|| "a secret".to_owned(), in_words);
        Self::Closed {
            prompt_id,
            outcome: match answer {
                Some(_) => PromptOutcome::Answered,
                None => PromptOutcome::Redacted,
            },
            by: Some(by),
            reason: None,
            answer,
            text: format!("{words} ({})", author(by)),
        }
    }

    /// A prompt that was settled without an answer.
    #[must_use]
    pub fn cancelled(prompt_id: String, reason: &Reason) -> Self {
        Self::Closed {
            prompt_id,
            outcome: PromptOutcome::Cancelled,
            by: None,
            reason: Some(reason.clone()),
            answer: None,
            text: format!("no answer ({})", reason.in_words()),
        }
    }
}

fn in_words(answer: &Value) -> String {
    match answer {
        Value::Null => "left out".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(chosen) if chosen.is_empty() => "none".to_owned(),
        Value::Array(chosen) => {
            let chosen: Vec<&str> = chosen.iter().filter_map(Value::as_str).collect();
            chosen.join(", ")
        }
        other => other.to_string(),
    }
}

fn author(by: By) -> &'static str {
    match by {
        By::User => "you",
        By::Assistant => "the model",
        By::Config => "configured",
        By::Remembered => "remembered",
        By::Default => "the default",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(update: QuestionUpdate) -> String {
        match update {
            QuestionUpdate::Closed { text, .. } => text,
            QuestionUpdate::Opened { .. } => unreachable!("it is settled"),
        }
    }

    #[test]
    fn the_words_name_the_answer_and_who_gave_it() {
        let answered = |by, answer| text(QuestionUpdate::answered("p".into(), by, answer));
        for (by, answer, expected) in [
            (By::User, Some(json!("blue")), "blue (you)"),
            (By::User, Some(json!(true)), "yes (you)"),
            (By::User, Some(Value::Null), "left out (you)"),
            (By::User, None, "a secret (you)"),
            (By::Assistant, Some(json!(["a", "b"])), "a, b (the model)"),
            (By::Config, Some(json!("once")), "once (configured)"),
            (By::Remembered, Some(json!([])), "none (remembered)"),
            (By::Default, Some(json!(3)), "3 (the default)"),
        ] {
            assert_eq!(answered(by, answer), expected);
        }
        let cancelled = text(QuestionUpdate::cancelled("p".into(), &Reason::Withdrawn));
        assert_eq!(cancelled, "no answer (withdrawn)");
    }
}
