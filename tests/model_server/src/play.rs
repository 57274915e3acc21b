//! Neutral replies as streams of each API.
//!
//! A test says what the model says, how it ends and what it cost; [`ModelReply::stream`] writes it as the API would:
//! ```
//! # use aside_model_server::{ServedApi, play::ModelReply};
//! let reply = ModelReply::new("the conversation so far")
//!     .reasoning("Search two places.")
//!     .call("call_1", "fs_grep", r#"{"path":"src"}"#);
//! for api in ServedApi::ALL {
//!     assert!(!reply.stream(api).is_empty());
//! }
//! ```
//! One file an API; each is written to be read beside the samples in `wire/`.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{ServedApi, server::ServedReply};

/// Text in the pieces in which it is streamed.
///
/// A plain text is cut into at least three pieces, where it is long enough, of at most 16 characters, wherever that
/// falls. An array of texts is kept as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayedPieces(Vec<String>);

impl PlayedPieces {
    /// All pieces together.
    pub fn whole(&self) -> String {
        self.0.concat()
    }

    /// Without the end: the last piece, or half of the only one.
    fn truncated(&self) -> Self {
        match self.0.as_slice() {
            [] => Self::default(),
            [only] => {
                let half = only.chars().count() / 2;
                Self(vec![only.chars().take(half).collect()])
            }
            [kept @ .., _] => Self(kept.to_vec()),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl From<&str> for PlayedPieces {
    fn from(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let length = characters.len().div_ceil(3).clamp(1, 16);
        Self(
            characters
                .chunks(length)
                .map(|piece| piece.iter().collect())
                .collect(),
        )
    }
}

impl From<String> for PlayedPieces {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl<const N: usize> From<[&str; N]> for PlayedPieces {
    fn from(pieces: [&str; N]) -> Self {
        Self(pieces.map(str::to_owned).into())
    }
}

/// One thing the model says. Make it with the functions below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyItem {
    /// Text for the user.
    Text(PlayedPieces),
    /// Reasoning that may be read. With no text it is signed all the same: Anthropic's omitted thinking.
    Reasoning(PlayedPieces),
    /// Reasoning that nobody may read: Anthropic's redacted thinking, OpenAI's without a summary. The other APIs say
    /// nothing of it.
    HiddenReasoning,
    /// A summary of Anthropic's or OpenAI's own, which is all that the reply says. Others say
    /// nothing of it, and of Anthropic's alone the text can be read.
    Compaction(String),
    /// A tool call.
    Call {
        /// The id that the result must name.
        id: String,
        /// The name of the tool that is called.
        name: String,
        /// The arguments as JSON text. Gemini and Ollama carry them as a value: text that is not JSON becomes a
        /// string there.
        arguments: PlayedPieces,
    },
}

impl ReplyItem {
    /// Text for the user.
    pub fn text(text: impl Into<PlayedPieces>) -> Self {
        Self::Text(text.into())
    }

    /// Reasoning that may be read.
    pub fn reasoning(text: impl Into<PlayedPieces>) -> Self {
        Self::Reasoning(text.into())
    }

    /// A tool call.
    pub fn call(id: &str, name: &str, arguments: impl Into<PlayedPieces>) -> Self {
        Self::Call {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        }
    }
}

/// Why the model stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlayedFinish {
    /// It has said all; or, when it called tools, it waits for the results.
    #[default]
    Stop,
    /// It ran out of output tokens inside the last item. A call is cut inside its arguments; where calls come whole
    /// it is missing.
    MaxTokens,
    /// The model declined, with this explanation. Anthropic, and both of OpenAI.
    Refusal(String),
    /// A filter stepped in: both of OpenAI, and Gemini. There, a reply that says nothing is a blocked prompt.
    ContentFilter,
    /// The context window is full. Anthropic, and servers that speak Chat Completions.
    ContextFull,
    /// The model goes on when the request is sent again. Anthropic and Gemini.
    Pause,
    /// The last item is a call that cannot be read: its arguments are no JSON, or the server says so itself.
    MalformedCall,
}

impl PlayedFinish {
    /// Whether the API has it.
    pub fn exists_in(&self, api: ServedApi) -> bool {
        match self {
            Self::Stop | Self::MaxTokens | Self::MalformedCall => true,
            Self::Refusal(_) => !matches!(api, ServedApi::Gemini | ServedApi::Ollama),
            Self::ContentFilter => !matches!(api, ServedApi::Anthropic | ServedApi::Ollama),
            Self::ContextFull => matches!(api, ServedApi::Anthropic | ServedApi::OpenaiChat),
            Self::Pause => matches!(api, ServedApi::Anthropic | ServedApi::Gemini),
        }
    }
}

/// An error inside a stream that began with status 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayedFault {
    /// Too many people ask.
    Overloaded,
    /// This account asks too often.
    RateLimited,
    /// The server fails, with the status that its API has for that.
    Server,
}

/// What a reply cost, in tokens. The input is the sum of the first three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayedTokens {
    /// Input that no cache knew, and that was not written to one.
    pub input: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// All output tokens, reasoning included.
    pub output: u64,
    /// The share of the output that was reasoning.
    pub reasoning: u64,
}

impl PlayedTokens {
    /// All input, however it was come by.
    fn prompt(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

/// Which server speaks Chat Completions: they differ in how they show reasoning and usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatServer {
    /// OpenAI itself: reasoning is not shown; usage in a chunk of its own.
    #[default]
    Openai,
    /// llama.cpp: `reasoning_content`; `timings` in place of usage.
    LlamaCpp,
    /// vLLM: `reasoning`; no usage.
    Vllm,
}

/// A reply, in words that belong to no API.
#[derive(Clone, Debug, Default)]
pub struct ModelReply {
    binding: String,
    said: Vec<ReplyItem>,
    finish: PlayedFinish,
    fault: Option<PlayedFault>,
    tokens: PlayedTokens,
    number: usize,
    model: Option<String>,
    chat_server: ChatServer,
}

impl ModelReply {
    /// A reply that says nothing yet. What it signs is bound to `binding`, which stands for the conversation before
    /// it.
    pub fn new(binding: &str) -> Self {
        Self {
            binding: binding.into(),
            number: 1,
            ..Self::default()
        }
    }

