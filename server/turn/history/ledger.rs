//! Ledger of a conversation: what people said, answered, allowed and refused, and which files changed.
//!
//! Printed from the log, never by a model, so a conversation can be summarised any number of times without losing an
//! answer. Texts of people stay byte for byte. Texts of tools are indented, so that they cannot pass for an entry.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

use serde_json::Value;

use crate::{
    history::fullness::BYTES_A_TOKEN,
    model::attachment::Attachment,
    question::Question,
    record::{By, CallKey, Closed, Event, InquiryResponse, Permission, PromptId, PromptSubject},
};

/// Bytes of the ledger that a model with a large context window is sent with a summary.
const MOST: u64 = 24 * 1024;
/// Share of the context window that the ledger may take, as a divisor.
const SHARE: u64 = 16;
/// Bytes of a message of the user, beyond which its middle is left out of requests. Answers are never cut.
const MESSAGE: usize = 4 * 1024;
/// Bytes of a message that a ledger for a small context window has all the same.
const LEAST_MESSAGE: usize = 512;
/// Bytes of the lines above a question, beyond which their middle is left out.
const CONTEXT: usize = 1024;
/// Bytes of what was answered and decided last that stay in any ledger.
const LAST: usize = 4 * 1024;
/// Bytes of the arguments by which a refused call is told.
const ARGUMENTS: usize = 300;

/// The ledger of a conversation, folded from its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    turn: u32,
    entries: Vec<LedgerEntry>,
    /// Entries that were there when the turn began.
    before_turn: usize,
    /// Entries that were there when the last request was sent.
    sent: usize,
    /// Calls of this turn: tool and raw arguments.
    calls: HashMap<CallKey, (String, String)>,
    /// Questions that have no outcome yet, by the id of their pair.
    asked: HashMap<String, LedgerQuestion>,
    /// `runTool` prompts that are open: title and hash of the call.
    prompts: HashMap<PromptId, (String, String)>,
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq)]
struct LedgerEntry {
    turn: u32,
    subject: LedgerSubject,
    text: String,
    standing: EntryStanding,
}

/// How long an entry holds, and who can bring it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryStanding {
    /// What a person did, and what happened.
    Past,
    /// A permission that ends with its turn.
    ForTurn,
    /// A permission that holds until somebody revokes it.
    UntilRevoked,
    /// A refusal by a rule, which a model can bring about by itself.
    ByRule,
}

/// Subject of an entry. A later entry about the same subject supersedes an earlier one, except for messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum LedgerSubject {
    Message,
    Question {
        tool: String,
        id: String,
        text: String,
    },
    /// A decision whether a call may run, by what identifies the call.
    Decision(String),
    File(String),
}

/// A question, as the ledger prints it.
#[derive(Clone, Debug, PartialEq)]
struct LedgerQuestion {
    tool: String,
    id: String,
    /// With the lines that were shown above it.
    text: String,
}

/// Sections of the ledger, in the order in which they are printed.
const SECTIONS: [&str; 4] = [
    "Messages of the user",
    "Questions and their answers",
    "Permissions in force, and refusals",
    "Files that were changed",
];

impl LedgerSubject {
    /// Place of its section among [`SECTIONS`].
    fn section(&self) -> usize {
        match self {
            Self::Message => 0,
            Self::Question { .. } => 1,
            Self::Decision(_) => 2,
            Self::File(_) => 3,
        }
    }
}

impl LedgerEntry {
    /// The text in a ledger of `most` bytes: where these are bounded, the middle of a long message is left out.
    fn printed(&self, most: usize) -> Cow<'_, str> {
        match self.subject {
            LedgerSubject::Message if most < usize::MAX => {
                shortened(&self.text, (most / 2).clamp(LEAST_MESSAGE, MESSAGE))
            }
            _ => Cow::Borrowed(&self.text),
        }
    }
}

