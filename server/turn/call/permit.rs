//! May a call run, and may the model see its result? Two functions that read as their tables. Both prompts
//! are always for humans.

use crate::rules::{Class, DetachedMode, Mode, ResultRule, RunRule};

/// All that the permission to run depends on.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The turn's mode.
    pub mode: Mode,
    /// The tool's `run`.
    pub run: RunRule,
    /// What the call does.
    pub class: Class,
    /// The user trusts the workspace.
    pub trusted: bool,
    /// It runs inside the sandbox, or counts as if.
    pub sandboxed: bool,
    /// The call itself demands a question.
    pub must_ask: bool,
    /// An approval for exactly this is kept from earlier.
    pub approved: bool,
    /// A person permitted exactly this in this turn.
    pub permitted: bool,
    /// A client is there.
    pub attached: bool,
    /// `detached.run` of the tool.
    pub detached: DetachedMode,
}

/// What to do with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// The call runs without asking anybody.
    Run,
    /// Ask the client.
    Ask,
    /// Stop at the prompt.
    Park,
    /// The call is refused, for this reason.
    Refuse(Refused),
}

/// Why a call may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The workspace is not trusted.
    Trust,
    /// `run = deny`.
    Key,
    /// The mode of the turn does not allow it.
    Mode,
    /// It needs approval and nobody is there.
    NeedsApproval,
}

/// May it run?
#[must_use]
pub fn permit(facts: &Facts) -> Permit {
    let reads = facts.class == Class::Reads;
    if facts.run == RunRule::Deny {
        return Permit::Refuse(Refused::Key);
    }
    if !facts.trusted && !reads {
        return Permit::Refuse(Refused::Trust);
    }
    if facts.mode == Mode::Plan && !reads {
        return Permit::Refuse(Refused::Mode);
    }
    // Where a person is to be asked each time, nothing from earlier stands in for that.
    let approved = facts.approved && facts.run != RunRule::Ask;
    if facts.permitted || approved || !asking_is_due(facts) {
        return Permit::Run;
    }
    if facts.attached {
        return Permit::Ask;
    }
    match facts.detached {
        DetachedMode::Stop => Permit::Park,
        // What demands a question demands a person: no policy stands in for one.
        DetachedMode::Auto
            if !facts.must_ask && (facts.class != Class::More || facts.sandboxed) =>
        {
            Permit::Run
        }
        _ => Permit::Refuse(Refused::NeedsApproval),
    }
}

fn asking_is_due(facts: &Facts) -> bool {
    // Without a sandbox every command asks, whatever else was set: never a silent downgrade.
    if facts.must_ask || (facts.class == Class::More && !facts.sandboxed) {
        return true;
    }
    match (facts.run, facts.mode, facts.class) {
        (RunRule::Unattended, ..) => false,
        (RunRule::Ask | RunRule::Deny, ..) => true,
        (RunRule::ByMode, _, Class::Reads) => false,
        (RunRule::ByMode, Mode::Ask | Mode::Plan, _) => true,
        (RunRule::ByMode, Mode::Edits, class) => class == Class::More,
        (RunRule::ByMode, Mode::Auto, _) => false,
    }
}

/// What to do with a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The model sees it.
    Deliver,
    /// Ask the client.
    Ask,
    /// Stop at the prompt.
    Park,
    /// Withhold it: nobody to ask.
    Withhold,
}

/// May the model see it?
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
