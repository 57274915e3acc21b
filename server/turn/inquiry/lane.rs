//! Which questions may share a request, and who answers them.

use crate::{
    context::{Context, InquiryQuestion},
    question::Answer,
    record::{CallKey, Effort},
    rules::{Assistant, Strategy, StrategyRule},
};

/// Questions of one strategy and model may share a request, and share a prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) strategy: Strategy,
    pub(crate) assistant: Option<Assistant>,
}

/// What came of a question.
#[derive(Debug)]
pub(crate) struct InquiryOutcome {
    pub(crate) call: CallKey,
    pub(crate) pair: String,
    /// The answer, or why there is none.
    pub(crate) answer: Result<Answer, String>,
    pub(crate) effort: Effort,
}

/// A call of the step, as inquiries see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenCall<'a> {
    pub(crate) key: CallKey,
    /// The provider's id.
    pub(crate) id: &'a str,
    pub(crate) tool: &'a str,
    /// It runs, or is about to: a question may wait a moment for another one.
    pub(crate) executes: bool,
    /// A question that it asked while it runs has no answer yet.
    pub(crate) asks_live: bool,
}

impl Lane {
    pub(super) fn of(cx: &Context, wanted: &InquiryQuestion) -> Self {
        let strategy = match cx.rules.inquiry.strategy {
            StrategyRule::Auto if is_of_another(cx, wanted) => Strategy::Structured,
            StrategyRule::Auto => Strategy::InBand,
            StrategyRule::Named(Strategy::ForcedTool) if !takes_forced(cx) => Strategy::InBand,
            StrategyRule::Named(strategy) => strategy,
        };
        Self::new(cx, strategy, wanted)
    }

    /// Only `structured` goes to another assistant: the others are the turn's own next request.
    pub(crate) fn new(cx: &Context, strategy: Strategy, wanted: &InquiryQuestion) -> Self {
        let assistant = assistant(cx, wanted).filter(|_| strategy == Strategy::Structured);
        Self {
            strategy,
            assistant,
        }
    }

    /// `structured` asks one question each.
    pub(crate) fn is_alone(&self) -> bool {
        self.strategy == Strategy::Structured
    }
}

/// The assistant that is configured to answer this question, where it is another than the turn's.
fn assistant(cx: &Context, wanted: &InquiryQuestion) -> Option<Assistant> {
    let own = wanted.assistant.as_ref();
    own.or(cx.rules.inquiry.assistant.as_ref()).cloned()
}

fn is_of_another(cx: &Context, wanted: &InquiryQuestion) -> bool {
    let is_another =
        |assistant: Assistant| assistant.differs || assistant.model != cx.rules.model.id;
    assistant(cx, wanted).is_some_and(is_another)
}

/// The turn's model takes a forced tool, as far as is known.
pub(crate) fn takes_forced(cx: &Context) -> bool {
    let model = &cx.rules.model;
    model.forces_tools
        && (!model.reasoning || model.forces_while_reasoning || model.reasoning_switches)
}
