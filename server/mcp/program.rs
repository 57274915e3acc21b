//! Starts a local server and opens the protocol with it.

use std::{
    env, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use aside_base::{
    environment, lock, open_places,
    system::programs::is_path,
    visible::{printable, short_line},
};
use aside_tool::{
    process::{
        FoundIn, Job,
        spoken::{Spoken, SpokenPipes},
    },
    sandbox::{InsideLock, Walls},
};
use aside_turn::record::CallKey;
use rmcp::{
    model::ProtocolVersion,
    service::{ClientInitializeError, RoleClient},
    transport::async_rw::AsyncRwTransport,
};
use tokio::{
    io::{AsyncReadExt, DuplexStream},
    process::{ChildStdin, ChildStdout},
    time::timeout,
};

use super::{
    connection::{Connection, MAX_MESSAGE, NotOpened, NotOpenedKind},
    faults,
    noise::{Noise, messages},
    settings::{HideSecrets, ProtocolChoice, ServerGround, ServerProgram, StartCheck},
};

/// Number of bytes kept of a server's standard error.
const MAX_STDERR: usize = 64 << 10;
/// Time to wait for the rest of standard error after the server has ended.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);
/// Advice for a server that ended inside a PID namespace.
const NAMESPACE_HINT: &str =
    "; if it is a snap, or needs sudo or another setuid program, set its `pid_namespace = false`";
/// Said where a command runs in the sandbox.
const NOT_QUIET: &str = "a command runs in the sandbox that could change what it starts from; try again when that has ended";
/// Error code for an unsupported protocol version.
const UNSUPPORTED_VERSION: i32 = -32022;

/// Starts a server and opens the protocol with it. The older one is tried first, because only there can a running tool
/// ask questions. One that starts from what commands can write waits so long until none runs in the sandbox.
///
/// # Errors
/// The reason why the server could not be opened.
pub(super) async fn open(
    program: &ServerProgram,
    protocol: ProtocolChoice,
    hide: &HideSecrets,
    ground: &ServerGround,
    noise: &Arc<Noise>,
    quiet: Duration,
) -> Result<Connection, NotOpened> {
    // What was looked at stays as it is until the server has read it.
    let _alone = match &program.check {
        Some(check) => Some(watched(check, ground, quiet).await?),
        None => None,
    };
    let with = |version| started(program, hide, ground, noise, version);
    let opened = match protocol {
        ProtocolChoice::Older => with(ProtocolVersion::V_2025_11_25).await,
        ProtocolChoice::Newer => with(ProtocolVersion::V_2026_07_28).await,
        ProtocolChoice::Auto => match with(ProtocolVersion::V_2025_11_25).await {
            Err(fault) if fault.wants_newer => with(ProtocolVersion::V_2026_07_28).await,
            opened => opened,
        },
    };
    opened.map_err(|fault| NotOpened::failed(fault.why))
}

/// Looks whether what a server starts from is as it was approved, while no command runs that could change it: until the
/// lock that is returned is dropped.
async fn watched(
    check: &StartCheck,
    ground: &ServerGround,
    quiet: Duration,
) -> Result<InsideLock, NotOpened> {
    let alone = InsideLock::alone(&ground.state, &ground.root, quiet).await;
    let alone = alone.ok_or_else(|| NotOpened {
        why: NOT_QUIET.to_owned(),
        kind: NotOpenedKind::KeptWaiting,
    })?;
    let check = check.clone();
    let looked = tokio::task::spawn_blocking(move || check()).await;
    let looked =
        looked.unwrap_or_else(|_| Err("what it starts from could not be looked up".to_owned()));
    looked.map(|()| alone).map_err(NotOpened::failed)
}

/// Reason why a server could not be opened.
struct OpenFault {
    /// Whether the server requires the newer protocol.
    wants_newer: bool,
    why: String,
}

async fn started(
    program: &ServerProgram,
    hide: &HideSecrets,
    ground: &ServerGround,
    noise: &Arc<Noise>,
    version: ProtocolVersion,
) -> Result<Connection, OpenFault> {
    let walls = ground.walls.clone().filter(|_| program.pid_namespace);
    let is_kept = walls.is_some();
    let failed = |why: String| OpenFault {
        wants_newer: false,
        why,
    };
    let cwd = program.folder(&ground.root).map_err(failed)?;
    is_there(program, &cwd).map_err(failed)?;
    let started = start(program, ground, cwd, walls);
    let (process, pipes) =
        started.map_err(|error| failed(format!("it cannot be started: {error}")))?;
    let SpokenPipes {
        input,
        output,
        errors,
    } = pipes;
    let said = noise.errors.clone();
    lock(&said).clear();
    let heard = tokio::spawn(listen(errors, said.clone()));
    let output = messages(output, noise);
    let transport: AsyncRwTransport<RoleClient, DuplexStream, ChildStdin> =
        AsyncRwTransport::new(output, input).with_max_line_length(MAX_MESSAGE);
    let opened = Connection::over(transport, version, hide.clone()).await;
    match opened {
        Ok(connection) => Ok(connection.of_process(process)),
        Err(error) => {
            process.end().await;
            // What it said at its end may still be on its way, and nobody is left who could say more.
            let _ = timeout(STDERR_TIMEOUT, heard).await;
            let mut why = hide.in_text(&(why(&error, &said) + &noise.clause()));
            if is_kept
                && noise.clause().is_empty()
                && matches!(error, ClientInitializeError::ConnectionClosed(_))
            {
                why += NAMESPACE_HINT;
            }
            Err(OpenFault {
                wants_newer: wants_newer(&error),
                why,
            })
        }
    }
}

/// Looks whether the program exists and may be started outside the sandbox, as far as that can be told before the start.
/// A path is not checked.
///
/// # Errors
/// The reason why it cannot be started.
fn is_there(program: &ServerProgram, cwd: &Path) -> Result<(), String> {
    if is_path(program.command.as_ref()) {
        return Ok(());
    }
    let named = program
        .environment
        .iter()
        .find(|(name, _)| environment::is_path(name.as_ref()));
    let path = match named {
        Some((_, path)) => path.into(),
        None => env::var_os("PATH").unwrap_or_default(),
    };
    let found = open_places::known().program(program.command.as_ref(), cwd, &path);
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let named = short_line(&program.command, 80);
            Err(format!(
                "the program `{named}` was not found; install it, or correct the server's `command`"
            ))
        }
        Err(error) => Err(format!("it cannot be started: {error}")),
        Ok(_) => Ok(()),
    }
}

