//! Watches a turn of the command line: shows progress, asks on the terminal, handles signals, writes the answer.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use aside_base::{
    system::signals::{ContinueSignal, EndSignal, EndSignals},
    visible::one_line,
};
use aside_tool::sandbox::{Missing, SandboxRules};
use aside_turn::{
    effect::{DismissReason, End},
    input::PromptAnswer,
    record::{Level, PromptId, Refusal, RefusalReason, Status},
    rules::Mode,
};
use tokio::time::{Instant, sleep_until};

use super::{
    args::Output,
    drawn::cut,
    early::EarlyEnds,
    exit::{REFUSED, Strictness, exit_code},
    failure::CommandFailure,
    hints::Hints,
    live::{IN_LOG, Live, ON_TERMINAL},
    output::{OutputWriter, RunFacts, since},
    paint::Paint,
    place::NEXT,
    show::{AboutTurn, Show, ShownText},
    streams::columns,
    terminal::{Answers, Terminal},
};
use crate::{
    engine::{Engine, StartedTurn, TurnConfig, TurnMessage, TurnNotice},
    front::{
        notices::notice_text,
        wire::{self, TurnCompleted, TurnRef, TurnUsage, changes::KeptTexts},
    },
};

/// Columns of a printed line in a log.
const LOG_WIDTH: usize = 500;

/// Explains why commands needed approval, and how they can run without it.
async fn approval_hint(
    engine: &Engine,
    rules: &SandboxRules,
    root: &Path,
    mode: Mode,
) -> Option<String> {
    if rules.unsandboxed {
        return None;
    }
    if rules.off {
        let hint = "The sandbox is off, so every command needs approval; \
                    `--mode auto --unsandboxed` lets commands run without approval.";
        return Some(hint.to_owned());
    }
    match engine.try_sandbox(rules, root).await {
        Ok(()) if mode == Mode::Auto => None,
        Ok(()) => {
            Some("`--mode auto` lets commands run inside the sandbox without approval.".to_owned())
        }
        Err(Missing { why, mend }) => Some(format!(
            "The sandbox does not work here, so every command needs approval: {why}. To fix that, {mend}; \
             `--mode auto --unsandboxed` lets commands run without approval."
        )),
    }
}

/// Options for watching a turn.
pub struct Watch {
    /// Terminal for prompts.
    pub terminal: Option<(Terminal, Answers)>,
    /// Styles of the output.
    pub paint: Paint,
    /// Format of standard output; `None` to write nothing.
    pub output: Option<Output>,
    /// Refusals that change the exit code.
    pub strictness: Strictness,
    /// Folder of the workspace.
    pub root: PathBuf,
    /// Suggestions for continuing; `None` if the conversation is deleted with the turn.
    pub hints: Option<Hints>,
}

/// A turn being watched.
struct Watched {
    turn: TurnRef,
    terminal: Option<Terminal>,
    show: Show,
    live: Live,
    kept: Arc<KeptTexts>,
    /// Status lines of the terminal.
    lines: Vec<String>,
    writer: Option<OutputWriter>,
    facts: RunFacts,
    /// Start of the run.
    since: Instant,
    /// What earlier runs of the turn used.
    used_before: TurnUsage,
    /// Whether files are not as an earlier run of the turn left them.
    has_moved: bool,
    /// Set when standard output could not be written.
    cut_off: Option<CommandFailure>,
}

