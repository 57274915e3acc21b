//! The questions of a call: recorded first, then routed.

use crate::{
    answer::{Given, Lost},
    call::{Call, State, keeps_asking},
    context::Context,
    effect::DismissReason,
    event::{By, CallKey, Event, InquiryResponse, PromptId, PromptSubject, Reason},
    history::FailedQuestion,
    prompt::{Prompted, answer_live},
    question::Question,
    route::{Facts, Route, route},
    rules::{Assistant, Target, ToolRules},
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
            backend: None,
            note: None,
            why: None,
            shown: None,
            effort: None,
        };
        cx.record(Event::InquiryResponse {
            id: self.pair,
            call,
            response,
        });
        if let How::Prompt(prompted) = self.how {
            prompted.close(cx);
        }
    }
}

impl Call {
    /// The call asks: first of all the question goes on record.
    pub(crate) fn ask(&mut self, cx: &mut Context, question: Question, live: Option<u32>) {
        self.drop_permission(cx);
        let rules = cx.tool(&self.tool);
        let question = effective(question, &self.tool, &rules, cx);
        let pair = cx.memory().next_pair(&self.tool, &self.id, &question.id);
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
        let before = cx.memory().failed(&self.tool, &waiting.question).cloned();
        self.consider(cx, waiting, before);
    }

    /// Whether the question may be asked at all: it is not broken, not asked once too often, and had an answer
    /// `before` if it was asked in this turn.
    pub(crate) fn consider(
        &mut self,
        cx: &mut Context,
        waiting: Waiting,
        before: Option<FailedQuestion>,
    ) {
        if let Err(what) = waiting.question.check() {
            return self.fail(cx, &waiting, Reason::InvalidQuestion, Some(what));
        }
        if keeps_asking(self, &waiting.question) {
            return self.fail(cx, &waiting, Reason::LimitReached, None);
        }
        if let Some(before) = before {
            let lost = Lost::again(cx.text(), &self.tool, before);
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
                cx.close_prompt(&prompted.id, DismissReason::Remembered);
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
        let subject = PromptSubject::Question {
            inquiry: waiting.pair.clone(),
        };
        cx.record(Event::PromptOpened {
            prompt: id.clone(),
            call: self.key,
            subject,
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
            state => *state = State::Asking(Box::new(waiting)),
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
            State::Asking(waiting) => (Some(waiting.as_ref()), [].as_slice()),
            State::Running(running) => (None, running.live.as_slice()),
            _ => (None, [].as_slice()),
        };
        own.into_iter().chain(live)
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
