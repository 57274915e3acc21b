//! Request bodies that grow: the common part of a conversation's requests is encoded once and kept as bytes.

use std::{
    collections::{BTreeSet, VecDeque},
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use aside_base::lock;
use aside_turn::{
    inquiry::{CallResult, Message},
    record::CallKey,
    response::{self, Feature, Kind},
    rules::{LeftOut, ToolChoice},
    transcript::{Fork, Item, Link},
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::{
    Head,
    api::{EncodedHead, Encoder, RequestContents, Role, WireApi},
    call_ids::{CallIds, EarlierCalls},
    media::ReadMedia,
};

/// Maximum number of cache breakpoints in the history: the last one of an earlier request, and a new one.
const BREAKPOINTS: usize = 2;

/// The common part of a conversation's requests to one model.
#[derive(Debug)]
pub struct SharedBody {
    conversation: String,
    media: ReadMedia,
    prefix: Mutex<Option<Prefix>>,
}

/// The encoded conversation, as far as it was sent.
#[derive(Debug)]
struct Prefix {
    head: Arc<Head>,
    with_tools: bool,
    /// Features that the model had refused when this was encoded.
    without: BTreeSet<Feature>,
    /// Parts that the model had refused when this was encoded.
    left_out: BTreeSet<LeftOut>,
    frozen: Bytes,
    frozen_breakpoints: Vec<usize>,
    epoch: u32,
    newest: Option<Arc<Link>>,
    history: Rope,
    /// Calls in the history.
    calls: EarlierCalls,
    begun: bool,
    last: Role,
    /// Members to append after the history while its newest link stays the newest.
    after: Option<String>,
    /// Offset in the history at which the newest link may have a breakpoint.
    mark: Option<usize>,
    /// Offsets in the history at which earlier requests wrote to the provider's cache, oldest first.
    written: VecDeque<usize>,
}

/// Bytes in chunks of doubling size: each byte is copied only a few times, and a clone is cheap.
#[derive(Clone, Debug, Default)]
struct Rope {
    chunks: Vec<Bytes>,
    len: usize,
}

/// Body of a request: shared chunks, and an exact length.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    chunks: VecDeque<Bytes>,
    len: u64,
}

impl SharedBody {
    /// Starts without shared bytes. The conversation's id may be sent to the provider as a cache hint.
    #[must_use]
    pub fn new(conversation: impl Into<String>) -> Self {
        Self::with_media(conversation, ReadMedia::default())
    }

    /// Like [`SharedBody::new`], for a conversation whose images and PDFs `media` can read.
    #[must_use]
    pub fn with_media(conversation: impl Into<String>, media: ReadMedia) -> Self {
        Self {
            conversation: conversation.into(),
            media,
            prefix: Mutex::new(None),
        }
    }

    /// The conversation's id.
    #[must_use]
    pub fn conversation(&self) -> &str {
        &self.conversation
    }

    /// Reader of the conversation's images and PDFs.
    pub(super) fn media(&self) -> &ReadMedia {
        &self.media
    }

    /// Builds the body of a request. Only the part that is new since the last request is encoded.
    pub(super) fn body(
        &self,
        api: &dyn WireApi,
        ask: &RequestContents<'_>,
        head: &Arc<Head>,
        transcript: &Fork,
        messages: &[Message],
    ) -> Body {
        // Nothing that holds the lock can panic halfway through a change.
        let mut guard = lock(&self.prefix);
        let fits = |prefix: &Prefix| prefix.goes_on_to(ask, head, transcript);
        let mut prefix = match guard.take().filter(fits) {
            Some(prefix) => prefix,
            None => Prefix::new(api, ask, head, transcript.epoch),
        };
        prefix.extend(api, ask, transcript);
        let body = prefix.body(api, ask, messages);
        *guard = Some(prefix);
        body
    }

    /// Call ids for the response to the last request, which added `messages` to the conversation.
    pub(super) fn call_ids(&self, messages: &[Message]) -> CallIds {
        let guard = lock(&self.prefix);
        let mut calls = guard.as_ref().map(|it| it.calls.clone());
        for message in messages {
            note_calls(&items(message), calls.get_or_insert_default());
        }
        CallIds::after(calls.unwrap_or_default())
    }
}

impl Prefix {
    fn new(api: &dyn WireApi, ask: &RequestContents<'_>, head: &Arc<Head>, epoch: u32) -> Self {
        let EncodedHead {
            bytes,
            breakpoints,
            begun,
        } = api.frozen(ask);
        Self {
            head: head.clone(),
            with_tools: with_tools(ask),
            without: ask.without.clone(),
            left_out: ask.left_out.clone(),
            frozen: bytes.into(),
            frozen_breakpoints: breakpoints,
            epoch,
            newest: None,
            history: Rope::default(),
            calls: EarlierCalls::default(),
            begun,
            last: Role::default(),
            after: None,
            mark: None,
            written: VecDeque::new(),
        }
    }

    /// Whether the head is the same and the transcript continues the encoded one.
    fn goes_on_to(&self, ask: &RequestContents<'_>, head: &Arc<Head>, transcript: &Fork) -> bool {
        let same_head = Arc::ptr_eq(&self.head, head) || *self.head == **head;
        let known = match &self.newest {
            None => true,
            Some(newest) => transcript
                .newest_first()
                .any(|link| std::ptr::eq(link, newest.as_ref())),
        };
        same_head
            && known
            && self.with_tools == with_tools(ask)
            && self.without == *ask.without
            && self.left_out == *ask.left_out
            && self.epoch == transcript.epoch
    }

    /// Encodes the new part of the transcript.
    fn extend(&mut self, api: &dyn WireApi, ask: &RequestContents<'_>, transcript: &Fork) {
        let known = self.newest.clone();
        let is_known = |link: &&Link| {
            known
                .as_deref()
                .is_some_and(|known| std::ptr::eq(*link, known))
        };
        let mut new: Vec<&Link> = transcript
            .newest_first()
            .take_while(|link| !is_known(link))
            .collect();
        new.reverse();
        // One chunk for everything: a conversation that was read from its log is encoded at once.
        let mut added = Vec::new();
        for link in new {
            let mut out = Encoder::new(self.begun, self.last);
            match transcript.native(link) {
                Some(native) => api.summary(&native.opaque, &mut out),
                None => api.encode(&link.items, link.epoch == self.epoch, ask, &mut out),
            }
            note_calls(&link.items, &mut self.calls);
            self.last = out.last;
            self.after = out.after.take();
            let (bytes, begun, breakpoint) = out.finish();
            self.begun = begun;
            self.mark = breakpoint.map(|at| self.history.len + added.len() + at);
            if !link.is_of_model() {
                // The request with this link wrote to the cache up to the link's end.
                self.write(self.mark);
            }
            added.extend_from_slice(&bytes);
        }
        self.history.push(added.into());
        self.newest.clone_from(&transcript.newest);
    }

    fn write(&mut self, mark: Option<usize>) {
        let Some(mark) = mark else { return };
        if self.written.back().is_none_or(|last| *last < mark) {
            self.written.push_back(mark);
        }
        while self.written.len() > BREAKPOINTS + 1 {
            self.written.pop_front();
        }
    }

    fn body(&mut self, api: &dyn WireApi, ask: &RequestContents<'_>, messages: &[Message]) -> Body {
        let breakpoint = api.breakpoint(ask).map(Bytes::from);
        let mut body = Body::default();
        body.push(format!("{{{}", api.opening(ask)).into());
        let (frozen, history) = (Rope::of(self.frozen.clone()), self.history.clone());
        match breakpoint {
            None => {
                body.splice(&frozen, &[], &Bytes::new());
                body.splice(&history, &[], &Bytes::new());
            }
            Some(text) => {
                body.splice(&frozen, &self.frozen_breakpoints, &text);
                let here = self.mark;
                let before = self
                    .written
                    .iter()
                    .rev()
                    .find(|at| here.is_none_or(|here| **at < here));
                let places: Vec<usize> = before.copied().into_iter().chain(here).collect();
                body.splice(&history, &places, &text);
                self.write(here);
            }
        }
        let mut out = Encoder::new(self.begun, self.last);
        for message in messages {
            api.encode(&items(message), true, ask, &mut out);
        }
        let after = if messages.is_empty() {
            self.after.clone()
        } else {
            out.after.take()
        };
        body.push(out.finish().0.into());
        let after = after.unwrap_or_default();
        body.push(format!("{}{after}}}", api.closing(ask)).into());
        body
    }
}

fn note_calls(items: &[Item], calls: &mut EarlierCalls) {
    for item in items {
        if let Item::ToolCall { id, .. } = item {
            calls.add(id);
        }
    }
}

fn with_tools(ask: &RequestContents<'_>) -> bool {
    !matches!(ask.tool_choice, ToolChoice::None)
}

/// Converts a message of a fork to items of a transcript.
fn items(message: &Message) -> Vec<Item> {
    match message {
        Message::User { results, text } => {
            let question = Item::User {
                text: text.clone(),
                attachments: Vec::new(),
            };
            let results = results.iter().map(result);
            results.chain([question]).collect()
        }
        Message::Assistant(items) => items.iter().map(said).collect(),
    }
}

fn result(result: &CallResult) -> Item {
    let CallResult {
        id,
        name,
        content,
        is_error,
    } = result.clone();
    Item::ToolResult {
        call: CallKey(0),
        id,
        name,
        content,
        is_error,
        media: Vec::new(),
    }
}

fn said(item: &response::Item) -> Item {
    let (text, opaque) = (item.text.clone(), item.opaque.clone());
    match &item.kind {
        Kind::Text => Item::Text { text, opaque },
        Kind::Reasoning | Kind::Compaction | Kind::Opaque => Item::Reasoning { text, opaque },
        Kind::ToolCall { id, name } => Item::ToolCall {
            call: CallKey(0),
            id: id.clone(),
            name: name.clone(),
            arguments: text,
            opaque,
        },
    }
}

impl Rope {
    fn of(chunk: Bytes) -> Self {
        let mut rope = Self::default();
        rope.push(chunk);
        rope
    }

    fn push(&mut self, chunk: Bytes) {
        if chunk.is_empty() {
            return;
        }
        self.len += chunk.len();
        self.chunks.push(chunk);
        while let [.., before, last] = &self.chunks[..] {
            if before.len() > last.len() {
                break;
            }
            let joined: Bytes = [before.as_ref(), last.as_ref()].concat().into();
            self.chunks.truncate(self.chunks.len() - 2);
            self.chunks.push(joined);
        }
    }
}

impl Body {
    fn push(&mut self, chunk: Bytes) {
        self.len += chunk.len() as u64;
        if !chunk.is_empty() {
            self.chunks.push_back(chunk);
        }
    }

    /// Appends a rope with `text` inserted at `places`, which are in ascending order.
    fn splice(&mut self, rope: &Rope, places: &[usize], text: &Bytes) {
        let mut begin = 0;
        let mut places = places.iter().copied().peekable();
        for chunk in &rope.chunks {
            let mut from = 0;
            while let Some(place) = places.next_if(|place| *place <= begin + chunk.len()) {
                self.push(chunk.slice(from..place - begin));
                self.push(text.clone());
                from = place - begin;
            }
            self.push(chunk.slice(from..));
            begin += chunk.len();
        }
    }

    /// The whole body in one piece.
    pub(super) fn concat(&self) -> Vec<u8> {
        self.chunks.iter().flatten().copied().collect()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = self.chunks.pop_front();
        self.len -= chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ropes_have_few_chunks_and_insert_at_offsets() {
        let mut rope = Rope::default();
        let mut whole = Vec::new();
        for at in 0..2_000_usize {
            let chunk: Bytes = at.to_string().into();
            whole.extend_from_slice(&chunk);
            rope.push(chunk);
        }
        assert_eq!(rope.len, whole.len());
        assert!(rope.chunks.len() <= 13, "{} chunks", rope.chunks.len());
        let places = [0, 1, 3_000, whole.len()];
        let mut body = Body::default();
        body.splice(&rope, &places, &Bytes::from_static(b"#"));
        for place in places.into_iter().rev() {
            whole.insert(place, b'#');
        }
        assert_eq!(body.concat(), whole);
        assert_eq!(body.len, whole.len() as u64);
    }
}
