//! Text that `run` prints during a turn and at its end. Pure: updates in, text out.
//!
//! If standard output is a terminal, the text of each step is written there as it arrives. Otherwise a step's text is
//! held back until it is known not to be the answer, because half an answer could pass for a whole one.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt::Write as _, path::PathBuf};

use aside_base::{
    system::names::with_slashes,
    visible::{one_line, readable},
};
use aside_turn::record::{Level, Outcome, Status};

use super::{
    hints::{self, Hints},
    markdown::MarkdownStream,
    paint::Paint,
    refused::refused,
    wrap::wrapped,
};
use crate::front::uri::file_path;
use crate::front::wire::{
    CallStatus, InquiryStatus, Prompt, QuestionUpdate, ShownChange, TurnCompleted, TurnUsage,
    Update,
};

/// Text to write unchanged, and its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownText {
    /// For standard error.
    Note(String),
    /// For standard output, which is a terminal.
    Answer(String),
}

/// State of a turn as far as later output depends on it.
#[derive(Debug)]
pub struct Show {
    paint: Paint,
    /// Renderer for text that is written as it arrives; `None` if text is held back.
    stream: Option<MarkdownStream>,
    /// Renderer for reasoning, which is shown as it arrives.
    reasoning: MarkdownStream,
    /// Whether prompts are shown on the terminal, so that they need no line of their own.
    attached: bool,
    /// Names of tools by call id.
    tools: HashMap<String, String>,
    /// Texts of open prompts by id.
    prompts: HashMap<String, String>,
    /// The step that `words` belongs to.
    step: u32,
    words: String,
    /// Facts for the end of the turn.
    about: AboutTurn,
    /// Changed files, relative to the workspace.
    changed: Vec<String>,
    /// Reason of the last retry.
    retried: String,
}

/// Facts about a turn that are printed at its end.
#[derive(Clone, Debug, Default)]
pub struct AboutTurn {
    /// Model of the turn, as `provider/model`.
    pub model: String,
    /// Folder of the workspace.
    pub root: PathBuf,
    /// Suggestions for continuing; `None` if the conversation is deleted with the turn.
    pub hints: Option<Hints>,
    /// Current width of the terminal; `None` or 0 if there is none.
    pub columns: Option<fn() -> usize>,
}

impl Show {
    /// Starts without updates. `streams`: standard output is a terminal, and text is written there as it arrives.
    #[must_use]
    pub fn new(paint: Paint, attached: bool, streams: bool, about: AboutTurn) -> Self {
        let (tools, prompts) = (HashMap::new(), HashMap::new());
        Self {
            paint,
            stream: streams.then(|| MarkdownStream::new(paint)),
            reasoning: MarkdownStream::new(Paint::OFF),
            attached,
            tools,
            prompts,
            step: 0,
            words: String::new(),
            about,
            changed: Vec::new(),
            retried: String::new(),
        }
    }

    /// Handles an update, and returns the text to write: parts of lines and whole lines.
    pub fn update(&mut self, update: &Update) -> Vec<ShownText> {
        let mut shown = Vec::new();
        if let Update::Edit { changes, .. } = update {
            self.note_changed(changes);
        }
        match update {
            Update::Text { step, text } => {
                self.end_reasoning(&mut shown);
                if *step != self.step {
                    self.end_words(&mut shown);
                }
                self.step = *step;
                self.words.push_str(text);
                if let Some(stream) = &mut self.stream {
                    shown.push(ShownText::Answer(stream.push(text)));
                }
                return nothing_empty(shown);
            }
            // Reasoning is shown only where it can be dimmed.
            Update::Reasoning { text, .. } if self.paint.on => {
                self.end_stream(&mut shown);
                let text = self.reasoning.push(text);
                shown.push(ShownText::Note(self.paint.dim(&text)));
                return nothing_empty(shown);
            }
            Update::Retry {
                discard_step: Some(step),
                ..
            } if *step == self.step => {
                self.end_stream(&mut shown);
                self.words.clear();
            }
            Update::ToolCall { .. }
            | Update::Question(QuestionUpdate::Opened { .. })
            | Update::Inquiry { .. } => self.end_words(&mut shown),
            _ => {}
        }
        if let Some(line) = self.line(update) {
            self.end_reasoning(&mut shown);
            self.end_stream(&mut shown);
            shown.push(ShownText::Note(line + "\n"));
        }
        nothing_empty(shown)
    }

    /// Returns the text to write before a prompt is shown.
    pub fn prompt(&mut self) -> Vec<ShownText> {
        let mut shown = Vec::new();
        self.end_reasoning(&mut shown);
        self.end_words(&mut shown);
        nothing_empty(shown)
    }

    /// Ends the text of a step that turned out not to be the answer, because something follows it. Text that was held
    /// back is shown.
    fn end_words(&mut self, shown: &mut Vec<ShownText>) {
        let words = std::mem::take(&mut self.words);
        if self.stream.is_some() {
            return self.end_stream(shown);
        }
        let mut lines = String::new();
        for line in readable("", words.trim()).lines() {
            let _ = writeln!(lines, "{}", self.paint.dim(line));
        }
        shown.push(ShownText::Note(lines));
    }

