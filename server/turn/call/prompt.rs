//! The common parts of a call's prompts: they wait for a person, are shown again after an answer that does not fit,
//! and are settled.

use crate::{
    call::identity::CallIdentity,
    context::Context,
    effect::DismissReason,
    input::Time,
    question::Misfit,
    record::{Closed, Event, Level, PromptId, ResultReason, Showing},
    rules::{Client, limits},
};

/// A prompt that waits for a person.
#[derive(Clone, Debug)]
pub(super) struct WaitingPrompt {
    id: PromptId,
    /// Whether no client shows the prompt.
    parked: bool,
    /// Number of answers that did not fit.
    unfit: u8,
    shown_at: Time,
}

/// The reason why a call ends, and the text of its result.
#[derive(Debug)]
pub(super) struct CallEnding {
    pub(super) reason: ResultReason,
    pub(super) text: String,
}

impl WaitingPrompt {
    pub(super) fn new(id: PromptId, parked: bool, now: Time) -> Self {
        Self {
            id,
            parked,
            unfit: 0,
            shown_at: now,
        }
    }

    pub(super) fn id(&self) -> &PromptId {
        &self.id
    }

    pub(super) fn is_parked(&self) -> bool {
        self.parked
    }

    /// Marks the prompt as shown from `now` on.
    pub(super) fn unpark(&mut self, now: Time) {
        self.parked = false;
        self.shown_at = now;
    }

    /// Withdraws the prompt, because the turn or the call has ended.
    pub(super) fn withdraw(self, cx: &mut Context) {
        cx.record(Event::PromptClosed {
            prompt: self.id.clone(),
            closed: Closed::Withdrawn,
        });
        self.close(cx);
    }

    /// Takes the prompt off the client's screen.
    pub(super) fn close(self, cx: &mut Context) {
        if !self.parked {
            cx.close_prompt(&self.id, DismissReason::Withdrawn);
        }
    }

    /// Counts an answer that does not fit. Returns whether the prompt may be shown again.
    pub(super) fn refit(&mut self, cx: &mut Context, misfit: &Misfit) -> bool {
        self.unfit += 1;
        cx.notice(
            Level::Warning,
            format!("The answer was not taken. {misfit}"),
        );
        self.unfit <= limits::UNFIT_ANSWERS
    }

    /// The client that showed the prompt until now; `None` for an answer that was `given` on the command line.
    pub(super) fn showing(&self, cx: &Context, given: bool) -> Option<Showing> {
        if given {
            let cli = Client {
                name: "cli".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                questions: true,
                secret: false,
            };
            return Some(Showing::new(&cli, cx.now, cx.now));
        }
        cx.showing(self.shown_at)
    }

    /// Settles a `runTool` or `deliverResult` prompt with a person's answer.
    pub(super) fn settle(&self, cx: &mut Context, closed: Closed) {
        self.record(cx, closed);
    }

    /// Settles a `runTool` or `deliverResult` prompt that a person declined to answer.
    pub(super) fn decline(&self, cx: &mut Context, note: Option<String>, shown: Option<Showing>) {
        let closed = Closed::Declined { note, shown };
        self.record(cx, closed);
    }

    /// Settles a `runTool` or `deliverResult` prompt that could not be shown. Returns the end of the call.
    pub(super) fn fail(
        &self,
        cx: &mut Context,
        identity: &CallIdentity,
        why: String,
    ) -> CallEnding {
        let text = cx.text().not_shown(&identity.tool, &why);
        self.record(cx, Closed::Failed { why: why.clone() });
        CallEnding {
            reason: ResultReason::PromptFailed { why },
            text,
        }
    }

    /// Settles this prompt by the answer to another one, or by the configuration.
    pub(super) fn settle_elsewhere(&self, cx: &mut Context, closed: Closed, reason: DismissReason) {
        self.record(cx, closed);
        if !self.parked {
            cx.close_prompt(&self.id, reason);
        }
    }

    fn record(&self, cx: &mut Context, closed: Closed) {
        cx.record(Event::PromptClosed {
            prompt: self.id.clone(),
            closed,
        });
    }
}

/// Reason for giving up a prompt whose answers never fit.
pub(super) const NO_FITTING_ANSWER: &str = "no fitting answer came";
