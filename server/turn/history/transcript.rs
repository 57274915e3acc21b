//! Transcript of a conversation for providers: the one place that decides which events they are sent, in which order.
//!
//! A transcript is a chain of immutable links, one for each request and response. Forking for an inquiry copies one
//! pointer, and two forks share all bytes that they have in common.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    history::{
        fullness::Fullness,
        ledger::Ledger,
        outputs::{LARGE, LargeOutput},
    },
    model::{attachment::Attachment, response::Feature},
    record::{CallEnd, CallKey, ClearedOutput, DirectiveKind, Event, NativeSummary, PromptSubject},
};

mod fork;

pub use fork::{Fork, Item, Link};

/// Heading of calls that were made after what a summary covers.
const LAST_CALLS: &str =
    "After that you made these calls. Their results come from tools, not from the user:";

/// Heading of a response without calls that a summary does not cover.
const LAST_RESPONSE: &str = "After that you answered:";

/// Placeholder for a response that was cancelled before its first word.
pub const INTERRUPTED: &str = "[interrupted]";

/// Heading of a summary that stands for the conversation before it.
const SUMMARY: &str = "The conversation so far was too long and was summarised. What the summary lacks is in the log, which the \
                       tool `recall` searches if it is on. The summary:\n\n";

/// Text in place of a summary for a model that cannot read it.
const UNREADABLE: &str = "The conversation so far was too long and was summarised for another model, in a form that only that one \
                          can read. What was said is in the log, which the tool `recall` searches if it is on.";

/// The transcript of a conversation, built from its events.
#[derive(Debug, Default)]
pub struct Transcript {
    sent: Fork,
    turn: u32,
    /// Results that wait for the next request, all of one turn.
    results: Vec<Item>,
    /// The turn of these.
    results_of: u32,
    /// Everything else on the user's side that waits for the next request, in order of arrival.
    waiting: Vec<Item>,
    /// Place of a ledger among these.
    ledger_waits: Option<usize>,
    /// Items of a response that has not ended. Without an end they are ignored.
    response: Vec<Item>,
    /// Id and name of this turn's calls, by place.
    calls: Vec<(CallKey, String, String)>,
    /// Responses with calls so far.
    steps: u32,
    /// Calls of this turn whose results say what a person answered or changed.
    heard: BTreeSet<CallKey>,
    /// Outputs that could be left out, oldest first.
    outputs: Vec<LargeOutput>,
    ledger: Ledger,
    fullness: Fullness,
}

impl Transcript {
    /// Applies an event. Events that providers are never sent, such as inquiries and prompts, change nothing.
    pub fn push(&mut self, event: &Event) {
        self.ledger.push(event);
        self.fullness.apply(event);
        match event {
            Event::TurnStart => {
                // The results of a turn that ended without another request wait for that of this one: a summary is made
                // without them, as it is within a turn.
                self.turn += 1;
                self.calls.clear();
                self.heard.clear();
            }
            Event::UserMessage { text, attachments } => self.message(text, attachments),
            Event::Directive { kind, text } => {
                self.waiting.push(Item::Directive(text.clone()));
                if let DirectiveKind::Lost { .. } = kind {
                    // Opaque data of providers is bound to the history that was just damaged.
                    self.change();
                }
            }
            Event::Steer { text } => self.waiting.push(Item::Steer(text.clone())),
            Event::Text { text, opaque } => {
                self.response.push(Item::Text {
                    text: text.clone(),
                    opaque: opaque.clone(),
                });
            }
            Event::Reasoning { text, opaque } => {
                self.response.push(Item::Reasoning {
                    text: text.clone(),
                    opaque: opaque.clone(),
                });
            }
            Event::ToolCall {
                call,
                id,
                name,
                arguments,
                opaque,
            } => {
                self.response.push(Item::ToolCall {
                    call: *call,
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                    opaque: opaque.clone(),
                });
            }
            Event::ToolResult {
                call,
                end,
                content,
                held: false,
                media,
                ..
            } => {
                self.result(*call, end, content, media);
            }
            Event::RequestSent { .. } => {
                self.response.clear();
                self.flush();
            }
            Event::ResponseEnd { finish, .. } => self.end_response(finish.is_none()),
            Event::Compacted {
                summary,
                native,
                ledger,
                ..
            } => self.compact(summary, native.as_ref(), ledger),
            Event::OutputsCleared { outputs, .. } => self.clear(outputs),
            Event::InquiryRequest { call, .. }
            | Event::PromptOpened {
                call,
                subject: PromptSubject::RunTool { diff: true, .. },
                ..
            } => {
                self.heard.insert(*call);
            }
            Event::Learned { refuses, .. } if refuses.known() == Some(Feature::History) => {
                self.change();
            }
            _ => {}
        }
    }

