//! The inquiries of a turn: questions are grouped into requests, requests are ordered, and each inquiry climbs a
//! ladder of strategies until it is answered or has failed.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    context::{Context, InquiryQuestion},
    effect::{Effect, InquiryStatus, Sending, Update},
    input::{RequestId, Time},
    inquiry::attempt::{Inquiry, no_answer},
    model::response::{Failure, FailureClass, Feature, Finish, Piece},
    model_text::Sentence,
    record::{CallKey, DirectiveKind, Event, Level, Refused},
    rules::{LeftOut, Rules, limits},
};

mod attempt;
mod lane;
pub mod reply;

pub use crate::{
    effect::{CallResult, Message, SideRequest},
    rules::Strategy,
};
pub(crate) use lane::{InquiryOutcome, OpenCall};
use lane::{Lane, takes_forced};
pub use reply::ANSWER_INQUIRY;

/// All inquiries of a turn.
#[derive(Debug, Default)]
pub(crate) struct Inquiries {
    waiting: Vec<(Lane, Time, InquiryQuestion)>,
    running: Vec<Inquiry>,
    /// Lanes whose prefix is in the prompt cache because of a request of this step.
    warm: BTreeSet<Lane>,
}

impl Inquiries {
    /// Queues a question.
    pub(crate) fn want(&mut self, cx: &Context, wanted: InquiryQuestion) {
        let lane = Lane::of(cx, &wanted);
        self.waiting.push((lane, cx.now, wanted));
    }

    /// Forgets which prefixes are warm: a new step changed them.
    pub(crate) fn new_step(&mut self) {
        self.warm.clear();
    }

