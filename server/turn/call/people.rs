//! Questions and prompts of a call: puts them to people and models, and takes the answers.

use crate::{
    call::{
        Call,
        answer::{FoundAnswer, NoAnswer},
        consider::{self, QuestionStep, ReplyStep},
        delivery::{self, DeliveryStep},
        permission::PermissionStep,
        prompt::CallEnding,
        question::{OpenQuestion, can_show},
        state::State,
    },
    context::Context,
    effect::{DismissReason, Effect, Prompt, updates},
    history::FailedQuestion,
    input::PromptAnswer,
    inquiry::InquiryOutcome,
    question::{Answer, Misfit, Question},
    record::{By, PromptId, ResultReason, Showing},
};

impl Call {
    /// Takes a question of the call.
    pub(super) fn ask(&mut self, cx: &mut Context, question: Question, live: Option<u32>) {
        self.drop_kept(cx);
        let open = OpenQuestion::ask(cx, &self.identity, question, live);
        self.questions.asked += 1;
        let tool = &self.identity.tool;
        let before = cx.memory().failed(tool, open.question()).cloned();
        self.consider(cx, open, before);
    }

    pub(super) fn consider(
        &mut self,
        cx: &mut Context,
        open: OpenQuestion,
        before: Option<FailedQuestion>,
    ) {
        let step = consider::consider(cx, &self.identity, &self.questions, open, before);
        self.question_step(cx, step);
    }

    fn question_step(&mut self, cx: &mut Context, step: QuestionStep) {
        match step {
            QuestionStep::Wait(open) => {
                let prompt = open.prompt_id();
                match &mut self.state {
                    State::Running(running) if open.live().is_some() => running.wait(open, cx.now),
                    state => *state = State::Asking(Box::new(open)),
                }
                if let Some(id) = prompt {
                    self.show(cx, &id);
                }
            }
            QuestionStep::Answered(open, found) => self.answered(cx, &open, found),
            QuestionStep::Unanswered(open, none) => self.unanswered(cx, &open, none),
        }
    }

    /// Takes a question that the tool asks while it runs.
    pub(crate) fn ask_live(&mut self, cx: &mut Context, number: u32, question: Question) {
        match &self.state {
            State::Running(running) if running.stopping().is_none() => {
                self.ask(cx, question, Some(number));
            }
            _ => {
                let over = Err(cx.text().cancelled());
                cx.perform(Effect::AnswerLive(self.identity.key, number, over));
            }
        }
    }

    /// Withdraws a question that the tool asks while it runs, and for whose answer it no longer waits.
    pub(crate) fn withdraw_live(&mut self, cx: &mut Context, number: u32) {
        let State::Running(running) = &mut self.state else {
            return;
        };
        if let Some(open) = running.take(number, cx.now) {
            open.withdraw(cx, &self.identity);
        }
    }

    /// Whether the question of this pair is open.
    pub(crate) fn asks(&self, pair: &str) -> bool {
        self.state.questions().any(|open| open.pair() == pair)
    }

    /// Answers open prompts for the same question with the answer that a person gave for the rest of the turn.
    pub(crate) fn take_remembered(&mut self, cx: &mut Context, question: &str) {
        let Some(value) = cx.remembered(&self.identity.tool, question) else {
            return;
        };
        let asks = |open: &&OpenQuestion| {
            let known = open.question();
            known.id == question && known.may_be_remembered() && open.waiting().is_some()
        };
        let open: Vec<OpenQuestion> = self.state.questions().filter(asks).cloned().collect();
        for open in open {
            let Ok(answer) = open.question().accept(&value) else {
                continue;
            };
            self.answered(cx, &open, FoundAnswer::by(answer, By::Remembered));
            if let Some(prompt) = open.waiting().filter(|prompt| !prompt.is_parked()) {
                cx.close_prompt(prompt.id(), DismissReason::Remembered);
            }
        }
    }

