//! Lanes: groups of questions that may share a request.

use crate::{
    context::{Context, InquiryQuestion},
    question::Answer,
    record::{CallKey, Effort},
    rules::{Assistant, Strategy, StrategyRule},
};

/// Strategy and model of an inquiry. Questions of one lane share a prefix, and may share a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) strategy: Strategy,
    pub(crate) assistant: Option<Assistant>,
}

/// Outcome of a question that a model was asked.
#[derive(Debug)]
pub(crate) struct InquiryOutcome {
    pub(crate) call: CallKey,
    pub(crate) pair: String,
    /// The answer, or the reason why there is none.
    pub(crate) answer: Result<Answer, String>,
    pub(crate) effort: Effort,
}

/// A call of the step, as far as inquiries need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenCall<'a> {
    pub(crate) key: CallKey,
    /// The provider's id.
    pub(crate) id: &'a str,
    pub(crate) tool: &'a str,
    /// Whether the call runs or is about to. A question may wait a moment for another call to ask.
    pub(crate) executes: bool,
}

impl Lane {
    pub(super) fn of(cx: &Context, wanted: &InquiryQuestion) -> Self {
        let strategy = match cx.rules.inquiry.strategy {
            StrategyRule::Auto if is_of_another(cx, wanted) => Strategy::Structured,
            StrategyRule::Auto => Strategy::InBand,
            StrategyRule::ForcedTool if takes_forced(cx) => Strategy::ForcedTool,
            StrategyRule::InBand | StrategyRule::ForcedTool => Strategy::InBand,
            StrategyRule::Structured => Strategy::Structured,
        };
        Self::new(cx, strategy, wanted)
    }

    /// Only `structured` can use another assistant: the other strategies extend the turn's own request.
    pub(crate) fn new(cx: &Context, strategy: Strategy, wanted: &InquiryQuestion) -> Self {
        let assistant = assistant(cx, wanted).filter(|_| strategy == Strategy::Structured);
        Self {
            strategy,
            assistant,
        }
    }

    /// Whether each question needs a request of its own, as with `structured`.
    pub(crate) fn is_alone(&self) -> bool {
        self.strategy == Strategy::Structured
    }
}

/// The assistant that is configured for this question, if it differs from the turn's.
fn assistant(cx: &Context, wanted: &InquiryQuestion) -> Option<Assistant> {
    let own = wanted.assistant.as_ref();
    own.or(cx.rules.inquiry.assistant.as_ref()).cloned()
}

fn is_of_another(cx: &Context, wanted: &InquiryQuestion) -> bool {
    let is_another =
        |assistant: Assistant| assistant.differs || assistant.model != cx.rules.model.id;
    assistant(cx, wanted).is_some_and(is_another)
}

/// Whether the turn's model supports forced tools, as far as is known.
pub(crate) fn takes_forced(cx: &Context) -> bool {
    let model = &cx.rules.model;
    model.forces_tools
        && (!model.reasoning || model.forces_while_reasoning || model.reasoning_switches)
}
