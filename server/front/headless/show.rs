//! What `run` says on standard error while a turn runs and when it ends. Pure: told what happens, it gives
//! the lines to write.
//!
//! The words of a step are held back until it is known that they are not the answer, which goes to
//! standard output.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt::Write as _, path::PathBuf};

use serde_json::Value;
use url::Url;

use super::{
    hints::{self, Hints},
    paint::Paint,
};
use crate::{
    front::wire::{
        CallStatus, InquiryStatus, Prompt, PromptOutcome, QuestionUpdate, TurnCompleted, Update,
        Usage,
    },
    turn::record::{By, Level, Outcome, Refusal, Status},
    visible::{one_line, short_line, visible},
};

/// What was seen of a turn so far, as far as later lines need it.
#[derive(Debug)]
pub struct Show {
    paint: Paint,
    /// A person is asked on the terminal, and need not be told a second time what.
    attached: bool,
    /// Names of tools by the provider's id of the call.
    tools: HashMap<String, String>,
    /// Texts of open prompts by id.
    prompts: HashMap<String, String>,
    /// The step whose words are held back.
    step: u32,
    words: String,
    /// What there is to say of the turn when it ends.
    about: AboutTurn,
    /// The files that were changed, as they are called in the workspace.
    changed: Vec<String>,
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
}

impl Show {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new(paint: Paint, attached: bool, about: AboutTurn) -> Self {
        let (tools, prompts) = (HashMap::new(), HashMap::new());
        Self {
            paint,
            attached,
            tools,
            prompts,
            step: 0,
            words: String::new(),
            about,
            changed: Vec::new(),
        }
    }

    /// Takes in what happened and gives what is to be written: whole lines, or nothing.
    pub fn update(&mut self, update: &Update) -> String {
        if let Update::Text { step, text } = update {
            let earlier = if *step == self.step {
                String::new()
            } else {
                self.words()
            };
            self.step = *step;
            self.words.push_str(text);
            return earlier;
        }
        if let Update::Retry {
            discard_step: Some(step),
            ..
        } = update
            && *step == self.step
        {
            self.words.clear();
        }
        if let Update::Edit { uris, .. } = update {
            self.note_changed(uris);
        }
        let mut lines = match update {
            Update::ToolCall { .. }
            | Update::Question(QuestionUpdate::Opened { .. })
            | Update::Inquiry { .. } => self.words(),
            _ => String::new(),
        };
        if let Some(line) = self.line(update) {
            lines.push_str(&line);
            lines.push('\n');
        }
        lines
    }

    /// The words that were held back, which are no answer: something else follows them.
    pub fn words(&mut self) -> String {
        let words = std::mem::take(&mut self.words);
        let mut lines = String::new();
        for line in visible(words.trim()).lines() {
            let _ = writeln!(lines, "{}", self.paint.dim(line));
        }
        lines
    }

    /// What is said when the turn has ended; the answer of a completed one is not in it.
    pub fn end(&mut self, end: &TurnCompleted) -> String {
        let mut lines = if end.outcome == Outcome::Completed {
            String::new()
        } else {
            self.words()
        };
        let (conversation, hints) = (&end.conversation_id, &self.about.hints);
        let mut say = |line: String| {
            lines.push_str(&line);
            lines.push('\n');
        };
        for refusal in &end.refusals {
            let (call, text) = (refused_call(refusal), one_line(&refusal.text));
            say(format!("{} {call}: {text}", self.paint.yellow("refused:")));
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
            (Some(error), _) => say(format!(
                "{} {}",
                self.paint.red("error:"),
                one_line(&error.message)
            )),
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
        lines
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
                ..
            } => Some(self.result(call_id, *status, summary)),
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
                let reason = one_line(reason);
                Some(self.paint.yellow(&format!(
                    "retry {attempt} in {seconds}.{tenths} s: {reason}"
                )))
            }
            Update::Notice {
                level: Level::Info,
                text,
            } => Some(format!("note: {}", one_line(text))),
            Update::Notice {
                level: Level::Warning,
                text,
            } => Some(format!(
                "{} {}",
                self.paint.yellow("warning:"),
                one_line(text)
            )),
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

    fn result(&self, call_id: &str, status: Status, summary: &str) -> String {
        let (tool, summary) = (self.tool(call_id), one_line(summary));
        match status {
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
                        let reason = match reason.as_deref() {
                            Some("user") => "you",
                            Some(reason) => reason,
                            None => "unknown",
                        };
                        format!("no answer ({})", one_line(reason))
                    }
                };
                let who = by
                    .map(|by| format!(" ({})", author(by)))
                    .unwrap_or_default();
                Some(self.paint.dim(&format!("  ? {text} {how}{who}")))
            }
        }
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

/// A call that was refused: the tool and its arguments, of which a single text stands for itself.
fn refused_call(refusal: &Refusal) -> String {
    let tool = one_line(&refusal.tool);
    let arguments = match &refusal.arguments {
        Value::Object(members) if members.is_empty() => return tool,
        Value::Object(members) if members.len() == 1 => match members.values().next() {
            Some(Value::String(only)) => only.clone(),
            _ => refusal.arguments.to_string(),
        },
        Value::Null => return tool,
        other => other.to_string(),
    };
    format!("{tool} `{}`", short_line(&arguments, 200))
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
