//! Records the end of a question: an answer, or the reason why there is none.

use crate::{
    call::{identity::CallIdentity, question::OpenQuestion},
    context::Context,
    history::FailedQuestion,
    model_text::ModelText,
    question::{Answer, Question},
    record::{Backend, By, Effort, Event, InquiryResponse, Reason, Showing, Word},
};

/// An answer and its origin.
#[derive(Debug)]
pub(super) struct FoundAnswer {
    pub(super) answer: Answer,
    pub(super) by: By,
    /// Whether the person answered for the rest of this turn.
    pub(super) remember: bool,
    pub(super) shown: Option<Showing>,
    pub(super) effort: Option<Effort>,
}

/// The reason why there is no answer, and the text for the model.
#[derive(Debug)]
pub(super) struct NoAnswer {
    pub(super) reason: Reason,
    /// The part that failed, for a [`Reason::BackendError`].
    pub(super) backend: Option<Word<Backend>>,
    pub(super) text: String,
    pub(super) why: Option<String>,
    pub(super) note: Option<String>,
    pub(super) shown: Option<Showing>,
    pub(super) effort: Option<Effort>,
}

impl FoundAnswer {
    pub(super) fn by(answer: Answer, by: By) -> Self {
        Self {
            answer,
            by,
            remember: false,
            shown: None,
            effort: None,
        }
    }

    /// Records the answer, and returns it.
    pub(super) fn record(
        self,
        cx: &mut Context,
        identity: &CallIdentity,
        question: &OpenQuestion,
    ) -> Answer {
        let response = match self.answer.value() {
            Some(answer) => InquiryResponse::Answered {
                answer: answer.clone(),
                by: self.by,
                remember: self.remember,
                shown: self.shown,
                effort: self.effort,
            },
            None => InquiryResponse::Redacted { shown: self.shown },
        };
        cx.record(Event::InquiryResponse {
            id: question.pair().to_owned(),
            call: identity.key,
            response,
        });
        if self.remember {
            cx.newly_remembered
                .push((identity.tool.clone(), question.question().id.clone()));
        }
        self.answer
    }
}

impl NoAnswer {
    pub(super) fn new(
        text: &ModelText,
        tool: &str,
        question: &Question,
        reason: Reason,
        why: Option<&str>,
    ) -> Self {
        Self {
            text: text.unanswered(tool, &question.id, &reason, why, None),
            reason,
            backend: None,
            why: why.map(str::to_owned),
            note: None,
            shown: None,
            effort: None,
        }
    }

    /// Fails a question that failed before in this turn, for the same reason.
    pub(super) fn again(text: &ModelText, tool: &str, before: FailedQuestion) -> Self {
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

    /// The failure of an inquiry.
    pub(super) fn of_inquiry(text: &ModelText, why: String, effort: Effort) -> Self {
        Self {
            reason: Reason::BackendError,
            backend: Some(Backend::Inquiry.into()),
            text: text.inquiry_failed(&why),
            why: Some(why),
            note: None,
            shown: None,
            effort: Some(effort),
        }
    }

    /// The reason why there is no answer, in words for a person.
    pub(super) fn in_words(&self) -> String {
        self.reason
            .of_no_answer(self.backend.as_ref(), self.why.as_deref())
    }

    /// Records that there is no answer and tells the clients. Returns the text for the model.
    pub(super) fn record(
        self,
        cx: &mut Context,
        identity: &CallIdentity,
        question: &OpenQuestion,
    ) -> String {
        cx.record(Event::InquiryResponse {
            id: question.pair().to_owned(),
            call: identity.key,
            response: InquiryResponse::Cancelled {
                reason: self.reason,
                backend: self.backend,
                note: self.note,
                why: self.why,
                shown: self.shown,
                effort: self.effort,
            },
        });
        self.text
    }
}
