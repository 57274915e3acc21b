//! The second wall: rules of the kernel's (Landlock) that hold besides the mounts. They also stop what a read-only mount
//! lets through, such as writing into a named pipe. Kernels that do not have them do without.

use std::{io, path::Path};

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

/// The newest rules that are asked for; a kernel that has fewer of them enforces those.
const NEWEST: ABI = ABI::V9;

/// A set of rules that is refused where the kernel does not know all of them.
fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

/// Whether the kernel has such rules. Their first versions let no file be moved to another folder and are left alone.
pub(crate) fn is_known() -> bool {
    strict().handle_access(AccessFs::Truncate).is_ok()
}

/// Whether the wall holds back connections to sockets of programs outside that have no place in the file system.
pub(super) fn holds_names() -> bool {
    is_known() && strict().scope(Scope::AbstractUnixSocket).is_ok()
}

/// Lets this process and those that it starts write in these folders alone.
///
/// # Errors
/// Fails if the kernel has such rules and does not enforce them.
pub(crate) fn build<'a>(writable: impl Iterator<Item = &'a Path>) -> io::Result<()> {
    if !is_known() {
        return Ok(());
    }
    match enforced(writable).map_err(io::Error::other)? {
        RulesetStatus::NotEnforced => Err(io::Error::other("its second wall does not stand")),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

fn enforced<'a>(writable: impl Iterator<Item = &'a Path>) -> Result<RulesetStatus, RulesetError> {
    let writes = AccessFs::from_write(NEWEST);
    let rules = Ruleset::default()
        .handle_access(writes)?
        .scope(Scope::AbstractUnixSocket)?
        .create()?
        .add_rules(path_beneath_rules(writable, writes))?;
    Ok(rules.restrict_self()?.ruleset)
}
