//! `aside run`: one turn without an editor.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
    time::Duration,
};

use aside_base::system::{
    streams::stdin_is_shared,
    terminal::{self, is_in_background},
};
use aside_config::{Flag, flags::AnswerFlag};
use aside_session::{
    conversation::Conversation,
    record::{TurnLimits, TurnOptions},
    replay,
};
use aside_turn::{
    record::{PromptId, Word},
    rules::{Client, ToolChoice},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    args,
    early::{EarlyEnds, note},
    exit::Strictness,
    failure::CommandFailure,
    hints::Hints,
    message::{self, Stdin},
    paint::Paint,
    place::CommandContext,
    terminal::{Answers, Terminal},
    watch::Watch,
};
use crate::engine::{
    ConversationTarget, Layers, RunFlags, TrustedBy, TurnConfig, TurnRequest, TurnStart, blocking,
    clock::Clock,
};

/// Runs one turn and returns its exit code.
///
/// # Errors
/// A [`CommandFailure`] if the turn could not start.
pub async fn run(args: args::RunArgs, place: &CommandContext) -> Result<u8, CommandFailure> {
    let since = Instant::now();
    let mut early = EarlyEnds::listen(args.timeout)?;
    let paint = Paint::of_process(io::stderr().is_terminal());
    let terminal = open_terminal(args.non_interactive);
    let is_attended = terminal.is_some();
    let args = Arc::new(args);
    let (given, at) = (args.clone(), place.clone());
    // A schema may come from a pipe.
    let configured = blocking(move || configure(&given, &at, since, is_attended));
    let mut config = early
        .wait("reading the configuration", configured)
        .await??;
    early.limit(config.ends_at());
    if config.configuration.settings.screen_reader
        && let Some((terminal, _)) = &terminal
    {
        terminal.print_once();
    }
    if !args.which.resume {
        config.set_message(message(&args, &mut early).await?);
    }
    let watch = Watch {
        terminal,
        paint,
        output: Some(args.output),
        strictness: match (args.strict, args.mode) {
            (false, _) => Strictness::Off,
            (true, None) => Strictness::AllRefusals,
            (true, Some(_)) => Strictness::AllButMode,
        },
        root: place.root.clone(),
        hints: Some(Hints::of(&args, place.elsewhere())),
    };
    let (code, _) = watch.begin(&place.engine, config, early).await?;
    Ok(code)
}

/// Reads all but the message. Blocks on files.
fn configure(
    args: &args::RunArgs,
    place: &CommandContext,
    since: Instant,
    is_attended: bool,
) -> Result<TurnConfig, CommandFailure> {
    let target = target(args, place)?;
    let before = match &target {
        ConversationTarget::New => TurnOptions::default(),
        ConversationTarget::Existing(conversation) => before(conversation, args.which.resume)?,
    };
    let options = merge_options(args, before, place)?;
    let request = TurnRequest {
        layers: Layers {
            flags: config_flags(args, &options),
            trusted_by: if args.trust {
                TrustedBy::Run
            } else {
                TrustedBy::Store
            },
            ..Layers::default()
        },
        run: RunFlags {
            toggles: args.tools.0.clone(),
            detached: args.detached.clone(),
            answers: args.answers.clone(),
            unsandboxed: args.unsandboxed,
        },
        options,
        client: is_attended.then(Client::terminal),
        since,
        ..TurnRequest::new(place.root.clone(), target, start(args))
    };
    Ok(place.engine.configure(request)?)
}

/// Opens the terminal for prompts. A job in the background whose notes go elsewhere is one that nobody looks at.
#[must_use]
pub fn open_terminal(forbidden: bool) -> Option<(Terminal, Answers)> {
    if forbidden {
        return None;
    }
    let tty = terminal::open().ok()?;
    if !io::stderr().is_terminal() && is_in_background(&tty) {
        return None;
    }
    Terminal::open(tty).ok()
}

/// The conversation that receives the message or whose last turn is resumed.
fn target(
    args: &args::RunArgs,
    place: &CommandContext,
) -> Result<ConversationTarget, CommandFailure> {
    let store = place.store()?;
    if let Some(id) = &args.which.conversation {
        return Ok(ConversationTarget::Existing(store.find(id)?));
    }
    let missing = match (args.which.resume, args.which.r#continue) {
        (true, _) => "there is no conversation to resume here; start one with aside run MESSAGE",
        (_, true) => "there is no conversation to continue here; omit --continue to start one",
        (false, false) => return Ok(ConversationTarget::New),
    };
    let latest = store.latest(Clock::start().now())?;
    let latest = latest.ok_or_else(|| CommandFailure::usage(missing))?;
    Ok(ConversationTarget::Existing(latest))
}

