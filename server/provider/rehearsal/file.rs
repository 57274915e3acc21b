//! A rehearsal script as serde reads it. Unknown keys are errors.

use std::collections::BTreeMap;

use aside_turn::response::Finish;
use serde::{Deserialize, Deserializer, de::Error};
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileScript {
    #[serde(default)]
    pub(super) model: FileModel,
    #[serde(default)]
    pub(super) reply: Vec<Spanned<FileReply>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileModel {
    pub(super) forces_tools: Option<bool>,
    pub(super) forces_while_reasoning: Option<bool>,
    pub(super) reasoning: Option<bool>,
    pub(super) reasoning_switches: Option<bool>,
    pub(super) images: Option<bool>,
    pub(super) documents: Option<bool>,
    pub(super) context_window: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileReply {
    pub(super) when: FileWhen,
    pub(super) once: Option<bool>,
    pub(super) repeat: Option<bool>,
    pub(super) times: Option<u32>,
    pub(super) say: Vec<Spanned<FileItem>>,
    pub(super) answer: Option<Spanned<toml::Value>>,
    pub(super) answers: Option<BTreeMap<String, Spanned<toml::Value>>>,
    pub(super) fault: Option<FileFault>,
    #[serde(deserialize_with = "known_finish")]
    pub(super) finish: Option<Finish>,
    pub(super) truncate_last: bool,
    pub(super) delay_ms: u64,
    pub(super) piece_delay_ms: u64,
    pub(super) usage: Option<FileUsage>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileWhen {
    pub(super) turn: Option<u32>,
    pub(super) step: Option<u32>,
    pub(super) user: Option<String>,
    pub(super) attached: Option<String>,
    pub(super) result: Option<FileResult>,
    pub(super) directive: Option<String>,
    pub(super) inquiry: Option<Spanned<toml::Value>>,
    pub(super) forced: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileResult {
    pub(super) tool: Option<String>,
    pub(super) contains: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileItem {
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) call: Option<String>,
    pub(super) id: Option<String>,
    pub(super) arguments: Option<toml::Table>,
    pub(super) raw_arguments: Option<String>,
    pub(super) pieces: Option<usize>,
    pub(super) split: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileFault {
    pub(super) status: Option<u16>,
    pub(super) retry_after: Option<f64>,
    pub(super) text: Option<String>,
    pub(super) cut_after: Option<usize>,
    pub(super) stall: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileUsage {
    pub(super) input: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
    pub(super) cost: Option<f64>,
}

/// Words of `finish`.
const FINISHES: &[&str] = &[
    "stop",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause",
    "refusal",
    "context_full",
    "content_filter",
    "malformed_call",
];

/// Reads a reason to finish, which must be one that this version knows.
fn known_finish<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Finish>, D::Error> {
    match Finish::deserialize(from)? {
        Finish::Other(word) => Err(D::Error::unknown_variant(&word, FINISHES)),
        known => Ok(Some(known)),
    }
}
