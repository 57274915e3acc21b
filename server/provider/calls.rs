//! Tells the calls of a response apart: a call is what the server says it is.
//!
//! The same id is the same call: the same text again is a repetition, more text a continuation, and other text replaces
//! what was there. Another id or name is another call, also where the index repeats. Without an id, a name behind whole
//! arguments begins another call.

mod arguments;

use std::collections::HashMap;

use aside_turn::response::{Kind, Piece};
use serde_json::Value;

use self::arguments::StreamedArguments;
pub(super) use self::arguments::is_object;
use super::{api::RequestContents, call_ids::CallIds};

/// What a server says of a call in one place of its stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallPart<'a> {
    /// The call's number among the calls of the response, if the server gives one.
    pub(super) index: Option<u64>,
    /// The server's id of the call; empty if it gives none.
    pub(super) id: &'a str,
    /// The tool's name, or a part of it; empty if it is not said here.
    pub(super) name: &'a str,
    /// Arguments, or a part of them.
    pub(super) text: &'a str,
    /// Whether the text is all of the arguments.
    pub(super) whole: bool,
}

/// The calls of one response.
#[derive(Debug, Default)]
pub(super) struct Calls {
    ids: CallIds,
    /// Names of the request's tools.
    tools: Vec<String>,
    /// Whether the API needs its own ids back, also where they repeat.
    keeps_ids: bool,
    calls: Vec<StreamedCall>,
    /// The calls that were mentioned last, by index.
    latest: HashMap<Option<u64>, usize>,
    /// The call that was mentioned last.
    last: Option<usize>,
    /// The first call with an id.
    named: HashMap<String, usize>,
}

/// A call, as far as it was received.
#[derive(Debug, Default)]
struct StreamedCall {
    index: Option<u64>,
    /// The server's id of the call.
    given: String,
    name: String,
    arguments: StreamedArguments,
    /// An earlier call with the same id and another index: only the arguments tell whether this is that call again.
    twin: Option<usize>,
    /// Whether only its arguments can tell that this is a call.
    doubtful: bool,
    /// The slot and what was sent of the call; `None` while it may be another one's repetition.
    sent: Option<SentCall>,
}

/// A call as the turn knows it.
#[derive(Debug)]
struct SentCall {
    slot: u32,
    id: String,
    name: String,
    text: String,
}

/// A call at the end of the response.
#[derive(Debug)]
pub(super) struct EndedCall<'a> {
    /// The position among the calls of the response, as [`Calls::take`] returned it.
    pub(super) at: usize,
    /// The call's slot.
    pub(super) slot: u32,
    /// The call's own id.
    pub(super) id: &'a str,
    /// The server's id of the call.
    pub(super) given: &'a str,
    /// The tool's name.
    pub(super) name: &'a str,
    /// The arguments.
    pub(super) text: &'a str,
}

impl SentCall {
    fn add(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            self.text.push_str(text);
            out.push(Piece::Delta {
                slot: self.slot,
                text: text.to_owned(),
            });
        }
    }
}

impl EndedCall<'_> {
    /// The end of the call.
    pub(super) fn close(&self, opaque: Option<String>, complete: bool) -> Piece {
        Piece::Close {
            slot: self.slot,
            opaque,
            complete,
        }
    }
}

impl Calls {
    /// For a response to this request.
    pub(super) fn new(ids: CallIds, ask: &RequestContents<'_>) -> Self {
        Self {
            ids,
            tools: ask.tools().iter().map(|tool| tool.name.clone()).collect(),
            ..Self::default()
        }
    }

    /// The same for an API that needs its own ids back, also where they repeat.
    pub(super) fn keeping_ids(mut self) -> Self {
        self.keeps_ids = true;
        self
    }

    /// Sets what distinguishes this response from the conversation's others.
    pub(super) fn of_response(&mut self, id: &str) {
        self.ids.of_response(id);
    }

