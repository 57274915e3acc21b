//! What `run` says while a turn runs and when it ends. Pure: told what happens, it gives what is to be written.
//!
//! Where standard output is a terminal, the text of each step is written there as it comes. Elsewhere the words of a
//! step are held back until it is known that they are not the answer, since half an answer would pass for one.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt::Write as _, path::PathBuf};

use aside_base::visible::{one_line, visible};
use aside_turn::record::{By, Level, Outcome, Reason, Status};
use serde_json::Value;
use url::Url;

use super::{
    hints::{self, Hints},
    markdown::MarkdownStream,
    paint::Paint,
    refused::{for_a_person, refused},
    wrap::wrapped,
};
use crate::front::wire::{
    CallStatus, InquiryStatus, Prompt, PromptOutcome, QuestionUpdate, TurnCompleted, Update, Usage,
};

/// Something to be written as it is, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownText {
    /// On standard error.
    Note(String),
    /// On standard output, which is a terminal.
    Answer(String),
}

/// What was seen of a turn so far, as far as later lines need it.
#[derive(Debug)]
pub struct Show {
    paint: Paint,
    /// Where text is written as it comes; none where it is held back.
    stream: Option<MarkdownStream>,
    /// Reasoning that is shown as it comes.
    reasoning: MarkdownStream,
    /// A person is asked on the terminal, and need not be told a second time what.
    attached: bool,
    /// Names of tools by the provider's id of the call.
    tools: HashMap<String, String>,
    /// Texts of open prompts by id.
    prompts: HashMap<String, String>,
    /// The step whose words these are.
    step: u32,
    words: String,
    /// What there is to say of the turn when it ends.
    about: AboutTurn,
    /// The files that were changed, as they are called in the workspace.
    changed: Vec<String>,
    /// Why the request was sent again that was sent again last.
    retried: String,
}

/// What there is to say of a turn when it ends, beside what it says itself.
#[derive(Clone, Debug, Default)]
pub struct AboutTurn {
    /// Its model, as `provider/model`.
    pub model: String,
    /// The folder of its workspace.
    pub root: PathBuf,
    /// How to go on; none where the conversation is gone with the turn.
    pub hints: Option<Hints>,
    /// The columns of the terminal that is written to, as they are at the time; 0 where it is none.
    pub columns: Option<fn() -> usize>,
}

impl Show {
    /// Nothing was seen yet. `streams`: standard output is a terminal, and text is written there as it comes.
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

