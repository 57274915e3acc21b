//! The `deliverResult` prompt. The result is on record before a person decides whether the model may see it.

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

/// A result that is held back from the model.
#[derive(Debug)]
pub(super) struct HeldResult {
    pub(super) end: CallEnd,
    pub(super) output: ToolOutput,
}

/// A `deliverResult` prompt that waits for a person, with its result.
#[derive(Debug)]
pub(super) struct DeliveryPrompt {
    waiting: WaitingPrompt,
    held: Box<HeldResult>,
}

/// Next step of a result whose prompt was answered.
#[derive(Debug)]
pub(super) enum DeliveryStep {
    /// The answer did not fit, so the prompt is shown again.
    ShowAgain,
    /// The model may see the result.
    Deliver(HeldResult),
    /// The model may not see the result.
    End(CallEnding),
}

impl DeliveryPrompt {
    /// Opens the prompt for a result that is on record as held.
    pub(super) fn open(cx: &mut Context, identity: &CallIdentity, held: HeldResult) -> Self {
        let id = cx.next_prompt_id();
        cx.record(Event::PromptOpened {
            prompt: id.clone(),
            call: identity.key,
            subject: PromptSubject::DeliverResult,
        });
        Self::reopen(cx, id, held)
    }

    /// Opens a prompt that is on record already.
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

/// Checks an answer to a delivery prompt.
///
/// # Errors
/// The reason why it does not fit.
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

/// The end of a call whose result a person withheld.
fn withheld(cx: &Context, identity: &CallIdentity, note: Option<&str>) -> CallEnding {
    CallEnding {
        reason: ResultReason::Withheld,
        text: cx.text().withheld(&identity.tool, note),
    }
}
