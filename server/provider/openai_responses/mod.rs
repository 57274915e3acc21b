//! OpenAI's Responses API, with nothing stored at the server: every request carries the whole conversation. The model's
//! items go back exactly as they came, encrypted reasoning included.

mod request;
mod response;
#[cfg(test)]
mod tests;

use aside_turn::transcript::Item;
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, AUTHORIZATION, HeaderName},
};
use serde_json::Value;

use super::{
    answer,
    api::{Decoder, EncodedHead, Encoder, ListedModel, RequestContents, StreamFormat, WireApi},
    call_ids::CallIds,
    calls::Calls,
    openai_error, openai_list,
    retry::ApiError,
    tags::TaggedDecoder,
};

/// The Responses API.
pub(super) struct OpenaiResponses;

impl WireApi for OpenaiResponses {
    fn path(&self, _model: &str) -> String {
        "/responses".to_owned()
    }

    fn key_header(&self) -> (HeaderName, &'static str) {
        (AUTHORIZATION, "Bearer ")
    }

    fn headers(&self, _ask: Option<&RequestContents<'_>>) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("text/event-stream"))])
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

    fn closing(&self, ask: &RequestContents<'_>) -> String {
        request::closing(ask).to_owned()
    }

    fn breakpoint(&self, ask: &RequestContents<'_>) -> Option<String> {
        request::breakpoint(ask)
    }

    fn framing(&self) -> StreamFormat {
        StreamFormat::Sse
    }

    fn decoder(&self, ask: &RequestContents<'_>, calls: CallIds) -> Box<dyn Decoder> {
        let decoder = response::ResponsesDecoder::new(
            ask.options.abilities.prices.clone(),
            ask.options.cache,
            Calls::new(calls, ask),
        );
        TaggedDecoder::unless_at("api.openai.com", &ask.options.base, Box::new(decoder))
    }

    fn error(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
        answer::error(status, headers, body, openai_error::read)
    }

    fn models_path(&self, _page: Option<&str>) -> String {
        "/models".to_owned()
    }

    /// The list has one page.
    fn models(&self, page: &Value) -> Result<(Vec<ListedModel>, Option<String>), String> {
        openai_list::read(page).map(|models| (models, None))
    }
}
