//! `aside doctor`: checks everything that a turn needs.

mod finding;
mod providers;

use aside_config::Configuration;
use aside_config::Settings;
use aside_config::Sources;
use aside_session::conversation::ConversationSummary;
use aside_session::store::Store;
use aside_tool::sandbox::Missing;
use aside_tool::sandbox::SandboxRules;
use std::{
    env,
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

use aside_base::{
    private,
    system::{processes::ENDS_LEFTOVERS, programs, terminal},
};

use self::finding::{Finding, GRADE_WIDTH, Grade};
use super::{failure::CommandFailure, place::CommandContext, streams::Streams};
use crate::engine::{ConversationTarget, StartError, TurnRequest, TurnStart};

/// Checks everything that a turn needs. Prints one line for each result, with advice on problems. `no_state`: there is
/// no place for state, for this reason.
///
/// # Errors
/// Fails if any check failed.
pub async fn run(
    place: &CommandContext,
    no_state: Option<&CommandFailure>,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    let state = match no_state {
        None => state_directory(place),
        Some(failure) => Finding::error(format!("state directory: {}", failure.text)),
    };
    let mut findings = vec![version(), state];
    match place.configuration() {
        Ok((configuration, trusted)) => {
            findings.extend(configuration_files(place, &configuration));
            let void = configuration.void();
            findings.extend(
                void.iter()
                    .map(|problem| Finding::error(problem.to_string())),
            );
            findings.push(trust(place, trusted));
            let settings = &configuration.settings;
            let models = place.engine.models(settings);
            findings.extend(providers::findings(settings, &models).await);
            // With invalid settings no turn can start, whatever its model is.
            if void.is_empty() {
                findings.push(model(place, &configuration).await);
            }
            findings.extend(sandbox(place, settings).await);
        }
        Err(problems) => findings.extend(problems.text.lines().map(Finding::error)),
    }
    findings.push(terminal());
    findings.push(editors(&programs::own()));
    findings.extend(conversations(place));

    let page: String = findings.iter().map(Finding::line).collect();
    streams.say_sentences(&page, GRADE_WIDTH + 1)?;
    match findings
        .iter()
        .filter(|found| found.grade == Grade::Error)
        .count()
    {
        0 => Ok(()),
        1 => Err(CommandFailure::internal(
            "one problem was found; it is marked error",
        )),
        count => Err(CommandFailure::internal(format!(
            "{count} problems were found; they are marked error"
        ))),
    }
}

/// Number of bytes written to test for free space: about as many as a turn writes.
const TRIAL_SIZE: usize = 64 << 10;
fn version() -> Finding {
    Finding::ok(format!(
        "aside {} on {} ({})",
        env!("CARGO_PKG_VERSION"),
        env::consts::OS,
        env::consts::ARCH
    ))
}

/// Tests whether state can be written by writing some.
fn state_directory(place: &CommandContext) -> Finding {
    let folder = place.engine.state_dir().display();
    let write = || -> io::Result<()> {
        private::make_folder(place.engine.state_dir())?;
        let mut file = tempfile::NamedTempFile::new_in(place.engine.state_dir())?;
        file.as_file_mut().write_all(&vec![0; TRIAL_SIZE])?;
        file.as_file().sync_all()
    };
    match write() {
        Ok(()) => Finding::ok(format!("state directory: {folder} is writable")),
        Err(error) => Finding::error(format!(
            "state directory: {folder} is not writable: {}",
            unwritable(&error)
        )),
    }
}

/// Explains why a folder cannot be written, with advice.
fn unwritable(error: &io::Error) -> String {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    if matches!(error.kind(), StorageFull | QuotaExceeded) {
        return "its disk is full; free some space, or set XDG_STATE_HOME to a folder on another disk".to_owned();
    }
    format!("{error}; make it writable, or set XDG_STATE_HOME to a folder that is")
}

fn configuration_files(place: &CommandContext, configuration: &Configuration) -> Vec<Finding> {
    // Errors of these files were already reported when they were read.
    let sources = Sources::from_process(Some(&place.root)).unwrap_or_default();
    let files = [sources.user_file, sources.workspace_file];
    let files: Vec<String> = files
        .iter()
        .flatten()
        .map(|file| file.path.display().to_string())
        .collect();
    let mut findings = vec![Finding::ok(match files.join(" and ") {
        none if none.is_empty() => "configuration: no aside.toml found".to_owned(),
        files => format!("configuration: {files}"),
    })];
    let notices = configuration.notices.iter();
    findings.extend(notices.map(|notice| Finding::warning(format!("configuration: {notice}"))));
    findings
}

fn trust(place: &CommandContext, trusted: bool) -> Finding {
    let root = place.root.display();
    if trusted {
        return Finding::ok(format!("workspace: {root} is trusted"));
    }
    Finding::warning(format!(
        "workspace: {root} is not trusted, so only tools that read will run; \
         trust it with `aside trust`, or for one run with --trust"
    ))
}

/// Whether a turn could start with the configured model or the default.
async fn model(place: &CommandContext, configuration: &Configuration) -> Finding {
    let request = TurnRequest::new(
        place.root.clone(),
        ConversationTarget::New,
        TurnStart::message(""),
    );
    let model = match place.engine.configure(request) {
        Ok(config) => place.engine.check(config).await,
        Err(error) => Err(error),
    };
    match model {
        Ok(model) => Finding::ok(format!("model: {model}")),
        // A run can still name one.
        Err(error @ (StartError::NoModel(_) | StartError::NoProvider(_)))
            if configuration.settings.assistant.model.is_none() =>
        {
            Finding::warning(format!("model: {error}"))
        }
        Err(error) => Finding::error(format!("model: {error}")),
    }
}

/// Program that builds the walls.
const WALLS: &str = match cfg!(target_os = "macos") {
    true => "sandbox-exec, as tried on this machine",
    false => "bubblewrap",
};

/// Tests whether commands can be sandboxed by sandboxing one.
async fn sandbox(place: &CommandContext, settings: &Settings) -> Vec<Finding> {
    let rules = place.engine.sandbox_rules(settings, settings.unsandboxed);
    let rules = match rules {
        Ok(rules) => rules,
        Err(what) => return vec![Finding::error(what)],
    };
    let stands = place.engine.try_sandbox(&rules, &place.root).await;
    let mut findings = vec![sandbox_finding(&rules, stands.as_ref().copied())];
    if settings.mcp.servers.values().any(|server| server.is_kept()) {
        let kept = place.engine.try_namespace(&rules, &place.root).await;
        findings.push(servers_finding(kept.as_ref().map(|_| ())));
    }
    findings
}

/// Whether processes of local MCP servers can outlive Aside.
fn servers_finding(kept: Result<(), &Missing>) -> Finding {
    match kept {
        Ok(()) => Finding::ok(
            "MCP servers: each local server runs in a PID namespace of its own (bubblewrap)",
        ),
        Err(_) if ENDS_LEFTOVERS => {
            Finding::ok("MCP servers: each local server ends with Aside, and all that it started")
        }
        Err(Missing { why, mend }) => Finding::warning(format!(
            "MCP servers: local servers get no PID namespaces here: {why}; their leftover processes survive if Aside is \
             killed; {mend}"
        )),
    }
}

fn sandbox_finding(rules: &SandboxRules, stands: Result<(), &Missing>) -> Finding {
    if rules.unsandboxed {
        return Finding::warning(
            "sandbox: commands run without one, because `unsandboxed` is set in your configuration",
        );
    }
    if rules.off {
        return Finding::warning(
            "sandbox: it is off in your configuration, so every command asks, and is refused if nobody can be asked",
        );
    }
    match stands {
        Ok(()) => Finding::ok(format!(
            "sandbox: commands run inside one ({WALLS}), {}",
            network(rules)
        )),
        Err(Missing { why, mend }) if ENDS_LEFTOVERS => Finding::warning(format!(
            "sandbox: it does not work here: {why}; so every command asks, and is refused if nobody can be asked; {mend}"
        )),
        Err(Missing { why, mend }) => Finding::warning(format!(
            "sandbox: it does not work here: {why}; so every command asks, is refused if nobody can be asked, and its \
             leftover processes survive if Aside is killed; {mend}"
        )),
    }
}

fn network(rules: &SandboxRules) -> String {
    let hosts: Vec<String> = rules.hosts.iter().map(ToString::to_string).collect();
    match (rules.network, hosts.is_empty()) {
        (true, _) => "with network access, as configured".to_owned(),
        (false, true) => "without network access".to_owned(),
        (false, false) => format!("with network access limited to {}", hosts.join(", ")),
    }
}

fn terminal() -> Finding {
    Finding::ok(if terminal::open().is_ok() && io::stderr().is_terminal() {
        "terminal: `aside run` can ask you here"
    } else {
        "terminal: none, so `aside run` refuses everything here that needs a person"
    })
}

/// Commands for editors, with the full path: an editor may not search the same folders as a shell.
fn editors(program: &io::Result<PathBuf>) -> Finding {
    let program = program
        .as_ref()
        .map_or("aside".into(), |path| path.to_string_lossy());
    Finding::ok(format!(
        "editors: `{program} acp` serves clients of the Agent Client Protocol (Zed, JetBrains, Emacs, CodeCompanion), \
         `{program} lsp` clients of the Language Server Protocol; editors/README.md shows how to configure them"
    ))
}

/// Reads every log of the workspace and verifies each line.
fn conversations(place: &CommandContext) -> Vec<Finding> {
    let listed = place.store().and_then(|store| Ok((store.list()?, store)));
    let (list, store) = match listed {
        Ok(listed) => listed,
        Err(error) => return vec![Finding::error(format!("conversations: {error}"))],
    };
    let damaged: Vec<Finding> = list
        .iter()
        .flat_map(|listed| damage(&store, listed))
        .collect();
    let count = match list.len() {
        1 => "1 in this workspace".to_owned(),
        count => format!("{count} in this workspace"),
    };
    let whole = match (list.len(), damaged.len()) {
        (0, _) => "",
        (_, 0) => ", all logs are intact",
        _ => ", some logs are damaged:",
    };
    let mut findings = vec![Finding::ok(format!("conversations: {count}{whole}"))];
    findings.extend(damaged);
    findings
}

fn damage(store: &Store, listed: &ConversationSummary) -> Vec<Finding> {
    let id = &listed.id;
    let read = store
        .find(id)
        .map_err(|error| error.to_string())
        .and_then(|found| found.read_all().map_err(|error| error.to_string()));
    match read {
        Ok(lines) => lines
            .faults
            .iter()
            .map(|fault| {
                Finding::error(format!(
                    "conversation {id}: {fault}; it is left out, the rest can be used"
                ))
            })
            .collect(),
        Err(error) => vec![Finding::error(format!(
            "conversation {id}: its log cannot be read: {error}; check its folder and its disk"
        ))],
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

    use aside_session::record::Entry;
    use aside_turn::Event;

    use super::*;

    fn place(folder: &tempfile::TempDir) -> CommandContext {
        let root = folder.path().join("work");
        fs::create_dir(&root).expect("a folder");
        CommandContext::at(root, folder.path().join("state")).expect("a place")
    }

    /// Lines of findings, with the temporary folder replaced by `/t`.
    fn lines(findings: &[Finding], folder: &tempfile::TempDir) -> String {
        let lines: String = findings.iter().map(Finding::line).collect();
        lines.replace(&folder.path().display().to_string(), "/t")
    }

    #[test]
    fn state_directory_is_tested_by_writing() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(&folder);
        assert_eq!(
            lines(&[state_directory(&place)], &folder),
            "ok       state directory: /t/state is writable\n"
        );
        assert_eq!(
            fs::read_dir(place.engine.state_dir())
                .expect("there")
                .count(),
            0
        );
        let about = fs::metadata(place.engine.state_dir()).expect("there");
        assert_eq!(about.permissions().mode() & 0o777, 0o700);
        fs::remove_dir(place.engine.state_dir()).expect("empty");
        fs::write(place.engine.state_dir(), "a file").expect("written");
        assert_eq!(
            lines(&[state_directory(&place)], &folder),
            "error    state directory: /t/state is not writable: File exists (os error 17); \
             make it writable, or set XDG_STATE_HOME to a folder that is\n"
        );
    }

    #[test]
    fn full_disks_differ_from_read_only_folders() {
        let full = unwritable(&io::ErrorKind::StorageFull.into());
        assert!(
            full.starts_with("its disk is full; free some space"),
            "{full}"
        );
        let denied = unwritable(&io::ErrorKind::PermissionDenied.into());
        assert!(denied.contains("make it writable"), "{denied}");
    }

    #[test]
    fn every_log_fault_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(&folder);
        let check = |expected: &str| {
            assert_eq!(lines(&conversations(&place), &folder), expected);
        };
        check("ok       conversations: 0 in this workspace\n");
        let store = place.store().expect("a store");
        let conversation = store.create(None, Duration::ZERO);
        let conversation = conversation.expect("a conversation");
        let mut log = conversation.log(Duration::ZERO).expect("a log");
        for text in ["one", "two"] {
            let text = text.to_owned();
            let entry = Entry::Turn(Event::Steer { text });
            log.append(Duration::ZERO, None, &entry).expect("appended");
        }
        drop(log);
        check("ok       conversations: 1 in this workspace, all logs are intact\n");
        let events = conversation.folder().join("events.jsonl");
        let text = fs::read_to_string(&events).expect("a log");
        fs::write(&events, text.replace("one", "eno")).expect("written");
        check(&format!(
            "ok       conversations: 1 in this workspace, some logs are damaged:\n\
             error    conversation {}: line 1 of the conversation's log does not match its checksum; \
             it is left out, the rest can be used\n",
            conversation.id()
        ));
    }

    #[test]
    fn commands_require_a_sandbox_or_consent() {
        let missing = Missing {
            why: "bubblewrap is not installed".into(),
            mend: "install it".into(),
        };
        let check = |unsandboxed, off, stands, expected: &str| {
            let rules = SandboxRules {
                unsandboxed,
                off,
                ..SandboxRules::default()
            };
            let line = sandbox_finding(&rules, stands).line();
            assert!(line.contains(expected), "{line}");
        };
        check(
            false,
            false,
            Ok(()),
            "ok       sandbox: commands run inside one",
        );
        check(
            false,
            false,
            Err(&missing),
            "does not work here: bubblewrap is not installed; so every",
        );
        check(
            false,
            false,
            Err(&missing),
            "if Aside is killed; install it\n",
        );
        check(false, true, Ok(()), "it is off in your configuration");
        check(true, false, Ok(()), "run without one");
        let line = servers_finding(Err(&missing)).line();
        assert!(
            line.contains("here: bubblewrap is not installed; their leftover"),
            "{line}"
        );
    }
}
