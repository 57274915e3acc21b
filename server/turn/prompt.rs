//! Prompts: what a person is shown, and what the person's answer does to the call that waits for it.

use serde_json::Value;

use crate::{
    answer::Given,
    ask::How,
    call::{Call, State},
    context::Context,
    effect::{DismissReason, Effect, Prompt, PromptKind, Settled, Update},
    event::{By, Closed, Event, Level, PromptId, Reason, ResultReason, Showing},
    input::{PromptAnswer, Time},
    limits,
    permission::{no_permission, permission_answer},
    question::{AnswerType, Misfit},
    route,
    rules::{Client, ToolRules},
};

/// A prompt that waits for a person.
#[derive(Clone, Debug)]
pub(crate) struct Prompted {
    pub(crate) id: PromptId,
    /// Nobody is there to see it.
    pub(crate) parked: bool,
    /// Answers so far that did not fit.
    pub(crate) unfit: u8,
    pub(crate) shown_at: Time,
}

impl Prompted {
    pub(crate) fn new(id: PromptId, parked: bool, now: Time) -> Self {
        Self {
            id,
            parked,
            unfit: 0,
            shown_at: now,
        }
    }

    /// The turn or call is over: nobody need answer.
    pub(crate) fn withdraw(self, cx: &mut Context) {
        cx.record(Event::PromptClosed {
            prompt: self.id.clone(),
            closed: Closed::Withdrawn,
        });
        self.close(cx);
    }

    /// Takes it off the screen, if it is on one, and tells the clients that it is withdrawn.
    pub(crate) fn close(self, cx: &mut Context) {
        if !self.parked {
            cx.close_prompt(&self.id, DismissReason::Withdrawn);
        }
        cx.tell(Update::QuestionClosed {
            prompt: self.id,
            settled: Settled::Cancelled(Reason::Withdrawn),
        });
    }

    /// An answer came that is none: shows it again, or says that it was once too often.
    pub(crate) fn refit(&mut self, cx: &mut Context, misfit: &Misfit) -> bool {
        self.unfit += 1;
        cx.notice(
            Level::Warning,
            format!("The answer was not taken. {misfit}"),
        );
        self.unfit <= limits::UNFIT_ANSWERS
    }

    fn showing(&self, cx: &Context, given: bool) -> Option<Showing> {
        if given {
            let cli = Client {
                name: "cli".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                secret: false,
            };
            return Some(Showing::new(&cli, cx.now, cx.now));
        }
        cx.showing(self.shown_at)
    }
}

impl Call {
    /// Puts the prompt that the call waits on to the client, or says that it is parked; an answer that was given
    /// beforehand settles it at once.
    pub(crate) fn show(&mut self, cx: &mut Context, id: &PromptId) {
        let Some(prompt) = self.prompt(cx, id) else {
            return;
        };
        cx.tell(Update::QuestionOpened {
            prompt: id.clone(),
            call: prompt.call_id.clone(),
            kind: prompt.kind,
            label: prompt.label.clone(),
            text: prompt.text.clone(),
        });
        if let Some(answer) = cx.given.remove(id) {
            self.answer_with(cx, id, answer, true);
        } else if !self.is_prompt_parked(id) {
            cx.open_prompt(prompt);
        }
    }

    /// Goes on waiting for a person after a resume: the configuration is looked at again first.
    pub(crate) fn reopen(&mut self, cx: &mut Context, id: &PromptId) {
        let Some(waiting) = self.waiting(id).cloned() else {
            return self.show(cx, id);
        };
        let configured = cx.rules.question(&self.tool, &waiting.question.id).answer;
        match configured.map(|answer| route::from_configuration(&waiting.question, &answer)) {
            Some(Some(answer)) => self.answered(cx, &waiting, Given::by(answer, By::Config)),
            Some(None) => self.fail(cx, &waiting, Reason::InvalidStaticAnswer, None),
            None => self.show(cx, id),
        }
    }