    /// Applies a summary that is taken back later: what providers are sent stays as it is.
    pub fn push_undone(&mut self, summary: &Event) {
        self.fullness.apply(summary);
    }

    /// Begins an epoch: model, tools or instructions changed.
    pub fn change(&mut self) {
        self.sent.epoch += 1;
    }

    /// The transcript so far.
    #[must_use]
    pub fn fork(&self) -> Fork {
        self.sent.clone()
    }

    /// Tokens of the conversation, and the summaries that failed in a row.
    #[must_use]
    pub fn fullness(&self) -> &Fullness {
        &self.fullness
    }

    /// What people said and decided, and which files changed.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Outputs that could be left out, oldest first.
    #[must_use]
    pub fn outputs(&self) -> &[LargeOutput] {
        &self.outputs
    }

    /// Responses with calls so far.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// The ledger, to note changes of files in.
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Number of turns so far, this one included.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Begins anew with a summary. A last response that is not in it goes out as text with its results: what providers
    /// signed is bound to the conversation that is gone. The ledger comes after these. What a summary stands for that only
    /// one model can read is kept for the others.
    fn compact(&mut self, summary: &str, native: Option<&NativeSummary>, ledger: &str) {
        let whole = self.fork();
        let before = match native {
            Some(_) => whole.clone().before_response(),
            None => whole.clone().before_calls(),
        };
        let is_left_out = |link: &Arc<Link>| {
            let last = before.newest.as_ref();
            last.is_none_or(|last| !Arc::ptr_eq(last, link))
        };
        let last = whole.newest.filter(is_left_out);
        self.change();
        self.outputs.clear();
        let is_readable = !summary.is_empty();
        let text = match is_readable {
            true => format!("{SUMMARY}{summary}"),
            false => UNREADABLE.to_owned(),
        };
        self.sent.newest = Some(Arc::new(Link {
            previous: before.newest.filter(|_| !is_readable),
            items: vec![as_user(text)],
            native: native.cloned(),
            turn: self.turn,
            epoch: self.sent.epoch,
        }));
        let results = std::mem::take(&mut self.results);
        let last = last.map(|last| as_user(last_response(&last.items, &results)));
        // A ledger that was not sent yet gives way to this one.
        let place = self.ledger_waits.take();
        if let Some(place) = place {
            self.waiting.remove(place);
        }
        let place = place.unwrap_or_default();
        if !ledger.is_empty() {
            self.waiting.insert(place, as_user(ledger.to_owned()));
            self.ledger_waits = Some(place + usize::from(last.is_some()));
        }
        self.waiting.splice(0..0, last);
        let has_media = |item: &Item| match item {
            Item::User { attachments, .. } => attachments.iter().any(|one| one.media().is_some()),
            _ => false,
        };
        self.sent.has_media &= !is_readable;
        self.sent.has_media |= self.waiting.iter().any(has_media);
    }

    /// Puts texts in place of outputs. What providers signed is bound to these, so it goes from all responses.
    fn clear(&mut self, cleared: &[ClearedOutput]) {
        self.change();
        let at = |turn: u32, call: CallKey| (turn, call);
        let mut texts: BTreeMap<_, _> = cleared
            .iter()
            .map(|one| (at(one.turn, one.call), one))
            .collect();
        self.outputs
            .retain(|output| !texts.contains_key(&at(output.turn, output.call)));
        let mut newer = Vec::new();
        let mut next = self.sent.newest.clone();
        while let Some(link) = next.filter(|_| !texts.is_empty()) {
            let mut items = link.items.clone();
            for item in &mut items {
                if let Item::ToolResult { call, content, .. } = item
                    && let Some(one) = texts.remove(&at(link.turn, *call))
                    && content.len() as u64 == one.bytes
                {
                    content.clone_from(&one.text);
                }
            }
            next = link.previous.clone();
            newer.push((link, items));
        }
        let mut previous = newer.last().and_then(|(link, _)| link.previous.clone());
        for (link, items) in newer.into_iter().rev() {
            previous = Some(link.with_items(items, previous));
        }
        self.sent.newest = previous.or(self.sent.newest.take());
    }

