//! The command line. Parsing changes and reads nothing; what is wrong with it is one sentence.

#[cfg(test)]
mod tests;
mod value;

use std::{collections::BTreeSet, ffi::OsString, path::PathBuf, time::Duration};

use aside_turn::rules::{Mode, ToolChoice};
use clap::{
    ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser},
    error::{ContextKind, ContextValue, ErrorKind},
};

pub use value::{Attach, Schema};

use crate::config::{
    Toggle,
    flags::{AnswerFlag, DetachedFlag},
};

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
    /// Work in this folder instead of the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Write the log to this file instead of standard error
    #[arg(long, global = true, value_name = "PATH")]
    pub log_file: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve an editor: a Language Server on standard input and output
    Lsp {
        /// For clients that give it; there is no other way
        #[arg(long)]
        stdio: bool,
    },
    /// Serve an editor: the Agent Client Protocol on standard input and output
    Acp,
    /// Run one turn without an editor
    Run(Box<RunArgs>),
    /// Show the whole thing on a throwaway folder: no key, no network
    Demo {
        /// Play this script instead of the built-in one
        #[arg(long, value_name = "FILE")]
        script: Option<PathBuf>,
        /// Leave the project and the conversation in this folder
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
    /// List, show and change conversations
    #[command(subcommand)]
    Conversation(ConversationCommand),
    /// Show the effective configuration, or its schema
    #[command(subcommand)]
    Config(Config),
    /// List models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Trust this workspace: let it start programs and set more than instructions
    Trust {
        /// Trust it no more
        #[arg(long)]
        revoke: bool,
        /// Do not ask first, even on a terminal
        #[arg(long, conflicts_with = "revoke")]
        yes: bool,
    },
    /// List MCP servers, import them from other programs, log in to them
    #[command(subcommand)]
    Mcp(McpCommand),
    /// List and revoke what you approved for good in this workspace
    #[command(subcommand)]
    Approvals(Approvals),
    /// Look for what is missing or wrong, and say what to do about it
    Doctor,
    /// Write a completion script for a shell to standard output
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `aside run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The message; '-' or a pipe: from standard input; both: the pipe is an attachment
    pub message: Option<String>,
    /// The model, as provider/model
    #[arg(short, long, value_name = "ID")]
    pub model: Option<String>,
    /// Which conversation.
    #[command(flatten)]
    pub which: WhichConversation,
    /// Attach a text, or some of its lines, an image or a PDF (repeatable)
    #[arg(long, value_name = "PATH[:FROM-TO]", value_parser = OsStringValueParser::new().try_map(value::attach))]
    pub attach: Vec<Attach>,
    /// Tools that are turned on and off.
    #[command(flatten)]
    pub tools: ToolDirectives,
    /// Whether the model must call a tool: auto, none, required, or a tool's name
    #[arg(long, value_name = "CHOICE", value_parser = value::tool_choice)]
    pub tool_choice: Option<ToolChoice>,
    /// What runs unasked: ask, edits, plan or auto
    #[arg(long, value_parser = value::mode)]
    pub mode: Option<Mode>,
    /// Answer a question in advance, or an open prompt with --resume (repeatable)
    #[arg(long = "answer", value_name = "TOOL.QUESTION=VALUE | PROMPT_ID=VALUE", value_parser = AnswerFlag::parse)]
    pub answers: Vec<AnswerFlag>,
    /// What happens where nobody can be asked: auto, defaults, deny or stop, for all kinds or for
    /// run, deliver or tool (repeatable)
    #[arg(long, value_name = "MODE | KIND=MODE", value_parser = DetachedFlag::parse)]
    pub detached: Vec<DetachedFlag>,
    /// Ask nothing, even on a terminal
    #[arg(long)]
    pub non_interactive: bool,
    /// The final answer is JSON that fits this JSON schema
    #[arg(long, value_name = "FILE|JSON", value_parser = value::schema)]
    pub schema: Option<Schema>,
    /// What is written to standard output
    #[arg(long, value_enum, default_value_t)]
    pub output: Output,
    /// Provider requests of this turn at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_steps: Option<u32>,
    /// US dollars that this turn may cost at most
    #[arg(long, value_name = "USD", value_parser = value::cost, allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
    /// How long this turn may take at most, such as 90s or 5m
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub timeout: Option<Duration>,
    /// Exit with 3 where something was refused, unless the mode that --mode names refuses it
    #[arg(long)]
    pub strict: bool,
    /// Trust this workspace for this run
    #[arg(long)]
    pub trust: bool,
    /// Let commands run without a sandbox
    #[arg(long)]
    pub unsandboxed: bool,
    /// Set a value of the configuration (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = value::setting)]
    pub settings: Vec<String>,
}

/// Which conversation a turn belongs to; without any, a new one.
#[derive(Debug, Args)]
pub struct WhichConversation {
    /// Go on in this conversation
    #[arg(short, long, value_name = "ID", conflicts_with = "continue")]
    pub conversation: Option<String>,
    /// Go on in the newest conversation
    #[arg(long, conflicts_with = "resume")]
    pub r#continue: bool,
    /// Go on with the interrupted turn of the newest conversation, or of the one that -c names
    #[arg(long)]
    pub resume: bool,
}

/// `-t` and `-T` in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolDirectives(pub Vec<Toggle>);

/// What is written to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// The answer
    #[default]
    Text,
    /// One JSON object when the turn ends
    Json,
    /// Every notification as it comes, a JSON-RPC message a line
    Jsonl,
}

/// `aside conversation`.
#[derive(Debug, Subcommand)]
pub enum ConversationCommand {
    /// List the conversations of this workspace, the newest first
    List,
    /// Show a conversation as markdown; without an id the newest
    Show {
        /// Which
        id: Option<String>,
        /// Only its last turn
        #[arg(long)]
        last: bool,
    },
    /// Write a conversation as markdown; without an id the newest
    Export {
        /// Which
        id: Option<String>,
        /// To this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Give a conversation another title
    Rename {
        /// Which
        id: String,
        /// The title
        title: String,
    },
    /// Copy a conversation, all of it or up to and with one turn
    Fork {
        /// Which
        id: String,
        /// The last turn of the copy: its id, or its number as shown
        #[arg(long, value_name = "ID|NUMBER")]
        turn: Option<String>,
    },
    /// Take back what a turn changed in files; without --turn the last one
    Undo {
        /// Which; without one the newest
        id: Option<String>,
        /// The turn: its id, or its number as shown
        #[arg(long, value_name = "ID|NUMBER")]
        turn: Option<String>,
    },
    /// Delete a conversation for good
    Delete {
        /// Which
        id: String,
    },
}

/// `aside mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Start the servers of this workspace, once it is trusted, and list their tools
    List,
    /// Show the servers of another program's file as tables of yours, and add them there
    Import {
        /// The file: `.mcp.json`, `mcp.json`, `settings.json`, `config.toml` and their like
        file: PathBuf,
        /// Do not ask first, even on a terminal
        #[arg(long)]
        yes: bool,
    },
    /// Log in to a server on the network, with a browser
    Login {
        /// Its name in your aside.toml
        server: String,
        /// Forget the login instead
        #[arg(long)]
        forget: bool,
    },
}

