//! The next step of a call in a resumed turn. A run that was cut off is made again if its tool changes nothing; else the
//! model is told that the effects are unknown.

use serde_json::Value;

use crate::{
    call::{
        Call, Ending,
        delivery::{DeliveryPrompt, HeldResult},
        permission::KeptPrompt,
        prompt::CallEnding,
        question::OpenQuestion,
        state::State,
    },
    context::Context,
    history::{
        CallDetails, CallHistory, CallState, DeliveryState, FailedQuestion, PendingEnd,
        QuestionState, RecordedAnswer, parse_arguments,
    },
    input::{OwnText, ToolOutput},
    question::{Answer, Question},
    record::{PromptId, PromptSubject, ResultReason},
};

/// Next step of a resumed call.
#[derive(Debug)]
enum Next {
    /// None: the call is done.
    Done,
    /// Begin again with these raw arguments.
    Begin(String),
    /// Prepare again, with the answers on record.
    Prepare,
    /// Ask for a secret again, which is not on record.
    AskAgain(Question),
    /// Reopen a prompt that waited for a person.
    Show(PromptId),
    /// Decide about a question whose inquiry was cut off or that was not routed yet. The second field is its earlier
    /// failure.
    Consider(Box<OpenQuestion>, Option<FailedQuestion>),
}

impl Call {
    /// Resumes the call of this history. `place` is its place among the calls of its response.
    pub(crate) fn resume(cx: &mut Context, past: &CallHistory, place: usize) -> Self {
        let (mut call, next) = restore(cx, past);
        match next {
            Next::Done => {}
            Next::Begin(raw) => call.begin(cx, &raw, place),
            Next::Prepare => call.prepare(cx),
            Next::AskAgain(question) => call.ask(cx, question, None),
            Next::Consider(open, before) => call.consider(cx, *open, before),
            Next::Show(id) => call.reopen(cx, &id),
        }
        call
    }

    /// Closes the call of this history: records an end for everything that is open.
    pub(crate) fn close(cx: &mut Context, past: &CallHistory) {
        let (mut call, _) = restore(cx, past);
        call.end(cx, Ending::Cancelled);
    }
}

/// The call of this history and its next step. A decided end is recorded here.
fn restore(cx: &mut Context, past: &CallHistory) -> (Call, Next) {
    let details = past.details().cloned().unwrap_or_default();
    let mut call = call_of(past, &details);
    if matches!(past.state(), CallState::Done(_)) {
        call.state = State::Done;
        return (call, Next::Done);
    }
    // Clients have not seen anything of the interrupted turn.
    call.tell_again(cx);
    if matches!(past.state(), CallState::Made | CallState::Proposed) {
        return (call, Next::Begin(details.arguments));
    }
    match past.state().clone() {
        CallState::Ending(end) => finish(cx, &mut call, &end),
        CallState::Held { end, delivery } => {
            let result = details.result.unwrap_or_default();
            let mut output = ToolOutput::text(result.content);
            output.summary = result.summary.unwrap_or(output.summary);
            output.details = result.details;
            output.media = result.media;
            let next = deliver(cx, &mut call, HeldResult { end, output }, delivery);
            return (call, next);
        }
        // Whatever a run did that changes nothing can be done again.
        CallState::Running { live } if live.is_empty() && cx.rules.changes_nothing(past.tool()) => {
            return (call, prepare(details));
        }
        CallState::Running { live } => {
            for pair in live {
                if let Some(open) = open_question(cx, &pair) {
                    open.withdraw(cx, &call.identity);
                }
            }
            let ending = CallEnding {
                reason: ResultReason::Interrupted,
                text: cx.text().unknown_effects(past.tool()),
            };
            call.finish_aside(cx, ending);
        }
        CallState::Asking(pair) => {
            let next = ask(cx, &mut call, &pair);
            return (call, next);
        }
        CallState::Permission(prompt) => {
            call.kept = hash_of(cx, &prompt).map(|hash| KeptPrompt { id: prompt, hash });
            return (call, prepare(details));
        }
        CallState::Due => return (call, prepare(details)),
        CallState::Made | CallState::Proposed | CallState::Done(_) => {}
    }
    (call, Next::Done)
}

