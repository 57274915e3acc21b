//! `aside`: reads the command line and chooses a front end.

use std::{
    fs::File,
    io::{self, BufRead, IsTerminal, Read, Write},
    path::Path,
    process::ExitCode,
    sync::Mutex,
    time::Duration,
};

use aside::{
    engine::look_for_thread,
    front::{
        acp,
        headless::{
            approvals,
            args::{self, Cli, Command, Stop},
            config, conversation, demo, doctor,
            failure::CommandFailure,
            mcp, model, output,
            paint::Paint,
            place::CommandContext,
            run,
            streams::{self, Streams},
            trust::{self, Consent},
        },
        lsp,
    },
};
use aside_base::{
    environment,
    system::{
        files::for_user_alone,
        processes,
        streams::{keep_from_children, look_for_descriptors},
        terminal::may_stop,
    },
};
use aside_config::known::secret_variables;
use aside_tool::supervisor;
use tracing::{Level, Metadata};
use tracing_subscriber::{
    filter::{LevelFilter, Targets, filter_fn},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Bytes of a line that is pasted.
const PASTED: u64 = 64 << 10;

/// Time for which a thread for blocking work stays that has nothing to do.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) fn main() -> ExitCode {
    // Whatever the program is started from: this one itself may have forbidden it.
    may_stop(true);
    let mut given = std::env::args_os();
    if let Some(first) = given.nth(1) {
        supervisor::play(&first, given);
    }
    keep_from_children();
    keep_to_itself();
    let given: Vec<_> = std::env::args_os().collect();
    let output = args::wanted_output(&given);
    let result = match args::parse(given) {
        Err(Stop::Show(text)) => Ok((0, text)),
        Err(Stop::Usage(text)) => Err(CommandFailure::usage(text)),
        Ok(cli) => dispatch(cli),
    };
    if let Err(failure) = &result {
        // Where it cannot be written, there is still the exit code.
        let _ = io::stdout()
            .lock()
            .write_all(output::failed(output, failure).as_bytes());
    }
    finish(result)
}

/// Other processes are to learn no secrets of this one: neither from its environment nor, after a crash, from its
/// memory.
fn keep_to_itself() {
    // Where this fails, `aside doctor` says so.
    let _ = environment::take_secrets(secret_variables());
    processes::hide_memory();
}

/// Says what is to be said, each thing where it belongs.
fn finish(result: Result<(u8, String), CommandFailure>) -> ExitCode {
    match result {
        Ok((code, text)) => match io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::from(code),
            Err(error) => say(&CommandFailure::internal(format!(
                "the output could not be written: {error}"
            ))),
        },
        Err(failure) => say(&failure),
    }
}

/// The consent to the effects of a command: given by a flag, or asked for.
fn consent(is_given: bool, ask: &mut dyn FnMut(&str) -> io::Result<bool>) -> Consent<'_> {
    if is_given {
        Consent::Given
    } else if io::stdin().is_terminal() && io::stdout().is_terminal() {
        Consent::Ask(ask)
    } else {
        Consent::Missing
    }
}

/// A line that a person pastes.
fn pasted() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().take(PASTED).read_line(&mut line)?;
    Ok(line)
}

/// Asks the person at the terminal a yes or no. Whatever is no yes is a no.
fn ask_person(question: &str) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    let columns = streams::columns(&out);
    write!(
        out,
        "{} ",
        streams::broken(&format!("{question} [y/N]"), columns)
    )?;
    out.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes" | "Yes"))
}

fn say(failure: &CommandFailure) -> ExitCode {
    // There is nobody left to tell where even this fails.
    let text = streams::broken(
        &format!("aside: {}", failure.text),
        streams::columns(io::stderr()),
    );
    let _ = writeln!(io::stderr().lock(), "{text}");
    ExitCode::from(failure.code)
}

fn dispatch(cli: Cli) -> Result<(u8, String), CommandFailure> {
    log(cli.log_file.as_deref())?;
    let place = || CommandContext::find(cli.cwd.as_deref());
    match cli.command {
        Command::Lsp { .. } => serve(lsp::serve()),
        Command::Acp => serve(acp::serve()),
        Command::Run(args) => {
            may_stop(false);
            let place = place()?;
            block_on(run::run(*args, &place))?.map(|code| (code, String::new()))
        }
        Command::Demo { script, into } => {
            may_stop(false);
            block_on(demo::run(script.as_deref(), into.as_deref()))?
        }
        Command::Conversation(command) => {
            let place = place()?;
            with_streams(|streams| conversation::run(&command, &place, streams))
        }
        Command::Config(command) => {
            let place = place()?;
            with_streams(|streams| config::run(&command, &place, streams))
        }
        Command::Model(args::ModelCommand::List) => {
            let place = place()?;
            with_streams(|streams| block_on(model::list(&place, streams))?)
        }
        Command::Trust { revoke, yes } => {
            let place = place()?;
            let mut ask = ask_person;
            let consent = consent(yes, &mut ask);
            with_streams(|streams| trust::run(revoke, consent, &place, streams))
        }
        Command::Mcp(args::McpCommand::List) => {
            let place = place()?;
            with_streams(|streams| block_on(mcp::list(&place, streams))?)
        }
        Command::Mcp(args::McpCommand::Import { file, yes }) => {
            let mut ask = ask_person;
            let consent = consent(yes, &mut ask);
            with_streams(|streams| mcp::import::run(&file, consent, streams))
        }
        Command::Mcp(args::McpCommand::Login { server, forget }) => {
            let place = place()?;
            with_streams(|streams| match forget {
                true => block_on(mcp::login::forget(&server, &place, streams))?,
                false => block_on(mcp::login::run(&server, &mut pasted, &place, streams))?,
            })
        }
        Command::Approvals(command) => {
            let place = place()?;
            with_streams(|streams| approvals::run(&command, &place, streams))
        }
        Command::Doctor => {
            let (place, without) = CommandContext::for_doctor(cli.cwd.as_deref())?;
            let no_state = without.as_ref().map(|(_, failure)| failure);
            with_streams(|streams| block_on(doctor::run(&place, no_state, streams))?)
        }
        Command::Completions { shell } => {
            let script = String::from_utf8_lossy(&args::completions(shell)).into_owned();
            with_streams(|streams| streams.say(&script))
        }
        Command::Man { folder } => match args::man_pages(&folder) {
            Ok(()) => Ok((0, String::new())),
            Err(error) => Err(CommandFailure::usage(format!(
                "man pages cannot be written to {}: {error}; give another folder",
                folder.display()
            ))),
        },
    }
}

