//! Decides where a question goes, and what an answer does to it.

use serde_json::Value;

use crate::{
    call::{
        answer::{FoundAnswer, NoAnswer},
        identity::CallIdentity,
        prompt::NO_FITTING_ANSWER,
        question::{OpenQuestion, QuestionCount, can_show},
        route::{self, Facts, Route},
    },
    context::Context,
    history::FailedQuestion,
    input::PromptAnswer,
    record::{Backend, By, Reason, Showing},
};

/// Message for a secret that is configured as an answer.
const SECRET: &str = "a secret cannot be given beforehand, there or with --answer. Take it out, and type it when it is \
                      asked for, at a terminal or in an editor";

/// Next step of a question.
#[derive(Debug)]
pub(super) enum QuestionStep {
    /// The question waits for a person or a model.
    Wait(OpenQuestion),
    /// The question has an answer.
    Answered(OpenQuestion, FoundAnswer),
    /// The question has no answer and will not get one.
    Unanswered(OpenQuestion, NoAnswer),
}

/// Next step of a question that a person answered.
#[derive(Debug)]
pub(super) enum ReplyStep {
    /// The answer did not fit, so the prompt is shown again.
    ShowAgain,
    Answered(FoundAnswer),
    Unanswered(NoAnswer),
}

/// Decides where the answer comes from. Fails a question that is broken, that was asked too often, or that failed
/// `before` in this turn.
pub(super) fn consider(
    cx: &mut Context,
    identity: &CallIdentity,
    count: &QuestionCount,
    open: OpenQuestion,
    before: Option<FailedQuestion>,
) -> QuestionStep {
    if let Err(what) = open.question().check() {
        return fail(cx, identity, open, Reason::InvalidQuestion, Some(what));
    }
    if count.is_over(open.question()) {
        return fail(cx, identity, open, Reason::LimitReached, None);
    }
    if let Some(before) = before {
        let none = NoAnswer::again(cx.text(), &identity.tool, before);
        return QuestionStep::Unanswered(open, none);
    }
    route(cx, identity, open)
}

fn route(cx: &mut Context, identity: &CallIdentity, mut open: OpenQuestion) -> QuestionStep {
    let question = open.question();
    let configured = cx.rules.question(&identity.tool, &question.id);
    let remembered = cx.remembered(&identity.tool, &question.id);
    let facts = Facts {
        target: &configured.target,
        attached: can_show(cx, question),
        detached: cx.tool(&identity.tool).detached.tool,
        configured: configured.answer.as_ref(),
        remembered: remembered.as_ref(),
        live: open.live().is_some(),
    };
    match route::route(question, &facts) {
        Route::Given(answer, by) => QuestionStep::Answered(open, FoundAnswer::by(answer, by)),
        Route::Ask => {
            open.ask_person(cx, identity, false);
            QuestionStep::Wait(open)
        }
        Route::Park => {
            open.ask_person(cx, identity, true);
            QuestionStep::Wait(open)
        }
        Route::Inquire => {
            open.inquire(cx, identity, configured.target);
            QuestionStep::Wait(open)
        }
        Route::Fail(Reason::InvalidStaticAnswer) => unfit(cx, identity, open),
        Route::Fail(reason) => fail(cx, identity, open, reason, None),
    }
}

fn fail(
    cx: &Context,
    identity: &CallIdentity,
    open: OpenQuestion,
    reason: Reason,
    why: Option<&str>,
) -> QuestionStep {
    let none = NoAnswer::new(cx.text(), &identity.tool, open.question(), reason, why);
    QuestionStep::Unanswered(open, none)
}

/// Checks the configuration again after a resume, before the question waits for a person once more.
pub(super) fn configured(
    cx: &Context,
    identity: &CallIdentity,
    open: OpenQuestion,
) -> QuestionStep {
    let question = open.question();
    let Some(configured) = cx.rules.question(&identity.tool, &question.id).answer else {
        return QuestionStep::Wait(open);
    };
    match route::from_configuration(question, &configured) {
        Some(answer) => QuestionStep::Answered(open, FoundAnswer::by(answer, By::Config)),
        None => unfit(cx, identity, open),
    }
}

/// Fails a question whose configured answer does not fit.
fn unfit(cx: &Context, identity: &CallIdentity, open: OpenQuestion) -> QuestionStep {
    let why = open.question().is_secret().then_some(SECRET);
    fail(cx, identity, open, Reason::InvalidStaticAnswer, why)
}

/// Takes a person's answer to a question, or the refusal to answer.
pub(super) fn reply(
    cx: &mut Context,
    identity: &CallIdentity,
    open: &mut OpenQuestion,
    answer: PromptAnswer,
    shown: Option<Showing>,
) -> ReplyStep {
    let (reason, why, note) = match answer {
        PromptAnswer::Answer {
            value, remember, ..
        } => match open.question().accept(&value.0) {
            Ok(answer) => {
                let remember = remember
                    && open.question().may_be_remembered()
                    && answer.value().is_some_and(Value::is_boolean);
                return ReplyStep::Answered(FoundAnswer {
                    remember,
                    shown,
                    ..FoundAnswer::by(answer, By::User)
                });
            }
            Err(misfit) => {
                let waiting = open.waiting_mut();
                if waiting.is_some_and(|waiting| waiting.refit(cx, &misfit)) {
                    return ReplyStep::ShowAgain;
                }
                let why = NO_FITTING_ANSWER.to_owned();
                (Reason::BackendError, Some(why), None)
            }
        },
        PromptAnswer::Decline { note } => (Reason::User, None, note),
        PromptAnswer::Cancel => (Reason::User, None, None),
        PromptAnswer::Failed(why) => (Reason::BackendError, Some(why), None),
    };
    let (tool, id) = (&identity.tool, &open.question().id);
    let text = cx
        .text()
        .unanswered(tool, id, &reason, why.as_deref(), note.as_deref());
    ReplyStep::Unanswered(NoAnswer {
        backend: (reason == Reason::BackendError).then_some(Backend::Client.into()),
        reason,
        text,
        why,
        note,
        shown,
        effort: None,
    })
}