    /// Says this next.
    pub fn say(mut self, said: ReplyItem) -> Self {
        self.said.push(said);
        self
    }

    /// Says a text for the user.
    pub fn text(self, text: impl Into<PlayedPieces>) -> Self {
        self.say(ReplyItem::text(text))
    }

    /// Says reasoning that may be read.
    pub fn reasoning(self, text: impl Into<PlayedPieces>) -> Self {
        self.say(ReplyItem::reasoning(text))
    }

    /// Summarises the conversation, in the provider's own form.
    pub fn compaction(self, text: impl Into<String>) -> Self {
        self.say(ReplyItem::Compaction(text.into()))
    }

    /// Calls a tool.
    pub fn call(self, id: &str, name: &str, arguments: impl Into<PlayedPieces>) -> Self {
        self.say(ReplyItem::call(id, name, arguments))
    }

    /// How it ends.
    pub fn finish(mut self, finish: PlayedFinish) -> Self {
        self.finish = finish;
        self
    }

    /// Breaks with an error after so many items. The last of these is still open: it has no end.
    pub fn error_inside(mut self, after_items: usize, fault: PlayedFault) -> Self {
        self.said.truncate(after_items);
        self.fault = Some(fault);
        self
    }

    /// What it cost.
    pub fn tokens(mut self, tokens: PlayedTokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// The number in the ids of the response and of its items; 1 without it. Replies of one conversation need
    /// different ones.
    pub fn number(mut self, number: usize) -> Self {
        self.number = number;
        self
    }

    /// The model that says it; without it, the one in the API's samples.
    pub fn model(mut self, model: &str) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Which server speaks, where the API is Chat Completions.
    pub fn chat_server(mut self, server: ChatServer) -> Self {
        self.chat_server = server;
        self
    }

    /// The whole body, as the API streams it.
    ///
    /// # Panics
    /// When the API has no such finish: see [`PlayedFinish::exists_in`].
    pub fn stream(&self, api: ServedApi) -> Bytes {
        assert!(
            self.finish.exists_in(api),
            "{} has no finish {:?}",
            api.name(),
            self.finish
        );
        let text = match api {
            ServedApi::Anthropic => anthropic::stream(self),
            ServedApi::OpenaiResponses => openai_responses::stream(self),
            ServedApi::OpenaiChat => openai_chat::stream(self),
            ServedApi::Gemini => gemini::stream(self),
            ServedApi::Ollama => ollama::stream(self),
        };
        text.into()
    }

    /// The whole response.
    ///
    /// # Panics
    /// As [`ModelReply::stream`].
    pub fn reply(&self, api: ServedApi) -> ServedReply {
        ServedReply::stream(api, self.stream(api))
    }

    fn model_or<'a>(&'a self, sample: &'a str) -> &'a str {
        self.model.as_deref().unwrap_or(sample)
    }

    /// Whether the item at `index` is cut short by the finish, or left open by the fault.
    fn is_broken(&self, index: usize) -> bool {
        index + 1 == self.said.len()
            && (self.fault.is_some()
                || self.finish == PlayedFinish::MaxTokens
                || self.finish == PlayedFinish::MalformedCall)
    }

    /// The arguments of the call at `index` as far as they are sent.
    fn sent<'a>(
        &self,
        index: usize,
        arguments: &'a PlayedPieces,
    ) -> std::borrow::Cow<'a, PlayedPieces> {
        if self.is_broken(index) {
            std::borrow::Cow::Owned(arguments.truncated())
        } else {
            std::borrow::Cow::Borrowed(arguments)
        }
    }

    fn is_compaction(&self) -> bool {
        let is_summary = |said: &ReplyItem| matches!(said, ReplyItem::Compaction(_));
        self.said.iter().any(is_summary)
    }

    fn calls_tools(&self) -> bool {
        self.said
            .iter()
            .any(|said| matches!(said, ReplyItem::Call { .. }))
    }
}

/// A reply of a model that was asked for structured output: the JSON as text.
pub fn structured(json: &Value) -> ModelReply {
    ModelReply::new("").text(json.to_string())
}

/// The opaque text that vouches for the item at `index` of a reply to the conversation `binding`.
///
/// It is Anthropic's `signature` and redacted `data`, where the index counts content blocks; the `encrypted_content`
/// of Responses, where it counts output items; and Gemini's `thoughtSignature`, of which a reply has one, at index
/// 0. Chat Completions and Ollama sign nothing.
pub fn signature(api: ServedApi, binding: &str, index: usize) -> String {
    let prefix = match api {
        ServedApi::Anthropic => "EuMC",
        ServedApi::OpenaiResponses | ServedApi::OpenaiChat => "gAAAAABo",
        ServedApi::Gemini | ServedApi::Ollama => "CiQB",
    };
    let digest = Sha256::digest(format!("{}\0{index}\0{binding}", api.name()));
    digest
        .iter()
        .fold(prefix.to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// An event of a server-sent stream, named as its `type` says.
fn named_event(out: &mut String, data: &Value) {
    let name = data["type"].as_str().unwrap_or_default();
    out.push_str(&format!("event: {name}\ndata: {data}\n\n"));
}

/// An event of a server-sent stream without a name.
fn data_event(out: &mut String, data: &Value) {
    out.push_str(&format!("data: {data}\n\n"));
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
