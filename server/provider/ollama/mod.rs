//! Ollama's own API, `/api/chat`.

mod request;
mod response;
#[cfg(test)]
mod tests;

use aside_turn::transcript::Item;
use http::{
    HeaderMap,
    header::{self, HeaderName},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    abilities::{ForcedToolSupport, ReasoningKind, StatedAbilities},
    answer,
    api::{Decoder, EncodedHead, Encoder, ListedModel, RequestContents, StreamFormat, WireApi},
    call_ids::CallIds,
    calls::Calls,
    retry::ApiError,
};

/// The Ollama API.
pub(super) struct Ollama;

impl WireApi for Ollama {
    fn path(&self, _model: &str) -> String {
        "/api/chat".to_owned()
    }

    fn key_header(&self) -> (HeaderName, &'static str) {
        (header::AUTHORIZATION, "Bearer ")
    }

    fn opening(&self, ask: &RequestContents<'_>) -> String {
        request::opening(ask)
    }

    fn frozen(&self, ask: &RequestContents<'_>) -> EncodedHead {
        request::frozen(ask)
    }

    fn encode(&self, items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder) {
        request::encode(items, native, ask, out);
    }

    fn framing(&self) -> StreamFormat {
        StreamFormat::Ndjson
    }

    fn decoder(&self, ask: &RequestContents<'_>, calls: CallIds) -> Box<dyn Decoder> {
        let context = request::context(ask.options);
        Box::new(response::OllamaDecoder::new(
            context,
            Calls::new(calls, ask),
        ))
    }

    fn error(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
        answer::error(status, headers, body, response::error)
    }

    fn models_path(&self, _page: Option<&str>) -> String {
        "/api/tags".to_owned()
    }

    fn models(&self, page: &Value) -> Result<(Vec<ListedModel>, Option<String>), String> {
        let list = OllamaModelList::deserialize(page)
            .map_err(|error| format!("the list of models has an unexpected format ({error})"))?;
        Ok((list.models.into_iter().filter_map(listed).collect(), None))
    }

    fn description_of(&self, model: &str) -> Option<(&'static str, Value)> {
        Some(("/api/show", json!({ "model": model })))
    }

    fn description(&self, answer: &Value) -> Result<StatedAbilities, String> {
        show(answer)
    }
}

#[derive(Deserialize)]
struct OllamaModelList {
    models: Vec<OllamaModel>,
}

#[derive(Deserialize)]
struct OllamaModel {
    model: Option<String>,
    name: String,
    capabilities: Option<Vec<String>>,
}

/// Reads an entry of the list. `None` for a model without chat completion.
fn listed(entry: OllamaModel) -> Option<ListedModel> {
    let abilities = stated(entry.capabilities.as_deref())?;
    Some(ListedModel {
        model: entry.model.unwrap_or(entry.name),
        abilities,
    })
}

/// Converts a model's capabilities; older servers send none. `None` for a model without chat completion.
fn stated(capabilities: Option<&[String]>) -> Option<StatedAbilities> {
    let mut stated = StatedAbilities {
        forced_tools: Some(ForcedToolSupport::No),
        strict: Some(false),
        ..StatedAbilities::default()
    };
    let Some(capabilities) = capabilities else {
        return Some(stated);
    };
    let can = |what: &str| capabilities.iter().any(|capability| capability == what);
    stated.tools = Some(can("tools"));
    stated.images = Some(can("vision"));
    stated.reasoning = Some(if can("thinking") {
        ReasoningKind::Switch
    } else {
        ReasoningKind::None
    });
    can("completion").then_some(stated)
}

#[derive(Deserialize)]
struct OllamaModelDetails {
    #[serde(default)]
    model_info: serde_json::Map<String, Value>,
    capabilities: Option<Vec<String>>,
}

/// Reads the answer of `/api/show`.
fn show(description: &Value) -> Result<StatedAbilities, String> {
    let shown = OllamaModelDetails::deserialize(description).map_err(|error| {
        format!("the description of the model has an unexpected format ({error})")
    })?;
    let family = shown.model_info.get("general.architecture");
    let family = family.and_then(Value::as_str).unwrap_or_default();
    let length = shown.model_info.get(&format!("{family}.context_length"));
    Ok(StatedAbilities {
        context_window: length.and_then(Value::as_u64),
        ..stated(shown.capabilities.as_deref()).unwrap_or_default()
    })
}