/// Options of the last turn of a conversation. For a new message only its model and mode are reused.
fn before(conversation: &Conversation, resume: bool) -> Result<TurnOptions, CommandFailure> {
    let lines = conversation.read_last_turn().map_err(|error| {
        CommandFailure::internal(format!("conversation {}: {error}", conversation.id()))
    })?;
    let options = replay::turns(&lines.records).pop().map(|turn| turn.options);
    let options = options.unwrap_or_default();
    Ok(match resume {
        true => options,
        false => TurnOptions {
            mode: options.mode,
            model: options.model,
            ..TurnOptions::default()
        },
    })
}

/// Options to record for the turn: flags, or the options in `before`.
fn merge_options(
    args: &args::RunArgs,
    before: TurnOptions,
    place: &CommandContext,
) -> Result<TurnOptions, CommandFailure> {
    let schema = match &args.schema {
        None => before.schema,
        Some(args::Schema::Json(schema)) => Some(schema.clone()),
        Some(args::Schema::File(path)) => {
            let path = place.root.join(path);
            let text = std::fs::read_to_string(&path).map_err(|error| {
                CommandFailure::usage(format!(
                    "cannot read the schema {}: {error}; give a readable file, or the schema itself",
                    path.display()
                ))
            })?;
            let schema = serde_json::from_str(&text).map_err(|error| {
                CommandFailure::usage(format!(
                    "the schema {} is not valid JSON: {error}; correct it",
                    path.display()
                ))
            })?;
            Some(schema)
        }
    };
    if let Some(schema) = &schema
        && let Err(error) = jsonschema::validator_for(schema)
    {
        return Err(CommandFailure::usage(format!(
            "the schema is not a valid JSON schema: {error} at {}; correct it",
            match error.instance_path().as_str() {
                "" => "the top level",
                path => path,
            }
        )));
    }
    Ok(TurnOptions {
        model: args.model.clone().or(before.model),
        mode: args.mode.map(Word::Known).or(before.mode),
        tool_choice: args
            .tool_choice
            .as_ref()
            .map(choice_name)
            .or(before.tool_choice),
        schema,
        limits: before.limits.map(|limits| TurnLimits {
            steps: args.max_steps.or(limits.steps),
            turn_seconds: args.timeout.map(seconds).or(limits.turn_seconds),
            cost_usd: args.max_cost.or(limits.cost_usd),
        }),
        ..before
    })
}

fn choice_name(choice: &ToolChoice) -> String {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Name(name) => name.clone(),
    }
}

/// The start of the turn, as far as it is known before standard input is read.
fn start(args: &args::RunArgs) -> TurnStart {
    if !args.which.resume {
        return TurnStart::message(String::new());
    }
    let answers = args.answers.iter().filter_map(|answer| match answer {
        AnswerFlag::Prompt { id, text } => Some((PromptId(id.clone()), text.clone())),
        AnswerFlag::Configured { .. } => None,
    });
    TurnStart::Resume {
        answers: answers.collect(),
    }
}

/// The user's message. What was found on standard input is announced.
async fn message(
    args: &Arc<args::RunArgs>,
    early: &mut EarlyEnds,
) -> Result<TurnStart, CommandFailure> {
    let (stdin, given) = (Stdin::of_process(), args.clone());
    let gathered = blocking(move || {
        let (prompt, input) = (given.message.as_deref(), io::stdin().lock());
        message::gather(prompt, &given.attach, stdin, input).map_err(CommandFailure::usage)
    });
    let awaited = match stdin {
        Stdin::Given => "waiting for the end of standard input; `</dev/null` runs without it",
        Stdin::NotGiven => "waiting for the message",
    };
    let message = early.wait(awaited, gathered).await??;
    if let Some(used) = message.stdin {
        note(&used.line(stdin_is_shared()));
    }
    TurnStart::typed(message.text, message.attachments).map_err(CommandFailure::usage)
}

/// Whole seconds, rounded up.
fn seconds(time: Duration) -> u64 {
    time.as_secs_f64().ceil() as u64
}

/// Flags that correspond to settings.
fn config_flags(args: &args::RunArgs, options: &TurnOptions) -> Vec<Flag> {
    let typed = |name: &str, key: &str, value: Value| Flag::Typed {
        name: name.to_owned(),
        key: key.to_owned(),
        value,
    };
    let mut flags: Vec<Flag> = args.settings.iter().cloned().map(Flag::Set).collect();
    if let Some(model) = &options.model {
        flags.push(typed("--model", "assistant.model", json!(model)));
    }
    if let Some(choice) = &options.tool_choice {
        flags.push(typed(
            "--tool-choice",
            "assistant.tool_choice",
            json!(choice),
        ));
    }
    if let Some(steps) = args.max_steps {
        flags.push(typed(
            "--max-steps",
            "conversation.limits.steps",
            json!(steps),
        ));
    }
    if let Some(time) = args.timeout {
        flags.push(typed(
            "--timeout",
            "conversation.limits.turn_seconds",
            json!(seconds(time)),
        ));
    }
    if let Some(cost) = args.max_cost {
        flags.push(typed(
            "--max-cost",
            "conversation.limits.cost_usd",
            json!(cost),
        ));
    }
    flags
}
