//! The questions of a call: recorded first, then routed, then answered or not.

use crate::{
    call::{Call, State, keeps_asking},
    context::Context,
    effect::{Settled, Update},
    event::{
        About, By, CallKey, Effort, Event, InquiryResponse, PromptId, Reason, RefusalReason, Seen,
        Status,
    },
    input::PromptAnswer,
    memory::Declined,
    prompt::{Prompted, answer_live},
    question::{Answer, Question},
    route::{Facts, Route, route},
    rules::{Assistant, Target, ToolRules},
    told,
};

/// A question that waits for its answer.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// The id of its pair on record.
    pub(crate) pair: String,
    /// As recorded: with the configuration's `exclusive`.
    pub(crate) question: Question,
    /// The tool's number of it, where the tool asks while it runs.
    pub(crate) live: Option<u32>,
    pub(crate) how: How,
}

/// Who is being asked.
#[derive(Clone, Debug)]
pub(crate) enum How {
    Prompt(Prompted),
    Inquiry,
}

/// A question for the inquiries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) call: CallKey,
    pub(crate) tool: String,
    pub(crate) pair: String,
    pub(crate) question: Question,
    /// The assistant that is configured for this question.
    pub(crate) assistant: Option<Assistant>,
}

/// An answer, and how it came.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) answer: Answer,
    pub(crate) by: By,
    pub(crate) remember: bool,
    pub(crate) seen: Option<Seen>,
    pub(crate) effort: Option<Effort>,
}

/// Why there is no answer, and what the model is told.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) reason: Reason,
    pub(crate) text: String,
    pub(crate) why: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) seen: Option<Seen>,
    pub(crate) effort: Option<Effort>,
}

impl Given {
    pub(crate) fn by(answer: Answer, by: By) -> Self {
        Self {
            answer,
            by,
            remember: false,
            seen: None,
            effort: None,
        }
    }
}

impl Lost {
    fn new(tool: &str, question: &Question, reason: Reason, why: Option<&str>) -> Self {
        let text = told::unanswered(tool, &question.id, &reason, why, None);
        Self {
            reason,
            text,
            why: why.map(str::to_owned),
            note: None,
            seen: None,
            effort: None,
        }
    }
}

impl Waiting {
    pub(crate) fn is_parked(&self) -> bool {
        matches!(&self.how, How::Prompt(prompted) if prompted.parked)
    }

    pub(crate) fn prompted_mut(&mut self) -> Option<&mut Prompted> {
        match &mut self.how {
            How::Prompt(prompted) => Some(prompted),
            How::Inquiry => None,
        }
    }

    pub(crate) fn prompt_id(&self) -> Option<PromptId> {
        match &self.how {
            How::Prompt(prompted) => Some(prompted.id.clone()),
            How::Inquiry => None,
        }
    }

    /// The call is over: nobody need answer.
    pub(crate) fn withdraw(self, cx: &mut Context, call: CallKey) {
        let response = InquiryResponse::Cancelled {
            reason: Reason::Withdrawn,
            note: None,
            why: None,
            seen: None,
            effort: None,
        };
        cx.record(Event::InquiryResponse {
            id: self.pair,
            call,
            response,
        });
        if let How::Prompt(prompted) = self.how {
            prompted.close(cx, Reason::Withdrawn);
        }
    }
}

impl Call {
    /// The call asks: first of all the question goes on record.
    pub(crate) fn ask(&mut self, cx: &mut Context, question: Question, live: Option<u32>) {
        self.drop_permission(cx);
        let rules = cx.tool(&self.tool);
        let question = effective(question, &self.tool, &rules, cx);
        let pair = cx.memory.next_pair(&self.tool, &self.id, &question.id);
        self.asked += 1;
        cx.record(Event::InquiryRequest {
            id: pair.clone(),
            call: self.key,
            source: rules.source(&self.tool),
            question: question.clone(),
            live: live.is_some(),
        });
        let waiting = Waiting {
            pair,
            question,
            live,
            how: How::Inquiry,
        };
        let before = cx.memory.declined(&self.tool, &waiting.question).cloned();
        self.consider(cx, waiting, before);
    }

