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
        fullness::{BYTES_A_TOKEN, Fullness},
        ledger::{Ledger, shortened},
        outputs::{LARGE, LargeOutput},
    },
    model::{attachment::Attachment, response::Feature},
    record::{CallEnd, CallKey, ClearedOutput, DirectiveKind, Event, NativeSummary, PromptSubject},
};

/// Tokens of a context window of which nobody knows how large it is, and of which little is asked.
const SMALL_WINDOW: u64 = 32_768;
/// Bytes of a result that stay however many there are.
const LEAST_RESULT: usize = 200;

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

/// Part of a message to a provider.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A message of the user.
    User {
        /// The user's text.
        text: String,
        /// Files and images that came with the message.
        attachments: Vec<Attachment>,
    },
    /// A text of Aside's own, on the user's side.
    Directive(String),
    /// A message that the user added while the turn ran.
    Steer(String),
    /// Text of the model.
    Text {
        /// The text that the model wrote.
        text: String,
        /// Raw JSON that the provider needs back.
        opaque: Option<String>,
    },
    /// Reasoning of the model.
    Reasoning {
        /// The part that may be shown.
        text: String,
        /// Raw JSON that the provider needs back.
        opaque: Option<String>,
    },
    /// A tool call of the model.
    ToolCall {
        /// Place of the call in its turn.
        call: CallKey,
        /// The provider's id.
        id: String,
        /// The tool that was called.
        name: String,
        /// The raw arguments.
        arguments: String,
        /// Raw JSON that the provider needs back.
        opaque: Option<String>,
    },
    /// The result of a call.
    ToolResult {
        /// Place of the call in its turn.
        call: CallKey,
        /// The provider's id.
        id: String,
        /// The tool that was called.
        name: String,
        /// Text for the model.
        content: String,
        /// Whether the result is an error.
        is_error: bool,
        /// Images and documents of the result.
        media: Vec<Attachment>,
    },
}

/// The part of a transcript that one request or response added. Never changes.
#[derive(Debug)]
pub struct Link {
    /// The preceding link. A summary has one if only a single model can read it.
    pub previous: Option<Arc<Link>>,
    /// Items in order; never empty.
    pub items: Vec<Item>,
    /// The items in a form that one model alone can read, if this is its summary.
    pub native: Option<NativeSummary>,
    /// Number of the turn in its conversation, from 1.
    pub turn: u32,
    /// Epoch of the conversation; see [`Fork::epoch`].
    pub epoch: u32,
}

/// A transcript up to some link: shared, not copied.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// The newest link.
    pub newest: Option<Arc<Link>>,
    /// The oldest link that is sent; none for the first one.
    pub oldest: Option<Arc<Link>>,
    /// Whether the oldest link is a summary that the model is sent in its own form.
    pub is_native: bool,
    /// The current epoch. A change of model, tools or instructions begins the next one. Reasoning and opaque data of
    /// earlier epochs are left out, because they are bound to the earlier setup.
    pub epoch: u32,
    /// Whether an image or PDF is attached, whose bytes are not part of the transcript.
    pub has_media: bool,
}

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
        self.ledger.push(summary);
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
            previous = Some(Arc::new(Link {
                previous,
                items,
                native: link.native.clone(),
                turn: link.turn,
                epoch: link.epoch,
            }));
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

impl Item {
    /// Whether this is text of the model that is not empty.
    fn is_text(&self) -> bool {
        matches!(self, Self::Text { text, .. } if !text.is_empty())
    }

    fn is_call(&self) -> bool {
        matches!(self, Self::ToolCall { .. })
    }

    /// Bytes of its text.
    fn text_len(&self) -> usize {
        match self {
            Self::User { text, attachments } => {
                let attached = attachments.iter().map(Attachment::text_len);
                text.len() + attached.sum::<usize>()
            }
            Self::Directive(text)
            | Self::Steer(text)
            | Self::Text { text, .. }
            | Self::Reasoning { text, .. } => text.len(),
            Self::ToolCall { arguments, .. } => arguments.len(),
            Self::ToolResult { content, .. } => content.len(),
        }
    }

