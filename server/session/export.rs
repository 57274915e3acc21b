//! Export of a conversation as markdown for people: messages, calls, questions and their answerers.

use std::{collections::HashSet, fmt::Write};

use super::{record::time_text, replay::Turn};

mod harmless;
mod text;

use aside_turn::{
    attachment::Attachment,
    history::TurnHistory,
    question::{AnswerType, Question, Source},
    record::{By, CallEnd, CallKey, Closed, Event, InquiryResponse, Outcome, Reason, Status},
    response::Usage,
};
pub use text::fenced;

use harmless::block;
use text::{
    code, codes, cut, fence, labelled, labelled_of_others, one_line, phrase, plain, quoted,
};

/// Maximum number of lines shown of a tool's result.
const RESULT_LINES: usize = 20;

/// Reader of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageReader {
    /// A program that renders markdown and can fold the results of tools.
    Viewer,
    /// A person who reads the text itself.
    Person,
}

/// A page of turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownPage {
    /// The whole page.
    pub text: String,
    /// First line of each turn, counted from 0.
    pub turn_lines: Vec<usize>,
}

/// Renders turns; the first one has the number `first` in its conversation, from 1.
///
/// Text of models and tools loses terminal escapes, shows its hidden characters, and cannot pass for anybody else's
/// words: a person's words are in a quotation, which no other text can begin. Secrets are not on record, and so not on
/// the page.
#[must_use]
pub fn markdown(title: &str, first: usize, turns: &[Turn], reader: PageReader) -> MarkdownPage {
    let title = if title.is_empty() {
        "Conversation"
    } else {
        title
    };
    let mut page = format!("# {}\n", phrase(title));
    let mut turn_lines = Vec::new();
    let (mut lines, mut counted) = (0, 0);
    for (at, turn) in turns.iter().enumerate() {
        let time = time_text(turn.started);
        page.push('\n');
        lines += page[counted..].matches('\n').count();
        counted = page.len();
        turn_lines.push(lines);
        let _ = writeln!(
            page,
            "## Turn {} ({})",
            first + at,
            time.get(..16).unwrap_or(&time)
        );
        let history = turn.history();
        TurnPage {
            page: &mut page,
            turn,
            questions: questions(&history),
            history: &history,
            reader,
        }
        .write();
    }
    MarkdownPage {
        text: page,
        turn_lines,
    }
}

/// A turn that is being rendered. Each part is a paragraph: an empty line, then text.
struct TurnPage<'a> {
    page: &'a mut String,
    turn: &'a Turn,
    history: &'a TurnHistory,
    /// Calls that are questions of the assistant's own.
    questions: HashSet<CallKey>,
    reader: PageReader,
}