/// Serves an editor. The process ends here: a thread may hang in a read of standard input for ever.
fn serve(front: impl Future<Output = io::Result<u8>>) -> Result<(u8, String), CommandFailure> {
    match block_on(front)? {
        Ok(code) => std::process::exit(code.into()),
        Err(error) => Err(CommandFailure::internal(format!(
            "standard input and output cannot be used: {error}"
        ))),
    }
}

/// Runs a command that writes as it goes.
fn with_streams(
    command: impl FnOnce(&mut Streams<'_>) -> Result<(), CommandFailure>,
) -> Result<(u8, String), CommandFailure> {
    let (mut out, mut notes) = (io::stdout().lock(), io::stderr().lock());
    let is_terminal = out.is_terminal();
    let (columns, notes_columns) = (streams::columns(&out), streams::columns(&notes));
    command(&mut Streams {
        columns,
        notes_columns,
        out: &mut out,
        is_terminal,
        paint: Paint::of_process(is_terminal),
        notes: &mut notes,
    })
    .map(|()| (0, String::new()))
}

/// Runs something to its end. One thread carries everything; what blocks goes to threads of its own, and one that is
/// still held up at the end is not waited for.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, CommandFailure> {
    // What blocks would find out halfway that there is no thread for it.
    look_for_thread().map_err(|error| CommandFailure::internal(error.to_string()))?;
    let no_loop = |error: io::Error| {
        CommandFailure::internal(format!(
            "the program could not start its event loop: {error}"
        ))
    };
    look_for_descriptors().map_err(no_loop)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()
        .map_err(no_loop)?;
    runtime.spawn(keep_a_thread());
    let done = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(done)
}

/// Whether a line of a log may be written. Libraries log what they carry, such as typed secrets, so below `info` only
/// Aside's own parts count, whatever level is asked for.
fn carries_nothing(line: &Metadata<'_>) -> bool {
    let target = line.target();
    let part = target.split("::").next().unwrap_or_default();
    let is_own = part == "aside" || part.starts_with("aside_");
    is_own || *line.level() <= Level::INFO
}

/// Keeps one thread for what blocks, and lets all others go that have nothing to do: without any, work that comes when no
/// other can be had would be a panic.
async fn keep_a_thread() {
    loop {
        // Work that does nothing cannot fail.
        let _ = tokio::task::spawn_blocking(|| {}).await;
        tokio::time::sleep(KEEP_ALIVE * 2 / 3).await;
    }
}

/// Logs go to standard error or the file, never to standard output. Nothing is set up that is not asked for.
fn log(file: Option<&Path>) -> Result<(), CommandFailure> {
    let wanted = std::env::var("ASIDE_LOG").ok();
    if wanted.is_none() && file.is_none() {
        return Ok(());
    }
    let targets: Targets = wanted
        .as_deref()
        .unwrap_or("info")
        .parse()
        .map_err(|error| {
            CommandFailure::usage(format!(
                "ASIDE_LOG is not a level or a list of targets: {error}"
            ))
        })?;
    // Whole messages of servers, and answers to them, would be in what the protocol's library logs below this.
    let targets = targets.with_target("rmcp", LevelFilter::WARN);
    let layer = tracing_subscriber::fmt::layer().with_ansi(false);
    match file {
        None => tracing_subscriber::registry()
            .with(targets)
            .with(filter_fn(carries_nothing))
            .with(layer.with_writer(io::stderr))
            .init(),
        Some(path) => {
            // What is logged is of interest to the user alone.
            let file = for_user_alone(File::options().append(true).create(true))
                .open(path)
                .map_err(|error| {
                    CommandFailure::usage(format!(
                        "the log file {} cannot be opened: {error}; name one in a folder that is there",
                        path.display()
                    ))
                })?;
            tracing_subscriber::registry()
                .with(targets)
                .with(filter_fn(carries_nothing))
                .with(layer.with_writer(Mutex::new(file)))
                .init();
        }
    }
    Ok(())
}