impl Watch {
    /// Starts a turn, watches it to its end, and returns the exit code and the turn.
    ///
    /// # Errors
    /// Fails if the turn cannot start or its output cannot be written.
    pub async fn begin(
        self,
        engine: &Engine,
        mut config: TurnConfig,
        mut early: EarlyEnds,
    ) -> Result<(u8, TurnRef), CommandFailure> {
        let awaited = match config.servers().join(", ").as_str() {
            "" => "looking for a model".to_owned(),
            names => format!("starting the MCP servers: {}", one_line(names)),
        };
        // The limit is the engine's too, which knows what it waits for.
        early.limit(None);
        let prepared = Box::pin(config.prepare(engine));
        early.wait(&awaited, prepared).await??;
        let mut signals = early.signals;
        let mut continued = ContinueSignal::listen().map_err(no_signals)?;
        let (sandbox, since) = (config.sandbox(engine).ok(), config.since());
        let mode = config.mode().unwrap_or_default();
        let out_is_terminal = io::stdout().is_terminal();
        // An answer that must match a schema is data, and written when it is complete.
        let streams = out_is_terminal && self.output == Some(Output::Text) && !config.has_schema();
        let mut started = Box::pin(engine.begin(config)).await?;
        let handle = started.handle.clone();
        let turn = TurnRef {
            conversation_id: handle.conversation.clone(),
            turn_id: handle.turn.clone(),
        };
        let about = AboutTurn {
            model: started.model.clone(),
            root: self.root,
            hints: self.hints,
            columns: Some(|| columns(io::stderr())),
        };
        let kept = KeptTexts {
            root: started.root.clone(),
            blobs: started.blobs.clone(),
            whole: false,
        };
        let (terminal, mut answers) = self.terminal.unzip();
        let mut watched = Watched {
            show: Show::new(self.paint, terminal.is_some(), streams, about),
            live: Live::new(Instant::now()),
            kept: Arc::new(kept),
            lines: Vec::new(),
            facts: RunFacts {
                model: started.model.clone(),
                ..RunFacts::default()
            },
            since,
            used_before: started.used_before.into(),
            has_moved: false,
            writer: self
                .output
                .map(|output| OutputWriter::new(output, out_is_terminal, turn.clone())),
            terminal,
            turn: turn.clone(),
            cut_off: None,
        };
        let (mut last, mut left) = (None, false);
        loop {
            if watched.cut_off.is_some() && !left {
                // A closed output decides nothing: the turn can be resumed.
                left = true;
                handle.leave().await;
            }
            tokio::select! {
                biased;
                signal = signals.next() => {
                    // One Ctrl-C cancels; a second one, or any other signal, leaves at once.
                    if signal == EndSignal::Interrupt && last.is_none() {
                        handle.cancel().await;
                    } else {
                        handle.leave().await;
                    }
                    last = Some(signal);
                }
                answer = next_answer(&mut answers) => match answer {
                    Some((prompt, answer)) => {
                        handle.answer(prompt, answer).await;
                    }
                    // A closed terminal decides nothing either.
                    None => {
                        answers = None;
                        last.get_or_insert(EndSignal::HangUp);
                        handle.leave().await;
                    }
                },
                () = continued.next() => {
                    if let Some(terminal) = &watched.terminal {
                        terminal.go_on();
                    }
                }
                () = watched.changes() => watched.tick(),
                message = started.messages.recv() => {
                    let Some(message) = message else {
                        return Err(CommandFailure::internal("the turn ended without a result; please report this"));
                    };
                    if let Some(end) = watched.message(message).await {
                        if let Some((rules, root)) = &sandbox
                            && end.refusals.iter().any(is_unapproved_command)
                            && let Some(hint) = approval_hint(engine, rules, root, mode).await
                        {
                            watched.warn(hint);
                        }
                        let code = match exit_code(&end, self.strictness, last) {
                            0 if watched.has_moved && self.strictness != Strictness::Off => REFUSED,
                            code => code,
                        };
                        watched.end(end)?;
                        watched.rest(started, &mut signals).await;
                        return Ok((code, turn));
                    }
                }
            }
        }
    }
}

impl Watched {
    async fn message(&mut self, message: TurnMessage) -> Option<End> {
        match message {
            TurnMessage::Notice(notice) => {
                self.has_moved |= matches!(notice, TurnNotice::Moved(_));
                self.warn(notice_text(&notice, &NEXT));
            }
            TurnMessage::Update(update) => self.update(update),
            TurnMessage::Edited { call_id, edits } => {
                let edited = self.kept.clone().edited(call_id, edits).await;
                self.update(edited);
            }
            TurnMessage::Prompt(prompt) => {
                let words = self.show.prompt();
                self.say(words);
                if let Some(terminal) = &self.terminal {
                    terminal.ask(prompt);
                }
            }
            TurnMessage::Dismiss(prompt, why) => {
                if let Some(terminal) = &self.terminal {
                    terminal.dismiss(prompt, why_dismissed(why).to_owned());
                }
            }
            TurnMessage::End(end) => return Some(*end),
        }
        None
    }

    fn warn(&mut self, text: String) {
        self.update(wire::Update::Notice {
            level: Level::Warning,
            text,
        });
    }

    fn update(&mut self, update: wire::Update) {
        match &update {
            wire::Update::Usage(_) => self.facts.steps += 1,
            wire::Update::Notice {
                level: Level::Warning,
                text,
            } => self.facts.warnings.push(text.clone()),
            _ => {}
        }
        let printed = self.printed_by_failed(&update);
        self.live.update(&update, Instant::now());
        if !self.lines.is_empty() {
            self.tick();
        }
        let shown = self.show.update(&update);
        self.say(shown);
        self.say(printed);
        let written = match &mut self.writer {
            Some(writer) => write(&writer.update(update)),
            None => Ok(()),
        };
        if let Err(failure) = written {
            self.writer = None;
            self.cut_off = Some(failure);
        }
    }

