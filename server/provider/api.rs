//! What the wire APIs have in common: how one writes a request and reads a response, without input or output.
//!
//! A body is written as `{` opening frozen history messages closing `}`: what a request may vary first, then system
//! text and tools, and the history last, so that a later body only ever adds to the end of an earlier one.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use aside_turn::{
    response::{Feature, Piece},
    rules::ToolChoice,
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

/// What a request says besides the conversation.
#[derive(Clone, Copy)]
pub(super) struct RequestContents<'a> {
    /// The model, and how it is configured.
    pub(super) options: &'a ModelOptions,
    /// System text and tools.
    pub(super) head: &'a Head,
    /// What is forced.
    pub(super) tool_choice: &'a ToolChoice,
    /// The model reasons, as far as it is configured to and can.
    pub(super) reasoning: bool,
    /// The answer is JSON that fits this.
    pub(super) schema: Option<&'a Value>,
    /// What the model refused.
    pub(super) without: &'a BTreeSet<Feature>,
    /// The conversation: equal in all its requests, and in no others.
    pub(super) conversation: &'a str,
    /// Reads the images and PDFs that are attached in it.
    pub(super) media: &'a ReadMedia,
}

/// What a request says of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasoningRequest {
    /// The request says nothing of it.
    Unsaid,
    /// There is to be none.
    Off,
    /// There is to be some; where nobody says how much, as much as the model does by itself.
    On(Option<ReasoningEffort>),
}

impl<'a> RequestContents<'a> {
    /// The tools that are sent: none to a model without tools, and each name once.
    pub(super) fn tools(&self) -> Vec<&'a ToolDeclaration> {
        if !self.options.abilities.tools {
            return Vec::new();
        }
        let mut names = HashSet::new();
        let tools = self.head.tools.iter();
        tools.filter(|tool| names.insert(&tool.name)).collect()
    }

    /// The model may be asked to hold arguments to their schema.
    pub(super) fn takes_strict(&self) -> bool {
        self.options.abilities.strict && !self.refused(Feature::Strict)
    }

    /// The model takes a system message in the middle of a conversation.
    pub(super) fn takes_system(&self) -> bool {
        self.options.abilities.system_messages && !self.refused(Feature::SystemMessage)
    }

    /// The schema that the model is asked to hold its answer to.
    pub(super) fn answer_schema(&self) -> Option<&'a Value> {
        let takes = self.options.abilities.schema && !self.refused(Feature::Schema);
        self.schema.filter(|_| takes)
    }

    /// How much the model is to reason.
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

    /// The model refused it.
    pub(super) fn refused(&self, feature: Feature) -> bool {
        self.without.contains(&feature)
    }
}

/// One wire API.
pub(super) trait WireApi: Send + Sync {
    /// Where requests go, below the base URL, with the query.
    fn path(&self, model: &str) -> String;

