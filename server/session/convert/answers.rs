//! How prompts and questions ended, and what people and models had to do with it.

use std::time::Duration;

use super::super::{
    disk,
    record::{time_of, time_text},
};
use crate::turn::{
    event::{By, CallKey, Closed, Effort, Event, InquiryResponse, PromptId, Reason, Seen},
    rules::Client,
};

pub(super) fn closed_of(prompt: PromptId, closed: Closed) -> disk::Closed {
    let blank = |outcome: &str, reason: Option<&str>| disk::Closed {
        prompt: prompt.0.clone(),
        outcome: outcome.to_owned(),
        reason: reason.map(str::to_owned),
        ..disk::Closed::default()
    };
    match closed {
        Closed::Answered {
            answer,
            new_text,
            seen,
        } => disk::Closed {
            answer: Some(answer),
            new_text,
            seen: seen.into(),
            ..blank("answered", None)
        },
        Closed::Declined { note, seen } => disk::Closed {
            note,
            seen: seen.into(),
            ..blank("cancelled", Some("user"))
        },
        Closed::Withdrawn => blank("cancelled", Some("withdrawn")),
        Closed::Failed { why } => disk::Closed {
            why: Some(why),
            ..blank("cancelled", Some("backend_error"))
        },
    }
}

impl disk::Closed {
    pub(super) fn event(self) -> Result<Event, String> {
        let closed = match (self.outcome.as_str(), self.reason.as_deref(), self.answer) {
            ("answered", _, Some(answer)) => Closed::Answered {
                answer,
                new_text: self.new_text,
                seen: self.seen.into(),
            },
            ("cancelled", Some("user"), _) => Closed::Declined {
                note: self.note,
                seen: self.seen.into(),
            },
            ("cancelled", Some("withdrawn"), _) => Closed::Withdrawn,
            ("cancelled", reason, _) => Closed::Failed {
                why: self
                    .why
                    .or_else(|| reason.map(str::to_owned))
                    .unwrap_or_default(),
            },
            (outcome, ..) => return Err(format!("closes a prompt as {outcome:?}")),
        };
        Ok(Event::PromptClosed {
            prompt: PromptId(self.prompt),
            closed,
        })
    }
}

pub(super) fn response_of(id: String, call: CallKey, response: InquiryResponse) -> disk::Response {
    let blank = |outcome: &str| disk::Response {
        id,
        call: call.0,
        outcome: Some(outcome.to_owned()),
        ..disk::Response::default()
    };
    match response {
        InquiryResponse::Answered {
            answer,
            by,
            remember,
            seen,
            effort,
        } => disk::Response {
            answer: Some(answer),
            by: Some(by.into()),
            remember,
            seen: seen.into(),
            effort: effort.into(),
            ..blank("answered")
        },
        InquiryResponse::Redacted { seen } => disk::Response {
            by: Some(disk::By::User),
            seen: seen.into(),
            ..blank("redacted")
        },
        InquiryResponse::Cancelled {
            reason,
            note,
            why,
            seen,
            effort,
        } => disk::Response {
            reason: Some(reason.name().to_owned()),
            note,
            why,
            seen: seen.into(),
            effort: effort.into(),
            ..blank("cancelled")
        },
    }
}

impl disk::Response {
    pub(super) fn event(self) -> Result<Event, String> {
        let (seen, effort) = (self.seen.into(), self.effort.into());
        let response = match (self.outcome.as_deref(), self.answer) {
            (Some("answered") | None, Some(answer)) => InquiryResponse::Answered {
                answer,
                // Before `outcome` and `by` there were, only models' answers were on record.
                by: self.by.map_or(By::Assistant, Into::into),
                remember: self.remember,
                seen,
                effort,
            },
            (Some("redacted"), _) => InquiryResponse::Redacted { seen },
            (Some("cancelled"), _) => InquiryResponse::Cancelled {
                reason: Reason::of(self.reason.as_deref().unwrap_or_default()),
                note: self.note,
                why: self.why,
                seen,
                effort,
            },
            (outcome, _) => return Err(format!("ends a question as {outcome:?}")),
        };
        Ok(Event::InquiryResponse {
            id: self.id,
            call: CallKey(self.call),
            response,
        })
    }
}

impl From<Option<Seen>> for disk::Seen {
    fn from(seen: Option<Seen>) -> Self {
        let Some(Seen {
            client,
            shown_at,
            answered_at,
        }) = seen
        else {
            return Self::default();
        };
        let Client {
            name,
            version,
            secret,
        } = client;
        Self {
            client: Some(disk::Client {
                name,
                version,
                secret,
            }),
            shown_at: Some(time_text(shown_at)),
            answered_at: Some(time_text(answered_at)),
        }
    }
}

impl From<disk::Seen> for Option<Seen> {
    fn from(seen: disk::Seen) -> Self {
        let time = |text: Option<String>| text.as_deref().and_then(time_of);
        let shown_at = time(seen.shown_at).unwrap_or(Duration::ZERO);
        let answered_at = time(seen.answered_at).unwrap_or(shown_at);
        let disk::Client {
            name,
            version,
            secret,
        } = seen.client?;
        Some(Seen {
            client: Client {
                name,
                version,
                secret,
            },
            shown_at,
            answered_at,
        })
    }
}

impl From<Option<Effort>> for disk::Effort {
    fn from(effort: Option<Effort>) -> Self {
        let Some(Effort {
            model,
            strategy,
            tries,
            usage,
            milliseconds,
        }) = effort
        else {
            return Self::default();
        };
        Self {
            model: Some(model),
            strategy: Some(strategy),
            tries: Some(tries),
            usage: Some(usage.into()),
            milliseconds: Some(milliseconds),
        }
    }
}

impl From<disk::Effort> for Option<Effort> {
    fn from(effort: disk::Effort) -> Self {
        Some(Effort {
            model: effort.model?,
            strategy: effort.strategy.unwrap_or_default(),
            tries: effort.tries.unwrap_or_default(),
            usage: effort.usage.unwrap_or_default().into(),
            milliseconds: effort.milliseconds.unwrap_or_default(),
        })
    }
}
