//! One inquiry: its request, the requests that repair it, and the rungs that it climbs.

use crate::{
    context::{Context, InquiryQuestion},
    effect::{CallResult, Effect, Message, Request, RequestKind, Sending, SideRequest},
    history::CallHistory,
    input::{RequestId, Time},
    inquiry::{
        lane::{InquiryOutcome, Lane, OpenCall, takes_forced},
        reply,
    },
    model::{
        response::{Finish, Item, Kind, Response, Usage},
        retry::Retries,
    },
    model_text::{ModelText, Sentence},
    question::Answer,
    record::Effort,
    rules::{Strategy, ToolChoice, limits},
};

/// An inquiry: a request, and the requests that repair it.
#[derive(Debug)]
pub(crate) struct Inquiry {
    pub(crate) lane: Lane,
    /// Whether this is the second rung, which has one try.
    pub(crate) last: bool,
    pub(crate) questions: Vec<InquiryQuestion>,
    /// Number of tries on this rung.
    pub(crate) tries: u8,
    /// Number of requests on all rungs.
    pub(crate) requests: u32,
    pub(crate) began: Time,
    pub(crate) messages: Vec<Message>,
    pub(crate) request: RequestId,
    pub(crate) first_byte: bool,
    /// Whether this attempt waits for another one to warm the prompt cache.
    pub(crate) held: bool,
    pub(crate) response: Response,
    pub(crate) retries: Retries,
    pub(crate) backoff: Option<Time>,
    /// Tokens since the last answer.
    pub(crate) spent: Usage,
    /// US dollars that its first request cost, which read the conversation as a step does.
    pub(crate) step: Option<f64>,
    /// US dollars for all of its requests.
    pub(crate) paid: f64,
}

impl Inquiry {
    pub(crate) fn new(now: Time, lane: Lane, questions: Vec<InquiryQuestion>) -> Self {
        Self {
            lane,
            last: false,
            questions,
            tries: 0,
            requests: 0,
            began: now,
            messages: Vec::new(),
            request: RequestId(0),
            first_byte: false,
            held: false,
            response: Response::default(),
            retries: Retries::default(),
            backoff: None,
            spent: Usage::default(),
            step: None,
            paid: 0.0,
        }
    }

    /// Whether a request was sent and has not ended.
    pub(crate) fn is_out(&self) -> bool {
        !self.held && self.backoff.is_none()
    }