    /// A client came: what was parked is put to it.
    pub(crate) fn unpark(&mut self, cx: &mut Context) {
        let Some(id) = self.parked_prompt() else {
            return;
        };
        let waiting = self.waiting(&id);
        if waiting.is_some_and(|waiting| !crate::ask::can_show(cx, &waiting.question)) {
            return;
        }
        if let Some(prompted) = self.prompted_mut(&id) {
            prompted.parked = false;
            prompted.shown_at = cx.now;
        }
        if let Some(prompt) = self.prompt(cx, &id) {
            cx.open_prompt(prompt);
        }
    }

    /// A prompt of this call was answered: by a client, or beforehand (`given`).
    pub(crate) fn answer_with(
        &mut self,
        cx: &mut Context,
        id: &PromptId,
        answer: PromptAnswer,
        given: bool,
    ) {
        let Some(prompted) = self.prompted_mut(id).map(|prompted| prompted.clone()) else {
            return;
        };
        let shown = prompted.showing(cx, given);
        if !given && !prompted.parked {
            cx.settle_prompt();
        }
        match &self.state {
            State::Permission { .. } => self.permission_answered(cx, answer, shown),
            State::Delivery { .. } => self.delivery_answered(cx, answer, shown),
            _ => self.question_answered(cx, id, answer, shown),
        }
    }

    pub(crate) fn declined(
        &mut self,
        cx: &mut Context,
        id: &PromptId,
        note: Option<String>,
        shown: Option<Showing>,
    ) {
        let closed = Closed::Declined {
            note: note.clone(),
            shown,
        };
        cx.record(Event::PromptClosed {
            prompt: id.clone(),
            closed,
        });
        let settled = Settled::Cancelled(Reason::User);
        cx.tell(Update::QuestionClosed {
            prompt: id.clone(),
            settled,
        });
        if matches!(self.state, State::Permission { .. }) {
            return self.not_allowed(cx, note);
        }
        let text = cx.text().withheld(&self.tool, note.as_deref());
        self.finish_aside(cx, ResultReason::Withheld, text);
    }

    pub(crate) fn not_shown(&mut self, cx: &mut Context, id: &PromptId, why: String) {
        let text = cx.text().not_shown(&self.tool, &why);
        cx.record(Event::PromptClosed {
            prompt: id.clone(),
            closed: Closed::Failed { why },
        });
        let settled = Settled::Cancelled(Reason::BackendError);
        cx.tell(Update::QuestionClosed {
            prompt: id.clone(),
            settled,
        });
        self.finish_aside(cx, ResultReason::PromptFailed, text);
    }

    /// The prompt of this id, if the call waits on it.
    pub(crate) fn prompted_mut(&mut self, id: &PromptId) -> Option<&mut Prompted> {
        match &mut self.state {
            State::Permission { prompted, .. } | State::Delivery { prompted, .. } => Some(prompted),
            State::Asking(waiting) => waiting.prompted_mut(),
            State::Running(running) => {
                return running
                    .live
                    .iter_mut()
                    .filter_map(crate::ask::Waiting::prompted_mut)
                    .find(|prompted| prompted.id == *id);
            }
            _ => None,
        }
        .filter(|prompted| prompted.id == *id)
    }

    /// A person is looking at this prompt, and the call waits for what comes of it.
    pub(crate) fn has_open_prompt(&mut self, id: &PromptId) -> bool {
        self.prompted_mut(id)
            .is_some_and(|prompted| !prompted.parked)
    }

    fn is_prompt_parked(&mut self, id: &PromptId) -> bool {
        self.prompted_mut(id)
            .is_some_and(|prompted| prompted.parked)
    }

    fn parked_prompt(&self) -> Option<PromptId> {
        self.is_parked()
            .then(|| self.prompt_ids().into_iter().next())
            .flatten()
    }

    /// The prompts that the call waits on.
    pub(crate) fn prompt_ids(&self) -> Vec<PromptId> {
        match &self.state {
            State::Permission { prompted, .. } | State::Delivery { prompted, .. } => {
                vec![prompted.id.clone()]
            }
            State::Asking(waiting) => waiting.prompt_id().into_iter().collect(),
            State::Running(running) => running
                .live
                .iter()
                .filter_map(crate::ask::Waiting::prompt_id)
                .collect(),
            _ => Vec::new(),
        }
    }

