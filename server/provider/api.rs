//! Common interface of the wire APIs: encodes requests and decodes responses, without input or output.
//!
//! A body is written as `{` opening frozen history messages closing `}`. Members that vary between requests come first,
//! then system text and tools, then the history. A later body thus only appends to an earlier one.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use aside_turn::{
    response::{Feature, Piece},
    rules::{LeftOut, ToolChoice},
    transcript::Item,
};
use http::{HeaderMap, header::HeaderName};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{
    Head, ToolDeclaration,
    abilities::{ReasoningKind, StatedAbilities},
    call_ids::CallIds,
    media::ReadMedia,
    options::{ModelOptions, ReasoningEffort},
    retry::ApiError,
};

/// Contents of a request besides the conversation.
#[derive(Clone, Copy)]
pub(super) struct RequestContents<'a> {
    /// The model and its configuration.
    pub(super) options: &'a ModelOptions,
    /// System text and tools.
    pub(super) head: &'a Head,
    /// Tool choice of the request.
    pub(super) tool_choice: &'a ToolChoice,
    /// Whether the model should reason, as far as it can and is configured to.
    pub(super) reasoning: bool,
    /// JSON schema of the answer, if the answer must be JSON.
    pub(super) schema: Option<&'a Value>,
    /// Features that the model refused.
    pub(super) without: &'a BTreeSet<Feature>,
    /// Parts that the model refused by their names.
    pub(super) left_out: &'a BTreeSet<LeftOut>,
    /// Whether a summary in the provider's own form is asked for.
    pub(super) compacts: bool,
    /// Whether the conversation begins with such a summary.
    pub(super) is_compacted: bool,
    /// Id of the conversation, the same in all of its requests.
    pub(super) conversation: &'a str,
    /// Reads the images and PDFs attached to the conversation.
    pub(super) media: &'a ReadMedia,
}

/// Reasoning that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasoningRequest {
    /// The request does not mention reasoning.
    Unsaid,
    /// The request turns reasoning off.
    Off,
    /// The request turns reasoning on; without an effort the model's default applies.
    On(Option<ReasoningEffort>),
}

impl<'a> RequestContents<'a> {
    /// Tools to send: none if the model supports none, and each name once.
    pub(super) fn tools(&self) -> Vec<&'a ToolDeclaration> {
        if !self.options.abilities.tools {
            return Vec::new();
        }
        let mut names = HashSet::new();
        let tools = self.head.tools.iter();
        let is_left_out = |name: &str| self.leaves_out(&LeftOut::Tool(name.to_owned()));
        tools
            .filter(|tool| !is_left_out(&tool.name) && names.insert(&tool.name))
            .collect()
    }

    /// Whether tools may be declared `strict`.
    pub(super) fn takes_strict(&self) -> bool {
        self.options.abilities.strict && !self.refused(Feature::Strict)
    }

    /// Whether the model accepts a system message in the middle of a conversation.
    pub(super) fn takes_system(&self) -> bool {
        self.options.abilities.system_messages && !self.refused(Feature::SystemMessage)
    }

    /// Schema of the answer, if the model supports structured output.
    pub(super) fn answer_schema(&self) -> Option<&'a Value> {
        let takes = self.options.abilities.schema && !self.refused(Feature::Schema);
        self.schema.filter(|_| takes)
    }

    /// Reasoning that the request asks for.
    pub(super) fn reasoning(&self) -> ReasoningRequest {
        let abilities = &self.options.abilities;
        if abilities.reasoning == ReasoningKind::None || self.refused(Feature::Reasoning) {
            return ReasoningRequest::Unsaid;
        }
        let wanted = self.options.reasoning;
        let unwanted = !self.reasoning || wanted == Some(ReasoningEffort::Off);
        if unwanted && abilities.reasoning_off && !self.refused(Feature::ReasoningOff) {
            return ReasoningRequest::Off;
        }
        ReasoningRequest::On(wanted)
    }

    /// Whether the model refused this part.
    pub(super) fn leaves_out(&self, part: &LeftOut) -> bool {
        self.left_out.contains(part)
    }

    /// Whether the model refused this feature.
    pub(super) fn refused(&self, feature: Feature) -> bool {
        self.without.contains(&feature)
    }
}

/// One wire API.
pub(super) trait WireApi: Send + Sync {
    /// Path and query of requests, below the base URL.
    fn path(&self, model: &str) -> String;

