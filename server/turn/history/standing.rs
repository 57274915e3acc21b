//! State of a turn as far as the list of conversations needs it.

use serde::{Deserialize, Serialize};

use crate::record::{CallKey, Event, Outcome, PromptId, PromptSubject};

/// Outcome and open prompts of a turn. No other type decides which prompts are settled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Outcome of the turn, unless it was resumed since. `None` means that it runs or was interrupted.
    pub outcome: Option<Outcome>,
    /// Prompts that nobody has settled, in the order of opening.
    pub open: Vec<OpenPrompt>,
}

/// A prompt that nobody has settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPrompt {
    /// The id that an answer names.
    pub prompt: PromptId,
    /// The call that the prompt belongs to.
    pub call: CallKey,
    /// The id of the question's pair, for a tool's question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inquiry: Option<String>,
}

impl Standing {
    /// Applies the next event of the turn.
    pub fn apply(&mut self, event: &Event) {
        match event {
            // These may come after the end, and do not go on with the turn.
            Event::LateAnswer { .. } | Event::Notice { .. } | Event::Learned { .. } => return,
            Event::TurnStart => {
                // Without its message on record there is nothing to resume: after a crash in between, the user sends the
                // message again.
                *self = Self {
                    outcome: Some(Outcome::Cancelled),
                    open: Vec::new(),
                };
                return;
            }
            Event::TurnEnd { outcome, .. } => {
                self.outcome = Some(*outcome);
                if self.is_over() {
                    self.open.clear();
                }
                return;
            }
            Event::PromptOpened {
                prompt,
                call,
                subject,
            } => {
                let inquiry = match subject {
                    PromptSubject::Question { inquiry } => Some(inquiry.clone()),
                    _ => None,
                };
                self.open.push(OpenPrompt {
                    prompt: prompt.clone(),
                    call: *call,
                    inquiry,
                });
            }
            Event::PromptClosed { prompt, .. } => self.open.retain(|open| open.prompt != *prompt),
            Event::InquiryResponse { id, .. } => {
                self.open.retain(|open| open.inquiry.as_ref() != Some(id));
            }
            Event::ToolResult {
                call, held: false, ..
            } => {
                self.open.retain(|open| open.call != *call);
            }
            _ => {}
        }
        self.outcome = None;
    }

    /// Whether the turn ended and leaves nothing to resume.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.outcome
            .is_some_and(|outcome| outcome != Outcome::Interrupted)
    }
}