    /// A prompt of the call's, as a client shows it.
    pub(crate) fn prompt(&self, cx: &Context, id: &PromptId) -> Option<Prompt> {
        let rules = cx.tool(&self.tool);
        match &self.state {
            State::Permission { prepared, .. } => {
                Some(self.permission_prompt(&rules, id, prepared))
            }
            State::Delivery { held, .. } => Some(self.delivery_prompt(&rules, id, held)),
            State::Asking(waiting) => self.question_prompt(cx, &rules, id, waiting),
            State::Running(running) => running
                .live
                .iter()
                .find_map(|waiting| self.question_prompt(cx, &rules, id, waiting)),
            _ => None,
        }
    }

    fn question_prompt(
        &self,
        cx: &Context,
        rules: &ToolRules,
        id: &PromptId,
        waiting: &crate::ask::Waiting,
    ) -> Option<Prompt> {
        let How::Prompt(prompted) = &waiting.how else {
            return None;
        };
        if prompted.id != *id {
            return None;
        }
        let question = &waiting.question;
        let mut prompt = self.bare_prompt(rules, id, PromptKind::Question, &question.text);
        if let Some(label) = cx.rules.question(&self.tool, &question.id).prompt_label {
            prompt.label = label;
        }
        prompt.context = question.context.clone();
        prompt.answer_type = question.answer_type.clone();
        prompt.optional = question.optional;
        prompt.default = question.default.clone();
        prompt.remember = question.may_be_remembered();
        prompt.exclusive = question.is_exclusive();
        Some(prompt)
    }

    pub(crate) fn bare_prompt(
        &self,
        rules: &ToolRules,
        id: &PromptId,
        kind: PromptKind,
        text: &str,
    ) -> Prompt {
        let label = match (&rules.server, kind) {
            (Some(server), _) => format!("{server} (MCP)"),
            (None, PromptKind::Question) if rules.asks_for_assistant => "Assistant".to_owned(),
            _ => self.tool.clone(),
        };
        Prompt {
            id: id.clone(),
            call: self.key,
            call_id: self.id.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            server: rules.server.clone(),
            kind,
            label,
            text: text.to_owned(),
            context: None,
            answer_type: AnswerType::Boolean,
            optional: false,
            default: None,
            remember: false,
            exclusive: true,
            source: rules.source(&self.tool),
            preview: None,
            position: (0, 0),
        }
    }

    /// Whether an answer to a prompt of this call would be taken; `None` where it is none of this call's.
    pub(crate) fn fits(
        &mut self,
        id: &PromptId,
        answer: &PromptAnswer,
    ) -> Option<Result<(), Misfit>> {
        self.prompted_mut(id)?;
        let PromptAnswer::Answer { value, .. } = answer else {
            return Some(Ok(()));
        };
        Some(match &self.state {
            State::Permission { prepared, .. } => permission_answer(prepared, answer)
                .map(|_| ())
                .ok_or_else(|| no_permission(prepared)),
            State::Delivery { .. } if value.0.is_boolean() => Ok(()),
            State::Delivery { .. } => Err(Misfit(AnswerType::Boolean.expectation())),
            _ => self.waiting(id)?.question.accept(&value.0).map(|_| ()),
        })
    }
}

/// A person's answer to one of the prompts that are always for people.
pub(crate) fn settled_by_user(id: &PromptId, answer: Value) -> Update {
    let settled = Settled::Answered {
        by: By::User,
        answer: Some(answer),
    };
    Update::QuestionClosed {
        prompt: id.clone(),
        settled,
    }
}

/// A live question's answer, or none.
pub(crate) fn answer_live(
    call: crate::event::CallKey,
    number: u32,
    answer: Option<crate::question::Answer>,
) -> Effect {
    Effect::AnswerLive(call, number, answer)
}
