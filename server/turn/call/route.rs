//! Routing of a question to a person, a model, the configuration or nobody: one function that reads as a table.

use serde_json::Value;

use crate::{
    question::{Answer, Persistence, Question},
    record::{By, Reason},
    rules::{Configured, DetachedMode, Target},
};

/// The inputs of [`route`]. No rule uses the name of a tool.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The configured target.
    pub target: &'a Target,
    /// Whether a client is attached that can show this question.
    pub attached: bool,
    /// `detached.tool` of the tool.
    pub detached: DetachedMode,
    /// The configured answer.
    pub configured: Option<&'a Configured>,
    /// The answer that a person gave earlier for the rest of the turn.
    pub remembered: Option<&'a Value>,
    /// Whether the tool runs on while it asks, so that the question cannot be parked.
    pub live: bool,
}

/// Source of the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// Answered already; ask nobody.
    Given(Answer, By),
    /// Ask the client.
    Ask,
    /// Ask a model.
    Inquire,
    /// Stop the turn at the prompt.
    Park,
    /// No answer, for this reason.
    Fail(Reason),
}

/// Routes a question that is valid and was not asked before. `exclusive` must be the effective value.
#[must_use]
pub fn route(question: &Question, facts: &Facts<'_>) -> Route {
    if let Some(configured) = facts.configured {
        return match from_configuration(question, configured) {
            Some(answer) => Route::Given(answer, By::Config),
            None => Route::Fail(Reason::InvalidStaticAnswer),
        };
    }
    if let Some(answer) = remembered(question, facts) {
        return Route::Given(answer, By::Remembered);
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

/// The answer that a person gave for the rest of the turn, if the question allows it.
fn remembered(question: &Question, facts: &Facts<'_>) -> Option<Answer> {
    let value = facts.remembered?;
    if question.persistence == Persistence::None || question.is_secret() {
        return None;
    }
    question.accept(value).ok()
}

/// The configured answer, if it fits. A configured answer to a secret never fits.
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