    /// Takes in what happened and gives what is to be written: pieces of text, and whole lines.
    pub fn update(&mut self, update: &Update) -> Vec<ShownText> {
        let mut shown = Vec::new();
        if let Update::Edit { uris, .. } = update {
            self.note_changed(uris);
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
            // What is of less weight has to look so.
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

    /// A prompt is about to be shown: what of the text and the reasoning stands before it.
    pub fn prompt(&mut self) -> Vec<ShownText> {
        let mut shown = Vec::new();
        self.end_reasoning(&mut shown);
        self.end_words(&mut shown);
        nothing_empty(shown)
    }

    /// The words of a step are over and were no answer: something else follows them. Those that were held back are
    /// shown.
    fn end_words(&mut self, shown: &mut Vec<ShownText>) {
        let words = std::mem::take(&mut self.words);
        if self.stream.is_some() {
            return self.end_stream(shown);
        }
        let mut lines = String::new();
        for line in visible(words.trim()).lines() {
            let _ = writeln!(lines, "{}", self.paint.dim(line));
        }
        shown.push(ShownText::Note(lines));
    }

    /// Ends the line of the text that is written as it comes.
    fn end_stream(&mut self, shown: &mut Vec<ShownText>) {
        if let Some(stream) = &mut self.stream {
            shown.push(ShownText::Answer(stream.end()));
        }
    }

    fn end_reasoning(&mut self, shown: &mut Vec<ShownText>) {
        let text = self.reasoning.end();
        shown.push(ShownText::Note(self.paint.dim(&text)));
    }

    /// The turn has ended so. Gives what is still to be written of its text, and whether the answer stands on standard
    /// output then.
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

    /// What is said when the turn has ended; the answer of a completed one is not in it.
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
        for refusal in &end.refusals {
            say(format!(
                "{} {}",
                self.paint.yellow("refused:"),
                refused(refusal)
            ));
        }
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
                say(self.sentence(&format!("{} {message}", self.paint.red("error:"))));
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

    fn note_changed(&mut self, uris: &[String]) {
        for uri in uris {
            let path = Url::parse(uri).ok().and_then(|uri| uri.to_file_path().ok());
            let name = path.map_or_else(
                || uri.clone(),
                |path| {
                    let inside = path.strip_prefix(&self.about.root).unwrap_or(&path);
                    inside.display().to_string()
                },
            );
            let name = one_line(&name);
            if !self.changed.contains(&name) {
                self.changed.push(name);
            }
        }
    }

    /// The line that says this; none where it is nothing for a terminal, or part of something later.
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
                    InquiryStatus::Answered => "the model answered",
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
                Some(self.paint.yellow(&self.sentence(&retry)))
            }
            Update::Notice {
                level: Level::Info,
                text,
            } => Some(self.sentence(&format!("note: {}", one_line(text)))),
            Update::Notice {
                level: Level::Warning,
                text,
            } => {
                let warning = self.paint.yellow("warning:");
                Some(self.sentence(&format!("{warning} {}", one_line(text))))
            }
            Update::Text { .. }
            | Update::Reasoning { .. }
            | Update::ToolOutput { .. }
            | Update::Edit { .. }
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
        let summary = match status {
            Status::Error | Status::Denied => one_line(for_a_person(tool, summary)),
            Status::Ok | Status::Cancelled => one_line(summary),
        };
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
                prompt_id,
                outcome,
                by,
                reason,
                answer,
            } => {
                let text = self
                    .prompts
                    .remove(prompt_id)
                    .unwrap_or_else(|| one_line(prompt_id));
                let how = match (outcome, answer) {
                    (PromptOutcome::Answered, Some(Value::String(text))) => one_line(text),
                    (PromptOutcome::Answered, Some(Value::Null)) => "left out".into(),
                    (PromptOutcome::Answered, Some(Value::Array(chosen))) => in_words(chosen),
                    (PromptOutcome::Answered, Some(value)) => value.to_string(),
                    (PromptOutcome::Answered, None) => "answered".into(),
                    (PromptOutcome::Redacted, _) => "a secret".into(),
                    (PromptOutcome::Cancelled, _) => {
                        let why = reason.as_ref().map_or("unknown", Reason::in_words);
                        format!("no answer ({})", one_line(why))
                    }
                };
                let who = by
                    .map(|by| format!(" ({})", author(by)))
                    .unwrap_or_default();
                Some(self.paint.dim(&format!("  ? {text} {how}{who}")))
            }
        }
    }

    /// A line of less weight.
    pub(super) fn quiet(&self, line: &str) -> String {
        self.paint.dim(line) + "\n"
    }

    /// A sentence, broken between words where the terminal's line ends.
    fn sentence(&self, text: &str) -> String {
        let columns = self.about.columns.map_or(0, |columns| columns());
        wrapped(text, "", "  ", columns)
    }

    fn tool(&self, call_id: &str) -> &str {
        self.tools.get(call_id).map_or("a tool", String::as_str)
    }
}

/// What ended, and the command that goes on with it.
fn go_on(what: &str, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{what}; go on with: {hint}"),
        None => what.to_owned(),
    }
}

/// How a prompt that waits is answered, and with what.
fn how_to_answer(hints: &Hints, conversation: &str, prompt: &Prompt) -> Vec<String> {
    match hints::values(prompt) {
        Some(values) => vec![
            format!(
                "  answer with: {}",
                hints.answer(conversation, &prompt.prompt_id)
            ),
            format!("  VALUE: {values}"),
        ],
        // A secret is typed unseen, on a terminal.
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

/// The chosen options of an answer.
fn in_words(chosen: &[Value]) -> String {
    let texts: Vec<String> = chosen
        .iter()
        .filter_map(Value::as_str)
        .map(one_line)
        .collect();
    match texts.as_slice() {
        [] => "none".into(),
        texts => texts.join(", "),
    }
}

fn author(by: By) -> &'static str {
    match by {
        By::User => "you",
        By::Assistant => "the model",
        By::Config => "configured",
        By::Remembered => "remembered",
        By::Default => "the default",
    }
}

fn usage(usage: &Usage) -> String {
    let input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    let mut line = format!("tokens: {input} in");
    if usage.cache_read_tokens > 0 {
        let _ = write!(line, " ({} from the cache)", usage.cache_read_tokens);
    }
    let _ = write!(line, ", {} out", usage.output_tokens);
    let _ = match usage.cost_usd {
        Some(cost) => write!(line, "; {cost:.4} US dollars"),
        None => write!(line, "; cost not known"),
    };
    line
}