impl TurnPage<'_> {
    fn write(&mut self) {
        let turn = self.turn;
        let mut written = HashSet::new();
        for (at, event) in turn.events.iter().enumerate() {
            if written.contains(&at) {
                continue;
            }
            self.event(event);
            // Other questions may be asked in between, so an answer is shown with its question.
            if let Some(answer) = answer_to(event, &turn.events[at + 1..]) {
                let answer = at + 1 + answer;
                self.event(&turn.events[answer]);
                written.insert(answer);
            }
        }
        let (edits, undone) = (&self.turn.edits, &self.turn.undone);
        let mut files: Vec<&str> = Vec::new();
        for edit in edits {
            if !files.contains(&edit.path.as_str()) {
                files.push(&edit.path);
            }
        }
        if !files.is_empty() {
            self.part(&format!("Changed: {}.", codes(files)));
        }
        if !undone.is_empty() {
            self.part(&format!(
                "Undone: {}.",
                codes(undone.iter().map(String::as_str))
            ));
        }
        if self.turn.standing.outcome.is_none() {
            self.part("**Interrupted.**");
        }
        if self.turn.is_interrupted() && !self.turn.standing.open.is_empty() {
            let ids: Vec<&str> = self
                .turn
                .standing
                .open
                .iter()
                .map(|open| open.prompt.0.as_str())
                .collect();
            self.part(&format!("Still open: {}.", codes(ids)));
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::UserMessage { text, attachments } => {
                self.part(&labelled("**User:**", text));
                let all: Vec<String> = attachments.iter().map(attached).collect();
                if !all.is_empty() {
                    self.part(&format!("Attached: {}.", all.join(", ")));
                }
            }
            Event::Steer { text } => {
                self.part(&labelled("**User, meanwhile:**", text));
            }
            Event::Directive { text, .. } => {
                self.part(&labelled_of_others("**Aside to the model:**", text));
            }
            Event::Text { text, .. } => self.part(&block(plain(text).trim())),
            // Questions of the assistant are shown as questions and not as calls.
            Event::ToolCall { call, .. } if self.questions.contains(call) => {}
            Event::ToolCall {
                name, arguments, ..
            } => {
                let arguments = one_line(arguments);
                self.part(&format!("**{}** {}", phrase(name), code(&arguments)));
            }
            Event::PromptOpened { call, subject, .. } => {
                if let Some(text) = subject.text(self.tool(*call)) {
                    self.part(&format!("*{}*", phrase(&text)));
                }
            }
            Event::PromptClosed { closed, .. } => self.part(&settled(closed)),
            Event::InquiryRequest {
                source, question, ..
            } => self.question(source, question),
            Event::InquiryResponse { response, .. } => self.part(&answered(response)),
            Event::ToolResult {
                call,
                end: CallEnd::Success,
                ..
            } if self.questions.contains(call) => {}
            Event::ToolResult {
                call,
                end,
                content,
                held: false,
                ..
            } => {
                self.result(*call, end.status(), content);
            }
            Event::Compacted { summary, .. } => self.part(&match summary.is_empty() {
                true => "**Summary:** in a form that only its provider can read.".to_owned(),
                false => labelled_of_others("**Summary for the model:**", summary),
            }),
            Event::Notice { text, .. } => self.part(&format!("*Notice: {}*", phrase(text))),
            Event::TurnEnd { .. } => self.end(event),
            _ => {}
        }
    }

    fn question(&mut self, source: &Source, question: &Question) {
        let who = match source {
            Source::Assistant => "The assistant",
            Source::Tool { name } => name,
        };
        self.part(&format!(
            "**{} asks:** {}",
            phrase(who),
            phrase(&question.text)
        ));
        if let Some(context) = &question.context {
            self.part(&quoted(&quoted(&block(&plain(context)))));
        }
        if let AnswerType::Select { options } | AnswerType::MultiSelect { options, .. } =
            &question.answer_type
        {
            let options: Vec<String> = options
                .iter()
                .map(|option| format!("- {}", phrase(option)))
                .collect();
            self.part(&options.join("\n"));
        }
    }

    fn result(&mut self, call: CallKey, status: Status, content: &str) {
        let word = match status {
            Status::Ok => "result",
            Status::Error => "error",
            Status::Cancelled => "cancelled",
            Status::Denied => "not allowed",
        };
        let content = plain(content);
        let mut lines: Vec<String> = content.lines().take(RESULT_LINES).map(cut).collect();
        let more = content.lines().count().saturating_sub(RESULT_LINES);
        if more > 0 {
            lines.push(format!("… {more} more lines"));
        }
        let text = lines.join("\n");
        let fence = fence(&text);
        let tool = phrase(self.tool(call));
        let text = format!("{fence}text\n{text}\n{fence}");
        self.part(&match self.reader {
            PageReader::Viewer => {
                format!("<details><summary>{tool}: {word}</summary>\n\n{text}\n\n</details>")
            }
            PageReader::Person => format!("{tool}: {word}\n\n{text}"),
        });
    }

    fn end(&mut self, event: &Event) {
        let Event::TurnEnd {
            outcome,
            error,
            usage,
            refusals,
            ..
        } = event
        else {
            return;
        };
        for refusal in refusals {
            let why = refusal.reason.in_words();
            self.part(&format!("*Refused: {}, {why}.*", phrase(&refusal.tool)));
        }
        let word = match outcome {
            Outcome::Completed => "Completed",
            Outcome::Cancelled => "Cancelled",
            Outcome::Failed => "Failed",
            Outcome::Interrupted => "Interrupted",
        };
        let why = error.as_ref().map(|error| match phrase(&error.message) {
            cut if cut.ends_with('…') => format!(": {cut}"),
            whole => format!(": {}.", whole.trim_end_matches('.')),
        });
        let why = why.unwrap_or_else(|| ".".into());
        let end = format!("**{word}**{why} {}", tokens(usage));
        self.part(end.trim_end());
    }

    /// The tool of a call.
    fn tool(&self, call: CallKey) -> &str {
        let call = self.history.call(call);
        call.map_or("a tool", |call| call.tool())
    }

    fn part(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = write!(self.page, "\n{text}\n");
        }
    }
}

/// The place, in the following events, of the one that settled a question or prompt. `None` if it is open.
fn answer_to(asked: &Event, later: &[Event]) -> Option<usize> {
    match asked {
        Event::InquiryRequest { id, .. } => {
            let answers =
                |event: &Event| matches!(event, Event::InquiryResponse { id: of, .. } if of == id);
            later.iter().position(answers)
        }
        Event::PromptOpened { prompt, .. } => {
            let closes = |event: &Event| matches!(event, Event::PromptClosed { prompt: of, .. } if of == prompt);
            later.iter().position(closes)
        }
        _ => None,
    }
}

/// The calls by which the assistant itself asked.
fn questions(history: &TurnHistory) -> HashSet<CallKey> {
    let (mut own, mut others) = (HashSet::new(), HashSet::new());
    for asked in history.questions() {
        match asked.source() {
            Source::Assistant => own.insert(asked.call()),
            Source::Tool { .. } => others.insert(asked.call()),
        };
    }
    own.retain(|call| !others.contains(call));
    own
}

