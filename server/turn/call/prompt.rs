//! What the prompts of a call have in common: they wait for a person, are shown again after an answer that does not
//! fit, and are settled.

use crate::{
    call::identity::CallIdentity,
    context::Context,
    effect::{DismissReason, Settled, Update},
    input::Time,
    question::Misfit,
    record::{By, Closed, Event, Level, PromptId, Reason, ResultReason, Showing},
    rules::{Client, limits},
};

/// A prompt that waits for a person.
#[derive(Clone, Debug)]
pub(super) struct WaitingPrompt {
    id: PromptId,
    /// Nobody is there to see it.
    parked: bool,
    /// Answers so far that did not fit.
    unfit: u8,
    shown_at: Time,
}

/// Why a call ends, and what its result says.
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

    /// A person is there now.
    pub(super) fn unpark(&mut self, now: Time) {
        self.parked = false;
        self.shown_at = now;
    }

    /// The turn or call is over: nobody need answer.
    pub(super) fn withdraw(self, cx: &mut Context) {
        cx.record(Event::PromptClosed {
            prompt: self.id.clone(),
            closed: Closed::Withdrawn,
        });
        self.close(cx);
    }

    /// Takes it off the screen, if it is on one, and tells the clients that it is withdrawn.
    pub(super) fn close(self, cx: &mut Context) {
        if !self.parked {
            cx.close_prompt(&self.id, DismissReason::Withdrawn);
        }
        cx.tell(Update::QuestionClosed {
            prompt: self.id,
            settled: Settled::Cancelled(Reason::Withdrawn),
        });
    }

    /// An answer came that is none: whether it is shown again, or that was once too often.
    pub(super) fn refit(&mut self, cx: &mut Context, misfit: &Misfit) -> bool {
        self.unfit += 1;
        cx.notice(
            Level::Warning,
            format!("The answer was not taken. {misfit}"),
        );
        self.unfit <= limits::UNFIT_ANSWERS
    }

    /// Who shows it until now. An answer that was given beforehand (`given`) came from the command line.
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

    /// A person answered a `runTool` or `deliverResult` prompt.
    pub(super) fn settle(&self, cx: &mut Context, closed: Closed) {
        let settled = Settled::Answered {
            by: By::User,
            answer: closed.answer(),
        };
        self.record(cx, closed, settled);
    }

    /// A person would not answer a `runTool` or `deliverResult` prompt.
    pub(super) fn decline(&self, cx: &mut Context, note: Option<String>, shown: Option<Showing>) {
        let closed = Closed::Declined { note, shown };
        self.record(cx, closed, Settled::Cancelled(Reason::User));
    }

    /// A `runTool` or `deliverResult` prompt could not be shown, so the call ends.
    pub(super) fn fail(
        &self,
        cx: &mut Context,
        identity: &CallIdentity,
        why: String,
    ) -> CallEnding {
        let text = cx.text().not_shown(&identity.tool, &why);
        let settled = Settled::Cancelled(Reason::BackendError);
        self.record(cx, Closed::Failed { why }, settled);
        CallEnding {
            reason: ResultReason::PromptFailed,
            text,
        }
    }

    /// What a person said of another prompt settles this one too.
    pub(super) fn settle_elsewhere(&self, cx: &mut Context, closed: Closed, reason: DismissReason) {
        let settled = Settled::Answered {
            by: By::User,
            answer: closed.answer(),
        };
        cx.record(Event::PromptClosed {
            prompt: self.id.clone(),
            closed,
        });
        if !self.parked {
            cx.close_prompt(&self.id, reason);
        }
        cx.tell(Update::QuestionClosed {
            prompt: self.id.clone(),
            settled,
        });
    }

    fn record(&self, cx: &mut Context, closed: Closed, settled: Settled) {
        cx.record(Event::PromptClosed {
            prompt: self.id.clone(),
            closed,
        });
        cx.tell(Update::QuestionClosed {
            prompt: self.id.clone(),
            settled,
        });
    }
}

/// What is said of a prompt to which only answers came that do not fit.
pub(super) const NO_FITTING_ANSWER: &str = "no fitting answer came";
