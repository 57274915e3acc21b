//! The parts of an event. Any member may be missing, and may be of any kind: what is not understood is passed over.

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

/// One answer's share of it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatChoice<'a> {
    #[serde(borrow)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    /// In place of the delta, where a server does not stream.
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) native_finish_reason: Option<&'a RawValue>,
}

/// What is new of an answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatDelta<'a> {
    #[serde(borrow)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<&'a RawValue>,
}

/// What is new of a call.
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

/// What is called.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// What is understood of a value; else the default.
pub(super) fn lenient<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    let read = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    read.unwrap_or_default()
}

/// The elements of a list.
pub(super) fn list(raw: Option<&RawValue>) -> Vec<&RawValue> {
    lenient(raw)
}

/// A text; empty where it is anything else.
pub(super) fn text(raw: Option<&RawValue>) -> String {
    let read = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    read.unwrap_or_default()
}
