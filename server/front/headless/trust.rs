//! `aside trust`.

use super::{failure::Failure, place::Place, streams::Streams, text::one_line};
use crate::{
    config::{self, Configuration, Origin, Sources, trust::TrustStore},
    engine::start::tools::tool_defaults,
};

/// Gives trust to the workspace as it is now, and shows what that means; or takes it back.
///
/// # Errors
/// A broken configuration, a program that cannot be read, a state directory that cannot be written.
pub fn run(revoke: bool, place: &Place, streams: &mut Streams<'_>) -> Result<(), Failure> {
    let folder = one_line(&place.root.to_string_lossy());
    let store = TrustStore::new(place.engine.state_dir());
    if revoke {
        store.revoke(&place.root).map_err(|error| {
            Failure::internal(format!("trust in {folder} cannot be taken back: {error}"))
        })?;
        return streams.say(&format!("{folder} is not trusted.\n"));
    }
    // What is shown is what was read here, and trust is bound to that: a file that changes meanwhile is not.
    let sources = Sources::from_process(Some(&place.root)).map_err(usage)?;
    let page = what_counts(&sources).map_err(usage)?;
    let (_, now) = place.engine.trust(&place.root, &sources)?;
    store
        .give(&place.root, now)
        .map_err(|error| Failure::internal(format!("{folder} cannot be trusted: {error}")))?;
    streams.say(&format!(
        "{folder} is trusted.\n{page}\
         Tools may change files and run commands here, as the mode allows. This ends when aside.toml or a \
         program that it names changes, or with `aside trust --revoke`.\n"
    ))
}

fn usage(problems: config::Problems) -> Failure {
    Failure::usage(problems.to_string())
}

/// The keys of the workspace's file that count once it is trusted, with their values, and those that never do.
fn what_counts(sources: &Sources) -> Result<String, config::Problems> {
    let Some(file) = &sources.workspace_file else {
        return Ok("It has no aside.toml, so no setting changes.\n".to_owned());
    };
    let load = |trusted| {
        let sources = Sources {
            trusted,
            ..sources.clone()
        };
        config::load(&sources, &tool_defaults())
    };
    let (before, after) = (load(false)?, load(true)?);
    let counts = before
        .ignored
        .iter()
        .filter(|key| !after.ignored.contains(key));
    let counts: String = counts.map(|key| setting(&after, key)).collect();
    let file = one_line(&file.path.to_string_lossy());
    let mut page = if counts.is_empty() {
        format!("{file} has no setting that needs trust.\n")
    } else {
        format!("These settings of {file} count from now on:\n{counts}")
    };
    if !after.ignored.is_empty() {
        let ignored = after.ignored.join(", ");
        page += &format!("Only you can set these, so they do not count: {ignored}\n");
    }
    Ok(page)
}

/// A key with its value, or with what is stronger than it.
fn setting(configuration: &Configuration, key: &str) -> String {
    let shown = configuration.show(Some(key)).unwrap_or_default();
    let stronger = match configuration.origin(key) {
        None | Some(Origin::WorkspaceFile(..)) => "",
        Some(_) => " (which is stronger)",
    };
    shown
        .lines()
        .map(|line| format!("  {line}{stronger}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TextFile;

    fn check(workspace: Option<&str>, user: &str, expected: &str) {
        let file = |path: &str, text: &str| TextFile {
            path: path.into(),
            text: text.into(),
        };
        let sources = Sources {
            user_file: Some(file("/me/aside.toml", user)),
            workspace_file: workspace.map(|text| file("/app/aside.toml", text)),
            ..Sources::default()
        };
        let said = what_counts(&sources).unwrap_or_else(|problems| format!("{problems}\n"));
        assert_eq!(said, expected);
    }

    #[test]
    fn what_begins_to_count_is_shown_with_its_value() {
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
             \x20 mcp.servers.db.env.KEY = \"[hidden]\"  # from workspace file /app/aside.toml:5\n",
        );
    }

    #[test]
    fn what_only_the_user_can_set_is_named() {
        check(
            Some("unsandboxed = true\nassistant.model = 'rehearsal/hello'\nsandbox = 'off'"),
            "",
            "These settings of /app/aside.toml count from now on:\n\
             \x20 assistant.model = \"rehearsal/hello\"  # from workspace file /app/aside.toml:2\n\
             Only you can set these, so they do not count: unsandboxed, sandbox\n",
        );
    }

    #[test]
    fn a_broken_file_is_not_trusted() {
        check(
            Some("assistant.modle = 'x'"),
            "",
            "/app/aside.toml:1: unknown key `assistant.modle`; did you mean `assistant.model`?\n",
        );
    }
}
