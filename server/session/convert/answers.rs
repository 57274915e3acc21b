//! How prompts and questions ended, and what people and models had to do with it.

use std::time::Duration;

use aside_turn::{
    record::{
        Backend, CallKey, Closed, Effort, Event, InquiryResponse, Permission, PromptId, Reason,
        Showing, Vocabulary, Word,
    },
    rules::Client,
};
use serde_json::Value;

use super::super::{
    disk,
    record::{time_of, time_text},
};

pub(super) fn closed_of(prompt: PromptId, closed: Closed) -> disk::Closed {
    let blank = |outcome: &str, reason: Option<&str>| disk::Closed {
        prompt: prompt.0.clone(),
        outcome: outcome.to_owned(),
        reason: reason.map(str::to_owned),
        ..disk::Closed::default()
    };
    let answered = |answer: Value, shown: Option<Showing>| disk::Closed {
        answer: Some(answer),
        shown: shown.into(),
        ..blank("answered", None)
    };
    match closed {
        Closed::Permitted {
            permission,
            new_text,
            shown,
        } => disk::Closed {
            new_text,
            ..answered(permission.word().into(), shown)
        },
        Closed::Delivered { deliver, shown } => answered(deliver.into(), shown),
        Closed::Unknown { answer } => answered(answer, None),
        Closed::Declined { note, shown } => disk::Closed {
            note,
            shown: shown.into(),
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
            ("answered", _, Some(answer)) => answered(answer, self.new_text, self.shown.into()),
            ("cancelled", Some("user"), _) => Closed::Declined {
                note: self.note,
                shown: self.shown.into(),
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

/// What a recorded answer to a `runTool` or `deliverResult` prompt says. An answer that this version does not know
/// approves nothing.
fn answered(answer: Value, new_text: Option<String>, shown: Option<Showing>) -> Closed {
    if let Some(deliver) = answer.as_bool() {
        return Closed::Delivered { deliver, shown };
    }
    match answer.as_str().and_then(Permission::of) {
        Some(permission) => Closed::Permitted {
            permission,
            new_text,
            shown,
        },
        None => Closed::Unknown { answer },
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
            shown,
            effort,
        } => disk::Response {
            answer: Some(answer),
            by: Some(by.into()),
            remember,
            shown: shown.into(),
            effort: effort.into(),
            ..blank("answered")
        },
        InquiryResponse::Redacted { shown } => disk::Response {
            by: Some(disk::By::User),
            shown: shown.into(),
            ..blank("redacted")
        },
        InquiryResponse::Cancelled {
            reason,
            backend,
            note,
            why,
            shown,
            effort,
        } => disk::Response {
            reason: Some(reason.name().to_owned()),
            backend: backend.map(|backend| backend.as_str().to_owned()),
            note,
            why,
            shown: shown.into(),
            effort: effort.into(),
            ..blank("cancelled")
        },
    }
}

impl disk::Response {
    pub(super) fn event(self) -> Result<Event, String> {
        let (shown, effort): (_, Option<Effort>) = (self.shown.into(), self.effort.into());
        let response = match (self.outcome.as_deref(), self.answer) {
            (Some("answered"), Some(answer)) => InquiryResponse::Answered {
                answer,
                by: self.by.ok_or("says not who answered a question")?.into(),
                remember: self.remember,
                shown,
                effort,
            },
            (Some("redacted"), _) => InquiryResponse::Redacted { shown },
            (Some("cancelled"), _) => {
                let reason = Reason::of(self.reason.as_deref().unwrap_or_default());
                let backend = self.backend.map(|word| Word::<Backend>::of(&word));
                InquiryResponse::Cancelled {
                    reason,
                    backend,
                    note: self.note,
                    why: self.why,
                    shown,
                    effort,
                }
            }
            (outcome, _) => return Err(format!("ends a question as {outcome:?}")),
        };
        Ok(Event::InquiryResponse {
            id: self.id,
            call: CallKey(self.call),
            response,
        })
    }
}

impl From<Option<Showing>> for disk::Showing {
    fn from(shown: Option<Showing>) -> Self {
        let Some(Showing {
            client,
            shown_at,
            answered_at,
        }) = shown
        else {
            return Self::default();
        };
        let Client {
            name,
            version,
            secret,
            ..
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

impl From<disk::Showing> for Option<Showing> {
    fn from(shown: disk::Showing) -> Self {
        let time = |text: Option<String>| text.as_deref().and_then(time_of);
        let shown_at = time(shown.shown_at).unwrap_or(Duration::ZERO);
        let answered_at = time(shown.answered_at).unwrap_or(shown_at);
        let disk::Client {
            name,
            version,
            secret,
        } = shown.client?;
        Some(Showing {
            client: Client {
                name,
                version,
                questions: true,
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
            strategy: Some(strategy.as_str().to_owned()),
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
            strategy: Word::of(&effort.strategy.unwrap_or_default()),
            tries: effort.tries.unwrap_or_default(),
            usage: effort.usage.unwrap_or_default().into(),
            milliseconds: effort.milliseconds.unwrap_or_default(),
        })
    }
}