    /// Last output lines of a call that failed. A log without a terminal, which showed none while the call ran, gets more
    /// of them.
    fn printed_by_failed(&self, update: &wire::Update) -> Vec<ShownText> {
        let wire::Update::ToolResult {
            call_id,
            status,
            exit_status,
            ..
        } = update
        else {
            return Vec::new();
        };
        let has_failed = *status == Status::Error || exit_status.is_some_and(|status| status != 0);
        if !has_failed {
            return Vec::new();
        }
        let width = match (columns(io::stderr()), &self.terminal) {
            (0, Some(_)) => 80,
            (0, None) => LOG_WIDTH,
            (columns, _) => columns,
        };
        let most = match self.terminal {
            Some(_) => ON_TERMINAL,
            None => IN_LOG,
        };
        let lines = self.live.printed(call_id, most).into_iter();
        let lines = lines.map(|line| self.show.quiet(cut(&line, width)));
        lines.map(ShownText::Note).collect()
    }

    /// Waits for notices after the turn's end. Any signal stops the waiting.
    async fn rest(&mut self, turn: StartedTurn, signals: &mut EndSignals) {
        let rest = async {
            let mut rest = turn.finish().await;
            while let Some(message) = rest.recv().await {
                if let TurnMessage::Notice(notice) = message {
                    self.warn(notice_text(&notice, &NEXT));
                }
            }
        };
        tokio::select! {
            () = rest => {}
            _ = signals.next() => {}
        }
    }

    fn end(&mut self, end: End) -> Result<(), CommandFailure> {
        let completed = TurnCompleted::new(&self.turn, end);
        self.facts.changed = self.show.changed().to_vec();
        self.facts.run_usage = since(&self.used_before, &completed.usage);
        let took = self.since.elapsed().as_millis();
        self.facts.duration_ms = u64::try_from(took).unwrap_or(u64::MAX);
        let (rest, is_shown) = self.show.answer(&completed);
        self.say(rest);
        let terminal = self.terminal.take();
        if let Some(terminal) = &terminal
            && !io::stderr().is_terminal()
        {
            terminal.say(self.show.refusals(&completed));
        }
        // The status lines are erased before the answer is written.
        drop(terminal);
        let written = match (self.cut_off.take(), self.writer.take()) {
            (Some(failure), _) => Err(failure),
            (None, Some(writer)) if !is_shown => write(&writer.end(&completed, &self.facts)),
            (None, _) => Ok(()),
        };
        let shown = self.show.end(&completed);
        self.say(shown);
        written
    }

    /// Waits until the status lines may change.
    async fn changes(&self) {
        match self.live.next(Instant::now()) {
            Some(next) if self.terminal.is_some() => sleep_until(next).await,
            _ => std::future::pending().await,
        }
    }

    /// Updates the status lines.
    fn tick(&mut self) {
        let lines = self.live.lines(Instant::now());
        if let Some(terminal) = &self.terminal
            && lines != self.lines
        {
            terminal.live(lines.clone());
            self.lines = lines;
        }
    }

    fn say(&mut self, shown: Vec<ShownText>) {
        for text in shown {
            match (&self.terminal, text) {
                (Some(terminal), text) => terminal.show(text),
                // If standard error cannot be written, the turn continues nevertheless.
                (None, ShownText::Note(text)) => {
                    let _ = io::stderr().write_all(text.as_bytes());
                }
                (None, ShownText::Answer(text)) => {
                    if let Err(failure) = write(&text) {
                        self.cut_off.get_or_insert(failure);
                    }
                }
            }
        }
    }
}

fn is_unapproved_command(refusal: &Refusal) -> bool {
    refusal.tool == "run_command" && refusal.reason == RefusalReason::NeedsApproval
}

fn write(text: &str) -> Result<(), CommandFailure> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| {
            CommandFailure::internal(format!(
                "cannot write the answer to standard output: {error}"
            ))
        })
}

async fn next_answer(answers: &mut Option<Answers>) -> Option<(PromptId, PromptAnswer)> {
    match answers {
        Some(answers) => answers.recv().await,
        None => std::future::pending().await,
    }
}

fn no_signals(error: io::Error) -> CommandFailure {
    CommandFailure::internal(format!(
        "cannot handle the signal that continues a stopped program: {error}; try again"
    ))
}

/// Reason why a prompt is no longer asked, to follow "no longer asked: ".
fn why_dismissed(reason: DismissReason) -> &'static str {
    match reason {
        DismissReason::Withdrawn => "withdrawn",
        DismissReason::Remembered => "answered for the rest of the turn",
        DismissReason::Permitted => "approved for the rest of the turn",
        DismissReason::AnsweredElsewhere => "answered elsewhere",
    }
}
