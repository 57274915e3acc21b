//! Compaction of a conversation between two steps, when no call, prompt or question is open, or because the user asks
//! for it. The request is the one before, which the provider's cache knows, and one more message. Its summary takes
//! effect with [`Event::Compacted`] alone: a crash before means that nothing was compacted.

use crate::{
    compaction::{
        Compacting, MadeSummary, Occasion, SummaryFault, calls_not_run, fills, is_due, is_long,
        is_native, is_over, is_passing, is_short, most_of_summary, native_summary, options,
        summary,
    },
    effect::{Effect, Message, Request, RequestKind, Sending, SummaryStatus, Update},
    history::fullness::{FAILURES, saves_enough},
    input::{RequestId, Time},
    inquiry,
    model::{
        response::{Failure, FailureClass, Finish, Piece, Response, Usage},
        retry::Retries,
    },
    model_text::Sentence,
    record::{ErrorCode, Event, Level, Outcome, TurnError},
    rules::{CompactionRule, Rules},
    turn::{Conclusion, Phase, Setup, Turn},
};

impl Turn {
    /// Begins a turn that summarises the conversation and ends. `words` say what the summary has to keep; they may be
    /// empty.
    #[must_use]
    pub fn summarise(setup: Setup, words: &str, now: Time) -> Self {
        let mut turn = Self::new(setup, now);
        turn.cx.record(Event::TurnStart);
        let sending = turn.own_sending();
        turn.compact(sending, Occasion::Asked, words);
        turn
    }

    /// Begins a turn that summarises the conversation while nobody writes, and ends. A failure of it is no failure of the
    /// turn: nobody asked for it.
    #[must_use]
    pub fn summarise_idle(setup: Setup, now: Time) -> Self {
        let mut turn = Self::new(setup, now);
        turn.cx.record(Event::TurnStart);
        let sending = turn.own_sending();
        turn.compact(sending, Occasion::Idle, "");
        turn
    }

    /// Begins a turn that takes the last summary back and ends. The conversation has `context` tokens then.
    #[must_use]
    pub fn take_summary_back(setup: Setup, context: u64, now: Time) -> Self {
        let mut turn = Self::new(setup, now);
        turn.cx.record(Event::TurnStart);
        let number = turn.cx.fullness.last_summary();
        turn.cx.record(Event::CompactionUndone { number, context });
        let of = match context {
            0 => String::new(),
            context => format!(" It has about {context} tokens."),
        };
        let then = if is_due(&turn.cx.fullness, &turn.cx.rules) {
            " That is more than it may have, so your next message summarises it again: before that, choose a model with \
             a larger context window, or send `/compact` with words that say what the summary has to keep."
        } else {
            ""
        };
        let text = format!(
            "The last summary was taken back: the conversation goes on as if it had not been made.{of}{then}"
        );
        turn.cx.notice(Level::Info, text);
        turn.conclude(Conclusion::of(Outcome::Completed));
        turn
    }

    pub(crate) fn compaction_is_due(&self) -> bool {
        !self.compaction_settled
            && self.summaries_put_off < FAILURES
            && is_due(&self.cx.fullness, &self.cx.rules)
    }

    /// Notes what a response says of the conversation, before it is on record: whether the last summary saved enough, and
    /// whether the user has to know that the conversation is nearly full.
    pub(crate) fn note_context(&mut self, usage: &Usage) {
        self.compaction_settled = false;
        let Some(after) = usage.context() else {
            return;
        };
        if let Some(before) = self.cx.fullness.before()
            && let Some(left) = self.cx.fullness.left(usage)
            && !saves_enough(left, before)
        {
            let why = format!("it has {left} tokens with the summary, and had {before} before");
            let text =
                format!("The summary shortened the conversation too little ({why}); it stands");
            if self.cx.fullness.is_asked() {
                self.cx.notice(Level::Info, text + ".");
            } else {
                self.compaction_in_vain(&why, &text);
            }
        }
        if fills(&self.cx.fullness, after, &self.cx.rules) {
            let text = filled(after, &self.cx.rules);
            self.cx.notice(Level::Warning, text);
        }
    }