fn call_of(past: &CallHistory, details: &CallDetails) -> Call {
    let mut call = Call::new(past.key(), past.id().to_owned(), past.tool().to_owned());
    call.identity.arguments = parse_arguments(&details.arguments).unwrap_or(Value::Null);
    call.runs = past.runs();
    call.approved.clone_from(&details.permitted);
    call.new_text = details.new_text.clone().map(OwnText::from);
    call.questions.asked = details.asked;
    call.questions.answered.clone_from(&details.answered);
    for (id, answer) in &details.answers {
        if let RecordedAnswer::Value(answer) = answer {
            call.answers
                .push((id.clone(), Answer::Value(answer.clone())));
        }
    }
    call
}

/// Prepares the call again, unless a secret has to be typed again first.
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

/// Records the result of a call whose end is decided.
fn finish(cx: &mut Context, call: &mut Call, end: &PendingEnd) {
    let tool = &call.identity.tool;
    let text = match end {
        PendingEnd::Unanswered(pair) => unanswered(cx, tool, pair),
        PendingEnd::Declined { note } => cx.text().not_allowed(tool, note.as_deref()),
        PendingEnd::Withheld { note } => cx.text().withheld(tool, note.as_deref()),
        PendingEnd::PromptFailed { why } => cx.text().not_shown(tool, why),
        PendingEnd::Cancelled => cx.text().cancelled(),
    };
    let reason = match end {
        PendingEnd::Unanswered(pair) => ResultReason::Unanswered {
            why: why_unanswered(cx, pair),
        },
        _ => end.reason(),
    };
    call.finish_aside(cx, CallEnding { reason, text });
}

/// The reason why a question has no answer, in words for a person.
fn why_unanswered(cx: &Context, pair: &str) -> String {
    match cx.history.question(pair).map(|asked| asked.state()) {
        Some(QuestionState::Unanswered {
            reason,
            backend,
            why,
            ..
        }) => reason.of_no_answer(backend.as_ref(), why.as_deref()),
        _ => String::new(),
    }
}

/// The text for the model about a question without an answer.
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

fn deliver(cx: &mut Context, call: &mut Call, held: HeldResult, delivery: DeliveryState) -> Next {
    match delivery {
        DeliveryState::Unasked => call.ask_delivery(cx, held),
        DeliveryState::Allowed => call.finish(cx, held.end, held.output),
        DeliveryState::Asked(id) => {
            call.state = State::Delivery(DeliveryPrompt::reopen(cx, id.clone(), held));
            return Next::Show(id);
        }
    }
    Next::Done
}

/// The next step of a call that waits for an answer.
fn ask(cx: &mut Context, call: &mut Call, pair: &str) -> Next {
    let Some(mut open) = open_question(cx, pair) else {
        return Next::Prepare;
    };
    let Some(asked) = cx.history.question(pair) else {
        return Next::Prepare;
    };
    let QuestionState::Prompted(id) = asked.state().clone() else {
        let before = asked.before().cloned();
        call.state = State::Asking(Box::new(open.clone()));
        return Next::Consider(Box::new(open), before);
    };
    open.reopen(cx, id.clone());
    call.state = State::Asking(Box::new(open));
    Next::Show(id)
}

/// A recorded question that was not put to anyone.
fn open_question(cx: &Context, pair: &str) -> Option<OpenQuestion> {
    let asked = cx.history.question(pair)?;
    Some(OpenQuestion::recorded(
        pair.to_owned(),
        asked.question().clone(),
    ))
}

fn hash_of(cx: &Context, prompt: &PromptId) -> Option<String> {
    match cx.history.prompt(prompt)?.subject() {
        PromptSubject::RunTool { hash, .. } => Some(hash.clone()),
        _ => None,
    }
}
