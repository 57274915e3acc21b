//! What inquiries leave in the trace, under the target `aside::inquiry`: `asked`, `answered`, `failed`. No answer is
//! in it, and no secret can be: secrets are never inquired.

use std::collections::HashMap;

use aside_turn::{
    inquiry::SideRequest,
    question::Question,
    record::{CallKey, Effort, Event, InquiryResponse, Vocabulary},
};

const TARGET: &str = "aside::inquiry";

/// The questions that calls asked last.
#[derive(Debug, Default)]
pub(in crate::engine) struct Trace {
    asked: HashMap<CallKey, (String, Question)>,
}

impl Trace {
    /// Takes in what goes on record.
    pub(in crate::engine) fn record(&mut self, event: &Event) {
        match event {
            Event::InquiryRequest {
                id, call, question, ..
            } => {
                self.asked.insert(*call, (id.clone(), question.clone()));
            }
            Event::InquiryResponse { id, response, .. } => settled(id, response),
            _ => {}
        }
    }

    /// A model is asked.
    pub(in crate::engine) fn ask(&self, ask: &SideRequest) {
        for (id, question) in ask.calls.iter().filter_map(|call| self.asked.get(call)) {
            tracing::info!(
                target: TARGET,
                id,
                question_type = question.answer_type.name(),
                text = question.text,
                strategy = ask.strategy.word(),
                "asked"
            );
        }
    }
}

fn settled(id: &str, response: &InquiryResponse) {
    match response {
        InquiryResponse::Answered {
            effort: Some(effort),
            ..
        } => {
            let Effort {
                strategy,
                tries,
                usage,
                milliseconds,
                ..
            } = effort;
            let strategy = strategy.as_str();
            tracing::info!(target: TARGET, id, strategy, tries, ?usage, milliseconds, "answered");
        }
        InquiryResponse::Cancelled {
            effort: Some(_),
            why,
            ..
        } => {
            tracing::info!(target: TARGET, id, why, "failed");
        }
        _ => {}
    }
}
