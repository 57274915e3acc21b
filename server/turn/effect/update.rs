//! An update of a turn, in the words of the protocol.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    model::response::Usage,
    record::{By, Closed, Level, Reason, Status, json::is_false},
};

/// Something that happened in a turn, for clients to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Update {
    /// A piece of the answer.
    Text {
        /// The step, counted from 1.
        step: u32,
        /// The piece that came.
        text: String,
    },
    /// A piece of reasoning.
    Reasoning {
        /// The step, counted from 1.
        step: u32,
        /// The piece that came.
        text: String,
    },
    /// A call came, or began to run.
    ToolCall {
        /// The step, counted from 1.
        step: u32,
        /// The provider's id of the call.
        call_id: String,
        /// The name of the tool.
        name: String,
        /// A title of one line.
        title: String,
        /// Arguments, as the model gave them.
        arguments: Value,
        /// Whether it runs already.
        status: CallStatus,
    },
    /// A piece of what a running tool printed.
    ToolOutput {
        /// The provider's id of the call.
        call_id: String,
        /// The piece that came.
        text: String,
    },
    /// A call ended.
    ToolResult {
        /// The provider's id of the call.
        call_id: String,
        /// Whether the call succeeded, failed, was denied or cancelled.
        status: Status,
        /// A summary of one line.
        summary: String,
        /// All that the tool gave, where the summary is only its first line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// With which status a command exited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_status: Option<i32>,
    },
    /// A prompt was opened or settled.
    Question(QuestionUpdate),
    /// A model is being asked, or was.
    Inquiry {
        /// The provider's ids of the asking calls.
        call_ids: Vec<String>,
        /// Status of the inquiry.
        status: InquiryStatus,
    },
    /// Files or buffers were changed.
    Edit {
        /// The provider's id of the call.
        call_id: String,
        /// The changes, in order.
        changes: Vec<ShownChange>,
    },
    /// A message of the user's was taken in.
    Steered {
        /// The message that the user added.
        text: String,
    },
    /// A request is sent again.
    Retry {
        /// Counts from 1.
        attempt: u32,
        /// When, in milliseconds from now.
        after_ms: u64,
        /// Reason for the retry.
        reason: String,
        /// Forget what was shown of this step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discard_step: Option<u32>,
    },
    /// A notice for the user.
    Notice {
        /// Severity of the notice.
        level: Level,
        /// The text that is shown.
        text: String,
    },
    /// The conversation is being summarised, or was.
    Summary {
        /// Status of the summary.
        status: SummaryStatus,
        /// The summary, absent if only its provider can read it, or the reason why there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Tokens of the turn so far.
    Usage(TurnUsage),
    /// The conversation's title.
    Title {
        /// The new title of the conversation.
        title: String,
    },
}

/// Whether a call runs already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallStatus {
    /// The call waits for permission or for its turn.
    Waiting,
    /// The call runs.
    Running,
}

/// Change of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum QuestionUpdate {
    /// The prompt was opened or parked.
    Opened {
        /// The id of the prompt.
        prompt_id: String,
        /// The provider's id of the call.
        call_id: String,
        /// Kind of the prompt.
        prompt_kind: PromptKind,
        /// The asker, such as the name of the tool.
        label: String,
        /// The question in one line.
        text: String,
    },
    /// The prompt was settled.
    Closed {
        /// The id of the prompt.
        prompt_id: String,
        /// Outcome of the prompt.
        outcome: PromptOutcome,
        /// The answerer, if there is an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<By>,
        /// Reason why there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
        /// The answer, never a secret's; null where it was left out.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "present"
        )]
        answer: Option<Value>,
        /// The answer and who gave it, or why there is none, in words.
        text: String,
    },
}

/// Outcome of a prompt, in the words of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptOutcome {
    /// With an answer.
    Answered,
    /// With a secret.
    Redacted,
    /// Without an answer.
    Cancelled,
}

/// Status of an inquiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InquiryStatus {
    /// A model is being asked.
    Asked,
    /// The model gave an answer that fits.
    Answered,
    /// The model gave no answer that fits.
    Failed,
}

/// Status of a summary of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SummaryStatus {
    /// The model is being asked for it.
    Asked,
    /// The model wrote it, and the conversation goes on with it.
    Made,
    /// The model gave none that can be used.
    Failed,
    /// The turn ended before there was one.
    Cancelled,
}

/// Kind of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptKind {
    /// A tool's question.
    Question,
    /// May this run?
    RunTool,
    /// May the model see this result?
    DeliverResult,
}

/// Calls that a permission for the rest of the turn lets run unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnPermission {
    /// The same call again.
    SameCall,
    /// All edits.
    Edits,
}

impl TurnPermission {
    /// The permission of a prompt; `diff`: the prompt is about a change of a file.
    #[must_use]
    pub fn of(diff: bool) -> Self {
        if diff { Self::Edits } else { Self::SameCall }
    }
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownChange {
    /// The URI of the file.
    pub uri: String,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The reason, in one sentence, why the change cannot be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Both texts in place of a diff, for clients that are shown texts whole.
    #[serde(skip)]
    pub whole: Option<ChangedTexts>,
}

/// The texts of a file before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTexts {
    /// The text before; `None` for a new file.
    pub old: Option<String>,
    /// The text after.
    pub new: String,
}

