//! Traces inquiries under the target `aside::inquiry`: `asked`, `answered`, `failed`. Answers are not traced, and
//! secrets are never put to models.

use std::collections::HashMap;

use aside_turn::{
    inquiry::SideRequest,
    question::Question,
    record::{CallKey, Effort, Event, InquiryResponse, Vocabulary},
};

const TARGET: &str = "aside::inquiry";

/// The last question of each call.
#[derive(Debug, Default)]
pub(in crate::engine) struct Trace {
    asked: HashMap<CallKey, (String, Question)>,
}

impl Trace {
    /// Handles a recorded event.
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

    /// Traces that a model is asked.
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
