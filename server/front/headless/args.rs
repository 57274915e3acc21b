//! The command line. Parsing reads and changes no files; an error is one sentence.

#[cfg(test)]
mod tests;
mod value;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use aside_config::{
    Toggle,
    flags::{AnswerFlag, DetachedFlag},
};
use aside_turn::rules::{Mode, ToolChoice};
use clap::{
    ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser},
    error::{ContextKind, ErrorKind},
};

pub use value::{Attach, Schema};

/// An AI assistant that asks good questions.
#[derive(Debug, Parser)]
#[command(
    name = "aside",
    version,
    about,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Run in this folder instead of the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Write diagnostic messages to this file instead of standard error
    #[arg(long, global = true, value_name = "PATH")]
    pub log_file: Option<PathBuf>,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Exit codes of `aside run`, as its help and its man page list them.
const EXIT_CODES: &str = "\
Exit codes:
  0    completed
  1    the turn failed
  2    wrong usage or configuration
  3    with --strict: completed, but a call was refused or a change was lost
  4    stopped at a question or permission; --resume goes on
  5    ended by a budget or limit, such as --max-cost
  6    no usable provider or model
  129, 130, 143
       ended by a signal: the terminal closed, Ctrl-C, or a request to end";

/// A command of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve an editor over the Language Server Protocol, on standard input and output
    Lsp {
        /// Accepted for compatibility; stdio is the only transport
        #[arg(long)]
        stdio: bool,
    },
    /// Serve an editor over the Agent Client Protocol, on standard input and output
    Acp,
    /// Send a message without an editor, and print the answer
    #[command(after_help = EXIT_CODES)]
    Run(Box<RunArgs>),
    /// Play a complete turn in a temporary folder, without a key or network
    Demo {
        /// Play this script of a model's replies instead of the built-in one
        #[arg(long, value_name = "FILE")]
        script: Option<PathBuf>,
        /// Keep the demo's files and its conversation in this folder
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
    /// List, show and change conversations
    #[command(subcommand)]
    Conversation(ConversationCommand),
    /// Show the values of all settings, or the schema of aside.toml
    #[command(subcommand)]
    Config(Config),
    /// List models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Trust this workspace: let its aside.toml start programs, define tools and change more settings
    Trust {
        /// Revoke the trust in this workspace
        #[arg(long)]
        revoke: bool,
        /// Do not ask for confirmation, even on a terminal
        #[arg(long, conflicts_with = "revoke")]
        yes: bool,
    },
    /// List MCP servers, import them from other programs, and log in to them
    #[command(subcommand)]
    Mcp(McpCommand),
    /// List and revoke approvals: calls that run in this workspace without asking, because you chose "always"
    #[command(subcommand)]
    Approvals(Approvals),
    /// Check the key, the model, the sandbox and the programs that Aside needs, and advise on problems
    Doctor,
    /// Print a completion script for a shell
    Completions {
        /// Shell to write the script for
        shell: clap_complete::Shell,
    },
    /// Write a man page for each command into a folder
    Man {
        /// The folder, which is made if it does not exist
        folder: PathBuf,
    },
}