    /// Whether the question may be asked at all: it is not broken, not asked once too often, and had an answer
    /// `before` if it was asked in this turn.
    pub(crate) fn consider(
        &mut self,
        cx: &mut Context,
        waiting: Waiting,
        before: Option<Declined>,
    ) {
        if let Err(what) = waiting.question.check() {
            return self.fail(cx, &waiting, Reason::InvalidQuestion, Some(what));
        }
        if keeps_asking(self, &waiting.question) {
            return self.fail(cx, &waiting, Reason::LimitReached, None);
        }
        if let Some(before) = before {
            let lost = Lost {
                text: before.text,
                ..Lost::new(&self.tool, &waiting.question, before.reason, None)
            };
            return self.unanswered(cx, &waiting, lost);
        }
        self.route(cx, waiting);
    }

    /// The tool asks while it runs.
    pub(crate) fn ask_live(&mut self, cx: &mut Context, number: u32, question: Question) {
        match &self.state {
            State::Running(running) if !running.is_stopping() => {
                self.ask(cx, question, Some(number))
            }
            _ => cx.perform(answer_live(self.key, number, None)),
        }
    }

    /// A person answered for the rest of the turn: open prompts for the same question close with that answer.
    pub(crate) fn take_remembered(&mut self, cx: &mut Context, question: &str) {
        let Some(value) = cx.remembered(&self.tool, question) else {
            return;
        };
        let open: Vec<Waiting> = self
            .all_waiting()
            .filter(|waiting| {
                waiting.question.id == question && waiting.question.may_be_remembered()
            })
            .filter(|waiting| matches!(waiting.how, How::Prompt(_)))
            .cloned()
            .collect();
        for waiting in open {
            let Ok(answer) = waiting.question.accept(&value) else {
                continue;
            };
            self.answered(cx, &waiting, Given::by(answer, By::Remembered));
            if let How::Prompt(prompted) = &waiting.how
                && !prompted.parked
            {
                cx.close_prompt(&prompted.id, "answered for the rest of the turn");
            }
        }
    }

    /// Where the answer comes from.
    pub(crate) fn route(&mut self, cx: &mut Context, waiting: Waiting) {
        let question = &waiting.question;
        let configured = cx.rules.question(&self.tool, &question.id);
        let remembered = cx.remembered(&self.tool, &question.id);
        let facts = Facts {
            target: &configured.target,
            attached: can_show(cx, question),
            detached: cx.tool(&self.tool).detached.tool,
            configured: configured.answer.as_ref(),
            remembered: remembered.as_ref(),
            live: waiting.live.is_some(),
        };
        match route(question, &facts) {
            Route::Given(answer, by) => self.answered(cx, &waiting, Given::by(answer, by)),
            Route::Ask => self.ask_person(cx, waiting, false),
            Route::Park => self.ask_person(cx, waiting, true),
            Route::Inquire => self.inquire(cx, waiting, configured.target),
            Route::Fail(reason) => self.fail(cx, &waiting, reason, None),
        }
    }

    fn ask_person(&mut self, cx: &mut Context, mut waiting: Waiting, parked: bool) {
        let id = cx.next_prompt_id();
        let about = About::Question {
            inquiry: waiting.pair.clone(),
        };
        cx.record(Event::PromptOpened {
            prompt: id.clone(),
            call: self.key,
            about,
        });
        waiting.how = How::Prompt(Prompted::new(id.clone(), parked, cx.now));
        self.wait(cx, waiting);
        self.show(cx, &id);
    }

    fn inquire(&mut self, cx: &mut Context, mut waiting: Waiting, target: Target) {
        waiting.how = How::Inquiry;
        cx.wanted.push(Wanted {
            call: self.key,
            tool: self.tool.clone(),
            pair: waiting.pair.clone(),
            question: waiting.question.clone(),
            assistant: match target {
                Target::Assistant(assistant) => assistant,
                Target::User => None,
            },
        });
        self.wait(cx, waiting);
    }

