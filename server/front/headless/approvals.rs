//! `aside approvals`: permanent approvals in a workspace.

use aside_session::approvals::KeptApproval;

use super::{
    args::Approvals,
    failure::{CHECK_STATE, CommandFailure},
    place::CommandContext,
    streams::Streams,
};

/// Number of shown digits of a hash. Fewer digits identify an approval if they are unambiguous.
const SHOWN_DIGITS: usize = 12;

/// Lists or revokes approvals.
///
/// # Errors
/// Fails if the state directory cannot be used or the approval does not exist.
pub fn run(
    command: &Approvals,
    place: &CommandContext,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    let approvals = place.store()?.approvals();
    let listed = approvals.list().map_err(|error| {
        CommandFailure::usage(format!(
            "cannot read the approvals of this workspace: {error}; {CHECK_STATE}"
        ))
    })?;
    match command {
        Approvals::List => {
            if listed.is_empty() {
                streams.note("There are no permanent approvals in this workspace.");
            }
            streams.say(&listed.iter().map(entry).collect::<String>())
        }
        Approvals::Revoke { approval } => {
            let hash = find(&listed, approval)?;
            approvals.revoke(hash).map_err(|error| {
                CommandFailure::usage(format!(
                    "cannot revoke the approval {approval}: {error}; {CHECK_STATE}"
                ))
            })?;
            let shown = &hash[..SHOWN_DIGITS];
            streams.say(&format!("Revoked {shown}, from the next turn on.\n"))
        }
    }
}

/// The only hash that begins with `start`.
fn find<'a>(listed: &'a [KeptApproval], start: &str) -> Result<&'a str, CommandFailure> {
    let mut found = listed
        .iter()
        .filter(|kept| !start.is_empty() && kept.hash.starts_with(start));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(&only.hash),
        (None, _) => Err(CommandFailure::usage(format!(
            "no approval begins with {start}; `aside approvals list` shows all approvals"
        ))),
        (Some(_), Some(_)) => Err(CommandFailure::usage(format!(
            "several approvals begin with {start}; give more digits"
        ))),
    }
}

/// An approval in the list: its hash, time and tool, then what was shown: the complete command, or the title and the
/// complete text.
fn entry(kept: &KeptApproval) -> String {
    let tool = kept.tool.as_deref();
    let tool = tool.unwrap_or("(tool not recorded)");
    let at = kept.at.as_deref().unwrap_or_default();
    let mut entry = format!("{}  {at}  {tool}\n", &kept.hash[..SHOWN_DIGITS]);
    if let Some(cwd) = &kept.cwd {
        entry += &format!("  in {cwd}\n");
    }
    // Arguments alone do not say what they are for; a command does.
    let title = kept.title.as_deref().filter(|_| kept.cwd.is_none());
    let shown = [title, kept.text.as_deref()];
    for line in shown.into_iter().flatten().flat_map(str::lines) {
        entry += &format!("  {line}\n");
    }
    entry
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aside_turn::{effect::Approval, input::Preview};

    use super::{super::streams::tests::said, *};

    #[test]
    fn approvals_are_listed_and_revoked_by_hash_prefix() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let place = CommandContext::at(root, folder.path().join("state")).unwrap();
        let check = |command: Approvals, expected: &str| {
            assert_eq!(said(|streams| run(&command, &place, streams)), expected);
        };
        let revoke = |approval: &str| Approvals::Revoke {
            approval: approval.into(),
        };
        check(
            Approvals::List,
            "! There are no permanent approvals in this workspace.\n",
        );
        let approvals = place.store().unwrap().approvals();
        for (hash, text) in [("ab", "cargo test"), ("ac", "make\nmake install")] {
            let approval = Approval {
                hash: hash.repeat(32),
                tool: "run_command".into(),
                title: text.into(),
                preview: Some(Preview::Command {
                    text: text.into(),
                    cwd: "/w".into(),
                }),
            };
            let at = Duration::from_secs(1_700_000_000);
            approvals.keep(approval, at).unwrap();
        }
        let first = "abababababab  2023-11-14T22:13:20.000Z  run_command\n  in /w\n  cargo test\n";
        let second = "acacacacacac  2023-11-14T22:13:20.000Z  run_command\n  in /w\n  make\n  make install\n";
        check(Approvals::List, &format!("{first}{second}"));
        let approval = Approval {
            hash: "ad".repeat(32),
            tool: "editor_diagnostics".into(),
            title: "Run editor_diagnostics in the editor".into(),
            preview: Some(Preview::Text { text: "{}".into() }),
        };
        let at = Duration::from_secs(1_700_000_000);
        approvals.keep(approval, at).unwrap();
        let third = "adadadadadad  2023-11-14T22:13:20.000Z  editor_diagnostics\n  Run editor_diagnostics in the editor\n  {}\n";
        check(Approvals::List, &format!("{first}{second}{third}"));
        check(
            revoke("a"),
            "exit 2: several approvals begin with a; give more digits\n",
        );
        check(
            revoke("ab"),
            "Revoked abababababab, from the next turn on.\n",
        );
        check(
            revoke("ab"),
            "exit 2: no approval begins with ab; `aside approvals list` shows all approvals\n",
        );
        check(Approvals::List, &format!("{second}{third}"));
    }
}