    /// Sends the inquiries that are due.
    pub(crate) fn send_due(&mut self, cx: &mut Context, calls: &[OpenCall<'_>], own: &Sending) {
        for inquiry in &mut self.running {
            if inquiry.backoff.is_some_and(|at| at <= cx.now) {
                inquiry.backoff = None;
                inquiry.send(cx, own);
            }
        }
        self.release(cx, calls, own);
        let wait = wait_for(calls, &cx.rules);
        while let Some(batch) = self.next_batch(cx.now, wait) {
            self.start(cx, calls, own, batch);
        }
    }

    /// Sends inquiries that waited for a warm prefix, if it is warm now or no request is warming it.
    fn release(&mut self, cx: &mut Context, calls: &[OpenCall<'_>], own: &Sending) {
        for at in 0..self.running.len() {
            if self.running[at].held && !self.is_warming(&self.running[at].lane) {
                self.running[at].held = false;
                self.running[at].climb(cx, calls, own);
            }
        }
    }

    /// The questions to send together now, if any.
    fn next_batch(&mut self, now: Time, wait: Duration) -> Option<Vec<InquiryQuestion>> {
        let at = self.waiting.iter().position(|(lane, since, _)| {
            let due = lane.is_alone() || now >= *since + wait;
            due && !self.is_busy(lane)
        })?;
        let lane = self.waiting[at].0.clone();
        if lane.is_alone() {
            return Some(vec![self.waiting.remove(at).2]);
        }
        let (batch, rest) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(other, ..)| *other == lane);
        self.waiting = rest;
        let mut batch: Vec<InquiryQuestion> =
            batch.into_iter().map(|(.., wanted)| wanted).collect();
        // Sorted by call, not by arrival, so that the same questions make the same request.
        batch.sort_by_key(|wanted| wanted.call);
        Some(batch)
    }

    /// Whether a request over this lane's prefix is out and its first byte has not arrived, so that the cache cannot be
    /// read yet.
    fn is_warming(&self, lane: &Lane) -> bool {
        !self.warm.contains(lane)
            && self
                .running
                .iter()
                .any(|inquiry| inquiry.lane == *lane && !inquiry.first_byte && inquiry.is_out())
    }

    /// Whether a request over this lane is out that a question has to wait for: questions that come meanwhile join the
    /// next one. Those that are asked alone wait only until the cache can be read.
    fn is_busy(&self, lane: &Lane) -> bool {
        if lane.is_alone() {
            return self.is_warming(lane);
        }
        let mut running = self.running.iter();
        running.any(|inquiry| inquiry.lane == *lane && !inquiry.held)
    }

    fn start(
        &mut self,
        cx: &mut Context,
        calls: &[OpenCall<'_>],
        own: &Sending,
        questions: Vec<InquiryQuestion>,
    ) {
        let lane = Lane::of(cx, &questions[0]);
        cx.tell(status(
            calls,
            questions.iter().map(|wanted| wanted.call),
            InquiryStatus::Asked,
        ));
        let mut inquiry = Inquiry::new(cx.now, lane, questions);
        inquiry.climb(cx, calls, own);
        self.running.push(inquiry);
    }

    pub(crate) fn first_byte(&mut self, request: RequestId) {
        if let Some(inquiry) = self
            .running
            .iter_mut()
            .find(|inquiry| inquiry.request == request)
        {
            inquiry.first_byte = true;
            self.warm.insert(inquiry.lane.clone());
        }
    }

    /// Takes a piece of a response. Returns the outcomes that it settles.
    pub(crate) fn piece(
        &mut self,
        cx: &mut Context,
        calls: &[OpenCall<'_>],
        own: &Sending,
        request: RequestId,
        piece: Piece,
    ) -> Vec<InquiryOutcome> {
        let Some(at) = self.position(request) else {
            return Vec::new();
        };
        let Piece::Finish(finish) = piece else {
            self.running[at].response.add(piece);
            return Vec::new();
        };
        self.first_byte(request);
        let mut inquiry = self.running.remove(at);
        let (mut settled, wrong) = inquiry.finish(cx, &finish);
        if inquiry.questions.is_empty() {
            return settled;
        }
        if finish == Finish::ContextFull {
            let why = cx.text().render(Sentence::InquiryContextFull, &[]);
            settled.extend(inquiry.give_up(cx, &why));
        } else if matches!(finish, Finish::Refusal | Finish::ContentFilter) {
            // A model that refuses once would refuse a rephrased request too.
            settled.extend(inquiry.give_up(cx, &wrong));
        } else if inquiry.may_repair() {
            inquiry.repair(cx, own);
            self.running.push(inquiry);
        } else {
            settled.extend(self.next_rung(cx, calls, own, inquiry, &wrong));
        }
        settled
    }

    /// Handles a failed request. Returns the outcomes that this settles.
    pub(crate) fn failed(
        &mut self,
        cx: &mut Context,
        calls: &[OpenCall<'_>],
        own: &Sending,
        request: RequestId,
        failure: &Failure,
    ) -> Vec<InquiryOutcome> {
        let Some(at) = self.position(request) else {
            return Vec::new();
        };
        let mut inquiry = self.running.remove(at);
        inquiry.response.usage.partial |=
            inquiry.first_byte || failure.class == FailureClass::Broken;
        inquiry.pay(cx);
        if let FailureClass::Refused(feature) = failure.class
            && learn(cx, &inquiry.model(cx), feature)
        {
            if inquiry.lane.strategy == Strategy::ForcedTool && !takes_forced(cx) {
                return self.without_force(cx, calls, own, inquiry);
            }
            inquiry.send(cx, own);
            self.running.push(inquiry);
            return Vec::new();
        }
        if let FailureClass::RefusedParts(parts) = &failure.class
            && leave_out(cx, &inquiry.model(cx), parts, &failure.sentence())
        {
            inquiry.send(cx, own);
            self.running.push(inquiry);
            return Vec::new();
        }
        if let Some((_, wait)) = inquiry
            .retries
            .next(failure, &cx.rules.limits.clone(), cx.now)
        {
            inquiry.backoff = Some(cx.now + wait);
            self.running.push(inquiry);
            return Vec::new();
        }
        inquiry.give_up(cx, &failure.sentence())
    }

    /// Goes on after the model refused a forced tool: the named strategy becomes `in_band`, and the next rung is
    /// `structured`.
    fn without_force(
        &mut self,
        cx: &mut Context,
        calls: &[OpenCall<'_>],
        own: &Sending,
        mut inquiry: Inquiry,
    ) -> Vec<InquiryOutcome> {
        if inquiry.last {
            let why = cx.text().render(Sentence::InquiryNotForced, &[]);
            return self.next_rung(cx, calls, own, inquiry, &why);
        }
        inquiry.lane.strategy = Strategy::InBand;
        inquiry.climb(cx, calls, own);
        self.running.push(inquiry);
        Vec::new()
    }

    fn next_rung(
        &mut self,
        cx: &mut Context,
        calls: &[OpenCall<'_>],
        own: &Sending,
        mut inquiry: Inquiry,
        wrong: &str,
    ) -> Vec<InquiryOutcome> {
        let rungs: &[Strategy] = match inquiry.lane.strategy {
            // Refused just now, on the second rung: `structured` is the only strategy left.
            Strategy::ForcedTool if inquiry.last && !takes_forced(cx) => &[Strategy::Structured],
            _ if inquiry.last => &[],
            Strategy::InBand if takes_forced(cx) => &[Strategy::ForcedTool, Strategy::Structured],
            Strategy::InBand | Strategy::ForcedTool => &[Strategy::Structured],
            Strategy::Structured => &[],
        };
        let mut affordable = rungs.iter().filter(|rung| inquiry.can_afford(cx, **rung));
        let Some(strategy) = affordable.next().copied() else {
            let why = no_answer(cx.text(), inquiry.requests, wrong);
            return inquiry.give_up(cx, &why);
        };
        self.running.extend(inquiry.escalate(cx, strategy));
        self.release(cx, calls, own);
        Vec::new()
    }

    /// Drops the questions of a call that ended, or of its run.
    pub(crate) fn drop_call(&mut self, cx: &mut Context, call: CallKey) {
        self.keep_open(cx, call, |_| false);
    }

    /// Drops the questions of a call that are no longer open.
    pub(crate) fn keep_open(
        &mut self,
        cx: &mut Context,
        call: CallKey,
        is_open: impl Fn(&str) -> bool,
    ) {
        let stays = |wanted: &InquiryQuestion| wanted.call != call || is_open(&wanted.pair);
        self.waiting.retain(|(.., wanted)| stays(wanted));
        self.running.retain_mut(|inquiry| {
            inquiry.questions.retain(&stays);
            if inquiry.questions.is_empty() && inquiry.is_out() {
                cx.perform(Effect::Abort(inquiry.request));
                // Nobody says any more what it cost.
                cx.pay_broken(inquiry.response.usage, true);
            }
            !inquiry.questions.is_empty()
        });
    }

    /// The next time at which an inquiry is due.
    pub(crate) fn deadline(&self, calls: &[OpenCall<'_>], rules: &Rules) -> Option<Time> {
        let wait = wait_for(calls, rules);
        let batches = self
            .waiting
            .iter()
            .filter(|(lane, ..)| !wait.is_zero() && !lane.is_alone() && !self.is_busy(lane))
            .map(|(_, since, _)| *since + wait);
        self.running
            .iter()
            .filter_map(|inquiry| inquiry.backoff)
            .chain(batches)
            .min()
    }

    fn position(&self, request: RequestId) -> Option<usize> {
        self.running
            .iter()
            .position(|inquiry| inquiry.request == request && inquiry.is_out())
    }
}

/// Time that a question waits for calls that run, or are about to: longer for those whose question a model could answer.
fn wait_for(calls: &[OpenCall<'_>], rules: &Rules) -> Duration {
    let may_ask = |call: &OpenCall<'_>| {
        let tool = rules.tools.get(call.tool);
        tool.is_none_or(|tool| !tool.asks_no_model)
    };
    let executing = calls.iter().filter(|call| call.executes);
    let wait = |call| match may_ask(call) {
        true => limits::BATCH_WAIT,
        false => limits::SIBLING_WAIT,
    };
    executing.map(wait).max().unwrap_or_default()
}

/// Records that a model refuses a feature, which it is then never sent again in this conversation. Returns false if
/// this was known already, because the same request would be refused again.
pub(crate) fn learn(cx: &mut Context, model: &str, feature: Feature) -> bool {
    if !cx.rules.refuse(model, feature) {
        return false;
    }
    cx.record(Event::Learned {
        model: model.to_owned(),
        refuses: feature.into(),
    });
    true
}

/// Records parts of a request that a model refused by their names, and tells the user and the model. Returns false if
/// all of them were known already, or too many were refused in this turn: the fault is another one then.
pub(crate) fn leave_out(cx: &mut Context, model: &str, parts: &[LeftOut], why: &str) -> bool {
    let of_turn = cx.history.learned().iter();
    let left_out = of_turn.filter(|(_, refused)| matches!(refused, Refused::Part(_)));
    if left_out.count() >= limits::LEFT_OUT {
        return false;
    }
    let mut new = false;
    for part in parts {
        if !cx.rules.leave_out(model, part.clone()) {
            continue;
        }
        new = true;
        cx.record(Event::Learned {
            model: model.to_owned(),
            refuses: part.clone().into(),
        });
        if let LeftOut::Tool(tool) = part {
            let kind = DirectiveKind::LeftOut { tool: tool.clone() };
            let text = cx.text().directive(&kind, "");
            cx.record(Event::Directive { kind, text });
        }
    }
    if new {
        // A provider's own words may end their sentence.
        let why = why.trim_end_matches('.');
        cx.notice(Level::Warning, format!("{why}."));
    }
    new
}

fn status(
    calls: &[OpenCall<'_>],
    keys: impl Iterator<Item = CallKey>,
    status: InquiryStatus,
) -> Update {
    let id = |key: CallKey| {
        calls
            .iter()
            .find(|call| call.key == key)
            .map(|call| call.id.to_owned())
    };
    Update::Inquiry {
        call_ids: keys.filter_map(id).collect(),
        status,
    }
}