    /// Files and images that came with this entry.
    #[must_use]
    pub fn attachments(&self) -> &[Attachment] {
        match self {
            Self::User { attachments, .. } => attachments,
            Self::ToolResult { media, .. } => media,
            _ => &[],
        }
    }

    /// Whether the model produced this entry.
    #[must_use]
    pub fn is_of_model(&self) -> bool {
        matches!(
            self,
            Self::Text { .. } | Self::Reasoning { .. } | Self::ToolCall { .. }
        )
    }
}

impl Link {
    /// Whether this link is a response that made calls.
    fn has_calls(&self) -> bool {
        self.items.iter().any(Item::is_call)
    }

    /// Whether this link is a response.
    #[must_use]
    pub fn is_of_model(&self) -> bool {
        self.items.iter().any(Item::is_of_model)
    }
}

impl Fork {
    /// The links from the newest to the oldest. A summary that another model made for itself is none of them, but where
    /// nothing before it is sent.
    pub fn newest_first(&self) -> impl Iterator<Item = &Link> {
        let is_sent = |link: &&Link| {
            link.native.is_none() || link.previous.is_none() || self.begins_with(link)
        };
        std::iter::successors(self.newest.as_deref(), |link| self.before(link)).filter(is_sent)
    }

    fn before<'a>(&self, link: &'a Link) -> Option<&'a Link> {
        match self.begins_with(link) {
            true => None,
            false => link.previous.as_deref(),
        }
    }

    fn begins_with(&self, link: &Link) -> bool {
        let oldest = self.oldest.as_deref();
        oldest.is_some_and(|oldest| std::ptr::eq(oldest, link))
    }

    /// The conversation as it is sent to a model: from the newest summary on that this model can read. A summary that another
    /// model alone can read is left out, and what it stands for is sent in its place. Where that takes more than a quarter of
    /// a context window of `window` tokens, the conversation begins with the oldest such summary after which it does not, in
    /// words that say so. `reads` says whether the model takes summaries of its own back.
    #[must_use]
    pub fn read_by(mut self, model: &str, reads: bool, window: Option<u64>) -> Self {
        let most = window.map_or(u64::MAX, |window| window / 4 * BYTES_A_TOKEN);
        let mut bytes = 0_u64;
        let (mut oldest, mut next) = (None, self.newest.clone());
        self.is_native = false;
        while let Some(link) = next {
            match &link.native {
                Some(native) if reads && native.model == model => {
                    self.is_native = true;
                    oldest = Some(link.clone());
                    break;
                }
                Some(_) if link.previous.is_some() => oldest = Some(link.clone()),
                _ if oldest.is_some() => {
                    let of_link = link.items.iter().map(Item::text_len).sum::<usize>();
                    bytes = bytes.saturating_add(of_link as u64);
                    if bytes > most {
                        break;
                    }
                }
                _ => {}
            }
            next = link.previous.clone();
            if next.is_none() {
                oldest = None;
            }
        }
        self.oldest = oldest;
        self
    }

    /// The summary in this link, if that is sent in the model's own form.
    #[must_use]
    pub fn native(&self, link: &Link) -> Option<&NativeSummary> {
        let oldest = self.oldest.as_ref().filter(|_| self.is_native)?;
        oldest.native.as_ref().filter(|_| self.begins_with(link))
    }

    /// The same with no more of each result of a tool than has room with all others in half of a context window of `window`
    /// tokens, or of a small one where nobody knows how large it is, and in half of what they have now.
    #[must_use]
    pub fn with_short_results(&self, window: Option<u64>) -> Self {
        let links: Vec<&Link> = self.newest_first().collect();
        let items = links.iter().flat_map(|link| &link.items);
        let bytes = items.filter_map(|item| match item {
            Item::ToolResult { content, .. } => Some(content.len() as u64),
            _ => None,
        });
        let (results, bytes) = bytes.fold((0, 0), |(count, all), one| (count + 1, all + one));
        let room = window.unwrap_or(SMALL_WINDOW).saturating_mul(BYTES_A_TOKEN);
        let most = room.min(bytes) / 2 / results.max(1);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let (mut oldest, mut newest) = (None, None);
        for link in links.into_iter().rev() {
            let mut items = link.items.clone();
            for item in &mut items {
                if let Item::ToolResult { content, .. } = item {
                    *content = shortened(content, most.max(LEAST_RESULT)).into_owned();
                }
            }
            newest = Some(Arc::new(Link {
                previous: newest,
                items,
                native: link.native.clone(),
                turn: link.turn,
                epoch: link.epoch,
            }));
            oldest = oldest.or_else(|| newest.clone());
        }
        Self {
            newest,
            oldest: oldest.filter(|_| self.oldest.is_some()),
            ..*self
        }
    }

    /// What a summary is made of: up to the last request, or also its response if that made no calls.
    #[must_use]
    pub fn before_calls(self) -> Self {
        match self.newest.clone().filter(|link| link.has_calls()) {
            Some(_) => self.before_response(),
            None => self,
        }
    }

    /// The transcript as it was sent last, without the response to it.
    #[must_use]
    pub fn before_response(mut self) -> Self {
        if let Some(last) = self.newest.clone().filter(|link| link.is_of_model()) {
            self.newest.clone_from(&last.previous);
        }
        self
    }

    /// All items from the oldest to the newest.
    #[must_use]
    pub fn items(&self) -> Vec<&Item> {
        let mut links: Vec<&Link> = self.newest_first().collect();
        links.reverse();
        links.into_iter().flat_map(|link| &link.items).collect()
    }
}

