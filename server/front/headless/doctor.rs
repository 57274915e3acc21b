//! `aside doctor`.

mod finding;
mod providers;

use std::{
    env, fs,
    io::{self, IsTerminal, Write},
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
};

use self::finding::{Finding, GRADE, Grade};
use super::{failure::CommandFailure, place::CommandContext, streams::Streams};
use crate::{
    config::{Configuration, Settings, Sources},
    engine::{ConversationTarget, StartError, TurnRequest, TurnStart},
    session::{conversation::ConversationSummary, store::Store},
    tool::sandbox::{Missing, SandboxRules},
};

/// Looks at everything that a turn needs, says what it found, a line each, and what to do about it.
///
/// # Errors
/// Something does not work.
pub async fn run(place: &CommandContext, streams: &mut Streams<'_>) -> Result<(), CommandFailure> {
    let mut findings = vec![version(), state_directory(place)];
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
            // With such settings there is no turn, whatever its model.
            if void.is_empty() {
                findings.push(model(place, &configuration).await);
            }
            findings.extend(sandbox(place, settings).await);
        }
        Err(problems) => findings.extend(problems.text.lines().map(Finding::error)),
    }
    findings.push(terminal());
    findings.push(editors(&env::current_exe()));
    findings.extend(conversations(place));

    let page: String = findings.iter().map(Finding::line).collect();
    streams.say_sentences(&page, GRADE + 1)?;
    match findings
        .iter()
        .filter(|found| found.grade == Grade::Error)
        .count()
    {
        0 => Ok(()),
        1 => Err(CommandFailure::internal(
            "one thing is wrong here; it is marked error",
        )),
        count => Err(CommandFailure::internal(format!(
            "{count} things are wrong here; they are marked error"
        ))),
    }
}

/// Bytes that are written to see whether there is room: about as many as a turn writes.
const ROOM: usize = 64 << 10;
fn version() -> Finding {
    Finding::ok(format!(
        "aside {} on {} ({})",
        env!("CARGO_PKG_VERSION"),
        env::consts::OS,
        env::consts::ARCH
    ))
}

/// Whether state can be kept is found out by keeping some.
fn state_directory(place: &CommandContext) -> Finding {
    let folder = place.engine.state_dir().display();
    let write = || -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(place.engine.state_dir())?;
        let mut file = tempfile::NamedTempFile::new_in(place.engine.state_dir())?;
        file.as_file_mut().write_all(&vec![0; ROOM])?;
        file.as_file().sync_all()
    };
    match write() {
        Ok(()) => Finding::ok(format!("state directory: {folder} can be written")),
        Err(error) => Finding::error(format!(
            "state directory: {folder} cannot be written: {}",
            not_written(&error)
        )),
    }
}

/// Why a folder cannot be written, and what to do about it.
fn not_written(error: &io::Error) -> String {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    if matches!(error.kind(), StorageFull | QuotaExceeded) {
        return "its disk is full; free some space, or set XDG_STATE_HOME to a folder on another disk".to_owned();
    }
    format!("{error}; make it writable, or set XDG_STATE_HOME to one that is")
}

