//! Permission to run a call and to deliver its result: two functions that read as tables. Both prompts are always
//! for humans.

use crate::{
    record::ResultReason,
    rules::{Class, DetachedMode, Mode, ResultRule, RunRule},
};

/// The inputs of [`permit`].
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The turn's mode.
    pub mode: Mode,
    /// The tool's `run`.
    pub run: Option<RunRule>,
    /// Effects of the call.
    pub class: Class,
    /// Whether the user trusts the workspace.
    pub trusted: bool,
    /// Whether the call runs inside the sandbox, or counts as if it did.
    pub sandboxed: bool,
    /// Why the call itself demands a prompt, if it does.
    pub must_ask: Option<&'a str>,
    /// Whether an approval for exactly this call is kept.
    pub approved: bool,
    /// Whether a person permitted exactly this call in this turn.
    pub permitted: bool,
    /// Whether the tool runs in the client; `run` is then what is configured for its own name.
    pub in_client: bool,
    /// Whether a client is attached.
    pub attached: bool,
    /// `detached.run` of the tool.
    pub detached: DetachedMode,
}

/// Decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Run without asking.
    Run,
    /// Run without asking, and put on record that the configuration allowed the call.
    RunAsConfigured,
    /// Ask the client.
    Ask,
    /// Stop the turn at the prompt.
    Park,
    /// Refuse for this reason.
    Refuse(ResultReason),
}

/// Decides whether a call may run.
#[must_use]
pub fn permit(facts: &Facts<'_>) -> Permit {
    let reads = facts.class == Class::Reads;
    if facts.run == Some(RunRule::Deny) {
        return Permit::Refuse(ResultReason::DeniedByConfiguration);
    }
    if !facts.trusted && !reads {
        return Permit::Refuse(ResultReason::NotTrusted);
    }
    if facts.mode == Mode::Plan && !reads {
        return Permit::Refuse(ResultReason::DeniedByMode(Some(facts.mode)));
    }
    // With `run = "ask"` a person is asked each time; an earlier approval does not replace that.
    let approved = facts.approved && facts.run != Some(RunRule::Ask);
    if facts.permitted || approved || !asking_is_due(facts) {
        return Permit::Run;
    }
    // Nobody but the user can tell that a tool of the client does no harm.
    if facts.in_client && facts.run == Some(RunRule::Unattended) && facts.must_ask.is_none() {
        return Permit::RunAsConfigured;
    }
    if facts.attached {
        return Permit::Ask;
    }
    match facts.detached {
        DetachedMode::Stop => Permit::Park,
        // A call that demands a prompt demands a person; no policy replaces one.
        DetachedMode::Auto
            if facts.must_ask.is_none() && (facts.class != Class::More || facts.sandboxed) =>
        {
            Permit::Run
        }
        _ => Permit::Refuse(ResultReason::NeedsApproval {
            cause: facts.must_ask.unwrap_or_default().to_owned(),
        }),
    }
}

fn asking_is_due(facts: &Facts<'_>) -> bool {
    // Without a sandbox every command asks, whatever is configured: never a silent downgrade.
    if facts.must_ask.is_some() || (facts.class == Class::More && !facts.sandboxed) {
        return true;
    }
    match (facts.run, facts.mode, facts.class) {
        (Some(RunRule::Unattended), ..) => false,
        (Some(RunRule::Ask | RunRule::Deny), ..) => true,
        (None, _, Class::Reads) => false,
        (None, Mode::Ask | Mode::Plan, _) => true,
        (None, Mode::Edits, class) => class == Class::More,
        (None, Mode::Auto, _) => false,
    }
}

/// Decision about a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The model sees it.
    Deliver,
    /// Ask the client.
    Ask,
    /// Stop the turn at the prompt.
    Park,
    /// Withhold the result, because nobody can be asked.
    Withhold,
}

/// Decides whether the model may see a result.
#[must_use]
pub fn deliver(rule: ResultRule, attached: bool, detached: DetachedMode) -> Delivery {
    match (rule, attached, detached) {
        (ResultRule::Unattended, ..) => Delivery::Deliver,
        (ResultRule::Ask, true, _) => Delivery::Ask,
        (ResultRule::Ask, false, DetachedMode::Auto | DetachedMode::Defaults) => Delivery::Deliver,
        (ResultRule::Ask, false, DetachedMode::Stop) => Delivery::Park,
        (ResultRule::Ask, false, DetachedMode::Deny) => Delivery::Withhold,
    }
}
