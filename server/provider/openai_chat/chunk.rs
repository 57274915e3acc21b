//! Parts of a streamed event. Any member may be missing or of an unexpected type; such members are ignored.

use serde::Deserialize;
use serde_json::value::RawValue;

/// One event of the stream: a chunk of the completion.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatChunk<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) created: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) object: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) choices: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) timings: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// Part of one answer in a chunk.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatChoice<'a> {
    #[serde(borrow)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    /// Replaces `delta` if the server does not stream.
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) native_finish_reason: Option<&'a RawValue>,
}

/// New content of an answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatDelta<'a> {
    #[serde(borrow)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<&'a RawValue>,
}

/// New content of a call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Fragment<'a> {
    #[serde(borrow)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) function: Option<&'a RawValue>,
}

/// Name and arguments of a call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Parses a value; the default if that fails.
pub(super) fn lenient<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    let read = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    read.unwrap_or_default()
}

/// The elements of a list; empty if the value is not a list.
pub(super) fn list(raw: Option<&RawValue>) -> Vec<&RawValue> {
    lenient(raw)
}

/// A string; empty if the value is not a string.
pub(super) fn text(raw: Option<&RawValue>) -> String {
    let read = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    read.unwrap_or_default()
}