impl Drop for Link {
    /// Drops a long chain link by link; the default drop would recurse for each link.
    fn drop(&mut self) {
        let mut next = self.previous.take();
        while let Some(link) = next.and_then(Arc::into_inner) {
            let mut link = link;
            next = link.previous.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::response::Usage;

    #[test]
    fn a_summary_right_after_another_leaves_one_ledger() {
        let mut transcript = Transcript::default();
        let mut push = |event: Event| transcript.push(&event);
        push(Event::TurnStart);
        for number in 1..3 {
            push(Event::Compacted {
                number,
                asked: false,
                summary: format!("Summary {number}."),
                native: None,
                ledger: format!("Ledger {number}."),
                before: 0,
                usage: Usage::default(),
            });
            push(Event::TurnStart);
        }
        push(Event::Steer {
            text: "Go on.".into(),
        });
        push(Event::RequestSent { step: 1 });
        let fork = transcript.fork();
        let said: Vec<_> = fork
            .items()
            .into_iter()
            .map(|item| match item {
                Item::User { text, .. } => text.lines().next_back().unwrap_or_default(),
                Item::Steer(text) => text,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(said, ["Summary 2.", "Ledger 2.", "Go on."]);
    }

    #[test]
    fn turns_are_counted_and_a_long_chain_is_taken_apart_without_recursion() {
        let mut transcript = Transcript::default();
        for _ in 0..200_000 {
            transcript.push(&Event::TurnStart);
            transcript.push(&Event::UserMessage {
                text: "Go.".into(),
                attachments: Vec::new(),
            });
            transcript.push(&Event::RequestSent { step: 1 });
            transcript.push(&Event::Text {
                text: "Done.".into(),
                opaque: None,
            });
            transcript.push(&Event::ResponseEnd {
                finish: None,
                usage: Usage::default(),
            });
        }
        assert_eq!(transcript.turn(), 200_000);
        let fork = transcript.fork();
        assert_eq!(
            fork.newest_first().next().map(|link| link.turn),
            Some(200_000)
        );
        assert_eq!(fork.items().len(), 400_000);
        drop(transcript);
        assert_eq!(
            fork.newest_first().count(),
            400_000,
            "a fork outlives what it was made of"
        );
    }
}