    /// The call, or a question of its run, waits.
    pub(crate) fn wait(&mut self, cx: &Context, waiting: Waiting) {
        match &mut self.state {
            State::Running(running) if waiting.live.is_some() => {
                running.live.push(waiting);
                self.turn_clock(cx.now);
            }
            state => *state = State::Asking(waiting),
        }
    }

    /// The question of this prompt, if the call waits for its answer.
    pub(crate) fn waiting(&self, id: &PromptId) -> Option<&Waiting> {
        self.all_waiting()
            .find(|waiting| waiting.prompt_id().as_ref() == Some(id))
    }

    /// The question of this pair, if the call waits for its answer.
    pub(crate) fn waiting_pair(&self, pair: &str) -> Option<&Waiting> {
        self.all_waiting().find(|waiting| waiting.pair == pair)
    }

    /// All questions that the call waits on: its own, or those of its run.
    pub(crate) fn all_waiting(&self) -> impl Iterator<Item = &Waiting> {
        let (own, live) = match &self.state {
            State::Asking(waiting) => (Some(waiting), [].as_slice()),
            State::Running(running) => (None, running.live.as_slice()),
            _ => (None, [].as_slice()),
        };
        own.into_iter().chain(live)
    }

    /// A person answered a question, or would not.
    pub(crate) fn question_answered(
        &mut self,
        cx: &mut Context,
        id: &PromptId,
        answer: PromptAnswer,
        seen: Option<Seen>,
    ) {
        let Some(waiting) = self.waiting(id).cloned() else {
            return;
        };
        let (reason, why, note) = match answer {
            PromptAnswer::Answer {
                value, remember, ..
            } => match waiting.question.accept(&value.0) {
                Ok(answer) => {
                    let remember = remember && waiting.question.may_be_remembered();
                    let given = Given {
                        answer,
                        by: By::User,
                        remember,
                        seen,
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
        let text = told::unanswered(&self.tool, id, &reason, why.as_deref(), note.as_deref());
        self.unanswered(
            cx,
            &waiting,
            Lost {
                reason,
                text,
                why,
                note,
                seen,
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
                seen: given.seen,
                effort: given.effort,
            },
            None => InquiryResponse::Redacted { seen: given.seen },
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
        if let (true, Some(value)) = (given.remember, &value) {
            cx.memory.remember(&self.tool, &question.id, value);
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
        let lost = Lost::new(&self.tool, &waiting.question, reason, why);
        self.unanswered(cx, waiting, lost);
    }

    /// There is no answer, and will be none: the call ends with the reason.
    pub(crate) fn unanswered(&mut self, cx: &mut Context, waiting: &Waiting, lost: Lost) {
        let refusal = match lost.reason {
            Reason::NoPromptBackend => Some(RefusalReason::NoPromptBackend),
            Reason::DetachedPolicy => Some(RefusalReason::DetachedPolicy),
            _ => None,
        };
        if let Some(reason) = refusal {
            cx.refused(&self.tool, reason, &lost.text);
        }
        if lost.note.is_none() {
            cx.memory.decline(Declined {
                tool: self.tool.clone(),
                question: waiting.question.clone(),
                reason: lost.reason.clone(),
                text: lost.text.clone(),
            });
        }
        let settled = Settled::Cancelled(lost.reason.clone());
        let response = InquiryResponse::Cancelled {
            reason: lost.reason,
            note: lost.note,
            why: lost.why,
            seen: lost.seen,
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
            None => self.finish_text(cx, Status::Error, lost.text),
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

/// A client is there that can show this question.
pub(crate) fn can_show(cx: &Context, question: &Question) -> bool {
    cx.client
        .as_ref()
        .is_some_and(|client| client.secret || !question.is_secret())
}

/// The question as it is recorded and routed: lines put in their place, and `exclusive` as tool, source and
/// configuration say. A secret's is never softened.
fn effective(question: Question, tool: &str, rules: &ToolRules, cx: &Context) -> Question {
    let mut question = if rules.outside {
        question.from_outside()
    } else {
        question
    };
    question.exclusive |= rules.always_exclusive;
    if let Some(exclusive) = cx.rules.question(tool, &question.id).exclusive {
        question.exclusive = exclusive;
    }
    question
}
