//! What a table asks of a conversation that was played.

use std::collections::BTreeMap;

use aside_turn::{
    question::Answer,
    record::{Event, InquiryResponse, Outcome},
};

use super::{
    Play,
    show::{answer, lower, status},
};

impl Play {
    /// What the record says of the last question of a call, and the value where it was answered: `-` where it
    /// asked nothing, `open` where there is no outcome yet.
    pub(crate) fn on_record(&self, call: &str) -> (String, String) {
        let call = self.call(call);
        let of_call = self.events.iter().rev().find_map(|event| match event {
            Event::InquiryRequest { call: of, .. } if *of == call => Some(None),
            Event::InquiryResponse {
                call: of, response, ..
            } if *of == call => Some(Some(response)),
            _ => None,
        });
        match of_call {
            None => ("-".into(), String::new()),
            Some(None) => ("open".into(), String::new()),
            Some(Some(InquiryResponse::Answered { answer, by, .. })) => {
                (format!("answered {}", lower(by)), answer.to_string())
            }
            Some(Some(InquiryResponse::Redacted { .. })) => ("redacted user".into(), String::new()),
            Some(Some(InquiryResponse::Cancelled { reason, .. })) => {
                (format!("cancelled {}", reason.name()), String::new())
            }
        }
    }

    /// How a call ended, and what the model is told; none while it is open or its delivery is.
    pub(crate) fn result(&self, call: &str) -> Option<(&'static str, &str)> {
        let call = self.call(call);
        self.events.iter().rev().find_map(|event| match event {
            Event::ToolResult {
                call: of,
                end,
                content,
                held: false,
                ..
            } if *of == call => Some((status(end.status()), content.as_str())),
            _ => None,
        })
    }

    /// The answers that a call runs with, as `id=value`; none where it never ran.
    pub(crate) fn answers(&self, call: &str) -> Option<String> {
        // The latest answer to a question wins.
        let answers = self.ran.get(&self.call(call))?;
        let latest: BTreeMap<&String, &Answer> =
            answers.iter().map(|(id, value)| (id, value)).collect();
        let texts: Vec<_> = latest
            .iter()
            .map(|(id, value)| format!("{id}={}", answer(value)))
            .collect();
        Some(texts.join(" "))
    }

    /// Whether the turn stopped at prompts that can be resumed.
    pub(crate) fn is_parked(&self) -> bool {
        let end = self.end.as_ref();
        end.is_some_and(|end| end.outcome == Outcome::Interrupted && !end.prompts.is_empty())
    }
}