    /// Asks for a summary. `words` of the user say what it has to keep; they may be empty.
    pub(crate) fn compact(&mut self, sending: Sending, occasion: Occasion, words: &str) {
        let (used, of) = (
            self.cx.fullness.tokens(),
            self.cx.rules.model.context_window,
        );
        let words = Some(words.trim()).filter(|words| !words.is_empty());
        let said = words.map_or_else(String::new, |words| {
            format!(" You asked it to keep: {words}")
        });
        let why = match occasion {
            Occasion::Idle => {
                " before the provider's cache forgets it, so that your next message costs less"
            }
            Occasion::Due | Occasion::Asked => "",
        };
        let text = match (used, of) {
            (0, _) => format!("The conversation is being summarised{why}.{said}"),
            (used, Some(of)) => format!(
                "The conversation has {used} of {of} tokens; it is being summarised{why}.{said}"
            ),
            (used, None) => {
                format!("The conversation has {used} tokens; it is being summarised{why}.{said}")
            }
        };
        self.cx.notice(Level::Info, text);
        self.tell_summary(SummaryStatus::Asked, None);
        let mut text = self.cx.text().render(Sentence::Compact, &[]);
        if let Some(words) = words {
            let values = [("words", words)];
            text += &self.cx.text().render(Sentence::CompactWords, &values);
        }
        let messages = vec![Message::User {
            results: Vec::new(),
            text,
        }];
        // Results of the last request, which had no room, are part of what is summarised.
        let is_over = is_over(&self.cx.fullness, &self.cx.rules);
        self.phase = Phase::Compacting(Box::new(Compacting {
            request: RequestId(0),
            sending,
            messages,
            is_shortened: is_over,
            is_native: !is_over && is_native(&self.cx.fullness, &self.cx.rules, words),
            response: Response::default(),
            retries: Retries::default(),
            backoff: None,
            is_repair: false,
            occasion,
            spent: Usage::default(),
        }));
        self.send_compaction();
    }

    /// Sends the request for a summary, for the first time or again.
    pub(crate) fn send_compaction(&mut self) {
        let request = self.cx.next_request();
        let without = self.cx.rules.refused_by(&self.cx.rules.model.id);
        let left_out = self.cx.rules.left_out_of(&self.cx.rules.model.id);
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        pass.request = request;
        pass.response = Response::default();
        pass.backoff = None;
        let (tool_choice, reasoning) = options(&pass.sending);
        self.cx.perform(Effect::Send(Request {
            id: request,
            kind: match pass.is_native {
                true => RequestKind::NativeCompaction,
                false => RequestKind::Compaction {
                    messages: pass.messages.clone(),
                    shortened: pass.is_shortened,
                },
            },
            tool_choice,
            reasoning,
            without,
            left_out,
        }));
    }

    pub(crate) fn is_compaction(&self, request: RequestId) -> bool {
        matches!(&self.phase, Phase::Compacting(pass) if pass.request == request)
    }

