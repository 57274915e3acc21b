//! The members of events that are read. Servers omit members or send `null` for them.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::retry::ApiError;

/// Members common to all events and items.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TypedEvent {
    #[serde(deserialize_with = "lenient")]
    pub(super) r#type: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct DeltaEvent {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) output_index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) item_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) summary_index: u64,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content_index: u64,
    pub(super) delta: String,
}

/// The end of a call's arguments, with all of them.
#[derive(Deserialize)]
pub(super) struct ArgumentsEvent {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) output_index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) item_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) arguments: String,
}

#[derive(Deserialize)]
pub(super) struct ItemEvent<'a> {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: &'a RawValue,
}

/// Members of all kinds of items that have a neutral meaning.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Parts {
    #[serde(deserialize_with = "lenient")]
    pub(super) call_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) arguments: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) encrypted_content: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) summary: Option<Vec<ContentPart>>,
    #[serde(deserialize_with = "lenient")]
    pub(super) content: Option<Vec<ContentPart>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ContentPart {
    #[serde(deserialize_with = "lenient")]
    pub(super) r#type: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) text: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) refusal: String,
}

#[derive(Deserialize)]
pub(super) struct FinalEvent<'a> {
    #[serde(borrow)]
    pub(super) response: Summary<'a>,
}

#[derive(Deserialize)]
pub(super) struct Summary<'a> {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(default)]
    pub(super) error: Value,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) incomplete_details: Option<Incomplete>,
    #[serde(borrow, default)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: Option<ResponseUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Incomplete {
    pub(super) reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseUsage {
    #[serde(deserialize_with = "lenient")]
    pub(super) input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) input_tokens_details: Option<CachedInput>,
    #[serde(deserialize_with = "lenient")]
    pub(super) output_tokens: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CachedInput {
    #[serde(deserialize_with = "lenient")]
    pub(super) cached_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) cache_write_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub(super) cache_write_tokens_details: Option<CacheWrites>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheWrites {
    #[serde(deserialize_with = "lenient")]
    pub(super) ttl_12h_tokens: u64,
}

impl Parts {
    pub(super) fn refuses(&self) -> bool {
        let mut content = self.content.iter().flatten();
        content.any(|part| part.r#type == "refusal")
    }

    /// Whether reasoning can go back: encrypted, or readable from servers that do not encrypt it.
    pub(super) fn can_go_back(&self) -> bool {
        self.encrypted_content.is_some() || self.content.iter().flatten().next().is_some()
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.encrypted_content
            .as_ref()
            .is_some_and(|content| !content.is_empty())
    }

    /// The text that the deltas should add up to.
    pub(super) fn text(&self, kind: &str) -> String {
        let texts = |parts: &Option<Vec<ContentPart>>| -> Vec<String> {
            let parts = parts.iter().flatten();
            let texts = parts.map(|part| format!("{}{}", part.text, part.refusal));
            texts.filter(|text| !text.is_empty()).collect()
        };
        match kind {
            "message" => texts(&self.content).concat(),
            "reasoning" => {
                let all = [texts(&self.summary), texts(&self.content)].concat();
                all.join("\n\n")
            }
            _ => String::new(),
        }
    }
}

/// Deserializes a value; the default if its type is unexpected.
fn lenient<'a, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'a>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(value)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

pub(super) fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, ApiError> {
    serde_json::from_str(data).map_err(|error| {
        ApiError::garbled(format!(
            "an event of the response has an unexpected format ({error})"
        ))
    })
}