    /// Whether no call was mentioned.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Number of calls that were mentioned.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// The index of a call that comes whole, in a list at this place: only calls of one list are told apart by it.
    /// `before` calls were mentioned before the list.
    pub(super) fn index_in_list(&self, id: &str, place: u64, before: usize) -> Option<u64> {
        let known = self.named.get(id).is_some_and(|at| *at < before);
        (!known).then_some(place)
    }

    /// Adds what a server says of a call, and returns the call's position.
    pub(super) fn take(
        &mut self,
        part: CallPart<'_>,
        slots: &mut u32,
        out: &mut Vec<Piece>,
    ) -> usize {
        let at = self.find(part).unwrap_or_else(|| self.begin(part));
        self.latest.insert(part.index, at);
        self.last = Some(at);
        self.add(at, part, slots, out);
        at
    }

    /// Adds what a server says of the call at this position.
    pub(super) fn add(
        &mut self,
        at: usize,
        part: CallPart<'_>,
        slots: &mut u32,
        out: &mut Vec<Piece>,
    ) {
        let call = &mut self.calls[at];
        call.index = call.index.or(part.index);
        self.latest.insert(call.index, at);
        if call.given.is_empty() && !part.id.is_empty() {
            part.id.clone_into(&mut call.given);
            self.named.entry(part.id.to_owned()).or_insert(at);
        }
        if let Some(name) = joined_name(&self.tools, &call.name, part.name) {
            call.name = name;
        }
        let named = !part.id.is_empty();
        let over = call.arguments.is_over();
        call.arguments.add(part.text, named, part.whole);
        call.doubtful &= call.arguments.is_blank();
        let waits = call.twin.is_some() || call.doubtful || call.name.is_empty();
        match &mut call.sent {
            Some(sent) => {
                // What may be a repetition is told apart at the end.
                let more = match (part.whole, over) {
                    (true, _) => part.text.strip_prefix(sent.text.as_str()),
                    (false, over) => Some(part.text).filter(|_| !over),
                };
                sent.add(more.unwrap_or_default(), out);
            }
            None if waits => {}
            None => self.open(at, slots, out),
        }
    }