impl Ledger {
    /// Applies an event of the conversation.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::TurnStart => self.begin_turn(),
            Event::RequestSent { .. } => self.sent = self.entries.len(),
            Event::UserMessage { text, attachments } => {
                let text = text.clone() + &names(attachments);
                self.add(LedgerSubject::Message, text, EntryStanding::Past);
            }
            Event::Steer { text } => {
                self.add(LedgerSubject::Message, text.clone(), EntryStanding::Past);
            }
            Event::ToolCall {
                call,
                name,
                arguments,
                ..
            } => {
                let known = (name.clone(), arguments.clone());
                self.calls.insert(*call, known);
            }
            Event::InquiryRequest {
                id, call, question, ..
            } => {
                let tool = self.calls.get(call).map(|(tool, _)| tool.clone());
                let asked = LedgerQuestion {
                    tool: tool.unwrap_or_default(),
                    id: question.id.clone(),
                    text: whole(question),
                };
                self.asked.insert(id.clone(), asked);
            }
            Event::InquiryResponse { id, response, .. } => self.answered(id, response),
            Event::PromptOpened {
                prompt,
                subject: PromptSubject::RunTool { hash, title, .. },
                ..
            } => {
                let known = (title.clone(), hash.clone());
                self.prompts.insert(prompt.clone(), known);
            }
            Event::PromptClosed { prompt, closed } => self.closed(prompt, closed),
            Event::ToolResult { call, end, .. } => {
                let Some((tool, arguments)) = self.calls.get(call) else {
                    return;
                };
                let refused = end.reason().filter(|reason| reason.refusal().is_some());
                if let Some(reason) = refused {
                    let call = format!("{tool} {}", shortened(arguments, ARGUMENTS));
                    let why = reason.in_words(tool);
                    let text = format!("Refused: {}: {why}", indented(&call));
                    self.add(LedgerSubject::Decision(call), text, EntryStanding::ByRule);
                }
            }
            _ => {}
        }
    }

    /// Notes that a file has this content now, by the SHA-256 of it; `None` for a deleted file.
    pub fn changed(&mut self, path: &str, digest: Option<&str>) {
        let text = match digest {
            Some(digest) => format!("{}: sha256 {digest}", indented(path)),
            None => format!("{}: deleted", indented(path)),
        };
        self.add(
            LedgerSubject::File(path.to_owned()),
            text,
            EntryStanding::Past,
        );
    }

    /// Notes that changes of a file were taken back.
    pub fn undone(&mut self, path: &str) {
        let text = format!("{}: the user took the changes back", indented(path));
        self.add(
            LedgerSubject::File(path.to_owned()),
            text,
            EntryStanding::Past,
        );
    }

    /// Notes which permissions were revoked meanwhile: those for which no approval is kept, by the hash of the call.
    pub fn revoke(&mut self, is_kept: impl Fn(&str) -> bool) {
        for entry in &mut self.entries {
            if entry.standing == EntryStanding::UntilRevoked
                && let LedgerSubject::Decision(hash) = &entry.subject
                && !is_kept(hash)
            {
                entry.standing = EntryStanding::Past;
                entry.text += " (revoked since then)";
            }
        }
    }

    /// The whole ledger; empty if there is nothing to tell.
    #[must_use]
    pub fn text(&self) -> String {
        self.print(usize::MAX, self.entries.len())
    }

    /// The ledger for the next request, in a small share of a context window of so many tokens. Messages that go out with
    /// that request are not in it. Superseded entries are left out first, then the oldest ones, and the text says how many.
    /// The newest messages stay, up to half of that share, and what was answered and decided last, up to twice its size or
    /// 4 KiB; of each the newest one in any case, unless it is an answer of more than a quarter of the context window.
    #[must_use]
    pub fn for_request(&self, window: Option<u64>) -> String {
        self.print(room(window), self.sent)
    }

    fn print(&self, most: usize, sent: usize) -> String {
        let (kept, superseded, old) = self.within(most, sent);
        if kept.is_empty() && superseded + old == 0 {
            return String::new();
        }
        let mut text = "Ledger of this conversation, printed from its log. Where it differs from a summary, the \
                        ledger is right.\n"
            .to_owned();
        if superseded + old > 0 {
            let _ = writeln!(
                text,
                "Left out for want of room: {superseded} entries that later ones supersede, and {old} of the oldest."
            );
        }
        for (place, title) in SECTIONS.into_iter().enumerate() {
            let is_of = |entry: &&&LedgerEntry| entry.subject.section() == place;
            let mut of = kept.iter().filter(is_of).peekable();
            if of.peek().is_some() {
                let _ = writeln!(text, "\n## {title}");
            }
            for entry in of {
                let _ = writeln!(text, "- turn {}: {}", entry.turn, entry.printed(most));
            }
        }
        text
    }

    /// The entries that fit into `most` bytes, and how many superseded and old ones do not. Messages behind the first
    /// `sent` entries are left out.
    fn within(&self, most: usize, sent: usize) -> (Vec<&LedgerEntry>, usize, usize) {
        let entries = self.entries.iter().enumerate();
        let is_past = |(at, entry): &(usize, &LedgerEntry)| {
            *at < sent || entry.subject != LedgerSubject::Message
        };
        let entries: Vec<&LedgerEntry> = entries.filter(is_past).map(|(_, entry)| entry).collect();
        let mut seen = HashSet::new();
        let mut is_newest = |entry: &LedgerEntry| match &entry.subject {
            LedgerSubject::Message => true,
            subject => seen.insert(subject.clone()),
        };
        let mut current: Vec<bool> = entries.iter().rev().map(|entry| is_newest(entry)).collect();
        current.reverse();
        let is_decided = |entry: &&LedgerEntry| {
            matches!(
                entry.subject,
                LedgerSubject::Question { .. } | LedgerSubject::Decision(_)
            )
        };
        let last_decided = entries.iter().copied().rfind(is_decided);
        let last_decided = last_decided.map(|entry| entry.turn);
        let size = |entry: &LedgerEntry| entry.printed(most).len() + "- turn 10000: \n".len();
        let mut room = most.saturating_mul(2).max(LAST);
        let mut room_of_messages = (most / 2).max(2 * LEAST_MESSAGE);
        let (mut has_decision, mut has_message) = (false, false);
        let mut stays: Vec<bool> = (entries.iter().zip(&current).rev())
            .map(|(entry, is_current)| {
                let size = size(entry);
                if entry.subject == LedgerSubject::Message {
                    // Without the newest one nobody knows what is to be done.
                    let is_last = !std::mem::replace(&mut has_message, true);
                    return takes(&mut room_of_messages, size) || is_last;
                }
                let is_of_last = Some(entry.turn) == last_decided;
                let is_of_people = entry.standing != EntryStanding::ByRule;
                if !(*is_current && is_decided(entry) && is_of_last && is_of_people) {
                    return false;
                }
                let is_last = !std::mem::replace(&mut has_decision, true);
                takes(&mut room, size) || (is_last && size <= most.saturating_mul(4))
            })
            .collect();
        stays.reverse();
        let all: usize = entries.iter().map(|entry| size(entry)).sum();
        let mut excess = all.saturating_sub(most);
        let mut kept = vec![true; entries.len()];
        let mut left_out = [0, 0];
        for (pass, of_pass) in [false, true].into_iter().enumerate() {
            for (at, entry) in entries.iter().enumerate() {
                if excess > 0 && !stays[at] && current[at] == of_pass {
                    kept[at] = false;
                    excess = excess.saturating_sub(size(entry));
                    left_out[pass] += 1;
                }
            }
        }
        let entries = entries.into_iter().zip(&kept);
        let entries = entries.filter_map(|(entry, kept)| kept.then_some(entry));
        (entries.collect(), left_out[0], left_out[1])
    }

    fn add(&mut self, subject: LedgerSubject, text: String, standing: EntryStanding) {
        self.entries.push(LedgerEntry {
            turn: self.turn,
            subject,
            text,
            standing,
        });
    }

    /// Begins a turn. Permissions for the turn before end with it.
    fn begin_turn(&mut self) {
        self.turn += 1;
        self.calls.clear();
        self.asked.clear();
        self.prompts.clear();
        // Only what the last turn added may hold for it alone: a long conversation is not gone through each time.
        let of_turn = self.entries.split_off(self.before_turn);
        let of_turn = of_turn.into_iter();
        let stays = of_turn.filter(|entry| entry.standing != EntryStanding::ForTurn);
        self.entries.extend(stays);
        self.before_turn = self.entries.len();
        self.sent = self.entries.len();
    }

    fn answered(&mut self, pair: &str, response: &InquiryResponse) {
        let Some(asked) = self.asked.remove(pair) else {
            return;
        };
        let outcome = match response {
            InquiryResponse::Answered { answer, by, .. } => {
                let answer = match by {
                    By::User | By::Remembered | By::Config => verbatim(answer),
                    By::Assistant | By::Default => indented(&verbatim(answer)),
                };
                format!("Answer of {}: {answer}", author(*by))
            }
            InquiryResponse::Redacted { .. } => {
                "The user answered with a secret, which is not kept.".to_owned()
            }
            InquiryResponse::Cancelled { reason, note, .. } => match note {
                Some(note) => format!("No answer ({}). The user said: {note}", reason.in_words()),
                None => format!("No answer ({}).", reason.in_words()),
            },
        };
        let text = format!(
            "{} asked: {}\n  {outcome}",
            asked.tool,
            indented(&asked.text)
        );
        let LedgerQuestion {
            tool,
            id,
            text: question,
        } = asked;
        let subject = LedgerSubject::Question {
            tool,
            id,
            text: question,
        };
        self.add(subject, text, EntryStanding::Past);
    }

    fn closed(&mut self, prompt: &PromptId, closed: &Closed) {
        let Some((title, hash)) = self.prompts.remove(prompt) else {
            return;
        };
        let (how, note, standing) = match closed {
            Closed::Permitted {
                permission: given, ..
            } => match given.known() {
                Some(Permission::Turn) => ("Allowed for this turn", None, EntryStanding::ForTurn),
                Some(Permission::Always) => {
                    ("Allowed from now on", None, EntryStanding::UntilRevoked)
                }
                Some(Permission::No) | None => ("Not allowed", None, EntryStanding::Past),
                Some(Permission::Once) => return,
            },
            Closed::Declined { note, .. } => ("Not allowed", note.as_ref(), EntryStanding::Past),
            Closed::Configured
            | Closed::Delivered { .. }
            | Closed::Withdrawn
            | Closed::Failed { .. } => return,
        };
        let note = note.map(|note| format!(". The user said: {note}"));
        let text = format!("{how}: {}{}", indented(&title), note.unwrap_or_default());
        self.add(LedgerSubject::Decision(hash), text, standing);
    }
}