    /// Starts over on its rung from a fresh fork of the conversation.
    pub(crate) fn climb(&mut self, cx: &mut Context, calls: &[OpenCall<'_>], own: &Sending) {
        let text = reply::text(cx.text(), &self.wanted(), self.lane.strategy);
        self.tries = 0;
        self.messages = vec![Message::User {
            results: self.call_results(cx, calls),
            text,
        }];
        self.ask(cx, own);
    }

    /// A result for every open call of the last assistant message, in call order.
    pub(crate) fn call_results(&self, cx: &Context, calls: &[OpenCall<'_>]) -> Vec<CallResult> {
        let text = cx.text();
        let result = |call: &OpenCall<'_>| {
            let asking = self.questions.iter().find(|wanted| wanted.call == call.key);
            let known = cx.history.call(call.key).and_then(CallHistory::result);
            let (content, is_error) = match (known, asking) {
                (Some((content, is_error)), _) => (content.to_owned(), is_error),
                (_, Some(wanted)) => {
                    let values = [("question", wanted.question.text.as_str())];
                    (text.render(Sentence::InquiryPaused, &values), false)
                }
                _ => (text.render(Sentence::InquiryStillRunning, &[]), false),
            };
            CallResult {
                id: call.id.to_owned(),
                name: call.tool.to_owned(),
                content,
                is_error,
            }
        };
        calls.iter().map(result).collect()
    }

    /// Sends the messages so far, as one more try on this rung.
    pub(crate) fn ask(&mut self, cx: &mut Context, own: &Sending) {
        self.tries += 1;
        self.retries = Retries::default();
        self.send(cx, own);
    }

    pub(crate) fn send(&mut self, cx: &mut Context, own: &Sending) {
        self.request = cx.next_request();
        self.requests += 1;
        self.first_byte = false;
        self.response = Response::default();
        // Another inquiry may have learned in the meantime that the model refuses a feature.
        let strategy = match self.lane.strategy {
            Strategy::ForcedTool if !takes_forced(cx) => Strategy::InBand,
            strategy => strategy,
        };
        let schema =
            (strategy == Strategy::Structured).then(|| reply::schema(&self.questions[0].question));
        let ask = SideRequest {
            strategy,
            assistant: self.lane.assistant.clone(),
            messages: self.messages.clone(),
            schema,
            calls: self.questions.iter().map(|wanted| wanted.call).collect(),
        };
        let model = &cx.rules.model;
        let reasoning = own.reasoning && model.reasoning;
        let (tool_choice, reasoning) = match strategy {
            Strategy::ForcedTool => (
                ToolChoice::Name(reply::ANSWER_INQUIRY.into()),
                reasoning && model.forces_while_reasoning,
            ),
            Strategy::InBand if model.forces_tools => (own.tool_choice.clone(), reasoning),
            // An answer by schema is not a call, and an assistant of its own reasons as configured.
            _ => (ToolChoice::Auto, reasoning || self.lane.assistant.is_some()),
        };
        let kind = RequestKind::Inquiry(ask);
        let without = cx.rules.refused_by(&self.model(cx));
        let left_out = cx.rules.left_out_of(&self.model(cx));
        cx.perform(Effect::Send(Request {
            id: self.request,
            kind,
            tool_choice,
            reasoning,
            without,
            left_out,
        }));
    }

    /// The model that is asked.
    pub(crate) fn model(&self, cx: &Context) -> String {
        let own = self.lane.assistant.as_ref().map(|own| own.model.clone());
        own.unwrap_or_else(|| cx.rules.model.id.clone())
    }

    /// Counts the usage of its request, whether the response was complete or not.
    pub(crate) fn pay(&mut self, cx: &mut Context) {
        let usage = self.response.usage;
        cx.usage.count(&usage);
        self.spent.count(&usage);
        self.paid += usage.cost.unwrap_or_default();
    }

    /// Reads the reply: the questions that it settles, and the faults of the rest.
    pub(crate) fn finish(
        &mut self,
        cx: &mut Context,
        finish: &Finish,
    ) -> (Vec<InquiryOutcome>, String) {
        self.pay(cx);
        self.step = self.step.or(self.response.usage.cost);
        let mut reading = reply::read(
            cx.text(),
            &self.wanted(),
            self.lane.strategy,
            &self.response,
        );
        if matches!(
            finish,
            Finish::Refusal | Finish::ContentFilter | Finish::ContextFull
        ) {
            // A reply that was refused or cut off cannot be answered.
            reading.answers.clear();
            reading.results.clear();
            self.response.items.clear();
            let values = [("what", finish_name(finish))];
            reading.wrong = cx.text().render(Sentence::InquiryEndedWith, &values);
        }
        if self.lane.assistant.is_some() {
            // The request offers no tools, so its history may not contain a call.
            reading.results.clear();
            let is_call = |item: &Item| matches!(item.kind, Kind::ToolCall { .. });
            self.response.items.retain(|item| !is_call(item));
        }
        let mut settled = Vec::new();
        for (pair, answer) in reading.answers {
            let Some(at) = self.questions.iter().position(|wanted| wanted.pair == pair) else {
                continue;
            };
            let wanted = self.questions.remove(at);
            settled.push(self.settle(cx, &wanted, Ok(answer)));
        }
        if reading.wrong.is_empty() {
            reading.wrong = cx.text().render(Sentence::InquiryOneMissing, &[]);
        }
        self.messages.extend(self.reply());
        if !self.questions.is_empty() {
            let again = reply::text(cx.text(), &self.wanted(), self.lane.strategy);
            let values = [("wrong", reading.wrong.as_str())];
            let wrong = cx.text().render(Sentence::InquiryNotAccepted, &values);
            let text = format!("{wrong}\n\n{again}");
            self.messages.push(Message::User {
                results: reading.results,
                text,
            });
        }
        (settled, reading.wrong)
    }

    /// The reply, verbatim, without truncated items.
    pub(crate) fn reply(&self) -> Option<Message> {
        let items: Vec<_> = self
            .response
            .items
            .iter()
            .filter(|item| item.complete)
            .cloned()
            .collect();
        (!items.is_empty()).then_some(Message::Assistant(items))
    }

    /// Whether another try on this rung is worth its price, which is that of the last one.
    pub(crate) fn may_repair(&self) -> bool {
        let again = self.response.usage.cost.unwrap_or_default();
        !self.last && self.tries <= limits::INQUIRY_REPAIRS && self.stays_within_steps(again)
    }

    /// Whether a request of this price keeps the inquiry within its number of steps. Without a known price it does.
    fn stays_within_steps(&self, next: f64) -> bool {
        self.step
            .is_none_or(|step| self.paid + next <= limits::INQUIRY_STEPS * step)
    }

    pub(crate) fn repair(&mut self, cx: &mut Context, own: &Sending) {
        // APIs refuse two user messages in a row, so an empty reply is asked for again with the same messages.
        if self.reply().is_none() {
            self.messages.pop();
        }
        self.ask(cx, own);
    }

    /// Whether a rung stays within the cost limit and the number of steps, estimated by the last request: its messages are
    /// not cached for the rung, so they are paid for in full. A rung of unknown price is allowed.
    pub(crate) fn can_afford(&self, cx: &Context, rung: Strategy) -> bool {
        let model = Lane::new(cx, rung, &self.questions[0])
            .assistant
            .map_or_else(|| cx.rules.model.id.clone(), |assistant| assistant.model);
        let Some(price) = cx.rules.prices.get(&model) else {
            return true;
        };
        let Usage {
            input,
            cache_read,
            cache_write,
            ..
        } = self.response.usage;
        let tokens = (input + cache_read + cache_write) as f64;
        let questions = match rung {
            // `structured` asks each question alone.
            Strategy::Structured => self.questions.len() as f64,
            Strategy::InBand | Strategy::ForcedTool => 1.0,
        };
        let cost = questions * tokens * *price as f64 / 1e12;
        let most = cx.rules.inquiry.max_cost;
        most.is_none_or(|most| cost <= most) && self.stays_within_steps(cost)
    }

    /// The same questions on the next rung. `structured` asks each alone.
    pub(crate) fn escalate(self, cx: &Context, strategy: Strategy) -> Vec<Self> {
        let Self {
            questions,
            requests,
            began,
            spent,
            step,
            paid,
            ..
        } = self;
        let groups: Vec<Vec<InquiryQuestion>> = if strategy == Strategy::Structured {
            questions.into_iter().map(|wanted| vec![wanted]).collect()
        } else {
            vec![questions]
        };
        let rung = |(at, group): (usize, Vec<InquiryQuestion>)| {
            let mut inquiry = Self::new(began, Lane::new(cx, strategy, &group[0]), group);
            inquiry.last = true;
            inquiry.held = true;
            inquiry.requests = requests;
            inquiry.spent = if at == 0 { spent } else { Usage::default() };
            inquiry.step = step;
            inquiry.paid = paid;
            inquiry
        };
        groups.into_iter().enumerate().map(rung).collect()
    }

    pub(crate) fn give_up(&mut self, cx: &Context, why: &str) -> Vec<InquiryOutcome> {
        let questions = std::mem::take(&mut self.questions);
        questions
            .iter()
            .map(|wanted| self.settle(cx, wanted, Err(why.to_owned())))
            .collect()
    }

    pub(crate) fn settle(
        &mut self,
        cx: &Context,
        wanted: &InquiryQuestion,
        answer: Result<Answer, String>,
    ) -> InquiryOutcome {
        let effort = Effort {
            model: self.model(cx),
            strategy: self.lane.strategy.into(),
            tries: self.requests,
            usage: std::mem::take(&mut self.spent),
            milliseconds: u64::try_from(cx.now.saturating_sub(self.began).as_millis())
                .unwrap_or(u64::MAX),
        };
        InquiryOutcome {
            call: wanted.call,
            pair: wanted.pair.clone(),
            answer,
            effort,
        }
    }

    pub(crate) fn wanted(&self) -> Vec<&InquiryQuestion> {
        self.questions.iter().collect()
    }
}

pub(crate) fn no_answer(text: &ModelText, requests: u32, wrong: &str) -> String {
    let values = [("requests", &*requests.to_string()), ("wrong", wrong)];
    text.render(Sentence::InquiryGivenUp, &values)
}

fn finish_name(finish: &Finish) -> &'static str {
    match finish {
        Finish::Refusal => "a refusal",
        Finish::ContentFilter => "a content filter",
        _ => "a full context window",
    }
}
