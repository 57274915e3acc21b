//! Who answers a question: the person, a model, the configuration, nobody. One function that reads as its table.

use serde_json::Value;

use crate::{
    question::{Answer, Persistence, Question},
    record::{By, Reason},
    rules::{Configured, DetachedMode, Target},
};

/// All that routing looks at. No rule looks at a tool's name.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Who the configuration says is asked.
    pub target: &'a Target,
    /// A client is there that can show this question.
    pub attached: bool,
    /// `detached.tool` of the tool.
    pub detached: DetachedMode,
    /// The configured answer.
    pub configured: Option<&'a Configured>,
    /// What a person said earlier in this turn, for the rest of it.
    pub remembered: Option<&'a Value>,
    /// The tool asks while it runs: the question cannot be parked.
    pub live: bool,
}

/// Where the answer comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// It is there already.
    Given(Answer, By),
    /// Ask the client.
    Ask,
    /// Ask a model.
    Inquire,
    /// Stop at the prompt.
    Park,
    /// There is none.
    Fail(Reason),
}

/// Routes a question that is not broken and was not asked before. Its `exclusive` is the effective one.
#[must_use]
pub fn route(question: &Question, facts: &Facts<'_>) -> Route {
    if let Some(answer) = remembered(question, facts) {
        return Route::Given(answer, By::Remembered);
    }
    if let Some(configured) = facts.configured {
        return match from_configuration(question, configured) {
            Some(answer) => Route::Given(answer, By::Config),
            None => Route::Fail(Reason::InvalidStaticAnswer),
        };
    }
    let exclusive = question.is_exclusive();
    match (facts.target, facts.attached) {
        (Target::Assistant(_), _) if exclusive => Route::Fail(Reason::AssistantRoutingDenied),
        (Target::Assistant(_), _) => Route::Inquire,
        (Target::User, true) => Route::Ask,
        (Target::User, false) if question.is_secret() => Route::Fail(Reason::NoPromptBackend),
        (Target::User, false) => match facts.detached {
            DetachedMode::Stop if facts.live => Route::Fail(Reason::NoPromptBackend),
            DetachedMode::Stop => Route::Park,
            _ if exclusive => Route::Fail(Reason::NoPromptBackend),
            DetachedMode::Auto => Route::Inquire,
            DetachedMode::Defaults => by_default(question),
            DetachedMode::Deny => Route::Fail(Reason::DetachedPolicy),
        },
    }
}

/// Only a person's "for the rest of this turn" is remembered, and only where the question allows it.
fn remembered(question: &Question, facts: &Facts<'_>) -> Option<Answer> {
    let value = facts.remembered?;
    if question.persistence == Persistence::None || question.is_secret() {
        return None;
    }
    question.accept(value).ok()
}

/// A secret is never configured, so any configured answer to one is a misfit.
pub(crate) fn from_configuration(question: &Question, configured: &Configured) -> Option<Answer> {
    if question.is_secret() {
        return None;
    }
    let value = match configured {
        Configured::Value(value) => value.clone(),
        Configured::Text(text) => question.parse(text),
    };
    question.accept(&value).ok()
}

fn by_default(question: &Question) -> Route {
    match question
        .default
        .as_ref()
        .map(|value| question.accept(value))
    {
        Some(Ok(answer)) => Route::Given(answer, By::Default),
        _ => Route::Fail(Reason::DetachedPolicy),
    }
}