    /// Ends the line of text that is written as it arrives.
    fn end_stream(&mut self, shown: &mut Vec<ShownText>) {
        if let Some(stream) = &mut self.stream {
            shown.push(ShownText::Answer(stream.end()));
        }
    }

    fn end_reasoning(&mut self, shown: &mut Vec<ShownText>) {
        let text = self.reasoning.end();
        shown.push(ShownText::Note(self.paint.dim(&text)));
    }

    /// Handles the end of the turn. Returns the rest of its text, and whether the answer is now complete on standard
    /// output.
    pub fn answer(&mut self, end: &TurnCompleted) -> (Vec<ShownText>, bool) {
        let mut shown = Vec::new();
        self.end_reasoning(&mut shown);
        self.end_stream(&mut shown);
        let is_shown = self.stream.is_some()
            && end.structured.is_none()
            && end
                .answer
                .as_ref()
                .is_some_and(|answer| answer.trim() == self.words.trim());
        (nothing_empty(shown), is_shown)
    }

    /// Changed files, relative to the workspace.
    #[must_use]
    pub fn changed(&self) -> &[String] {
        &self.changed
    }

    /// The refusals, a line each.
    #[must_use]
    pub fn refusals(&self, end: &TurnCompleted) -> String {
        let line = |refusal| format!("{} {}\n", self.paint.yellow("refused:"), refused(refusal));
        end.refusals.iter().map(line).collect()
    }

    /// Returns the text for the end of the turn, without the answer of a completed one.
    pub fn end(&mut self, end: &TurnCompleted) -> Vec<ShownText> {
        let mut shown = Vec::new();
        if end.outcome != Outcome::Completed {
            self.end_words(&mut shown);
        }
        let mut lines = String::new();
        let (conversation, hints) = (&end.conversation_id, &self.about.hints);
        let mut say = |line: String| {
            lines.push_str(&line);
            lines.push('\n');
        };
        let refusals = self.refusals(end);
        refusals.lines().map(str::to_owned).for_each(&mut say);
        for prompt in &end.prompts {
            let (label, text) = (one_line(&prompt.label), one_line(&prompt.text));
            say(format!("{} {label}: {text}", self.paint.yellow("waits:")));
            if let Some(hints) = hints {
                how_to_answer(hints, conversation, prompt)
                    .into_iter()
                    .for_each(&mut say);
            }
        }
        match (&end.error, end.outcome) {
            (Some(error), _) => {
                let message = one_line(&error.message);
                say(self.wrapped(&format!("{} {message}", self.paint.red("error:"))));
            }
            (None, Outcome::Failed) => say(self.paint.red("error: the turn failed")),
            (None, Outcome::Cancelled) => {
                let hint = hints.as_ref().map(|it| it.message(conversation));
                say(go_on("cancelled", hint));
            }
            (None, Outcome::Interrupted) if end.prompts.is_empty() => {
                let hint = hints.as_ref().map(|it| it.resume(conversation));
                say(go_on("interrupted", hint));
            }
            (None, _) => {}
        }
        if !self.changed.is_empty() {
            say(format!("changed: {}", self.changed.join(", ")));
        }
        let model = one_line(&self.about.model);
        let took = usage(&end.usage);
        say(self.paint.dim(&format!(
            "{took}; model {model}; conversation {conversation}"
        )));
        shown.push(ShownText::Note(lines));
        nothing_empty(shown)
    }

    fn note_changed(&mut self, changes: &[ShownChange]) {
        for ShownChange { uri, .. } in changes {
            let path = file_path(uri);
            let name = path.map_or_else(
                || uri.clone(),
                |path| {
                    let inside = path.strip_prefix(&self.about.root).unwrap_or(&path);
                    with_slashes(inside.to_owned()).display().to_string()
                },
            );
            let name = one_line(&name);
            if !self.changed.contains(&name) {
                self.changed.push(name);
            }
        }
    }