/// Tokens of a turn, its inquiries included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnUsage {
    /// Input that was neither read from a cache nor written to one.
    pub input_tokens: u64,
    /// Output, reasoning included.
    pub output_tokens: u64,
    /// Input read from the cache.
    pub cache_read_tokens: u64,
    /// Input written to the cache.
    pub cache_write_tokens: u64,
    /// US dollars, where a price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Whether all of it is at least so much: a response broke off before it said what it cost.
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_least: bool,
    /// Tokens that the conversation has, as of its last response; 0 right after a summary. None where no response of the turn
    /// counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Tokens that the turn's model takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

impl QuestionUpdate {
    /// A question that was settled with an answer; `None` for a secret.
    #[must_use]
    pub fn answered(prompt_id: String, by: By, answer: Option<Value>) -> Self {
        let words = answer
            .as_ref()
            .map_or_else(|| "a secret".to_owned(), in_words);
        Self::settled(prompt_id, by, answer, &words)
    }

    /// A `runTool` or `deliverResult` prompt that was settled.
    #[must_use]
    pub fn closed(prompt_id: String, closed: &Closed) -> Self {
        let words = closed.in_words();
        match closed {
            Closed::Permitted { .. } | Closed::Configured | Closed::Delivered { .. } => {
                let by = closed.by().unwrap_or(By::User);
                let changed = matches!(
                    closed,
                    Closed::Permitted {
                        new_text: Some(_),
                        ..
                    }
                );
                let words = format!("{words}{}", if changed { ", with changes" } else { "" });
                Self::settled(prompt_id, by, closed.answer(), &words)
            }
            Closed::Declined { note, .. } => {
                let text = noted(said(words, By::User), note.as_deref());
                Self::unanswered(prompt_id, &Reason::User, text)
            }
            Closed::Withdrawn => Self::cancelled(prompt_id, &Reason::Withdrawn, None),
            Closed::Failed { .. } => Self::cancelled(prompt_id, &Reason::BackendError, None),
        }
    }

    /// A prompt that was settled without an answer.
    #[must_use]
    pub fn cancelled(prompt_id: String, reason: &Reason, note: Option<&str>) -> Self {
        let text = noted(format!("no answer ({})", reason.in_words()), note);
        Self::unanswered(prompt_id, reason, text)
    }

    fn settled(prompt_id: String, by: By, answer: Option<Value>, words: &str) -> Self {
        Self::Closed {
            prompt_id,
            outcome: match answer {
                Some(_) => PromptOutcome::Answered,
                None => PromptOutcome::Redacted,
            },
            by: Some(by),
            reason: None,
            answer,
            text: said(words, by),
        }
    }

    fn unanswered(prompt_id: String, reason: &Reason, text: String) -> Self {
        Self::Closed {
            prompt_id,
            outcome: PromptOutcome::Cancelled,
            by: None,
            reason: Some(reason.clone()),
            answer: None,
            text,
        }
    }
}

/// What was answered, and by whom.
fn said(words: &str, by: By) -> String {
    format!("{words} ({})", author(by))
}

/// A text with the person's note for the model.
fn noted(text: String, note: Option<&str>) -> String {
    match note {
        Some(note) => format!("{text}: {note}"),
        None => text,
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

impl From<Usage> for TurnUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            cost_usd: usage.cost,
            at_least: usage.partial,
            context_tokens: None,
            context_window: None,
        }
    }
}

/// Keeps a present `null` apart from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::word::Word;

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
            (By::Config, Some(json!("main")), "main (configured)"),
            (By::Remembered, Some(json!([])), "none (remembered)"),
            (By::Default, Some(json!(3)), "3 (the default)"),
        ] {
            assert_eq!(answered(by, answer), expected);
        }
        let cancelled = text(QuestionUpdate::cancelled(
            "p".into(),
            &Reason::Withdrawn,
            None,
        ));
        assert_eq!(cancelled, "no answer (withdrawn)");
        let permitted = |permission: &str| Closed::Permitted {
            permission: Word::of(permission),
            new_text: None,
            shown: None,
        };
        let declined = |note: Option<&str>| Closed::Declined {
            note: note.map(Into::into),
            shown: None,
        };
        let changed = Closed::Permitted {
            permission: Word::of("once"),
            new_text: Some("mine".into()),
            shown: None,
        };
        for (closed, expected) in [
            (permitted("once"), "yes, once (you)"),
            (permitted("turn"), "yes, for this turn (you)"),
            (permitted("always"), "yes, always (you)"),
            (permitted("no"), "no (you)"),
            (permitted("sometimes"), "sometimes (you)"),
            (Closed::Configured, "yes (configured)"),
            (changed, "yes, once, with changes (you)"),
            (declined(None), "no (you)"),
            (declined(Some("not that one")), "no (you): not that one"),
            (Closed::Withdrawn, "no answer (withdrawn)"),
        ] {
            assert_eq!(text(QuestionUpdate::closed("p".into(), &closed)), expected);
        }
    }
}