/// Arguments of `aside run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Message to send; '-' or none reads it from standard input. Input that is piped in beside a message is attached to it
    pub message: Option<String>,
    /// Model to use, as provider/model; `aside model list` shows all
    #[arg(short, long, value_name = "ID")]
    pub model: Option<String>,
    /// The conversation to continue.
    #[command(flatten)]
    pub which: WhichConversation,
    /// Attach a text file or a range of its lines, an image or a PDF (repeatable)
    #[arg(long, value_name = "PATH[:FROM-TO]", value_parser = OsStringValueParser::new().try_map(value::attach))]
    pub attach: Vec<Attach>,
    /// Tools to turn on and off.
    #[command(flatten)]
    pub tools: ToolDirectives,
    /// Whether the model calls tools: auto (as it likes), none, required (at least one), or the name of the one to call
    #[arg(long, value_name = "CHOICE", value_parser = value::tool_choice)]
    pub tool_choice: Option<ToolChoice>,
    /// What runs without asking: ask (only reading, the default), edits (also changes of files), auto (also commands in
    /// the sandbox); or plan, which only reads and asks for nothing
    #[arg(long, value_parser = value::mode(), hide_possible_values = true)]
    pub mode: Option<Mode>,
    /// Answer a question in advance, by the name of its tool and its id in the tool's definition; or, with --resume, a
    /// prompt, by the id that the interrupted turn has printed (repeatable)
    #[arg(long = "answer", value_name = "TOOL.QUESTION=VALUE | PROMPT_ID=VALUE", value_parser = AnswerFlag::parse)]
    pub answers: Vec<AnswerFlag>,
    /// Decide prompts when nobody can be asked: auto (rules and models), defaults (default answers), deny (refuse) or stop
    /// (until --resume). KIND is run (a call), deliver (a result for the model) or tool (a question). By default questions
    /// are auto, and the rest is deny (repeatable)
    #[arg(long, value_name = "MODE | KIND=MODE", value_parser = DetachedFlag::parse)]
    pub detached: Vec<DetachedFlag>,
    /// Never ask, even on a terminal
    #[arg(long)]
    pub non_interactive: bool,
    /// Require the final answer to match this JSON schema
    #[arg(long, value_name = "FILE|JSON", value_parser = value::schema)]
    pub schema: Option<Schema>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: Output,
    /// Maximum number of requests to the model in this turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_steps: Option<u32>,
    /// Maximum cost of this turn in US dollars
    #[arg(long, value_name = "USD", value_parser = value::cost, allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
    /// Maximum duration of this turn, such as 90s or 5m
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub timeout: Option<Duration>,
    /// Exit with code 3 if any call was refused; refusals that follow from --mode do not count
    #[arg(long)]
    pub strict: bool,
    /// Trust this workspace for this run, as `aside trust` does for good
    #[arg(long)]
    pub trust: bool,
    /// Run commands without the sandbox: they reach all that you can reach
    #[arg(long)]
    pub unsandboxed: bool,
    /// Set a value of the configuration for this run; `aside config show` lists the keys (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = value::setting)]
    pub settings: Vec<String>,
}

/// The conversation of a turn; a new one by default.
#[derive(Debug, Args)]
pub struct WhichConversation {
    /// Continue this conversation, by its id in `aside conversation list`
    #[arg(short, long, value_name = "ID", conflicts_with = "continue")]
    pub conversation: Option<String>,
    /// Continue the newest conversation
    #[arg(long, conflicts_with = "resume")]
    pub r#continue: bool,
    /// Resume the interrupted turn of the newest conversation, or of the one given with -c
    #[arg(long)]
    pub resume: bool,
}

/// `-t` and `-T` in the given order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolDirectives(pub Vec<Toggle>);

/// Output format of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// The answer
    #[default]
    Text,
    /// One JSON object at the end of the turn
    Json,
    /// Every notification as it arrives, one JSON-RPC message per line
    Jsonl,
}

/// Commands of `aside conversation`.
#[derive(Debug, Subcommand)]
pub enum ConversationCommand {
    /// List the conversations of this workspace, the newest first
    List,
    /// Print a conversation, in a pager on a terminal
    Show {
        /// Conversation to show: its id in `aside conversation list` [default: the newest]
        id: Option<String>,
        /// Show only the last turn
        #[arg(long)]
        last: bool,
    },
    /// Write a conversation as Markdown, for other programs
    Export {
        /// Conversation to export: its id in `aside conversation list` [default: the newest]
        id: Option<String>,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print what was said, answered, allowed and refused in a conversation, and the files that changed
    Ledger {
        /// Conversation to read: its id in `aside conversation list` [default: the newest]
        id: Option<String>,
    },
    /// Change the title of a conversation
    Rename {
        /// Conversation to rename: its id in `aside conversation list`
        id: String,
        /// New title
        title: String,
    },
    /// Copy a conversation, completely or up to a turn
    Fork {
        /// Conversation to copy: its id in `aside conversation list`
        id: String,
        /// Last turn of the copy: its id, or its number in `aside conversation show` [default: the last]
        #[arg(long, value_name = "ID|NUMBER")]
        turn: Option<String>,
    },
    /// Undo the file changes of a turn
    Undo {
        /// Conversation that contains the turn: its id in `aside conversation list` [default: the newest]
        id: Option<String>,
        /// Turn to undo: its id, or its number in `aside conversation show` [default: the last]
        #[arg(long, value_name = "ID|NUMBER")]
        turn: Option<String>,
    },
    /// Delete a conversation permanently
    Delete {
        /// Conversation to delete: its id in `aside conversation list`
        id: String,
    },
}

/// Commands of `aside mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List all servers and, if this workspace is trusted, start them and list their tools
    List,
    /// Import servers from the configuration file of another program into your aside.toml
    Import {
        /// File to import, such as .mcp.json, mcp.json, settings.json or config.toml
        file: PathBuf,
        /// Do not ask for confirmation, even on a terminal
        #[arg(long)]
        yes: bool,
    },
    /// Log in to a remote server with a browser
    Login {
        /// Name of the server in your aside.toml
        server: String,
        /// Log out instead
        #[arg(long)]
        forget: bool,
    },
}