    /// The line for an update; `None` if the update has no line of its own.
    fn line(&mut self, update: &Update) -> Option<String> {
        match update {
            Update::ToolCall {
                call_id,
                name,
                title,
                status,
                ..
            } => {
                self.tools.insert(call_id.clone(), one_line(name));
                (*status == CallStatus::Running).then(|| self.call(name, title))
            }
            Update::ToolResult {
                call_id,
                status,
                summary,
                exit_status,
                ..
            } => Some(self.result(call_id, *status, summary, *exit_status)),
            Update::Question(question) => self.question(question),
            Update::Inquiry { call_ids, status } => {
                let tools: Vec<&str> = call_ids.iter().map(|id| self.tool(id)).collect();
                let said = match status {
                    InquiryStatus::Asked => "the model is asked",
                    // The question says so, with the answer.
                    InquiryStatus::Answered => return None,
                    InquiryStatus::Failed => "the model did not answer",
                };
                Some(self.paint.dim(&format!("  ? {}: {said}", tools.join(", "))))
            }
            Update::Steered { text } => Some(format!("» {}", one_line(text))),
            Update::Retry {
                attempt,
                after_ms,
                reason,
                ..
            } => {
                let (seconds, tenths) = (after_ms / 1000, after_ms % 1000 / 100);
                let before = std::mem::replace(&mut self.retried, one_line(reason));
                let reason = match *attempt > 1 && before == self.retried {
                    true => "for the same reason",
                    false => &self.retried,
                };
                let retry = format!("retry {attempt} in {seconds}.{tenths} s: {reason}");
                Some(self.paint.yellow(&self.wrapped(&retry)))
            }
            Update::Notice {
                level: Level::Info,
                text,
            } => Some(self.wrapped(&format!("note: {}", one_line(text)))),
            Update::Notice {
                level: Level::Warning,
                text,
            } => {
                let warning = self.paint.yellow("warning:");
                Some(self.wrapped(&format!("{warning} {}", one_line(text))))
            }
            Update::Text { .. }
            | Update::Reasoning { .. }
            | Update::ToolOutput { .. }
            | Update::Edit { .. }
            // Notices say so.
            | Update::Summary { .. }
            | Update::Usage(_)
            | Update::Title { .. } => None,
        }
    }

    fn call(&self, name: &str, title: &str) -> String {
        let (name, title) = (one_line(name), one_line(title));
        if title.is_empty() {
            format!("▸ {name}")
        } else {
            format!("▸ {name}: {title}")
        }
    }

    fn result(&self, call_id: &str, status: Status, summary: &str, exit: Option<i32>) -> String {
        let tool = self.tool(call_id);
        let summary = one_line(summary);
        match status {
            Status::Ok if exit.is_some_and(|status| status != 0) => {
                format!("  {} {tool}: {summary}", self.paint.red("failed"))
            }
            Status::Ok => format!("  {} {tool}: {summary}", self.paint.green("ok")),
            Status::Error => format!("  {} {tool}: {summary}", self.paint.red("error")),
            Status::Denied => format!("  {} {tool}: {summary}", self.paint.yellow("denied")),
            Status::Cancelled => format!("  {} {tool}: {summary}", self.paint.dim("cancelled")),
        }
    }

    fn question(&mut self, question: &QuestionUpdate) -> Option<String> {
        match question {
            QuestionUpdate::Opened {
                prompt_id,
                label,
                text,
                ..
            } => {
                let text = format!("{}: {}", one_line(label), one_line(text));
                let line = (!self.attached).then(|| format!("  ? {text}"));
                self.prompts.insert(prompt_id.clone(), text);
                line
            }
            QuestionUpdate::Closed {
                prompt_id, text, ..
            } => {
                let question = self
                    .prompts
                    .remove(prompt_id)
                    .unwrap_or_else(|| one_line(prompt_id));
                let line = format!("  ? {question} {}", one_line(text));
                Some(self.paint.dim(&line))
            }
        }
    }

    /// A dim line.
    pub(super) fn quiet(&self, line: &str) -> String {
        self.paint.dim(line) + "\n"
    }

    /// A sentence, broken between words where the terminal's line ends.
    fn wrapped(&self, text: &str) -> String {
        let columns = self.about.columns.map_or(0, |columns| columns());
        wrapped(text, "", "  ", columns)
    }

    fn tool(&self, call_id: &str) -> &str {
        self.tools.get(call_id).map_or("a tool", String::as_str)
    }
}

/// The outcome, with the command that continues.
fn go_on(what: &str, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{what}; continue with: {hint}"),
        None => what.to_owned(),
    }
}

/// Lines that tell how to answer an open prompt.
fn how_to_answer(hints: &Hints, conversation: &str, prompt: &Prompt) -> Vec<String> {
    match hints::values(prompt) {
        Some(values) => vec![
            format!(
                "  answer with: {}",
                hints.answer(conversation, &prompt.prompt_id)
            ),
            format!("  VALUE: {values}"),
        ],
        // A secret is typed hidden, on a terminal.
        None => vec![format!(
            "  answer on a terminal with: {}",
            hints.resume(conversation)
        )],
    }
}

fn nothing_empty(mut shown: Vec<ShownText>) -> Vec<ShownText> {
    shown.retain(|text| match text {
        ShownText::Note(text) | ShownText::Answer(text) => !text.is_empty(),
    });
    shown
}

fn usage(usage: &TurnUsage) -> String {
    let input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    let mut line = format!("tokens: {input} in");
    if usage.cache_read_tokens > 0 {
        let _ = write!(line, " ({} from the cache)", usage.cache_read_tokens);
    }
    let _ = write!(line, ", {} out", usage.output_tokens);
    let _ = match usage.cost_usd {
        Some(cost) if usage.at_least => write!(line, "; at least {cost:.4} US dollars"),
        Some(cost) => write!(line, "; {cost:.4} US dollars"),
        // Nothing costs nothing.
        None if input + usage.output_tokens == 0 && !usage.at_least => Ok(()),
        None => write!(line, "; cost unknown"),
    };
    line
}
