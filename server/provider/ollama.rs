//! Ollama's own API, `/api/chat`.

mod request;
mod response;
#[cfg(test)]
mod tests;

use http::{
    HeaderMap,
    header::{self, HeaderName},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    abilities::{Forced, ReasoningKind, Told},
    answer,
    api::{Api, Ask, Decoder, Encoder, Framing, Frozen, Listed},
    retry::ApiError,
};
use crate::turn::transcript::Item;

/// Ollama's own API, `/api/chat`.
pub(super) struct Ollama;

impl Api for Ollama {
    fn path(&self, _model: &str) -> String {
        "/api/chat".to_owned()
    }

    fn key_header(&self) -> (HeaderName, &'static str) {
        (header::AUTHORIZATION, "Bearer ")
    }

    fn opening(&self, ask: &Ask<'_>) -> String {
        request::opening(ask)
    }

    fn frozen(&self, ask: &Ask<'_>) -> Frozen {
        request::frozen(ask)
    }

    fn encode(&self, items: &[Item], native: bool, ask: &Ask<'_>, out: &mut Encoder) {
        request::encode(items, native, ask, out);
    }

    fn framing(&self) -> Framing {
        Framing::Ndjson
    }

    fn decoder(&self, ask: &Ask<'_>) -> Box<dyn Decoder> {
        Box::new(response::Reader::new(request::context(ask.options)))
    }

    fn error(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
        answer::error(status, headers, body, response::error)
    }

    fn models_path(&self, _page: Option<&str>) -> String {
        "/api/tags".to_owned()
    }

    fn models(&self, page: &Value) -> Result<(Vec<Listed>, Option<String>), String> {
        let list = List::deserialize(page)
            .map_err(|error| format!("the list of models is not as expected ({error})"))?;
        Ok((list.models.into_iter().filter_map(listed).collect(), None))
    }

    fn description_of(&self, model: &str) -> Option<(&'static str, Value)> {
        Some(("/api/show", json!({ "model": model })))
    }

    fn description(&self, answer: &Value) -> Result<Told, String> {
        show(answer)
    }
}

#[derive(Deserialize)]
struct List {
    models: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    model: Option<String>,
    name: String,
    capabilities: Option<Vec<String>>,
}

/// What the list says of a model that answers.
fn listed(entry: Entry) -> Option<Listed> {
    let abilities = told(entry.capabilities.as_deref())?;
    Some(Listed {
        model: entry.model.unwrap_or(entry.name),
        abilities,
    })
}

/// What a model's capabilities come to; older servers do not say. `None`: it does not answer at all.
fn told(capabilities: Option<&[String]>) -> Option<Told> {
    let mut told = Told {
        forced_tools: Some(Forced::No),
        strict: Some(false),
        ..Told::default()
    };
    let Some(capabilities) = capabilities else {
        return Some(told);
    };
    let can = |what: &str| capabilities.iter().any(|capability| capability == what);
    told.tools = Some(can("tools"));
    told.images = Some(can("vision"));
    told.reasoning = Some(if can("thinking") {
        ReasoningKind::Switch
    } else {
        ReasoningKind::None
    });
    can("completion").then_some(told)
}

#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    model_info: serde_json::Map<String, Value>,
    capabilities: Option<Vec<String>>,
}

/// What `/api/show` says of a model.
fn show(description: &Value) -> Result<Told, String> {
    let shown = Shown::deserialize(description)
        .map_err(|error| format!("the description of the model is not as expected ({error})"))?;
    let family = shown.model_info.get("general.architecture");
    let family = family.and_then(Value::as_str).unwrap_or_default();
    let length = shown.model_info.get(&format!("{family}.context_length"));
    Ok(Told {
        context_window: length.and_then(Value::as_u64),
        ..told(shown.capabilities.as_deref()).unwrap_or_default()
    })
}