/// Commands of `aside approvals`.
#[derive(Debug, Subcommand)]
pub enum Approvals {
    /// List the calls that run here without asking, because you chose "always"
    List,
    /// Revoke an approval, so that the next turn asks again
    Revoke {
        /// Approval to revoke: its id in the list, or the beginning of it
        approval: String,
    },
}

/// Commands of `aside config`.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show the value of each setting, and the file or flag that it comes from
    Show {
        /// Show only this key and those below it
        key: Option<String>,
    },
    /// Print the JSON schema of aside.toml
    Schema,
}

/// Commands of `aside model`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// List the models of all providers that have a key or need none
    List,
}

/// A command line without a command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Help or version, for standard output; exit code 0.
    Show(String),
    /// An error of the command line, for standard error; exit code 2.
    Usage(String),
}

/// Parses a command line, including the program's name.
///
/// # Errors
/// [`Stop`] if there is nothing to do except to print something.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, Stop> {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(cli) = plain_lsp(&args) {
        return Ok(cli);
    }
    let cli = Cli::try_parse_from(args).map_err(|error| stop(&error))?;
    if let Command::Run(run) = &cli.command {
        run.check().map_err(Stop::Usage)?;
    }
    Ok(cli)
}

/// The output format that a command line asks for, even if it is invalid otherwise. Only `aside run` has one.
#[must_use]
pub fn wanted_output(args: &[OsString]) -> Output {
    let mut words = args
        .iter()
        .skip(1)
        .map(|word| word.to_str().unwrap_or_default());
    // Options before the command that take a value.
    while let Some(word) = words.next() {
        match word {
            "run" => break,
            "--cwd" | "--log-file" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return Output::Text,
        }
    }
    let mut wanted = Output::Text;
    while let Some(word) = words.next() {
        let value = match word.split_once('=') {
            _ if word == "--" => break,
            Some(("--output", value)) => Some(value),
            _ if word == "--output" => words.next(),
            _ => None,
        };
        let known = value.and_then(|value| Output::from_str(value, false).ok());
        wanted = known.unwrap_or(wanted);
    }
    wanted
}

/// Parses `aside lsp` with or without `--stdio`, as editors call it. The complete parser takes two MiB of memory, which
/// a server would keep.
fn plain_lsp(args: &[OsString]) -> Option<Cli> {
    let (_, given) = args.split_first()?;
    let stdio = match given {
        [lsp] if lsp == "lsp" => false,
        [lsp, stdio] if lsp == "lsp" && stdio == "--stdio" => true,
        _ => return None,
    };
    Some(Cli {
        cwd: None,
        log_file: None,
        command: Command::Lsp { stdio },
    })
}

/// Completion script for a shell.
#[must_use]
pub fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "aside", &mut script);
    script
}

/// Writes a man page for each command into a folder, such as `aside-run.1`, in place of what has that name.
///
/// # Errors
/// Fails if the folder or a page cannot be written.
pub fn man_pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)
}

impl RunArgs {
    /// Checks conditions that concern several arguments.
    fn check(&self) -> Result<(), String> {
        if self.which.resume && self.message.is_some() {
            return Err(
                "--resume continues the interrupted turn and accepts no message; \
                        to send a message, use --continue"
                    .into(),
            );
        }
        let mut named = BTreeSet::new();
        for answer in &self.answers {
            let key = answer.key();
            if !named.insert(key.clone()) {
                return Err(format!("--answer {key} was given twice"));
            }
        }
        let prompt_id = self.answers.iter().find_map(|answer| match answer {
            AnswerFlag::Prompt { id, .. } => Some(id),
            AnswerFlag::Configured { .. } => None,
        });
        match prompt_id {
            Some(id) if !self.which.resume => Err(format!(
                "--answer {id}=… answers an open prompt and needs --resume; \
                 to answer in advance, write --answer TOOL.QUESTION=VALUE"
            )),
            _ => Ok(()),
        }
    }
}