    /// Whether the call at this position has no arguments yet.
    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.calls[at].arguments.is_blank()
    }

    /// The call that a part belongs to.
    fn find(&self, part: CallPart<'_>) -> Option<usize> {
        let mentioned = self.latest.get(&part.index).copied();
        let here = match part.index {
            Some(_) => mentioned.or_else(|| {
                let last = self
                    .last
                    .filter(|_| part.id.is_empty() && part.name.is_empty())?;
                self.calls[last].index.is_none().then_some(last)
            }),
            None => self.last,
        };
        let says_same = |at: &usize| {
            let call = &self.calls[*at];
            joined_name(&self.tools, &call.name, part.name).is_some()
        };
        if part.id.is_empty() {
            let goes_on = |at: &usize| {
                let over = self.calls[*at].arguments.is_over();
                part.name.is_empty() || !over && says_same(at)
            };
            return here.filter(goes_on);
        }
        let same = |at: &usize| self.calls[*at].given == part.id && says_same(at);
        if let Some(at) = here.filter(same) {
            return Some(at);
        }
        if let Some(at) = self.named.get(part.id).copied().filter(says_same) {
            let index = self.calls[at].index;
            let is_here = part.index.is_none() || index.is_none() || index == part.index;
            return is_here.then_some(at);
        }
        // An id that comes late, or another one with each fragment.
        here.filter(|at| {
            let call = &self.calls[*at];
            let over = call.arguments.is_over() && !part.text.trim().is_empty();
            let late = call.given.is_empty() && says_same(at);
            !over && (late || part.name.is_empty())
        })
    }

    fn begin(&mut self, part: CallPart<'_>) -> usize {
        let at = self.calls.len();
        let says_same = |at: &usize| {
            let name = &self.calls[*at].name;
            joined_name(&self.tools, name, part.name).is_some()
        };
        let twin = self.named.get(part.id).copied().filter(says_same);
        let before = self.latest.get(&part.index);
        let doubtful = part.id.is_empty()
            && before.is_some_and(|at| says_same(at) && self.calls[*at].arguments.is_over());
        self.calls.push(StreamedCall {
            index: part.index,
            given: part.id.to_owned(),
            twin,
            doubtful,
            ..StreamedCall::default()
        });
        if !part.id.is_empty() {
            self.named.entry(part.id.to_owned()).or_insert(at);
        }
        at
    }

    /// Opens a call, with the arguments so far.
    fn open(&mut self, at: usize, slots: &mut u32, out: &mut Vec<Piece>) {
        let call = &mut self.calls[at];
        let id = match self.keeps_ids {
            true => self.ids.next_keeping(&call.given),
            false => self.ids.next(&call.given),
        };
        let (slot, name) = (*slots, call.name.clone());
        *slots += 1;
        out.push(Piece::Open {
            slot,
            kind: Kind::ToolCall {
                id: id.clone(),
                name: name.clone(),
            },
        });
        let sent = call.sent.insert(SentCall {
            slot,
            id,
            name,
            text: String::new(),
        });
        for part in call.arguments.parts() {
            sent.add(part, out);
        }
    }

    /// Decides, at the end of the response, which calls there are and what their arguments are. Returns them in order
    /// of first appearance.
    pub(super) fn end(
        &mut self,
        cut: bool,
        slots: &mut u32,
        out: &mut Vec<Piece>,
    ) -> Vec<EndedCall<'_>> {
        let mut texts = Vec::new();
        for at in 0..self.calls.len() {
            let text = self.calls[at].arguments.text(cut);
            texts.push(text);
            match self.calls[at].twin {
                Some(first) if is_same(&texts[first], &texts[at]) => {
                    if !is_object(&texts[first]) {
                        texts[first] = texts[at].clone();
                    }
                }
                _ if self.calls[at].doubtful || self.calls[at].sent.is_some() => {}
                _ => self.open(at, slots, out),
            }
        }
        for (call, text) in self.calls.iter_mut().zip(texts) {
            let Some(sent) = &mut call.sent else {
                continue;
            };
            if sent.text != text || sent.name != call.name {
                sent.text.clone_from(&text);
                sent.name.clone_from(&call.name);
                out.push(Piece::Anew {
                    slot: sent.slot,
                    name: call.name.clone(),
                    text,
                });
            }
        }
        let calls = self.calls.iter().enumerate();
        let ended = calls.filter_map(|(at, call)| {
            let sent = call.sent.as_ref()?;
            Some(EndedCall {
                at,
                slot: sent.slot,
                id: &sent.id,
                given: &call.given,
                name: &sent.name,
                text: &sent.text,
            })
        });
        ended.collect()
    }
}

/// Whether a call with an id that is there already, and with another index, is that call again.
fn is_same(first: &str, again: &str) -> bool {
    let (first, again) = (first.trim(), again.trim());
    let read = |text| serde_json::from_str::<Value>(text).ok();
    first.starts_with(again)
        || again.starts_with(first) && !is_object(first)
        || read(first).is_some_and(|first| read(again) == Some(first))
}

/// The name of a call after a part of the stream said `more`; `None` if that names another tool. A name comes whole or
/// in pieces; only the tools of the request tell which.
fn joined_name(tools: &[String], name: &str, more: &str) -> Option<String> {
    if name.is_empty() || more.is_empty() || name == more {
        return Some(if name.is_empty() { more } else { name }.to_owned());
    }
    if tools.iter().any(|tool| tool == name) {
        return None;
    }
    let whole = [format!("{name}{more}"), more.to_owned()];
    whole.into_iter().find(|whole| {
        whole.starts_with(name) && tools.iter().any(|tool| tool.starts_with(whole.as_str()))
    })
}
