//! Whether a sandbox works here: one is built as for a command, and tried.
//!
//! That a program which builds walls starts says little: bubblewrap as root may have left every privilege in place. So a
//! script tries from the inside what has to fail, and what it could do is judged from the outside.

use std::{path::Path, sync::Arc};

use super::{
    ToolContext,
    process::FoundIn,
    sandbox::{Confinement, Means, Missing, SandboxRules},
};

#[cfg_attr(target_os = "macos", path = "probe/seatbelt.rs")]
mod built;
mod script;

/// Confinement of commands in this workspace.
pub(super) async fn confinement(context: &Arc<ToolContext>) -> Confinement {
    let rules = &context.sandbox.rules;
    if !rules.wants_one() {
        let none = Missing {
            why: String::new(),
            mend: String::new(),
        };
        return rules.confine(Err(&none));
    }
    let found = context
        .sandbox
        .means
        .get_or_init(|| stands(rules, context.files.root(), &context.supervisor));
    rules.confine(found.await.as_ref())
}

/// Folders in which a command finds programs. Where the sandbox works, a command outside of it must not take what one
/// inside has put into a folder of `PATH`.
pub(super) fn found_in(held: &Confinement, context: &ToolContext) -> FoundIn {
    let stands = matches!(context.sandbox.means.get(), Some(Ok(_)));
    match held {
        Confinement::Outside(_) if stands => FoundIn::SafeFolders,
        Confinement::Inside(_) | Confinement::Outside(_) | Confinement::Free => FoundIn::Everywhere,
    }
}

/// Tries whether walls stand around a command of this workspace. `holder` is the program that holds child processes.
///
/// # Errors
/// Where they do not.
pub async fn stands(rules: &SandboxRules, root: &Path, holder: &Path) -> Result<Means, Missing> {
    let means = rules.find_means(root, holder)?;
    built::tried(rules, root, holder, &means).await?;
    Ok(means)
}
