//! Where a call goes on when its turn is resumed.

use serde_json::Value;

use crate::{
    ask::{How, Waiting, can_show},
    call::{Call, State},
    context::Context,
    delivery::Held,
    history::{
        CallDetails, CallHistory, CallState, DeliveryState, FailedQuestion, PendingEnd,
        QuestionState, RecordedAnswer, parse_arguments,
    },
    input::ToolOutput,
    prompt::Prompted,
    question::{Answer, Question},
    record::{PromptId, PromptSubject, ResultReason},
};

/// Where a call goes on.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nowhere: it is done.
    Done,
    /// From the beginning, with these raw arguments.
    Begin(String),
    /// From its preparation, with what is known.
    Prepare,
    /// With a secret that is gone.
    AskAgain(Question),
    /// With a prompt that waited for a person.
    Show(PromptId),
    /// With a question whose inquiry was cut off, or that nobody saw to yet; and how the same question failed before
    /// it was asked.
    Consider(Box<Waiting>, Option<FailedQuestion>),
}

/// The call of this history, and where it goes on. What is decided already is finished here.
pub(crate) fn restore(cx: &mut Context, past: &CallHistory) -> (Call, Next) {
    let details = past.details().cloned().unwrap_or_default();
    let mut call = call_of(past, &details);
    if let CallState::Done(end) = past.state() {
        call.state = State::Done {
            end: end.clone(),
            content: details.result.unwrap_or_default().content,
        };
        return (call, Next::Done);
    }
    if matches!(past.state(), CallState::Made | CallState::Proposed) {
        return (call, Next::Begin(details.arguments));
    }
    // Clients know nothing of what was shown before.
    call.tell_call(cx, false, &call.tool.clone());
    match past.state().clone() {
        CallState::Ending(end) => finish(cx, &mut call, &end),
        CallState::Held { end, delivery } => {
            let result = details.result.unwrap_or_default();
            let output = ToolOutput {
                details: result.details,
                ..ToolOutput::text(result.content)
            };
            let next = deliver(cx, &mut call, Held { end, output }, delivery);
            return (call, next);
        }
        CallState::Running { live } => {
            for pair in live {
                if let Some(waiting) = waiting(cx, &pair) {
                    waiting.withdraw(cx, call.key);
                }
            }
            let text = cx.text().unknown_effects(&call.tool);
            call.finish_aside(cx, ResultReason::Interrupted, text);
        }
        CallState::Asking(pair) => {
            let next = ask(cx, &mut call, &pair);
            return (call, next);
        }
        CallState::Permission(prompt) => {
            call.permission = hash_of(cx, &prompt).map(|hash| (prompt, hash));
            return (call, prepare(details));
        }
        CallState::Due => return (call, prepare(details)),
        CallState::Made | CallState::Proposed | CallState::Done(_) => {}
    }
    (call, Next::Done)
}

fn call_of(past: &CallHistory, details: &CallDetails) -> Call {
    let mut call = Call::new(past.key(), past.id().to_owned(), past.tool().to_owned());
    call.arguments = parse_arguments(&details.arguments).unwrap_or(Value::Null);
    call.runs = past.runs();
    call.approved.clone_from(&details.permitted);
    call.new_text.clone_from(&details.new_text);
    call.asked = details.asked;
    call.answered.clone_from(&details.answered);
    for (id, answer) in &details.answers {
        if let RecordedAnswer::Value(answer) = answer {
            call.answers
                .push((id.clone(), Answer::Value(answer.clone())));
        }
    }
    call
}

/// It is prepared, unless a secret is missing, which has to be typed again first.
fn prepare(details: CallDetails) -> Next {
    let gone = details
        .answers
        .into_iter()
        .find_map(|(_, answer)| match answer {
            RecordedAnswer::Gone(question) => Some(question),
            RecordedAnswer::Value(_) => None,
        });
    gone.map_or(Next::Prepare, Next::AskAgain)
}

/// Only the result is missing.
fn finish(cx: &mut Context, call: &mut Call, end: &PendingEnd) {
    let tool = &call.tool;
    let text = match end {
        PendingEnd::Unanswered(pair) => unanswered(cx, tool, pair),
        PendingEnd::Declined { note } => cx.text().not_allowed(tool, note.as_deref()),
        PendingEnd::Withheld { note } => cx.text().withheld(tool, note.as_deref()),
        PendingEnd::PromptFailed { why } => cx.text().not_shown(tool, why),
        PendingEnd::Cancelled => cx.text().cancelled(),
    };
    call.finish_aside(cx, end.reason(), text);
}

/// What the model is told of a question without an answer.
fn unanswered(cx: &Context, tool: &str, pair: &str) -> String {
    let asked = cx.history.question(pair);
    match asked.map(|asked| (asked.question(), asked.state())) {
        Some((
            question,
            QuestionState::Unanswered {
                reason,
                backend,
                why,
                note,
            },
        )) => cx.text().no_answer(
            tool,
            &question.id,
            reason,
            backend.as_ref(),
            why.as_deref(),
            note.as_deref(),
        ),
        _ => cx.text().cancelled(),
    }
}

fn deliver(cx: &mut Context, call: &mut Call, held: Held, delivery: DeliveryState) -> Next {
    match delivery {
        DeliveryState::Unasked => call.ask_delivery(cx, held),
        DeliveryState::Allowed => call.finish(cx, held.end, held.output),
        DeliveryState::Asked(id) => {
            let prompted = Prompted::new(id.clone(), cx.client.is_none(), cx.now);
            call.state = State::Delivery {
                prompted,
                held: Box::new(held),
            };
            return Next::Show(id);
        }
    }
    Next::Done
}

/// It waits for an answer.
fn ask(cx: &mut Context, call: &mut Call, pair: &str) -> Next {
    let Some(mut waiting) = waiting(cx, pair) else {
        return Next::Prepare;
    };
    let Some(asked) = cx.history.question(pair) else {
        return Next::Prepare;
    };
    let QuestionState::Prompted(id) = asked.state().clone() else {
        let before = asked.before().cloned();
        call.state = State::Asking(Box::new(waiting.clone()));
        return Next::Consider(Box::new(waiting), before);
    };
    let parked = !can_show(cx, &waiting.question);
    waiting.how = How::Prompt(Prompted::new(id.clone(), parked, cx.now));
    call.state = State::Asking(Box::new(waiting));
    Next::Show(id)
}

/// A question that is on record, as one that a model is asked.
fn waiting(cx: &Context, pair: &str) -> Option<Waiting> {
    let asked = cx.history.question(pair)?;
    Some(Waiting {
        pair: pair.to_owned(),
        question: asked.question().clone(),
        live: None,
        how: How::Inquiry,
    })
}

fn hash_of(cx: &Context, prompt: &PromptId) -> Option<String> {
    match cx.history.prompt(prompt)?.subject() {
        PromptSubject::RunTool { hash, .. } => Some(hash.clone()),
        _ => None,
    }
}