    /// Takes the outcome of an inquiry for one of its questions.
    pub(crate) fn inquired(&mut self, cx: &mut Context, outcome: InquiryOutcome) {
        let asks = |open: &&OpenQuestion| open.pair() == outcome.pair;
        let Some(open) = self.state.questions().find(asks).cloned() else {
            return;
        };
        match outcome.answer {
            Ok(answer) => {
                let found = FoundAnswer {
                    effort: Some(outcome.effort),
                    ..FoundAnswer::by(answer, By::Assistant)
                };
                self.answered(cx, &open, found);
            }
            Err(why) => {
                let none = NoAnswer::of_inquiry(cx.text(), why, outcome.effort);
                self.unanswered(cx, &open, none);
            }
        }
    }

    /// Records an answer and goes on with it.
    fn answered(&mut self, cx: &mut Context, open: &OpenQuestion, found: FoundAnswer) {
        let question = open.question();
        self.questions.answered(question);
        let answer = found.record(cx, &self.identity, open);
        match open.live() {
            Some(number) => self.end_live(cx, open, number, Ok(answer)),
            None => {
                self.answers.retain(|(id, _)| *id != question.id);
                self.answers.push((question.id.clone(), answer));
                self.prepare(cx);
            }
        }
    }

    /// Ends the call because a question has no answer.
    fn unanswered(&mut self, cx: &mut Context, open: &OpenQuestion, none: NoAnswer) {
        let why = none.in_words();
        let text = none.record(cx, &self.identity, open);
        match open.live() {
            Some(number) => self.end_live(cx, open, number, Err(text)),
            None => {
                let reason = ResultReason::Unanswered { why };
                self.finish_aside(cx, CallEnding { reason, text });
            }
        }
    }

    /// Hands the end of a live question to the running tool.
    fn end_live(
        &mut self,
        cx: &mut Context,
        open: &OpenQuestion,
        number: u32,
        answer: Result<Answer, String>,
    ) {
        if let State::Running(running) = &mut self.state {
            running.settle(open.pair(), cx.now);
        }
        cx.perform(Effect::AnswerLive(self.identity.key, number, answer));
    }
}

impl Call {
    /// Shows a prompt that is on record once more: the clients are told of it, too.
    pub(super) fn show_again(&mut self, cx: &mut Context, id: &PromptId) {
        if let Some(update) = updates::opened(id, &cx.history) {
            cx.tell(update);
        }
        self.show(cx, id);
    }

    /// Puts the prompt that the call waits for to the client, unless it is parked. An answer that was given beforehand
    /// settles it at once.
    pub(super) fn show(&mut self, cx: &mut Context, id: &PromptId) {
        let Some(prompt) = self.prompt(cx, id) else {
            return;
        };
        let waiting = self.state.waiting_mut(id);
        let parked = waiting.is_some_and(|waiting| waiting.is_parked());
        if let Some(answer) = cx.given.remove(id) {
            self.answer_with(cx, id, answer, true);
        } else if !parked {
            cx.open_prompt(prompt);
        }
    }

    /// Reopens a prompt after a resume, unless the configuration answers it by now.
    pub(super) fn reopen(&mut self, cx: &mut Context, id: &PromptId) {
        let Some(open) = self.state.question_mut(id).cloned() else {
            return self.show_again(cx, id);
        };
        match consider::configured(cx, &self.identity, open) {
            QuestionStep::Wait(_) => self.show_again(cx, id),
            step => self.question_step(cx, step),
        }
    }

    /// Shows parked prompts to a client that arrived.
    pub(crate) fn unpark(&mut self, cx: &mut Context) {
        if !self.is_parked() {
            return;
        }
        let Some(id) = self.state.prompt_ids().pop() else {
            return;
        };
        let question = self.state.question_mut(&id);
        if question.is_some_and(|open| !can_show(cx, open.question())) {
            return;
        }
        if let Some(waiting) = self.state.waiting_mut(&id) {
            waiting.unpark(cx.now);
        }
        if let Some(prompt) = self.prompt(cx, &id) {
            cx.open_prompt(prompt);
        }
    }

