//! Updates derived from events: for a turn that runs, and for one that is read from its log.

use serde_json::Value;

use super::{InquiryStatus, PromptKind, Settled, Update};
use crate::{
    history::{QuestionHistory, TurnHistory},
    input::ToolOutput,
    question::Source,
    record::{By, CallKey, Closed, Event, InquiryResponse, PromptId, PromptSubject, Reason},
};

/// Knowledge about a turn that updates need besides its events.
pub trait UpdateContext {
    /// Whether calls of this tool are not shown.
    fn hides(&self, tool: &str) -> bool;

    /// The context window of the turn's model, where it is known.
    fn context_window(&self) -> Option<u64>;
}

/// Derives the updates of an event. The history has the event applied already.
///
/// A client that sees a turn run is told more: pieces of text before the text is whole, retries, and when a model is asked
/// a question.
#[must_use]
pub fn updates(event: &Event, history: &TurnHistory, of: &impl UpdateContext) -> Vec<Update> {
    let step = history.step();
    match event {
        Event::Text { text, .. } if !text.is_empty() => {
            let text = text.clone();
            vec![Update::Text { step, text }]
        }
        Event::Reasoning { text, .. } if !text.is_empty() => {
            let text = text.clone();
            vec![Update::Reasoning { step, text }]
        }
        Event::ResponseEnd { .. } => vec![Update::Usage {
            usage: history.usage(),
            context_window: of.context_window(),
        }],
        Event::Steer { text } => vec![Update::Steered { text: text.clone() }],
        Event::Notice { level, text } => vec![Update::Notice {
            level: *level,
            text: text.clone(),
        }],
        Event::ToolCall { .. } | Event::CallStarted { .. } | Event::ToolResult { .. } => {
            of_call(event, history, of).into_iter().collect()
        }
        Event::PromptOpened { prompt, .. } => opened(prompt, history).into_iter().collect(),
        Event::PromptClosed { prompt, closed } => vec![Update::QuestionClosed {
            prompt: prompt.clone(),
            settled: Settled::from(closed),
        }],
        Event::InquiryResponse { id, call, response } => answered(id, *call, response, history),
        _ => Vec::new(),
    }
}

fn of_call(event: &Event, history: &TurnHistory, of: &impl UpdateContext) -> Option<Update> {
    let update = match event {
        Event::ToolCall {
            id,
            name,
            arguments,
            ..
        } if !of.hides(name) => Update::ToolCall {
            step: history.step(),
            id: id.clone(),
            name: name.clone(),
            title: name.clone(),
            arguments: parsed(arguments),
            running: false,
        },
        Event::CallStarted { call, title, .. } => {
            let call = history.call(*call).filter(|call| !of.hides(call.tool()))?;
            let arguments = call.details().map(|details| parsed(&details.arguments));
            Update::ToolCall {
                step: history.step(),
                id: call.id().to_owned(),
                name: call.tool().to_owned(),
                title: if title.is_empty() { call.tool() } else { title }.to_owned(),
                arguments: arguments.unwrap_or(Value::Null),
                running: true,
            }
        }
        Event::ToolResult {
            call,
            end,
            content,
            summary,
            held: false,
            details,
        } => {
            let call = history.call(*call).filter(|call| !of.hides(call.tool()))?;
            let first = || content.lines().next().unwrap_or_default().to_owned();
            Update::ToolResult {
                id: call.id().to_owned(),
                status: end.status(),
                summary: match end.reason() {
                    Some(reason) => reason.in_words(call.tool()),
                    None => summary.clone().unwrap_or_else(first),
                },
                exit_status: ToolOutput::exit_status(details.as_ref()),
            }
        }
        _ => return None,
    };
    Some(update)
}

fn parsed(arguments: &str) -> Value {
    crate::history::parse_arguments(arguments).unwrap_or(Value::Null)
}

/// The update of a prompt that waits for a person.
#[must_use]
pub fn opened(id: &PromptId, history: &TurnHistory) -> Option<Update> {
    let prompt = history.prompt(id)?;
    let call = history.call(prompt.call())?;
    let (tool, subject) = (call.tool(), prompt.subject());
    let kind = match subject {
        PromptSubject::Question { inquiry } => {
            return asked(id, history.question(inquiry)?, history);
        }
        PromptSubject::RunTool { .. } => PromptKind::RunTool,
        PromptSubject::DeliverResult => PromptKind::DeliverResult,
    };
    Some(Update::QuestionOpened {
        prompt: id.clone(),
        call: call.id().to_owned(),
        kind,
        label: tool.to_owned(),
        text: subject.text(tool).unwrap_or_default(),
    })
}

fn asked(id: &PromptId, asked: &QuestionHistory, history: &TurnHistory) -> Option<Update> {
    Some(Update::QuestionOpened {
        prompt: id.clone(),
        call: history.call(asked.call())?.id().to_owned(),
        kind: PromptKind::Question,
        label: match (asked.label(), asked.source()) {
            (Some(label), _) => label.to_owned(),
            (None, Source::Assistant) => "Assistant".to_owned(),
            (None, Source::Tool { name }) => name.clone(),
        },
        text: asked.question().text.clone(),
    })
}

/// The end of a question. One that the configuration settled is new to clients, so they are sent the whole question, by
/// the id of its pair.
fn answered(
    pair: &str,
    call: CallKey,
    response: &InquiryResponse,
    history: &TurnHistory,
) -> Vec<Update> {
    let settled = Settled::from(response);
    let question = history.question(pair);
    let mut updates = Vec::new();
    if let Some(prompt) = question.and_then(QuestionHistory::prompt) {
        let prompt = prompt.clone();
        updates.push(Update::QuestionClosed { prompt, settled });
    } else if settled.is_by_configuration()
        && let Some(question) = question
    {
        let prompt = PromptId(pair.to_owned());
        updates.extend(asked(&prompt, question, history));
        updates.push(Update::QuestionClosed { prompt, settled });
    }
    let status = match response {
        InquiryResponse::Answered {
            effort: Some(_), ..
        } => InquiryStatus::Answered,
        InquiryResponse::Cancelled {
            effort: Some(_), ..
        } => InquiryStatus::Failed,
        _ => return updates,
    };
    if let Some(call) = history.call(call) {
        let calls = vec![call.id().to_owned()];
        updates.push(Update::Inquiry { calls, status });
    }
    updates
}

impl From<&InquiryResponse> for Settled {
    fn from(response: &InquiryResponse) -> Self {
        match response {
            InquiryResponse::Answered { answer, by, .. } => Self::Answered {
                by: *by,
                answer: Some(answer.clone()),
            },
            InquiryResponse::Redacted { .. } => Self::Answered {
                by: By::User,
                answer: None,
            },
            InquiryResponse::Cancelled { reason, .. } => Self::Cancelled(reason.clone()),
        }
    }
}

impl From<&Closed> for Settled {
    fn from(closed: &Closed) -> Self {
        match closed {
            Closed::Permitted { .. } | Closed::Configured | Closed::Delivered { .. } => {
                Self::Answered {
                    by: closed.by().unwrap_or(By::User),
                    answer: closed.answer(),
                }
            }
            Closed::Declined { .. } => Self::Cancelled(Reason::User),
            Closed::Withdrawn => Self::Cancelled(Reason::Withdrawn),
            Closed::Failed { .. } => Self::Cancelled(Reason::BackendError),
        }
    }
}