/// `aside approvals`.
#[derive(Debug, Subcommand)]
pub enum Approvals {
    /// List what you approved for good: each is asked about no more
    List,
    /// Ask about it again, from the next turn on
    Revoke {
        /// Its name in the list, or enough of it
        approval: String,
    },
}

/// `aside config`.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show effective values, each with the layer it comes from
    Show {
        /// This key and those under it
        key: Option<String>,
    },
    /// Write the JSON schema of aside.toml
    Schema,
}

/// `aside model`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// List the models of the usable providers
    List,
}

/// A command line that leads to no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Help or version was asked for: for standard output, exit 0.
    Show(String),
    /// The command line is wrong: for standard error, exit 2.
    Usage(String),
}

/// Reads a command line, the program's name first.
///
/// # Errors
/// [`Stop`], where there is nothing to do but to say something.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, Stop> {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(cli) = plain_lsp(&args) {
        return Ok(cli);
    }
    let cli = Cli::try_parse_from(args).map_err(|mut error| {
        hint_at_new_name(&mut error);
        stop(&error)
    })?;
    if let Command::Run(run) = &cli.command {
        run.check().map_err(Stop::Usage)?;
    }
    Ok(cli)
}

/// What a command line wants written to standard output, also where it is wrong otherwise: that of a turn.
#[must_use]
pub fn wanted_output(args: &[OsString]) -> Output {
    let mut words = args
        .iter()
        .skip(1)
        .map(|word| word.to_str().unwrap_or_default());
    // Options that stand before the command and take a value.
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

/// `aside lsp`, with `--stdio` or without: what editors write. The parser of all that there is takes two MiB of memory,
/// which a server would keep.
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

/// The completion script of a shell.
#[must_use]
pub fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "aside", &mut script);
    script
}