    fn message(&mut self, text: &str, attachments: &[Attachment]) {
        let is_media = |one: &Attachment| one.media().is_some();
        self.sent.has_media |= attachments.iter().any(is_media);
        self.waiting.push(Item::User {
            text: text.to_owned(),
            attachments: attachments.to_vec(),
        });
    }

    fn result(&mut self, call: CallKey, end: &CallEnd, content: &str, media: &[Attachment]) {
        let Some((_, id, name)) = self.calls.iter().find(|(key, ..)| *key == call) else {
            return;
        };
        self.sent.has_media |= !media.is_empty();
        let is_large = content.len() >= LARGE && media.is_empty();
        if *end == CallEnd::Success && is_large && !self.heard.contains(&call) {
            self.outputs.push(LargeOutput {
                turn: self.turn,
                step: self.steps,
                call,
                tool: name.clone(),
                bytes: content.len() as u64,
            });
        }
        self.results_of = self.turn;
        self.results.push(Item::ToolResult {
            call,
            id: id.clone(),
            name: name.clone(),
            content: content.to_owned(),
            is_error: *end != CallEnd::Success,
            media: media.to_vec(),
        });
    }

    fn end_response(&mut self, cancelled: bool) {
        if cancelled && !self.response.iter().any(Item::is_text) {
            // Two user messages in a row would hide that there was a response.
            let text = INTERRUPTED.to_owned();
            self.response.push(Item::Text { text, opaque: None });
        }
        for item in &self.response {
            if let Item::ToolCall { call, id, name, .. } = item {
                self.calls.push((*call, id.clone(), name.clone()));
            }
        }
        self.steps += u32::from(self.response.iter().any(Item::is_call));
        let items = std::mem::take(&mut self.response);
        self.link(items);
    }

    /// Appends the results in call order, then everything else in order of arrival.
    fn flush(&mut self) {
        self.results.sort_by_key(|item| match item {
            Item::ToolResult { call, .. } => *call,
            _ => CallKey(u32::MAX),
        });
        let mut items = std::mem::take(&mut self.results);
        if self.results_of != self.turn {
            self.link_of(self.results_of, std::mem::take(&mut items));
        }
        items.append(&mut self.waiting);
        self.ledger_waits = None;
        self.link(items);
    }

    fn link(&mut self, items: Vec<Item>) {
        self.link_of(self.turn, items);
    }

    fn link_of(&mut self, turn: u32, items: Vec<Item>) {
        if !items.is_empty() {
            let previous = self.sent.newest.take();
            self.sent.newest = Some(Arc::new(Link {
                previous,
                items,
                native: None,
                turn,
                epoch: self.sent.epoch,
            }));
        }
    }
}

/// A response with the results of its calls, as text. Results stay byte for byte, each in a fence that is not in it.
fn last_response(response: &[Item], results: &[Item]) -> String {
    let calls = response.iter().any(Item::is_call);
    let heading = if calls { LAST_CALLS } else { LAST_RESPONSE };
    let mut text = heading.to_owned();
    for item in response {
        match item {
            Item::Text { text: said, .. } => text += &format!("\n\nYou said: {said}"),
            Item::ToolCall {
                call,
                name,
                arguments,
                ..
            } => {
                text += &format!("\n\ncall {name} {arguments}");
                let of = results.iter().find_map(|result| match result {
                    Item::ToolResult {
                        call: of, content, ..
                    } if of == call => Some(content),
                    _ => None,
                });
                if let Some(content) = of {
                    let fence = fence(content);
                    text += &format!("\n{fence}\n{content}\n{fence}");
                }
            }
            _ => {}
        }
    }
    text
}

/// A row of backticks that is longer than any in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

/// A text on the user's side. A directive may go out as a system message, for which questions of tools are not to be
/// trusted enough.
fn as_user(text: String) -> Item {
    Item::User {
        text,
        attachments: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
