//! An HTTP client whose every answer to a request belongs to that request: some servers give their errors another id,
//! or none, and some say nothing at all.

use std::{collections::HashMap, sync::Arc};

use futures_util::{StreamExt, stream::BoxStream};
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse as Posted,
        StreamableHttpResponseLimits,
    },
};
use sse_stream::Sse;

/// The client beneath, and what it answers made to fit its requests.
#[derive(Clone)]
pub(super) struct OwnAnswers<C>(pub(super) C);

type Fault<C> = StreamableHttpError<<C as StreamableHttpClient>::Error>;

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for OwnAnswers<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Posted, Fault<C>> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, key, headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<Posted, Fault<C>> {
        let id = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let sent = self
            .0
            .post_message_with_response_limits(uri, message, session, key, headers, limits);
        let posted = sent.await?;
        match id {
            Some(id) => answer_to(id, posted),
            None => Ok(posted),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault<C>> {
        self.0.delete_session(uri, session, key, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault<C>> {
        self.0
            .get_stream(uri, session, last_event, key, headers)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        most: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault<C>> {
        self.0
            .get_stream_with_max_sse_event_size(uri, session, last_event, key, headers, most)
            .await
    }
}

/// Makes the answer to a POST the answer to its request.
fn answer_to<E: std::error::Error + Send + Sync + 'static>(
    id: RequestId,
    posted: Posted,
) -> Result<Posted, StreamableHttpError<E>> {
    let nothing =
        |what: &'static str| Err(StreamableHttpError::UnexpectedServerResponse(what.into()));
    match posted {
        Posted::Accepted => {
            nothing("it took the request and sent no answer, so the effects are unknown")
        }
        Posted::Json(JsonRpcMessage::Error(mut error), session) => {
            error.id = Some(id);
            Ok(Posted::Json(JsonRpcMessage::Error(error), session))
        }
        Posted::Json(JsonRpcMessage::Response(response), _) if response.id != id => {
            nothing("it answered another request, so the effects are unknown")
        }
        Posted::Json(JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_), _) => {
            nothing("its answer is none to the request, so the effects are unknown")
        }
        Posted::Sse(events, session) => {
            let own = events.map(move |event| event.map(|event| owned(&id, event)));
            Ok(Posted::Sse(own.boxed(), session))
        }
        posted => Ok(posted),
    }
}

/// An event of the stream that answers a request: an error in it is that request's.
fn owned(id: &RequestId, mut event: Sse) -> Sse {
    let read = event.data.as_deref().map(serde_json::from_str);
    if let Some(Ok(ServerJsonRpcMessage::Error(mut error))) = read
        && error.id.as_ref() != Some(id)
    {
        error.id = Some(id.clone());
        let message = ServerJsonRpcMessage::Error(error);
        event.data = serde_json::to_string(&message).ok().or(event.data);
    }
    event
}