impl RunArgs {
    /// What no single argument shows to be wrong.
    fn check(&self) -> Result<(), String> {
        if self.which.resume && self.message.is_some() {
            return Err(
                "--resume goes on with the interrupted turn and takes no prompt; \
                        with --continue the prompt starts a new turn"
                    .into(),
            );
        }
        let mut named = BTreeSet::new();
        for answer in &self.answers {
            let key = answer.key();
            if !named.insert(key.clone()) {
                return Err(format!("--answer {key}=… is there twice; give one answer"));
            }
        }
        let prompt_id = self.answers.iter().find_map(|answer| match answer {
            AnswerFlag::Prompt { id, .. } => Some(id),
            AnswerFlag::Configured { .. } => None,
        });
        match prompt_id {
            Some(id) if !self.which.resume => Err(format!(
                "--answer {id}=… answers an open prompt and needs --resume; \
                 a configured answer is written --answer TOOL.QUESTION=VALUE"
            )),
            _ => Ok(()),
        }
    }
}

/// Arguments that had another name before, and that name.
const RENAMED: [(&str, &str); 1] = [("--max-cycles", "--max-steps")];

/// Whoever gives an argument by its name of before is told its name of now, not the one that is spelled most like it.
fn hint_at_new_name(error: &mut clap::Error) {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    if let Some((_, now)) = RENAMED.iter().find(|(before, _)| before == given) {
        let now = ContextValue::String((*now).to_owned());
        error.insert(ContextKind::SuggestedArg, now);
    }
}

fn stop(error: &clap::Error) -> Stop {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop::Show(error.to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Stop::Usage("a command is missing, such as aside run; aside --help lists them".into())
        }
        ErrorKind::UnknownArgument if value::is_word_of_a_message(error) => Stop::Usage(format!(
            "{}; a message of several words is one argument, in quotes: aside run \"…\"",
            sentence(&error.to_string())
        )),
        _ => Stop::Usage(sentence(&error.to_string())),
    }
}

/// One sentence of the several paragraphs in which clap reports an error: usage and the advice to read the
/// help are left out, the rest is joined.
fn sentence(report: &str) -> String {
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

/// What a bare `-T` counts as; no argument can contain it.
const BARE: &str = "\0";

impl Args for ToolDirectives {
    fn augment_args(command: clap::Command) -> clap::Command {
        let on = clap::Arg::new("tool")
            .short('t')
            .long("tool")
            .value_name("NAME")
            .action(clap::ArgAction::Append)
            .value_parser(value::tool_name)
            .help("Turn a tool on; -t and -T count in their order");
        let off = clap::Arg::new("no-tool")
            .short('T')
            .long("no-tool")
            .value_name("NAME")
            .action(clap::ArgAction::Append)
            .num_args(0..=1)
            .default_missing_value(BARE)
            .value_parser(|name: &str| match name {
                BARE => Ok(BARE.to_owned()),
                "-" => Err("a bare -T before the prompt is written -T --".to_owned()),
                name => value::tool_name(name).map_err(|error| {
                    format!("{error}; a bare -T before the prompt is written -T --")
                }),
            })
            .help("Turn a tool off; without a name all that may be turned off together");
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
