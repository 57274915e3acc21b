//! `aside trust`: gives or revokes trust in a workspace.

use std::io;

use aside_base::visible::one_line;
use aside_config::{Sources, preview::TrustPreview, trust::TrustStore};

use super::{
    failure::{CHECK_STATE, CommandFailure},
    place::CommandContext,
    streams::Streams,
};
use crate::{engine::start::tools::tool_defaults, front::trusting::page};

/// The source of consent.
pub enum Consent<'a> {
    /// A person answers a yes-or-no question.
    Ask(&'a mut dyn FnMut(&str) -> io::Result<bool>),
    /// The command line contains the consent.
    Given,
    /// Nobody can consent, because there is no terminal.
    Missing,
}

/// Shows the consequences of trust in the workspace and gives it with a person's consent, or revokes it.
///
/// # Errors
/// Fails if nobody can consent, the configuration is invalid, a program cannot be read, or the state directory cannot
/// be written.
pub fn run(
    revoke: bool,
    consent: Consent<'_>,
    place: &CommandContext,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    let folder = one_line(&place.root.to_string_lossy());
    let store = TrustStore::new(place.engine.state_dir());
    if revoke {
        place.engine.revoke_trust(&place.root).map_err(|error| {
            CommandFailure::usage(format!(
                "cannot revoke the trust in {folder}: {error}; {CHECK_STATE}"
            ))
        })?;
        let said = format!("{folder} is not trusted, and has no permanent approvals.\n");
        return streams.say_sentences(&said, 0);
    }
    if let Consent::Missing = consent {
        return Err(CommandFailure::usage(format!(
            "{folder} was not trusted, because nobody can confirm without a terminal; \
             run `aside trust` in one, or add --yes"
        )));
    }
    // Trust applies to the files as read here, which are the ones shown. A file that changes meanwhile is not trusted.
    let sources = Sources::from_process(Some(&place.root)).map_err(usage)?;
    let preview = TrustPreview::of(&sources, &tool_defaults()).map_err(usage)?;
    let (_, now) = place.engine.trust(&place.root, &sources)?;
    let mut means = page(&preview, "count from now on");
    if let Consent::Ask(ask) = consent {
        streams.say(&page(&preview, "would count"))?;
        let question =
            format!("Trust {folder}, so that tools may change files and run commands here?");
        let answer = ask(&question).map_err(|error| {
            CommandFailure::internal(format!(
                "cannot read your answer from the terminal: {error}; {folder} is not trusted"
            ))
        })?;
        if !answer {
            return streams.say_sentences(&format!("{folder} is not trusted.\n"), 0);
        }
        means.clear();
    }
    store.give(&place.root, now).map_err(|error| {
        CommandFailure::usage(format!("cannot trust {folder}: {error}; {CHECK_STATE}"))
    })?;
    streams.say(&format!("{folder} is trusted.\n{means}"))?;
    let ends = "\
         Tools may change files and run commands here, as the mode allows. The trust ends when aside.toml or a \
         program that it names changes, or with `aside trust --revoke`.\n";
    streams.say_sentences(ends, 0)
}

fn usage(problems: aside_config::Problems) -> CommandFailure {
    CommandFailure::usage(problems.to_string())
}

#[cfg(test)]
mod tests {
    use aside_config::{SourceFile, trust::Trust};

    use super::{super::streams::tests::said, *};

    #[test]
    fn trust_prompt_shows_all_settings_and_no_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let place = CommandContext::at(root, folder.path().join("state")).unwrap();
        std::fs::write(
            place.root.join("aside.toml"),
            "conversation.tools.lint.command = ['lint']\n",
        )
        .unwrap();
        let status = || {
            let sources = Sources::from_process(Some(&place.root)).unwrap();
            place.engine.trust(&place.root, &sources).unwrap().0
        };
        for (answer, expected) in [(false, Trust::Never), (true, Trust::Given)] {
            let mut asked = String::new();
            let mut ask = |question: &str| {
                asked = question.to_owned();
                Ok(answer)
            };
            let said = said(|streams| run(false, Consent::Ask(&mut ask), &place, streams));
            let said = said.replace(&*place.root.to_string_lossy(), "~");
            assert!(
                said.starts_with(
                    "These settings of ~/aside.toml would count:\n\
                     \x20 conversation.tools.lint.command = [\"lint\"]  # from workspace file ~/aside.toml:1\n\
                     With them, this can be started:\n\
                     \x20 tool lint: [\"lint\"]\n"
                ),
                "{said}"
            );
            assert!(asked.starts_with("Trust "), "{asked}");
            assert_eq!(status(), expected, "{said}");
        }
    }

    fn check(workspace: Option<&str>, user: &str, expected: &str) {
        let file = |path: &str, text: &str| SourceFile {
            path: path.into(),
            text: text.into(),
        };
        let sources = Sources {
            user_file: Some(file("/me/aside.toml", user)),
            workspace_file: workspace.map(|text| file("/app/aside.toml", text)),
            ..Sources::default()
        };
        let said = match TrustPreview::of(&sources, &tool_defaults()) {
            Ok(preview) => page(&preview, "count from now on"),
            Err(problems) => format!("{problems}\n"),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn settings_that_take_effect_are_shown_with_values() {
        check(None, "", "It has no aside.toml, so no setting changes.\n");
        check(
            Some("assistant.instructions = 'Be brief.'"),
            "",
            "/app/aside.toml has no setting that needs trust.\n",
        );
        check(
            Some(
                "assistant.system_prompt = 'Be a parrot.'\n\
                 conversation.tools.lint.command = ['sh', 'lint.sh']\n\
                 [mcp.servers.db]\ncommand = 'db'\nenv.KEY = 'hunter2'\n",
            ),
            "",
            "These settings of /app/aside.toml count from now on:\n\
             \x20 assistant.system_prompt = \"Be a parrot.\"  # from workspace file /app/aside.toml:1\n\
             \x20 conversation.tools.lint.command = [\"sh\", \"lint.sh\"]  # from workspace file /app/aside.toml:2\n\
             \x20 mcp.servers.db.command = \"db\"  # from workspace file /app/aside.toml:4\n\
             \x20 mcp.servers.db.env.KEY = \"hunter2\"  # from workspace file /app/aside.toml:5\n\
             With them, this can be started:\n\
             \x20 tool lint: [\"sh\",\"lint.sh\"]\n\
             \x20 MCP server db: [\"db\"], with KEY=hunter2 set\n",
        );
    }

    #[test]
    fn user_only_settings_are_named() {
        check(
            Some("unsandboxed = true\nassistant.model = 'rehearsal/hello'\nsandbox = 'off'"),
            "",
            "These settings of /app/aside.toml count from now on:\n\
             \x20 assistant.model = \"rehearsal/hello\"  # from workspace file /app/aside.toml:2\n\
             Only you can set these, so they do not count: unsandboxed, sandbox.state\n",
        );
    }

    #[test]
    fn invalid_files_are_not_trusted() {
        check(
            Some("assistant.modle = 'x'"),
            "",
            "/app/aside.toml:1: unknown key `assistant.modle`; did you mean `assistant.model`?\n",
        );
    }
}
