//! May the model see the result of a call? Where a person decides, the result is on record before anybody is asked.

use crate::{
    call::{
        identity::CallIdentity,
        prompt::{CallEnding, NO_FITTING_ANSWER, WaitingPrompt},
    },
    context::Context,
    effect::{Prompt, PromptKind},
    input::{Preview, PromptAnswer, ToolOutput},
    question::{AnswerType, Misfit},
    record::{CallEnd, Closed, Event, PromptId, PromptSubject, ResultReason, Showing},
    rules::ToolRules,
};

/// A result that the model has not seen.
#[derive(Debug)]
pub(super) struct HeldResult {
    pub(super) end: CallEnd,
    pub(super) output: ToolOutput,
}

/// A `deliverResult` prompt that waits for a person, and the result that it asks about.
#[derive(Debug)]
pub(super) struct DeliveryPrompt {
    waiting: WaitingPrompt,
    held: Box<HeldResult>,
}

/// What becomes of a result whose prompt was answered.
#[derive(Debug)]
pub(super) enum DeliveryStep {
    /// The answer did not fit: the prompt is shown again.
    ShowAgain,
    /// The model may see the result.
    Deliver(HeldResult),
    /// It may not.
    End(CallEnding),
}

impl DeliveryPrompt {
    /// The result is on record, held; a person decides.
    pub(super) fn open(cx: &mut Context, identity: &CallIdentity, held: HeldResult) -> Self {
        let id = cx.next_prompt_id();
        cx.record(Event::PromptOpened {
            prompt: id.clone(),
            call: identity.key,
            subject: PromptSubject::DeliverResult,
        });
        Self::reopen(cx, id, held)
    }

    /// The prompt is on record already.
    pub(super) fn reopen(cx: &Context, id: PromptId, held: HeldResult) -> Self {
        Self {
            waiting: WaitingPrompt::new(id, cx.client.is_none(), cx.now),
            held: Box::new(held),
        }
    }

    pub(super) fn waiting(&self) -> &WaitingPrompt {
        &self.waiting
    }

    pub(super) fn waiting_mut(&mut self) -> &mut WaitingPrompt {
        &mut self.waiting
    }

    pub(super) fn answer(
        &mut self,
        cx: &mut Context,
        identity: &CallIdentity,
        answer: PromptAnswer,
        shown: Option<Showing>,
    ) -> DeliveryStep {
        let deliver = match answer {
            PromptAnswer::Answer { value, .. } => value.0.as_bool(),
            PromptAnswer::Decline { note } => return self.declined(cx, identity, note, shown),
            PromptAnswer::Cancel => return self.declined(cx, identity, None, shown),
            PromptAnswer::Failed(why) => {
                return DeliveryStep::End(self.waiting.fail(cx, identity, why));
            }
        };
        let Some(deliver) = deliver else {
            if self.waiting.refit(cx, &misfit()) {
                return DeliveryStep::ShowAgain;
            }
            let why = NO_FITTING_ANSWER.to_owned();
            return DeliveryStep::End(self.waiting.fail(cx, identity, why));
        };
        self.waiting
            .settle(cx, Closed::Delivered { deliver, shown });
        if deliver {
            return DeliveryStep::Deliver(HeldResult {
                end: self.held.end.clone(),
                output: self.held.output.clone(),
            });
        }
        DeliveryStep::End(withheld(cx, identity, None))
    }

    fn declined(
        &self,
        cx: &mut Context,
        identity: &CallIdentity,
        note: Option<String>,
        shown: Option<Showing>,
    ) -> DeliveryStep {
        self.waiting.decline(cx, note.clone(), shown);
        DeliveryStep::End(withheld(cx, identity, note.as_deref()))
    }

    /// The prompt as a client shows it.
    pub(super) fn prompt(&self, identity: &CallIdentity, rules: &ToolRules) -> Prompt {
        let text = format!("Let the model see the result of {}?", identity.tool);
        let id = self.waiting.id();
        let mut prompt = identity.prompt(rules, id, PromptKind::DeliverResult, &text);
        prompt.preview = Some(Preview::Text {
            text: self.held.output.content.clone(),
        });
        prompt
    }
}

/// Whether this answer to a delivery prompt would be taken.
///
/// # Errors
/// What is wrong with it.
pub(super) fn fits(answer: &serde_json::Value) -> Result<(), Misfit> {
    if answer.is_boolean() {
        Ok(())
    } else {
        Err(misfit())
    }
}

fn misfit() -> Misfit {
    Misfit(AnswerType::Boolean.expectation())
}

/// A person withheld the result.
fn withheld(cx: &Context, identity: &CallIdentity, note: Option<&str>) -> CallEnding {
    CallEnding {
        reason: ResultReason::Withheld,
        text: cx.text().withheld(&identity.tool, note),
    }
}