fn answered(response: &InquiryResponse) -> String {
    match response {
        InquiryResponse::Answered {
            answer,
            by,
            remember,
            effort,
            ..
        } => {
            let answer = match answer {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Array(several) => list(several),
                serde_json::Value::Null => "(left out)".to_owned(),
                other => other.to_string(),
            };
            let model = effort.as_ref().map_or_else(String::new, |effort| {
                format!(" ({})", phrase(&effort.model))
            });
            let who = match by {
                By::User => "**The user answered:**".to_owned(),
                By::Assistant => format!("**The model answered{model}:**"),
                By::Config => "**The configuration answered:**".to_owned(),
                By::Remembered => "**Remembered answer of the user:**".to_owned(),
                By::Default => "**The default answered:**".to_owned(),
            };
            let kept = if *remember {
                " (for the rest of the turn)"
            } else {
                ""
            };
            let label = format!("{who}{kept}");
            match by {
                By::User | By::Remembered => labelled(&label, &answer),
                By::Assistant | By::Config | By::Default => labelled_of_others(&label, &answer),
            }
        }
        InquiryResponse::Redacted { .. } => {
            quoted("**The user answered** with a secret, which is not on record.")
        }
        InquiryResponse::Cancelled {
            reason, note, why, ..
        } => {
            let mut text = format!("**Not answered:** {}", unanswered(reason));
            for more in [why, note].into_iter().flatten() {
                let _ = write!(text, " “{}”", phrase(more));
            }
            quoted(&text)
        }
    }
}

/// The chosen options of an answer, in one line if that is unambiguous.
fn list(chosen: &[serde_json::Value]) -> String {
    let texts: Vec<&str> = chosen
        .iter()
        .filter_map(serde_json::Value::as_str)
        .collect();
    match texts.iter().any(|text| text.contains([',', '\n'])) {
        _ if texts.is_empty() => "(none)".to_owned(),
        true => texts.join("\n"),
        false => texts.join(", "),
    }
}

fn unanswered(reason: &Reason) -> String {
    match reason {
        Reason::User => "the user declined.".into(),
        Reason::Withdrawn => "the question was withdrawn.".into(),
        Reason::BackendError => "it could not be asked.".into(),
        Reason::NoPromptBackend => "only a person may answer, and nobody was there.".into(),
        Reason::AssistantRoutingDenied => {
            "only a person may answer, and the model was to be asked.".into()
        }
        Reason::InvalidStaticAnswer => "the configured answer does not fit.".into(),
        Reason::DetachedPolicy => "the policy does not allow it.".into(),
        Reason::InvalidQuestion => "the question is broken.".into(),
        Reason::LimitReached => "it was asked too often.".into(),
        Reason::Other(word) => format!("{}.", phrase(word)),
    }
}

fn settled(closed: &Closed) -> String {
    match closed {
        Closed::Permitted {
            permission,
            new_text,
            ..
        } => {
            let changed = if new_text.is_some() {
                ", with changes"
            } else {
                ""
            };
            let answer = phrase(permission.as_str());
            quoted(&format!("**The user answered:** {answer}{changed}"))
        }
        Closed::Configured => quoted("**The configuration answered:** once"),
        Closed::Delivered { deliver, .. } => {
            let answer = if *deliver { "yes" } else { "no" };
            quoted(&format!("**The user answered:** {answer}"))
        }
        Closed::Declined {
            note: Some(note), ..
        } => quoted(&format!("**The user said no:** “{}”", phrase(note))),
        Closed::Declined { note: None, .. } => quoted("**The user said no.**"),
        Closed::Withdrawn => quoted("**Withdrawn.**"),
        Closed::Failed { why } => quoted(&format!("**It could not be shown:** {}", phrase(why))),
    }
}

/// The usage of a turn; empty if it is not known.
fn tokens(usage: &Usage) -> String {
    let read = usage.input + usage.cache_read + usage.cache_write;
    if read + usage.output == 0 && usage.cost.is_none_or(|cost| cost <= 0.0) {
        return String::new();
    }
    let at_least = if usage.partial { "at least " } else { "" };
    let cost = usage
        .cost
        .map_or_else(String::new, |cost| format!(", {at_least}${cost:.4}"));
    format!(
        "Tokens: {read} in ({} from cache), {} out{cost}.",
        usage.cache_read, usage.output
    )
}

/// The name of an attachment; for an image or PDF also its type and size.
fn attached(attachment: &Attachment) -> String {
    let name = code(&one_line(&attachment.name));
    match attachment.media() {
        Some(media) => format!("{name} ({})", phrase(&media.to_string())),
        None => name,
    }
}

#[cfg(test)]
mod tests;