fn configuration_files(place: &CommandContext, configuration: &Configuration) -> Vec<Finding> {
    // What is wrong with them is known already: they were read.
    let sources = Sources::from_process(Some(&place.root)).unwrap_or_default();
    let files = [sources.user_file, sources.workspace_file];
    let files: Vec<String> = files
        .iter()
        .flatten()
        .map(|file| file.path.display().to_string())
        .collect();
    let mut findings = vec![Finding::ok(match files.join(" and ") {
        none if none.is_empty() => "configuration: there is no aside.toml".to_owned(),
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

/// Whether a turn could begin: with the configured model, or with one that is given for it.
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
        Err(StartError::NoProvider(what)) if configuration.settings.assistant.model.is_none() => {
            Finding::warning(format!("model: {what}"))
        }
        Err(error) => Finding::error(format!("model: {error}")),
    }
}

/// Whether commands can be confined here is found out by confining one.
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

/// Whether nothing of a server that is started here can outlive Aside.
fn servers_finding(kept: Result<(), &Missing>) -> Finding {
    match kept {
        Ok(()) => Finding::ok(
            "MCP servers: each that is started here has a namespace of processes of its own, by bubblewrap",
        ),
        Err(Missing { why, mend }) => Finding::warning(format!(
            "MCP servers: they get no namespaces of processes here: {why}; so what they leave behind is ended only \
             while Aside itself can see to it; {mend}"
        )),
    }
}

fn sandbox_finding(rules: &SandboxRules, stands: Result<(), &Missing>) -> Finding {
    if rules.unsandboxed {
        return Finding::warning(
            "sandbox: commands run without one, as `unsandboxed` in your configuration says",
        );
    }
    if rules.off {
        return Finding::warning(
            "sandbox: it is off in your configuration, so each command asks, and is refused where nobody can be asked",
        );
    }
    match stands {
        Ok(()) => Finding::ok(format!(
            "sandbox: commands run inside one by bubblewrap, {}",
            network(rules)
        )),
        Err(Missing { why, mend }) => Finding::warning(format!(
            "sandbox: it does not work here: {why}; so each command asks, is refused where nobody can be asked, and \
             what it leaves behind is ended only while Aside itself can see to it; {mend}"
        )),
    }
}

fn network(rules: &SandboxRules) -> String {
    let hosts: Vec<String> = rules.hosts.iter().map(ToString::to_string).collect();
    match (rules.network, hosts.is_empty()) {
        (true, _) => "with the network, as your configuration says".to_owned(),
        (false, true) => "without a network".to_owned(),
        (false, false) => format!("with a way to these hosts alone: {}", hosts.join(", ")),
    }
}

fn terminal() -> Finding {
    let tty = fs::File::options().read(true).write(true).open("/dev/tty");
    Finding::ok(if tty.is_ok() && io::stderr().is_terminal() {
        "terminal: `aside run` can ask you here"
    } else {
        "terminal: there is none to ask on, so `aside run` refuses here what needs a human"
    })
}

/// What an editor starts: the path, for editors that look for programs elsewhere than a shell does.
fn editors(program: &io::Result<PathBuf>) -> Finding {
    let program = program
        .as_ref()
        .map_or("aside".into(), |path| path.to_string_lossy());
    Finding::ok(format!(
        "editors: `{program} acp` serves clients of the Agent Client Protocol (Zed, JetBrains, Emacs, CodeCompanion), \
         `{program} lsp` those of the Language Server Protocol; README.md has what to write where"
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
        (_, 0) => ", each log is whole",
        _ => ", not each log is whole:",
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
mod tests {
    use std::{os::unix::fs::PermissionsExt, time::Duration};

    use aside_turn::Event;

    use super::*;
    use crate::session::record::Entry;

    fn place(folder: &tempfile::TempDir) -> CommandContext {
        let root = folder.path().join("work");
        fs::create_dir(&root).expect("a folder");
        CommandContext::at(root, folder.path().join("state")).expect("a place")
    }

    /// The lines of findings, with the temporary folder as `/t`.
    fn lines(findings: &[Finding], folder: &tempfile::TempDir) -> String {
        let lines: String = findings.iter().map(Finding::line).collect();
        lines.replace(&folder.path().display().to_string(), "/t")
    }

    #[test]
    fn the_state_directory_is_tried() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(&folder);
        assert_eq!(
            lines(&[state_directory(&place)], &folder),
            "ok       state directory: /t/state can be written\n"
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
            "error    state directory: /t/state cannot be written: File exists (os error 17); \
             make it writable, or set XDG_STATE_HOME to one that is\n"
        );
    }

    #[test]
    fn a_full_disk_is_no_folder_that_cannot_be_written() {
        let full = not_written(&io::ErrorKind::StorageFull.into());
        assert!(
            full.starts_with("its disk is full; free some space"),
            "{full}"
        );
        let denied = not_written(&io::ErrorKind::PermissionDenied.into());
        assert!(denied.contains("make it writable"), "{denied}");
    }

    #[test]
    fn each_fault_of_each_log_is_named() {
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
        check("ok       conversations: 1 in this workspace, each log is whole\n");
        let events = conversation.folder().join("events.jsonl");
        let text = fs::read_to_string(&events).expect("a log");
        fs::write(&events, text.replace("one", "eno")).expect("written");
        check(&format!(
            "ok       conversations: 1 in this workspace, not each log is whole:\n\
             error    conversation {}: line 1 of the conversation's log does not match its checksum; \
             it is left out, the rest can be used\n",
            conversation.id()
        ));
    }

    #[test]
    fn commands_need_a_sandbox_or_the_users_word() {
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
            "does not work here: bubblewrap is not installed; so each",
        );
        check(false, false, Err(&missing), "can see to it; install it\n");
        check(false, true, Ok(()), "it is off in your configuration");
        check(true, false, Ok(()), "run without one");
        let line = servers_finding(Err(&missing)).line();
        assert!(
            line.contains("here: bubblewrap is not installed; so what they leave"),
            "{line}"
        );
    }
}