    /// The header that carries the key, and the prefix of its value.
    fn key_header(&self) -> (HeaderName, &'static str);

    /// Further headers, for a model request or (`None`) any other request.
    fn headers(&self, _ask: Option<&RequestContents<'_>>) -> HeaderMap {
        HeaderMap::new()
    }

    /// Members that vary between requests, each followed by a comma.
    fn opening(&self, ask: &RequestContents<'_>) -> String;

    /// System text and tools, up to and including the `[` of the history and any elements common to all requests.
    fn frozen(&self, ask: &RequestContents<'_>) -> EncodedHead;

    /// Appends the items of one request or one response to the history. If `native`, items from this provider go back
    /// verbatim. Otherwise reasoning is left out and the rest is sent in neutral form.
    fn encode(&self, items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder);

    /// Appends a summary in the API's own form, as the provider sent it.
    fn summary(&self, opaque: &str, out: &mut Encoder) {
        out.element();
        out.raw(opaque);
    }

    /// The end of the body after the history, without the last `}`.
    fn closing(&self, _ask: &RequestContents<'_>) -> String {
        "]".to_owned()
    }

    /// Text of a cache breakpoint; `None` if the API has none or caching is off.
    fn breakpoint(&self, _ask: &RequestContents<'_>) -> Option<String> {
        None
    }

    /// Stream format of responses.
    fn framing(&self) -> StreamFormat;

    /// Creates the decoder of one response. `calls` makes its call ids unique.
    fn decoder(&self, ask: &RequestContents<'_>, calls: CallIds) -> Box<dyn Decoder>;

    /// Parses an error response. The body may be truncated or of any format.
    fn error(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError;

    /// Path of the list of models, or of the page after `page`.
    fn models_path(&self, page: Option<&str>) -> String;

    /// Reads a page of the list of models. Returns its models and the next page.
    ///
    /// # Errors
    /// A sentence if the page is not a list of models.
    fn models(&self, page: &Value) -> Result<(Vec<ListedModel>, Option<String>), String>;

    /// Path and body of a request for details of a model; `None` if the API has no such request.
    fn description_of(&self, _model: &str) -> Option<(&'static str, Value)> {
        None
    }

    /// Reads the response to [`WireApi::description_of`].
    ///
    /// # Errors
    /// A sentence if the response does not describe a model.
    fn description(&self, _answer: &Value) -> Result<StatedAbilities, String> {
        Ok(StatedAbilities::default())
    }
}

/// A model in a provider's list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedModel {
    /// The model's name in requests.
    pub(super) model: String,
    /// Abilities that the list states.
    pub(super) abilities: StatedAbilities,
}

/// System text and tools, encoded.
#[derive(Debug, Default, PartialEq)]
pub(super) struct EncodedHead {
    /// The encoded members of the body, each with a comma after it.
    pub(super) bytes: Vec<u8>,
    /// Offsets in `bytes` at which a cache breakpoint may be inserted.
    pub(super) breakpoints: Vec<usize>,
    /// Whether the history already has an element.
    pub(super) begun: bool,
}

/// Stream format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamFormat {
    /// Server-sent events, as in most APIs.
    Sse,
    /// One JSON document per line.
    Ndjson,
}

/// Decodes one response, event by event.
pub(super) trait Decoder: Send {
    /// Handles the data of an event and appends the resulting pieces. Not called again after a [`Piece::Finish`].
    ///
    /// # Errors
    /// The error that the provider reports, even in a response with status 200.
    fn event(&mut self, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError>;

    /// Handles the end of the body. `stray` is the text outside of events.
    ///
    /// # Errors
    /// Like [`Decoder::event`]; an incomplete response is [`ApiError::cut`].
    fn end(&mut self, _stray: &str, _out: &mut Vec<Piece>) -> Result<(), ApiError> {
        Err(ApiError::cut())
    }
}

/// The author of the last message in the encoded history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// The user, or nobody yet.
    #[default]
    User,
    /// The model: the author of replies and calls.
    Assistant,
    /// Aside itself, through a system message.
    System,
}

/// Returns the arguments of a call as a JSON object. Anything else is wrapped in one.
pub(super) fn object(arguments: &str) -> Cow<'_, str> {
    let trimmed = arguments.trim();
    if trimmed.is_empty() {
        return "{}".into();
    }
    let is_json = serde_json::from_str::<&RawValue>(trimmed).is_ok();
    if is_json && trimmed.starts_with('{') {
        return trimmed.into();
    }
    serde_json::json!({ "INVALID_JSON": arguments })
        .to_string()
        .into()
}

/// Collects the elements of the history.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    begun: bool,
    breakpoint: Option<usize>,
    /// Members that follow the history until something is added to it, each preceded by a comma. A response that paused
    /// needs them to continue.
    pub(super) after: Option<String>,
    /// The author of the last message, including those before this encoder.
    pub(super) last: Role,
}

impl Encoder {
    /// Continues a history that already has an element (`begun`) or none.
    pub(super) fn new(begun: bool, last: Role) -> Self {
        Self {
            begun,
            last,
            ..Self::default()
        }
    }

    /// Starts an element: writes the separator.
    pub(super) fn element(&mut self) {
        if self.begun {
            self.bytes.push(b',');
        }
        self.begun = true;
    }

    /// Appends a whole element.
    pub(super) fn push(&mut self, element: &impl Serialize) {
        self.element();
        self.json(element);
    }

    /// Appends raw bytes of an element.
    pub(super) fn raw(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends a JSON value as part of an element.
    pub(super) fn json(&mut self, value: &impl Serialize) {
        // Writing plain data to memory cannot fail.
        let _ = serde_json::to_writer(&mut self.bytes, value);
    }

    /// Marks this place for a cache breakpoint. Only the last one is used.
    pub(super) fn breakpoint_here(&mut self) {
        self.breakpoint = Some(self.bytes.len());
    }

    /// Returns the bytes, whether the history has an element now, and the offset of the last breakpoint.
    pub(super) fn finish(self) -> (Vec<u8>, bool, Option<usize>) {
        (self.bytes, self.begun, self.breakpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        for (raw, expected) in [
            ("", "{}"),
            (" \n", "{}"),
            (r#"{"b": 1,  "a": 1.50}"#, r#"{"b": 1,  "a": 1.50}"#),
            (r#"{"a": "#, r#"{"INVALID_JSON":"{\"a\": "}"#),
            (r#"{} {}"#, r#"{"INVALID_JSON":"{} {}"}"#),
            ("[1]", r#"{"INVALID_JSON":"[1]"}"#),
            ("null", r#"{"INVALID_JSON":"null"}"#),
        ] {
            assert_eq!(object(raw), expected);
        }
    }
}