    pub(crate) fn compaction_piece(&mut self, piece: Piece) {
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        let most = most_of_summary(&self.cx.fullness, &self.cx.rules);
        let Piece::Finish(finish) = piece else {
            pass.response.add(piece);
            if !pass.is_native && is_long(&pass.response, most) {
                // Whatever else comes is paid for in vain.
                self.cx.perform(Effect::Abort(pass.request));
                let response = std::mem::take(&mut pass.response);
                pass.spent.count(&response.usage);
                self.cx.pay_broken(response.usage, true);
                self.summary_was_bad(SummaryFault::Long, Vec::new());
            }
            return;
        };
        let response = std::mem::take(&mut pass.response);
        pass.spent.count(&response.usage);
        if pass.is_native {
            return self.native_compaction_ended(&response);
        }
        let refused = match finish {
            Finish::Refusal | Finish::ContentFilter => Some(ErrorCode::Refused),
            Finish::ContextFull => Some(ErrorCode::ContextFull),
            _ => None,
        };
        if let Some(code) = refused {
            self.cx.pay_broken(response.usage, false);
            if code == ErrorCode::ContextFull && self.shorten_compaction() {
                return;
            }
            return self.drop_compaction(code, "the model gave no summary");
        }
        let fault = match summary(&response, &finish, most) {
            Ok(summary) => return self.compacted(summary, response.usage),
            Err(fault) => fault,
        };
        self.cx.pay_broken(response.usage, false);
        let results = calls_not_run(
            &response,
            self.cx.text().render(Sentence::CompactNotRun, &[]),
        );
        let is_short = is_short(&response);
        let complete = response.items.into_iter().filter(|item| item.complete);
        let reply: Vec<_> = complete.collect();
        let mut said = Vec::new();
        // A long one might not even fit the model beside the conversation.
        if is_short && fault != SummaryFault::Empty && !reply.is_empty() {
            let text = self.cx.text().render(Sentence::CompactAgain, &[]);
            said = vec![Message::Assistant(reply), Message::User { results, text }];
        }
        self.summary_was_bad(fault, said);
    }

    /// Asks for the summary once more, after `said` of the first one, as far as the turn may cost that.
    fn summary_was_bad(&mut self, fault: SummaryFault, said: Vec<Message>) {
        let costs_enough = self.over_cost().is_some();
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        if pass.is_repair || costs_enough {
            return self.drop_compaction(ErrorCode::Provider, fault.in_words());
        }
        pass.is_repair = true;
        pass.retries = Retries::default();
        pass.messages.extend(said);
        self.send_compaction();
    }

    /// Takes a summary in the provider's own form. In place of what is none, an ordinary one is asked for, once.
    fn native_compaction_ended(&mut self, response: &Response) {
        let most = most_of_summary(&self.cx.fullness, &self.cx.rules);
        match native_summary(response, &self.cx.rules.model.id, most) {
            Some(summary) => self.compacted(summary, response.usage),
            None => {
                self.cx.pay_broken(response.usage, false);
                self.compact_in_own_words();
            }
        }
    }

    /// Asks for an ordinary summary after one in the provider's own form failed, as far as the turn may cost that.
    fn compact_in_own_words(&mut self) {
        if self.over_cost().is_some() {
            let why = "the provider's own summary cannot be used";
            return self.drop_compaction(ErrorCode::Provider, why);
        }
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        pass.is_native = false;
        pass.is_repair = true;
        pass.retries = Retries::default();
        self.send_compaction();
    }

    pub(crate) fn compaction_failed(&mut self, failure: &Failure) {
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        let began = pass.response != Response::default() || failure.class == FailureClass::Broken;
        let response = std::mem::take(&mut pass.response);
        pass.spent.count(&response.usage);
        self.cx.pay_broken(response.usage, began);
        if self.does_without_in_compaction(failure) {
            return self.send_compaction();
        }
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        let (limits, now) = (&self.cx.rules.limits, self.cx.now);
        if let Some((attempt, after)) = pass.retries.next(failure, limits, now) {
            pass.backoff = Some(now + after);
            return self.cx.tell(Update::Retry {
                attempt,
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
                reason: failure.text.clone(),
                discard_step: None,
            });
        }
        let text = failure.sentence().trim_end_matches('.').to_owned();
        if is_passing(&failure.class) {
            return self.put_compaction_off(ErrorCode::of(&failure.class), &text);
        }
        if pass.is_native {
            return self.compact_in_own_words();
        }
        if failure.class == FailureClass::Context && self.shorten_compaction() {
            return;
        }
        self.drop_compaction(ErrorCode::of(&failure.class), &text);
    }