fn start(
    program: &ServerProgram,
    ground: &ServerGround,
    cwd: PathBuf,
    walls: Option<Walls>,
) -> io::Result<(Spoken, SpokenPipes)> {
    let env = program.environment.iter();
    let job = Job {
        // The process belongs to no call.
        call: CallKey(0),
        program: program.command.clone().into(),
        args: program.args.iter().map(Into::into).collect(),
        verbatim: false,
        cwd,
        env: env
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        time: Duration::MAX,
        drain: Duration::ZERO,
        walls,
        inside: None,
        found_in: FoundIn::Approved,
    };
    Spoken::start(&job, &ground.holder)
}

/// Whether a server that refuses the older protocol speaks the newer one.
fn wants_newer(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            error.code.0 == UNSUPPORTED_VERSION || error.message.contains("2026-07-28")
        }
        _ => false,
    }
}

/// The reason why a server could not be opened, with the line of its standard error that tells most.
fn why(error: &ClientInitializeError, said: &Mutex<Vec<u8>>) -> String {
    let why = match error {
        ClientInitializeError::ConnectionClosed(_) => "it exited before it answered".to_owned(),
        other => faults::why_not_opened(other),
    };
    let said = lock(said);
    let said = printable(&said);
    match telling(&said) {
        Some(line) => format!("{why}; its last output was \"{}\"", short_line(line, 200)),
        None => why,
    }
}

/// The last line of an output; where runtimes write what tells nothing there, the last line before that which names an
/// error, if one does.
fn telling(said: &str) -> Option<&str> {
    let lines = || said.lines().rev().filter(|line| !line.trim().is_empty());
    let last = lines().next()?;
    if !tells_nothing(last) {
        return Some(last);
    }
    let names_error =
        |line: &&str| !tells_nothing(line) && line.to_ascii_lowercase().contains("error");
    lines().find(names_error).or(Some(last))
}

/// Whether a line is what Node.js or npm write behind each error: a version, a place in the code, the end of an object,
/// the place of a log.
fn tells_nothing(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("Node.js v")
        || line.starts_with("at ")
        || line.contains("A complete log of this run can be found in")
        || !line.contains(char::is_alphabetic)
}

/// Keeps the end of a server's standard error, for messages about a failed start and for whoever looks.
async fn listen(mut errors: ChildStdout, said: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = errors.read(&mut chunk).await {
        let mut said = lock(&said);
        said.extend_from_slice(&chunk[..count]);
        if said.len() > MAX_STDERR {
            let cut = said.len() - MAX_STDERR / 2;
            said.drain(..cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::telling;

    #[test]
    fn the_line_that_names_the_error_is_the_one() {
        let node = "node:internal/modules/cjs/loader:1143\n  throw err;\n  ^\n\nError: Cannot find module '/x'\n    at \
                    node:internal/main:28:49 {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n";
        assert_eq!(telling(node), Some("Error: Cannot find module '/x'"));
        let npm = "npm error code E404\nnpm error 404 Not Found - GET https://r/x\nnpm error A complete log of this run can be \
                   found in: /x.log\n";
        assert_eq!(
            telling(npm),
            Some("npm error 404 Not Found - GET https://r/x")
        );
        let python = "Traceback (most recent call last):\n  File \"x\"\nModuleNotFoundError: No module named 'x'\n";
        assert_eq!(
            telling(python),
            Some("ModuleNotFoundError: No module named 'x'")
        );
        assert_eq!(telling("error: old\nno licence\n\n"), Some("no licence"));
        assert_eq!(telling("ready\nNode.js v20\n"), Some("Node.js v20"));
        assert_eq!(telling(" \n"), None);
    }
}