/// Takes so many bytes of the room, if it has them.
fn takes(room: &mut usize, bytes: usize) -> bool {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(*room);
    left.is_some()
}

/// Bytes that the ledger may have in a request to a model with such a context window.
fn room(window: Option<u64>) -> usize {
    let share = window.map_or(MOST, |window| window.saturating_mul(BYTES_A_TOKEN) / SHARE);
    usize::try_from(share.min(MOST)).unwrap_or(usize::MAX)
}

/// The author of an answer in words.
pub(super) fn author(by: By) -> &'static str {
    match by {
        By::User => "the user",
        By::Assistant => "a model",
        By::Config => "the configuration",
        By::Remembered => "the user, earlier in the turn",
        By::Default => "the default",
    }
}

/// An answer as it was given: a text as it is, any other value as JSON.
pub(super) fn verbatim(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The names of what came with a message, in a line of their own; empty where nothing did.
fn names(attachments: &[Attachment]) -> String {
    if attachments.is_empty() {
        return String::new();
    }
    let names = attachments.iter().map(|attached| indented(&attached.name));
    format!("\n  With it: {}", names.collect::<Vec<_>>().join(", "))
}

/// Text of a tool, with its further lines indented, whatever ends them, and without control characters.
fn indented(text: &str) -> String {
    let mut indented = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                indented.push_str("\n  ");
            }
            '\t' => indented.push('\t'),
            c if c.is_control() => indented.push('\u{fffd}'),
            c => indented.push(c),
        }
    }
    indented
}

/// A question with the lines that were shown above it, which say what it is about.
fn whole(question: &Question) -> String {
    match &question.context {
        Some(context) => format!("{}\n{}", question.text, shortened(context, CONTEXT)),
        None => question.text.clone(),
    }
}

/// The text, with its middle left out beyond `most` bytes.
pub(super) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    let left_out = tail - head;
    Cow::Owned(format!(
        "{} [{left_out} bytes left out] {}",
        &text[..head],
        &text[tail..]
    ))
}

#[cfg(test)]
mod tests;
