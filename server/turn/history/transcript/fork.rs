//! Chain of what requests and responses added to a conversation, and the part of it that a model is sent.

use std::sync::Arc;

use crate::{
    history::{fullness::BYTES_A_TOKEN, ledger::shortened},
    model::attachment::Attachment,
    record::{CallKey, NativeSummary},
};

/// Tokens of a context window of which nobody knows how large it is, and of which little is asked.
const SMALL_WINDOW: u64 = 32_768;
/// Bytes of a result that stay however many there are.
const LEAST_RESULT: usize = 200;

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

impl Item {
    /// Whether this is text of the model that is not empty.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text { text, .. } if !text.is_empty())
    }

    pub(super) fn is_call(&self) -> bool {
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
    /// The same with these items, after another link.
    pub(super) fn with_items(&self, items: Vec<Item>, previous: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            previous,
            items,
            native: self.native.clone(),
            turn: self.turn,
            epoch: self.epoch,
        })
    }

    /// Whether this link is a response that made calls.
    pub(super) fn has_calls(&self) -> bool {
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
            newest = Some(link.with_items(items, newest));
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
