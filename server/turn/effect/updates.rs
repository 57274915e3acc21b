//! Updates derived from events: for a turn that runs, and for one that is read from its log.

use serde_json::Value;

use super::{
    CallStatus, InquiryStatus, PromptKind, QuestionUpdate, SummaryStatus, TurnUsage, Update,
};
use crate::{
    history::{QuestionHistory, TurnHistory},
    input::ToolOutput,
    question::Source,
    record::{By, CallKey, Event, InquiryResponse, Level, PromptId, PromptSubject, Status},
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
        Event::ResponseEnd { .. }
        | Event::CompactionUndone { .. }
        | Event::OutputsCleared { .. }
        | Event::Spent { .. } => vec![used(history, of)],
        Event::Compacted { summary, .. } => vec![
            Update::Summary {
                status: SummaryStatus::Made,
                text: Some(summary.clone()).filter(|summary| !summary.is_empty()),
            },
            used(history, of),
        ],
        Event::Steer { text } => vec![Update::Steered { text: text.clone() }],
        Event::Notice { level, text } => vec![Update::Notice {
            level: *level,
            text: text.clone(),
        }],
        Event::ToolCall { .. } | Event::CallStarted { .. } | Event::ToolResult { .. } => {
            let update = of_call(event, history, of).or_else(|| unseen_failure(event, history));
            update.into_iter().collect()
        }
        Event::PromptOpened { prompt, .. } => opened(prompt, history).into_iter().collect(),
        Event::PromptClosed { prompt, closed } => {
            let closed = QuestionUpdate::closed(prompt.0.clone(), closed);
            vec![Update::Question(closed)]
        }
        Event::InquiryResponse { id, call, response } => answered(id, *call, response, history),
        _ => Vec::new(),
    }
}

fn used(history: &TurnHistory, of: &impl UpdateContext) -> Update {
    Update::Usage(TurnUsage {
        context_tokens: history.context(),
        context_window: of.context_window(),
        ..history.usage().into()
    })
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
            call_id: id.clone(),
            name: name.clone(),
            title: name.clone(),
            arguments: parsed(arguments),
            status: CallStatus::Waiting,
        },
        Event::CallStarted { call, title, .. } => {
            let call = history.call(*call).filter(|call| !of.hides(call.tool()))?;
            let arguments = call.details().map(|details| parsed(&details.arguments));
            Update::ToolCall {
                step: history.step(),
                call_id: call.id().to_owned(),
                name: call.tool().to_owned(),
                title: if title.is_empty() { call.tool() } else { title }.to_owned(),
                arguments: arguments.unwrap_or(Value::Null),
                status: CallStatus::Running,
            }
        }
        Event::ToolResult {
            call,
            end,
            content,
            summary,
            held: false,
            details,
            ..
        } => {
            let call = history.call(*call).filter(|call| !of.hides(call.tool()))?;
            let first = || content.lines().next().unwrap_or_default().to_owned();
            let exit_status = ToolOutput::exit_status(details.as_ref());
            // What a command printed was told while it ran.
            let is_whole = end.reason().is_some() || summary.is_some() || exit_status.is_some();
            let goes_on = !is_whole && content.lines().skip(1).any(|line| !line.trim().is_empty());
            Update::ToolResult {
                call_id: call.id().to_owned(),
                status: end.status(),
                summary: match end.reason() {
                    Some(reason) => reason.in_words(call.tool()),
                    None => summary.clone().unwrap_or_else(first),
                },
                content: goes_on.then(|| content.clone()),
                exit_status,
            }
        }
        _ => return None,
    };
    Some(update)
}

/// The failure of a call of which nothing was shown, no question either.
fn unseen_failure(event: &Event, history: &TurnHistory) -> Option<Update> {
    let Event::ToolResult {
        call,
        end,
        held: false,
        ..
    } = event
    else {
        return None;
    };
    let call = history.call(*call)?;
    let asked = call.details().is_some_and(|details| details.asked > 0);
    let tool = call.tool();
    // The words of its result are for the model, which may call it once more.
    let text = match end.reason() {
        Some(reason) => format!("{tool} failed: {}.", reason.in_words(tool)),
        None => format!("{tool} failed, and the model was told why."),
    };
    (end.status() == Status::Error && !asked).then_some(Update::Notice {
        level: Level::Warning,
        text,
    })
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
    Some(Update::Question(QuestionUpdate::Opened {
        prompt_id: id.0.clone(),
        call_id: call.id().to_owned(),
        prompt_kind: kind,
        label: tool.to_owned(),
        text: subject.text(tool).unwrap_or_default(),
    }))
}

fn asked(id: &PromptId, asked: &QuestionHistory, history: &TurnHistory) -> Option<Update> {
    Some(Update::Question(QuestionUpdate::Opened {
        prompt_id: id.0.clone(),
        call_id: history.call(asked.call())?.id().to_owned(),
        prompt_kind: PromptKind::Question,
        label: match (asked.label(), asked.source()) {
            (Some(label), _) => label.to_owned(),
            (None, Source::Assistant) => "Assistant".to_owned(),
            (None, Source::Tool { name }) => name.clone(),
        },
        text: asked.question().text.clone(),
    }))
}

/// The end of a question. One that the configuration settled, or a model, is new to clients, so they are sent the whole
/// question, by the id of its pair.
fn answered(
    pair: &str,
    call: CallKey,
    response: &InquiryResponse,
    history: &TurnHistory,
) -> Vec<Update> {
    let question = history.question(pair);
    let mut updates = Vec::new();
    if let Some(prompt) = question.and_then(QuestionHistory::prompt) {
        updates.push(Update::Question(answered_as(prompt, response)));
    } else if (response.is_by_configuration() || response.effort().is_some())
        && let Some(question) = question
    {
        let prompt = PromptId(pair.to_owned());
        updates.extend(asked(&prompt, question, history));
        updates.push(Update::Question(answered_as(&prompt, response)));
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
        let call_ids = vec![call.id().to_owned()];
        updates.push(Update::Inquiry { call_ids, status });
    }
    updates
}

fn answered_as(prompt: &PromptId, response: &InquiryResponse) -> QuestionUpdate {
    let id = prompt.0.clone();
    match response {
        InquiryResponse::Answered { answer, by, .. } => {
            QuestionUpdate::answered(id, *by, Some(answer.clone()))
        }
        InquiryResponse::Redacted { .. } => QuestionUpdate::answered(id, By::User, None),
        InquiryResponse::Cancelled { reason, note, .. } => {
            QuestionUpdate::cancelled(id, reason, note.as_deref())
        }
    }
}