    /// Takes the answer to a prompt of this call, from a client or given beforehand (`given`).
    pub(crate) fn answer_with(
        &mut self,
        cx: &mut Context,
        id: &PromptId,
        answer: PromptAnswer,
        given: bool,
    ) {
        let Some(waiting) = self.state.waiting_mut(id) else {
            return;
        };
        let (shown, parked) = (waiting.showing(cx, given), waiting.is_parked());
        if !given && !parked {
            cx.settle_prompt();
        }
        match &mut self.state {
            State::Permission(prompt) => {
                let step = prompt.answer(cx, &self.identity, answer, shown);
                self.permission_step(cx, id, step);
            }
            State::Delivery(prompt) => {
                let step = prompt.answer(cx, &self.identity, answer, shown);
                self.delivery_step(cx, id, step);
            }
            _ => self.question_answered(cx, id, answer, shown),
        }
    }

    fn permission_step(&mut self, cx: &mut Context, id: &PromptId, step: PermissionStep) {
        match step {
            PermissionStep::ShowAgain => self.show_again(cx, id),
            PermissionStep::Run { prepared, new_text } => {
                let title = prepared.title;
                self.approved = Some(prepared.hash);
                self.new_text = new_text;
                self.state = State::Ready { title };
            }
            PermissionStep::End(ending) => self.finish_aside(cx, ending),
        }
    }

    fn delivery_step(&mut self, cx: &mut Context, id: &PromptId, step: DeliveryStep) {
        match step {
            DeliveryStep::ShowAgain => self.show_again(cx, id),
            DeliveryStep::Deliver(held) => self.finish(cx, held.end, held.output),
            DeliveryStep::End(ending) => self.finish_aside(cx, ending),
        }
    }

    fn question_answered(
        &mut self,
        cx: &mut Context,
        id: &PromptId,
        answer: PromptAnswer,
        shown: Option<Showing>,
    ) {
        let Some(open) = self.state.question_mut(id) else {
            return;
        };
        let step = consider::reply(cx, &self.identity, open, answer, shown);
        let open = open.clone();
        match step {
            ReplyStep::ShowAgain => self.show_again(cx, id),
            ReplyStep::Answered(found) => self.answered(cx, &open, found),
            ReplyStep::Unanswered(none) => self.unanswered(cx, &open, none),
        }
    }

    /// Whether this prompt of the call is on a client's screen.
    pub(crate) fn has_open_prompt(&mut self, id: &PromptId) -> bool {
        let waiting = self.state.waiting_mut(id);
        waiting.is_some_and(|waiting| !waiting.is_parked())
    }

    /// The prompts that the call waits for, as a client shows them.
    pub(crate) fn prompts(&self, cx: &Context) -> Vec<Prompt> {
        let ids = self.state.prompt_ids().into_iter();
        ids.filter_map(|id| self.prompt(cx, &id)).collect()
    }

    fn prompt(&self, cx: &Context, id: &PromptId) -> Option<Prompt> {
        let rules = cx.tool(&self.identity.tool);
        match &self.state {
            State::Permission(prompt) => Some(prompt.prompt(&self.identity, &rules)),
            State::Delivery(prompt) => Some(prompt.prompt(&self.identity, &rules)),
            state => {
                let mut open = state.questions();
                open.find(|open| open.prompt_id().as_ref() == Some(id))?
                    .prompt(cx, &self.identity)
            }
        }
    }

    /// Checks an answer to a prompt; `None` unless it is one of this call on a client's screen.
    pub(crate) fn fits(
        &mut self,
        id: &PromptId,
        answer: &PromptAnswer,
    ) -> Option<Result<(), Misfit>> {
        if !self.has_open_prompt(id) {
            return None;
        }
        let PromptAnswer::Answer { value, .. } = answer else {
            return Some(Ok(()));
        };
        Some(match &mut self.state {
            State::Permission(prompt) => prompt.fits(answer),
            State::Delivery(_) => delivery::fits(&value.0),
            state => {
                let question = state.question_mut(id)?.question();
                question.accept(&value.0).map(|_| ())
            }
        })
    }
}
