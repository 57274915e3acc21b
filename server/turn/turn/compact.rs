//! Compaction of a conversation between two steps, when no call, prompt or question is open. The request is the one
//! before, which the provider's cache knows, and one more message. Its summary takes effect with [`Event::Compacted`]
//! alone: a crash before means that nothing was compacted.

use crate::{
    compaction::{
        BYTES_A_TOKEN, Compacting, FAILURES, MOST_LEFT, SummaryFault, calls_not_run, summary,
    },
    effect::{Effect, Message, Request, RequestKind, Sending},
    input::RequestId,
    model::{
        response::{Failure, FailureClass, Finish, Piece, Response, Usage},
        retry::Retries,
    },
    model_text::Sentence,
    record::{Event, Level},
    turn::{Phase, Turn},
};

impl Turn {
    pub(crate) fn compaction_is_due(&self) -> bool {
        let most = self.cx.rules.model.compacts_at;
        self.compactions.is_due(self.cx.waiting_bytes, most)
    }

    pub(crate) fn note_context(&mut self, usage: &Usage) {
        self.compactions.counted(usage);
    }

    /// Asks for a summary before the next request is sent.
    pub(crate) fn compact(&mut self, sending: Sending) {
        let used = self.compactions.context;
        let of = self.cx.rules.model.context_window;
        let of = of.map_or_else(String::new, |window| format!(" of {window}"));
        let text = format!("The conversation has {used}{of} tokens; it is being summarised.");
        self.cx.notice(Level::Info, text);
        let text = self.cx.text().render(Sentence::Compact, &[]);
        let messages = vec![Message::User {
            results: Vec::new(),
            text,
        }];
        self.phase = Phase::Compacting(Box::new(Compacting {
            request: RequestId(0),
            sending,
            messages,
            response: Response::default(),
            retries: Retries::default(),
            backoff: None,
            is_repair: false,
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
        self.cx.perform(Effect::Send(Request {
            id: request,
            kind: RequestKind::Compaction(pass.messages.clone()),
            tool_choice: pass.sending.tool_choice.clone(),
            reasoning: pass.sending.reasoning,
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
        let Piece::Finish(finish) = piece else {
            return pass.response.add(piece);
        };
        let response = std::mem::take(&mut pass.response);
        self.cx.usage.count(&response.usage);
        pass.spent.count(&response.usage);
        if matches!(
            finish,
            Finish::Refusal | Finish::ContentFilter | Finish::ContextFull
        ) {
            return self.drop_compaction("the model gave no summary");
        }
        let most = self.compactions.context * MOST_LEFT / 100;
        match summary(&response, &finish, most) {
            Ok(summary) => self.compacted(summary),
            Err(fault) if pass.is_repair => self.drop_compaction(fault.in_words()),
            Err(fault) => {
                pass.is_repair = true;
                pass.retries = Retries::default();
                let results = calls_not_run(
                    &response,
                    self.cx.text().render(Sentence::CompactNotRun, &[]),
                );
                let complete = response.items.into_iter().filter(|item| item.complete);
                let reply: Vec<_> = complete.collect();
                if fault != SummaryFault::Empty && !reply.is_empty() {
                    pass.messages.push(Message::Assistant(reply));
                    let text = self.cx.text().render(Sentence::CompactAgain, &[]);
                    pass.messages.push(Message::User { results, text });
                }
                self.send_compaction();
            }
        }
    }

    pub(crate) fn compaction_failed(&mut self, failure: &Failure) {
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        pass.response.usage.partial |=
            pass.response != Response::default() || failure.class == FailureClass::Broken;
        self.cx.usage.count(&pass.response.usage);
        pass.spent.count(&pass.response.usage);
        let (limits, now) = (&self.cx.rules.limits, self.cx.now);
        if let Some((_, after)) = pass.retries.next(failure, limits, now) {
            pass.response = Response::default();
            pass.backoff = Some(now + after);
            return;
        }
        let text = failure.text.trim_end_matches('.').to_owned();
        self.drop_compaction(&text);
    }

    /// Puts a summary on record and sends the request that waited for it.
    fn compacted(&mut self, summary: String) {
        let Phase::Compacting(pass) = std::mem::replace(&mut self.phase, Phase::Calls) else {
            return;
        };
        let before = self.compactions.context;
        let cost = pass.spent.cost;
        let left = summary.len() as u64 / BYTES_A_TOKEN;
        self.cx.record(Event::Compacted {
            summary,
            ledger: String::new(),
            before,
            usage: pass.spent,
        });
        self.compactions.succeeded();
        let cost = cost.map_or_else(String::new, |cost| format!(" It cost ${cost:.4}."));
        let text = format!(
            "The conversation was summarised: about {left} tokens stand for {before}, and every answer and decision \
             of yours is kept as it is.{cost}"
        );
        self.cx.notice(Level::Info, text);
        self.send(pass.sending);
    }

    /// Goes on without a summary.
    fn drop_compaction(&mut self, why: &str) {
        let Phase::Compacting(pass) = std::mem::replace(&mut self.phase, Phase::Calls) else {
            return;
        };
        self.cx.broken_usage.count(&pass.spent);
        self.compactions.failed();
        let then = if self.compactions.failures < FAILURES {
            "it goes on as it is, and is tried again before the next request"
        } else {
            "it goes on as it is, and is not tried again in this turn; begin a new conversation, or choose a model \
             with a larger context window, before this one is full"
        };
        let text = format!("The conversation could not be summarised ({why}); {then}.");
        self.cx.notice(Level::Warning, text);
        self.send(pass.sending);
    }

    /// Drops the request for a summary, because the turn ends.
    pub(crate) fn abort_compaction(&mut self) {
        let Phase::Compacting(pass) = &mut self.phase else {
            return;
        };
        if pass.backoff.is_none() {
            let request = pass.request;
            pass.response.usage.partial = true;
            self.cx.usage.count(&pass.response.usage);
            self.cx.perform(Effect::Abort(request));
        }
    }
}