fn stop(error: &clap::Error) -> Stop {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop::Show(error.to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Stop::Usage(missing_command(&error.to_string()))
        }
        ErrorKind::InvalidSubcommand if value::is_first_word(error) => Stop::Usage(format!(
            "{}; a message goes behind run, in quotes: aside run \"…\"",
            one_sentence(&error.to_string())
        )),
        ErrorKind::UnknownArgument if value::is_extra_word(error) => Stop::Usage(format!(
            "{}; put a message of several words in quotes: aside run \"…\"",
            one_sentence(&error.to_string())
        )),
        ErrorKind::InvalidSubcommand
        | ErrorKind::UnknownArgument
        | ErrorKind::MissingRequiredArgument => Stop::Usage(advised(error)),
        _ => Stop::Usage(one_sentence(&error.to_string())),
    }
}

/// The sentence for an error, with the help of its command where nothing else is advised.
fn advised(error: &clap::Error) -> String {
    const TIPS: [ContextKind; 6] = [
        ContextKind::SuggestedCommand,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
        ContextKind::Suggested,
        ContextKind::TrailingArg,
    ];
    let report = error.to_string();
    let said = one_sentence(&report);
    let has_tip = TIPS.iter().any(|tip| error.get(*tip).is_some());
    match command_of(&report) {
        Some(command) if !has_tip => format!("{said}; {command} --help says what it takes"),
        _ => said,
    }
}

/// The command that a help or a report of an error is about.
fn command_of(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim);
    let usage = lines.find_map(|line| line.strip_prefix("Usage: "))?;
    let end = [" [", " <", " -"]
        .into_iter()
        .filter_map(|sign| usage.find(sign))
        .min();
    Some(&usage[..end.unwrap_or(usage.len())])
}

/// The sentence for a command without the one that belongs behind it, from its help.
fn missing_command(help: &str) -> String {
    let command = command_of(help).unwrap_or("aside");
    let mut lines = help.lines().map(str::trim);
    let listed = lines.find(|line| *line == "Commands:").and(lines.next());
    let first = listed.and_then(|line| line.split_whitespace().next());
    let first = match command {
        "aside" => "run",
        _ => first.unwrap_or("help"),
    };
    format!("a command is missing, such as {command} {first}; {command} --help lists all commands")
}

/// One sentence of the several paragraphs in which clap reports an error: usage and the advice to read the
/// help are left out, the rest is joined.
fn one_sentence(report: &str) -> String {
    let mut said = String::new();
    for line in report
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        let line = line
            .strip_prefix("error:")
            .or_else(|| line.strip_prefix("tip:"))
            .unwrap_or(line)
            .trim();
        match said.chars().last() {
            None => {}
            Some(':' | ',') => said.push(' '),
            Some(_) if line.starts_with(['[', '(']) => said.push(' '),
            Some(_) => said.push_str("; "),
        }
        said.push_str(line);
    }
    said
}

/// Stands for a bare `-T`; no argument can contain it.
const BARE: &str = "\0";

impl Args for ToolDirectives {
    fn augment_args(command: clap::Command) -> clap::Command {
        let on = clap::Arg::new("tool")
            .short('t')
            .long("tool")
            .value_name("NAME")
            .action(clap::ArgAction::Append)
            .value_parser(value::tool_name)
            .help("Turn a tool on; -t and -T apply in the given order");
        let off = clap::Arg::new("no-tool")
            .short('T')
            .long("no-tool")
            .value_name("NAME")
            .action(clap::ArgAction::Append)
            .num_args(0..=1)
            .default_missing_value(BARE)
            .value_parser(|name: &str| match name {
                BARE => Ok(BARE.to_owned()),
                "-" => Err("write -T -- to turn off all tools before the message".to_owned()),
                name => value::tool_name(name).map_err(|error| {
                    format!("{error}; write -T -- to turn off all tools before the message")
                }),
            })
            .help("Turn a tool off; without a name, all tools but those that the configuration keeps on");
        command.arg(on).arg(off)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ToolDirectives {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |id| {
            let names = matches.get_many::<String>(id).unwrap_or_default().cloned();
            matches.indices_of(id).unwrap_or_default().zip(names)
        };
        let on = given("tool").map(|(at, name)| (at, Toggle::On(name)));
        let off = given("no-tool").map(|(at, name)| {
            let directive = if name == BARE {
                Toggle::AllOff
            } else {
                Toggle::Off(name)
            };
            (at, directive)
        });
        let mut all: Vec<_> = on.chain(off).collect();
        all.sort_by_key(|(at, _)| *at);
        Ok(Self(
            all.into_iter().map(|(_, directive)| directive).collect(),
        ))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
