//! Google's Gemini API, `generateContent`.

mod request;
mod response;
#[cfg(test)]
pub(super) mod tests;

use aside_turn::transcript::Item;
use http::{HeaderMap, header::HeaderName};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded::byte_serialize;

use super::{
    abilities::{ReasoningKind, StatedAbilities},
    answer,
    api::{Decoder, EncodedHead, Encoder, ListedModel, RequestContents, StreamFormat, WireApi},
    call_ids::CallIds,
    calls::Calls,
    retry::ApiError,
};

/// The Gemini API.
pub(super) struct Google;

impl WireApi for Google {
    fn path(&self, model: &str) -> String {
        format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
    }

    fn key_header(&self) -> (HeaderName, &'static str) {
        (HeaderName::from_static("x-goog-api-key"), "")
    }

    fn opening(&self, ask: &RequestContents<'_>) -> String {
        request::opening(ask)
    }

    fn frozen(&self, ask: &RequestContents<'_>) -> EncodedHead {
        EncodedHead {
            bytes: request::frozen(ask).into_bytes(),
            ..EncodedHead::default()
        }
    }

    fn encode(&self, items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder) {
        request::encode(items, native, ask, out);
    }

    fn framing(&self) -> StreamFormat {
        StreamFormat::Sse
    }

    fn decoder(&self, ask: &RequestContents<'_>, calls: CallIds) -> Box<dyn Decoder> {
        Box::new(response::GeminiDecoder::new(
            ask.options.abilities.prices.clone(),
            Calls::new(calls, ask).keeping_ids(),
        ))
    }

    fn error(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
        answer::error(status, headers, body, response::error)
    }

    fn models_path(&self, page: Option<&str>) -> String {
        let mut path = String::from("/v1beta/models?pageSize=1000");
        if let Some(page) = page {
            path += "&pageToken=";
            path.extend(byte_serialize(page.as_bytes()));
        }
        path
    }

    fn models(&self, page: &Value) -> Result<(Vec<ListedModel>, Option<String>), String> {
        let page = GeminiModelPage::deserialize(page)
            .map_err(|error| format!("the list of models has an unexpected format ({error})"))?;
        let models = page.models.into_iter().filter_map(listed).collect();
        Ok((models, page.next_page_token.filter(|next| !next.is_empty())))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModelPage {
    models: Vec<GeminiModel>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModel {
    name: String,
    input_token_limit: Option<u64>,
    output_token_limit: Option<u64>,
    supported_generation_methods: Option<Vec<String>>,
    thinking: Option<bool>,
}

/// Reads an entry of the list. `None` for a model that does not support `generateContent`.
fn listed(entry: GeminiModel) -> Option<ListedModel> {
    let methods = entry.supported_generation_methods;
    let answers = |methods: &Vec<String>| methods.iter().any(|name| name == "generateContent");
    if !methods.as_ref().is_none_or(answers) {
        return None;
    }
    let abilities = StatedAbilities {
        context_window: entry.input_token_limit,
        max_output: entry.output_token_limit,
        // A list does not say whether reasoning is set by tokens or by levels, only that there is none.
        reasoning: (entry.thinking == Some(false)).then_some(ReasoningKind::None),
        ..StatedAbilities::default()
    };
    let name = entry.name;
    Some(ListedModel {
        model: name.strip_prefix("models/").unwrap_or(&name).to_owned(),
        abilities,
    })
}