    /// Asks again with the ends of results alone, as the context window has no room for all of them. Returns false if that
    /// was done before.
    fn shorten_compaction(&mut self) -> bool {
        let Phase::Compacting(pass) = &mut self.phase else {
            return false;
        };
        if pass.is_shortened {
            return false;
        }
        pass.is_shortened = true;
        pass.retries = Retries::default();
        self.send_compaction();
        true
    }

    /// Leaves out what the model just refused, as the request that waits will.
    fn does_without_in_compaction(&mut self, failure: &Failure) -> bool {
        match &failure.class {
            FailureClass::Refused(feature) => {
                let model = self.cx.rules.model.id.clone();
                if !inquiry::learn(&mut self.cx, &model, *feature) {
                    return false;
                }
                let Phase::Compacting(pass) = &self.phase else {
                    return false;
                };
                let sending = self.sending_without(*feature, pass.sending.clone());
                let sending = sending.unwrap_or_else(|| self.own_sending());
                let stays_native = is_native(&self.cx.fullness, &self.cx.rules, None);
                if let Phase::Compacting(pass) = &mut self.phase {
                    pass.is_native &= stays_native;
                    pass.sending = sending;
                }
                true
            }
            FailureClass::RefusedParts(parts) => self.does_without(parts, &failure.sentence()),
            _ => false,
        }
    }

    /// The user said something while a summary is made that is all there is of the turn. From now on the turn is there to
    /// answer that: after the summary that was asked for, and at once where nobody asked for one.
    pub(crate) fn answer_after_summary(&mut self) {
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        match pass.occasion {
            Occasion::Due => {}
            Occasion::Asked => pass.occasion = Occasion::Due,
            Occasion::Idle => {
                self.abort_compaction();
                if let Phase::Compacting(pass) = std::mem::replace(&mut self.phase, Phase::Calls) {
                    self.compaction_settled = true;
                    self.send(pass.sending);
                }
            }
        }
    }

    /// Puts a summary on record. Then sends the request that waited for it, or ends the turn.
    fn compacted(&mut self, summary: MadeSummary, usage: Usage) {
        let Phase::Compacting(pass) = std::mem::replace(&mut self.phase, Phase::Calls) else {
            return;
        };
        let before = self.cx.fullness.tokens();
        let left = summary.tokens;
        self.cx.usage.count(&usage);
        self.cx.record(Event::Compacted {
            number: self.cx.fullness.next_summary(),
            asked: pass.occasion == Occasion::Asked,
            summary: summary.text,
            native: summary.native,
            ledger: String::new(),
            before,
            usage,
        });
        self.compaction_settled = true;
        self.summaries_put_off = 0;
        let cost = pass.spent.cost;
        let cost = cost.map_or_else(String::new, |cost| format!(" It cost ${cost:.4}."));
        let of = match before {
            0 => String::new(),
            before => format!(" of {before} tokens"),
        };
        let into = match (before, left) {
            (_, 0) => String::new(),
            (0, left) => format!(" in about {left} tokens"),
            (_, left) => format!(" in about {left}"),
        };
        let text = format!(
            "The conversation{of} was summarised{into}; the ledger of what you said, answered and decided goes along, and \
             the log keeps all.{cost}"
        );
        self.cx.notice(Level::Info, text);
        if pass.occasion.is_the_turn() {
            return self.conclude(Conclusion::of(Outcome::Completed));
        }
        self.send(pass.sending);
    }

    /// Goes on without a summary; a turn that was to make one fails.
    fn drop_compaction(&mut self, code: ErrorCode, why: &str) {
        let Some((occasion, sending)) = self.end_compaction(code, why) else {
            return;
        };
        let text = format!("The conversation could not be shortened ({why}); it goes on as it is");
        self.compaction_in_vain(why, &text);
        match occasion {
            Occasion::Idle => self.conclude(Conclusion::of(Outcome::Completed)),
            Occasion::Due | Occasion::Asked => self.send(sending),
        }
    }

