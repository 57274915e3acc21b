//! How the questions of a call end: answered, or not and never.

use serde_json::Value;

use crate::{
    ask::Waiting,
    call::{Call, State},
    context::Context,
    effect::{Settled, Update},
    event::{
        Backend, By, Effort, Event, InquiryResponse, PromptId, Reason, ResultReason, Showing, Word,
    },
    history::FailedQuestion,
    input::PromptAnswer,
    model_text::ModelText,
    prompt::answer_live,
    question::{Answer, Question},
};

/// An answer, and how it came.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) answer: Answer,
    pub(crate) by: By,
    pub(crate) remember: bool,
    pub(crate) shown: Option<Showing>,
    pub(crate) effort: Option<Effort>,
}

/// Why there is no answer, and what the model is told.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) reason: Reason,
    /// What failed, where it is a [`Reason::BackendError`].
    pub(crate) backend: Option<Word<Backend>>,
    pub(crate) text: String,
    pub(crate) why: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) shown: Option<Showing>,
    pub(crate) effort: Option<Effort>,
}

impl Given {
    pub(crate) fn by(answer: Answer, by: By) -> Self {
        Self {
            answer,
            by,
            remember: false,
            shown: None,
            effort: None,
        }
    }
}

impl Lost {
    pub(crate) fn new(
        text: &ModelText,
        tool: &str,
        question: &Question,
        reason: Reason,
        why: Option<&str>,
    ) -> Self {
        let text = text.unanswered(tool, &question.id, &reason, why, None);
        Self {
            reason,
            backend: None,
            text,
            why: why.map(str::to_owned),
            note: None,
            shown: None,
            effort: None,
        }
    }

    /// The same question failed before in this turn: it fails again, for the same reason.
    pub(crate) fn again(text: &ModelText, tool: &str, before: FailedQuestion) -> Self {
        let FailedQuestion {
            question,
            reason,
            backend,
            why,
            ..
        } = before;
        let text = text.no_answer(
            tool,
            &question.id,
            &reason,
            backend.as_ref(),
            why.as_deref(),
            None,
        );
        Self {
            reason,
            backend,
            text,
            why,
            note: None,
            shown: None,
            effort: None,
        }
    }
}

impl Call {
    /// A person answered a question, or would not.
    pub(crate) fn question_answered(
        &mut self,
        cx: &mut Context,
        id: &PromptId,
        answer: PromptAnswer,
        shown: Option<Showing>,
    ) {
        let Some(waiting) = self.waiting(id).cloned() else {
            return;
        };
        let (reason, why, note) = match answer {
            PromptAnswer::Answer {
                value, remember, ..
            } => match waiting.question.accept(&value.0) {
                Ok(answer) => {
                    let remember = remember
                        && waiting.question.may_be_remembered()
                        && answer.value().is_some_and(Value::is_boolean);
                    let given = Given {
                        answer,
                        by: By::User,
                        remember,
                        shown,
                        effort: None,
                    };
                    return self.answered(cx, &waiting, given);
                }
                Err(misfit) => {
                    if self
                        .prompted_mut(id)
                        .is_some_and(|prompted| prompted.refit(cx, &misfit))
                    {
                        return self.show(cx, id);
                    }
                    (
                        Reason::BackendError,
                        Some("no fitting answer came".to_owned()),
                        None,
                    )
                }
            },
            PromptAnswer::Decline { note } => (Reason::User, None, note),
            PromptAnswer::Cancel => (Reason::User, None, None),
            PromptAnswer::Failed(why) => (Reason::BackendError, Some(why), None),
        };
        let id = &waiting.question.id;
        let text = cx
            .text()
            .unanswered(&self.tool, id, &reason, why.as_deref(), note.as_deref());
        self.unanswered(
            cx,
            &waiting,
            Lost {
                backend: (reason == Reason::BackendError).then_some(Backend::Client.into()),
                reason,
                text,
                why,
                note,
                shown,
                effort: None,
            },
        );
    }

    /// There is an answer: it goes on record, and the call goes on with it.
    pub(crate) fn answered(&mut self, cx: &mut Context, waiting: &Waiting, given: Given) {
        let question = &waiting.question;
        match self
            .answered
            .iter_mut()
            .find(|(known, _)| known.is_same(question))
        {
            Some((_, times)) => *times += 1,
            None => self.answered.push((question.clone(), 1)),
        }
        let value = given.answer.value().cloned();
        let response = match &value {
            Some(answer) => InquiryResponse::Answered {
                answer: answer.clone(),
                by: given.by,
                remember: given.remember,
                shown: given.shown,
                effort: given.effort,
            },
            None => InquiryResponse::Redacted { shown: given.shown },
        };
        cx.record(Event::InquiryResponse {
            id: waiting.pair.clone(),
            call: self.key,
            response,
        });
        if let Some(prompt) = waiting.prompt_id() {
            let settled = Settled::Answered {
                by: given.by,
                answer: value.clone(),
            };
            cx.tell(Update::QuestionClosed { prompt, settled });
        }
        if let (true, Some(_)) = (given.remember, &value) {
            cx.newly_remembered
                .push((self.tool.clone(), question.id.clone()));
        }
        match waiting.live {
            Some(number) => self.end_live(cx, waiting, number, Some(given.answer)),
            None => {
                self.answers.retain(|(id, _)| *id != question.id);
                self.answers.push((question.id.clone(), given.answer));
                self.prepare(cx);
            }
        }
    }

    pub(crate) fn fail(
        &mut self,
        cx: &mut Context,
        waiting: &Waiting,
        reason: Reason,
        why: Option<&str>,
    ) {
        let lost = Lost::new(cx.text(), &self.tool, &waiting.question, reason, why);
        self.unanswered(cx, waiting, lost);
    }

    /// There is no answer, and will be none: the call ends with the reason.
    pub(crate) fn unanswered(&mut self, cx: &mut Context, waiting: &Waiting, lost: Lost) {
        let settled = Settled::Cancelled(lost.reason.clone());
        let response = InquiryResponse::Cancelled {
            reason: lost.reason,
            backend: lost.backend,
            note: lost.note,
            why: lost.why,
            shown: lost.shown,
            effort: lost.effort,
        };
        cx.record(Event::InquiryResponse {
            id: waiting.pair.clone(),
            call: self.key,
            response,
        });
        if let Some(prompt) = waiting.prompt_id() {
            cx.tell(Update::QuestionClosed { prompt, settled });
        }
        match waiting.live {
            Some(number) => self.end_live(cx, waiting, number, None),
            None => self.finish_aside(cx, ResultReason::Unanswered, lost.text),
        }
    }

    /// The tool that asked while it runs goes on, with the answer or without.
    fn end_live(
        &mut self,
        cx: &mut Context,
        waiting: &Waiting,
        number: u32,
        answer: Option<Answer>,
    ) {
        if let State::Running(running) = &mut self.state {
            running.live.retain(|live| live.pair != waiting.pair);
        }
        self.turn_clock(cx.now);
        cx.perform(answer_live(self.key, number, answer));
    }
}