    /// The header that carries the key, and what stands before the key in it.
    fn key_header(&self) -> (HeaderName, &'static str);

    /// Other headers, of a request or (`None`) of something else that is asked.
    fn headers(&self, _ask: Option<&RequestContents<'_>>) -> HeaderMap {
        HeaderMap::new()
    }

    /// The members that a request may vary, each with a comma after it.
    fn opening(&self, ask: &RequestContents<'_>) -> String;

    /// System text and tools, up to and with the `[` of the history, and what of the history is the same in all
    /// requests.
    fn frozen(&self, ask: &RequestContents<'_>) -> EncodedHead;

    /// Adds one request's or response's share of the history; all items are of one side. `native`: what the
    /// provider gave goes back to it verbatim. Else reasoning is left out, and the rest goes in neutral form.
    fn encode(&self, items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder);

    /// What follows the history, without the last `}`.
    fn closing(&self, _ask: &RequestContents<'_>) -> String {
        "]".to_owned()
    }

    /// What is spliced in where a cache breakpoint stands; none where the API has no such thing or it is off.
    fn breakpoint(&self, _ask: &RequestContents<'_>) -> Option<String> {
        None
    }

    /// How the events of a response are told apart.
    fn framing(&self) -> StreamFormat;

    /// Reads one response, whose calls get these ids.
    fn decoder(&self, ask: &RequestContents<'_>, calls: CallIds) -> Box<dyn Decoder>;

    /// What an answer with an error says. The body may be cut, and may be anything.
    fn error(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError;

    /// The path of the list of models, and of its next page after `page`.
    fn models_path(&self, page: Option<&str>) -> String;

    /// Reads a page of the list of models: what it says of each, and the next page.
    ///
    /// # Errors
    /// Where it is no such list, in words.
    fn models(&self, page: &Value) -> Result<(Vec<ListedModel>, Option<String>), String>;

    /// The path and the body of a request that asks more of a model than the list says; none where there is no such.
    fn description_of(&self, _model: &str) -> Option<(&'static str, Value)> {
        None
    }

    /// Reads the answer to it.
    ///
    /// # Errors
    /// Where it is no such description, in words.
    fn description(&self, _answer: &Value) -> Result<StatedAbilities, String> {
        Ok(StatedAbilities::default())
    }
}

/// A model, as its provider's list has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedModel {
    /// As requests name it.
    pub(super) model: String,
    /// What the list says that it can do, in the keys of `[providers.<name>.models.<model>]`.
    pub(super) abilities: StatedAbilities,
}

/// System text and tools, encoded.
#[derive(Debug, Default, PartialEq)]
pub(super) struct EncodedHead {
    /// The encoded members of the body, each with a comma after it.
    pub(super) bytes: Vec<u8>,
    /// Where in them a cache breakpoint may be spliced in.
    pub(super) breakpoints: Vec<usize>,
    /// The history has an element already.
    pub(super) begun: bool,
}

/// How the events of a response are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamFormat {
    /// Server-sent events, as most APIs have them.
    Sse,
    /// A JSON document a line.
    Ndjson,
}

/// Reads one response, event by event.
pub(super) trait Decoder: Send {
    /// Takes in the data of an event and adds the pieces that it makes. Nothing is asked of it after a
    /// [`Piece::Finish`].
    ///
    /// # Errors
    /// What the provider says went wrong, also inside a 200.
    fn event(&mut self, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError>;

    /// The body ended. `stray` is what stood in it outside of events.
    ///
    /// # Errors
    /// As for an event; a response that was not complete is [`ApiError::cut`].
    fn end(&mut self, _stray: &str, _out: &mut Vec<Piece>) -> Result<(), ApiError> {
        Err(ApiError::cut())
    }
}

/// Who spoke last in the encoded history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// The user, or nobody.
    #[default]
    User,
    /// What the model said.
    Assistant,
    /// Aside itself, by a system message.
    System,
}

/// Raw arguments as the text of a JSON object: as they are, where they are one.
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

/// Takes the elements of the history.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    begun: bool,
    breakpoint: Option<usize>,
    /// Members that follow the history for as long as nothing was added to it, each with a comma before it: what a
    /// response that paused needs to go on.
    pub(super) after: Option<String>,
    /// Who spoke last, also before this encoder began.
    pub(super) last: Role,
}

impl Encoder {
    /// Goes on after a history that has an element (`begun`) or none.
    pub(super) fn new(begun: bool, last: Role) -> Self {
        Self {
            begun,
            last,
            ..Self::default()
        }
    }

    /// Begins an element: what stands between it and the one before.
    pub(super) fn element(&mut self) {
        if self.begun {
            self.bytes.push(b',');
        }
        self.begun = true;
    }

    /// Adds a whole element.
    pub(super) fn push(&mut self, element: &impl Serialize) {
        self.element();
        self.json(element);
    }

    /// Adds bytes of an element.
    pub(super) fn raw(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Adds a JSON value as a part of an element.
    pub(super) fn json(&mut self, value: &impl Serialize) {
        // Writing plain data to memory cannot fail.
        let _ = serde_json::to_writer(&mut self.bytes, value);
    }

    /// A cache breakpoint may be spliced in here; the last such place counts.
    pub(super) fn breakpoint_here(&mut self) {
        self.breakpoint = Some(self.bytes.len());
    }

    /// The bytes, whether there is an element now, and the last place of a breakpoint in the bytes.
    pub(super) fn finish(self) -> (Vec<u8>, bool, Option<usize>) {
        (self.bytes, self.begun, self.breakpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_as_an_object_whatever_they_are() {
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