    /// Goes on without a summary that the network prevented. That says nothing of the conversation, so it counts for this
    /// turn alone.
    fn put_compaction_off(&mut self, code: ErrorCode, why: &str) {
        let Some((occasion, sending)) = self.end_compaction(code, why) else {
            return;
        };
        if occasion == Occasion::Idle {
            let text = format!(
                "The conversation could not be summarised ({why}); it stays as it is, and is summarised before it is full."
            );
            self.cx.notice(Level::Info, text);
            self.conclude(Conclusion::of(Outcome::Completed));
        } else {
            self.summaries_put_off = self.summaries_put_off.saturating_add(1);
            let then = match self.summaries_put_off < FAILURES {
                true => "after the next response",
                false => "in the next turn",
            };
            let text = format!(
                "The conversation could not be shortened ({why}); it goes on as it is, and is summarised {then}."
            );
            self.cx.notice(Level::Warning, text);
            self.send(sending);
        }
    }

    /// Ends a summary that failed. Returns its reason, and the options of the request that waits for it; a turn in which
    /// the user asked for it ends.
    fn end_compaction(&mut self, code: ErrorCode, why: &str) -> Option<(Occasion, Sending)> {
        let Phase::Compacting(pass) = std::mem::replace(&mut self.phase, Phase::Calls) else {
            return None;
        };
        self.tell_summary(SummaryStatus::Failed, Some(why));
        if pass.occasion == Occasion::Asked {
            let next = match code {
                ErrorCode::ContextFull => {
                    "choose a model with a larger context window, or begin a new conversation"
                }
                _ => "try again, or choose another model",
            };
            let text = format!(
                "The conversation could not be summarised ({why}); it stays as it is, so {next}."
            );
            self.conclude(Conclusion::failed(TurnError::new(code, text)));
            return None;
        }
        self.compaction_settled = true;
        Some((pass.occasion, pass.sending))
    }

    /// Puts on record that a summary failed or saved too little, and tells the user what happened and what becomes of the
    /// conversation. The text goes on.
    fn compaction_in_vain(&mut self, why: &str, text: &str) {
        let model = self.cx.rules.model.id.clone();
        let reason = why.to_owned();
        self.cx.record(Event::CompactionFailed { model, reason });
        let then = if self.cx.fullness.is_given_up(&self.cx.rules.model.id) {
            "no more summaries are made unless you send `/compact`; before the conversation is full, choose a model with a larger \
             context window, or begin a new one"
        } else {
            "the next summary is made when it is due"
        };
        self.cx
            .notice(Level::Warning, format!("{text}, and {then}."));
    }

    fn tell_summary(&mut self, status: SummaryStatus, text: Option<&str>) {
        let text = text.map(str::to_owned);
        self.cx.tell(Update::Summary { status, text });
    }

    /// Drops the request for a summary, because the turn ends.
    pub(crate) fn abort_compaction(&mut self) {
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        if pass.backoff.is_none() {
            self.cx.perform(Effect::Abort(pass.request));
            self.cx.pay_broken(pass.response.usage, true);
        }
        self.tell_summary(SummaryStatus::Cancelled, None);
    }
}

/// The warning about a conversation that fills its model and is not summarised.
fn filled(tokens: u64, rules: &Rules) -> String {
    let window = rules.model.context_window;
    let of = window.map_or_else(String::new, |window| format!(" of {window}"));
    let next = match rules.compaction {
        CompactionRule::Off => {
            "summaries are off: send `/compact` to summarise it once, or set conversation.compaction to \"auto\""
        }
        CompactionRule::Full | CompactionRule::Auto => {
            "no more summaries are made unasked: send `/compact`, choose a model with a larger context window, or begin a \
             new conversation"
        }
    };
    format!("The conversation has {tokens}{of} tokens, and {next}, before it is full.")
}
