//! May the model see the result of a call? Where a person decides, the result is on record before anybody is asked.

use serde_json::Value;

use crate::{
    call::{Call, State},
    context::Context,
    effect::{Prompt, PromptKind},
    event::{CallEnd, Closed, Event, PromptId, PromptSubject, ResultReason, Showing},
    input::{Preview, PromptAnswer, ToolOutput},
    permit::{self, Delivery},
    prompt::{Prompted, settled_by_user},
    question::{AnswerType, Misfit},
    rules::ToolRules,
};

/// A result that the model has not seen.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) end: CallEnd,
    pub(crate) output: ToolOutput,
}

impl Call {
    pub(crate) fn deliver(&mut self, cx: &mut Context, end: CallEnd, output: ToolOutput) {
        let rules = cx.tool(&self.tool);
        match permit::deliver(rules.result, cx.client.is_some(), rules.detached.deliver) {
            Delivery::Deliver => self.finish(cx, end, output),
            Delivery::Withhold => self.withhold(cx),
            Delivery::Ask | Delivery::Park => {
                cx.record(Event::ToolResult {
                    call: self.key,
                    end: end.clone(),
                    content: output.content.clone(),
                    held: true,
                    details: output.details.clone(),
                });
                self.ask_delivery(cx, Held { end, output });
            }
        }
    }

    /// The result is on record, held; a person decides.
    pub(crate) fn ask_delivery(&mut self, cx: &mut Context, held: Held) {
        let parked = cx.client.is_none();
        let id = cx.next_prompt_id();
        let subject = PromptSubject::DeliverResult;
        cx.record(Event::PromptOpened {
            prompt: id.clone(),
            call: self.key,
            subject,
        });
        let prompted = Prompted::new(id.clone(), parked, cx.now);
        self.state = State::Delivery {
            prompted,
            held: Box::new(held),
        };
        self.show(cx, &id);
    }

    pub(crate) fn withhold(&mut self, cx: &mut Context) {
        let text = cx.text().result_needs_approval(&self.tool);
        self.finish_aside(cx, ResultReason::WithheldUnattended, text);
    }

    pub(crate) fn delivery_answered(
        &mut self,
        cx: &mut Context,
        answer: PromptAnswer,
        shown: Option<Showing>,
    ) {
        let State::Delivery { prompted, held } = &mut self.state else {
            return;
        };
        let id = prompted.id.clone();
        match answer {
            PromptAnswer::Answer { value, .. } => {
                let Some(yes) = value.0.as_bool() else {
                    if prompted.refit(cx, &Misfit(AnswerType::Boolean.expectation())) {
                        return self.show(cx, &id);
                    }
                    return self.not_shown(cx, &id, "no fitting answer came".into());
                };
                let closed = Closed::Delivered {
                    deliver: yes,
                    shown,
                };
                let (end, output) = (held.end.clone(), held.output.clone());
                cx.record(Event::PromptClosed {
                    prompt: id.clone(),
                    closed,
                });
                cx.tell(settled_by_user(&id, Value::from(yes)));
                if yes {
                    self.finish(cx, end, output);
                } else {
                    let text = cx.text().withheld(&self.tool, None);
                    self.finish_aside(cx, ResultReason::Withheld, text);
                }
            }
            PromptAnswer::Decline { note } => self.declined(cx, &id, note, shown),
            PromptAnswer::Cancel => self.declined(cx, &id, None, shown),
            PromptAnswer::Failed(why) => self.not_shown(cx, &id, why),
        }
    }

    pub(crate) fn delivery_prompt(&self, rules: &ToolRules, id: &PromptId, held: &Held) -> Prompt {
        let text = format!("Let the model see the result of {}?", self.tool);
        let mut prompt = self.bare_prompt(rules, id, PromptKind::DeliverResult, &text);
        prompt.preview = Some(Preview::Text {
            text: held.output.content.clone(),
        });
        prompt
    }
}
