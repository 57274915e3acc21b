//! A model behind an HTTP API: sends what a [`WireApi`] encodes and passes on what it decodes.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use aside_base::lock;
use aside_turn::{
    response::{Failure, FailureClass, Piece, Usage},
    rules::Model,
};
use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use reqwest::{Response, Url};
use tokio::time::{Instant, sleep, timeout};
use url::Position;

use super::{
    ModelRequest, Provider, ResponseStream,
    abilities::StatedAbilities,
    answer,
    api::{Decoder, RequestContents, WireApi},
    body::Body,
    client::{BuiltClient, HttpClient},
    connections::{ended_early, failed, proxy_of, unusable},
    hiding::HidingFilter,
    key::Key,
    options::ModelOptions,
    refused::{RefusedParts, refused_parts},
    retry::{ApiError, ErrorContext, failure},
    sse::{SseEvent, SseParser, TooLong},
};

/// Time without any data after which a request fails. Local models may take minutes to load.
const SILENCE_LIMIT: Duration = Duration::from_secs(300);
/// Time to wait for the end of a complete response, so that its connection can be reused.
const LAST_LIMIT: Duration = Duration::from_millis(20);
/// Delay between attempts while a server loads its model.
const LOADING: Duration = Duration::from_secs(1);
/// Maximum size of a response in bytes.
const MAX_RESPONSE: usize = 256 * 1024 * 1024;
/// Number of bytes read of an error's body.
const MAX_ERROR: usize = 64 * 1024;
/// Maximum size in bytes of a list of models or of a model's description.
const MAX_LIST: usize = 16 * 1024 * 1024;

/// Looks up the key for each request: it may change while the program runs.
pub type FindKey = Arc<
    dyn Fn() -> Pin<Box<dyn Future<Output = Result<Option<Key>, String>> + Send>> + Send + Sync,
>;

/// A model behind an HTTP API.
pub(super) struct Http {
    pub(super) api: Arc<dyn WireApi>,
    pub(super) options: ModelOptions,
    pub(super) model: Model,
    pub(super) client: HttpClient,
    pub(super) key: FindKey,
    /// The key that was sent last. It is removed from everything that the server sends.
    pub(super) sent: Arc<Mutex<Option<Key>>>,
}

#[async_trait]
impl Provider for Http {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn send(&self, request: ModelRequest) -> Result<ResponseStream, Failure> {
        let (body, request) = self.encode(request).await?;
        let ask = ask(&self.options, &request);
        let calls = request.shared.call_ids(&request.messages);
        let decoder = self.api.decoder(&ask, calls);
        let url = self.url(&self.api.path(&self.options.model))?;
        let headers = self.headers(Some(&ask)).await?;
        let response = self
            .post(url, headers, body.clone())
            .await?
            .map_err(|error| self.refusal(&error, &request, &body))?;
        let mut stream = Stream {
            cutter: SseParser::new(self.api.framing()),
            response,
            decoder,
            read: 0,
            begun: false,
            has_stray: false,
            broken: None,
        };
        let first = stream.next().await;
        let first = first.map_err(|error| self.refusal(&error, &request, &body))?;
        Ok(self.pieces(stream, first))
    }
}

/// Contents of a request besides the conversation.
fn ask<'a>(options: &'a ModelOptions, request: &'a ModelRequest) -> RequestContents<'a> {
    RequestContents {
        options,
        head: &request.head,
        tool_choice: &request.tool_choice,
        reasoning: request.reasoning,
        schema: request.schema.as_ref(),
        without: &request.without,
        left_out: &request.left_out,
        compacts: request.compacts,
        is_compacted: request.transcript.is_native,
        conversation: request.shared.conversation(),
        media: request.shared.media(),
    }
}

fn encode(api: &dyn WireApi, options: &ModelOptions, request: &ModelRequest) -> Body {
    let ModelRequest {
        head,
        transcript,
        messages,
        ..
    } = request;
    let ask = ask(options, request);
    request.shared.body(api, &ask, head, transcript, messages)
}

impl Http {
    /// Encodes the body. Images and PDFs are read and encoded on a blocking thread.
    async fn encode(&self, request: ModelRequest) -> Result<(Body, ModelRequest), Failure> {
        if !request.transcript.has_media {
            return Ok((encode(self.api.as_ref(), &self.options, &request), request));
        }
        let (api, options) = (self.api.clone(), self.options.clone());
        let encoding = tokio::task::spawn_blocking(move || {
            let body = encode(api.as_ref(), &options, &request);
            (body, request)
        });
        encoding.await.map_err(|_| Failure {
            class: FailureClass::Other,
            text:
                "The request could not be encoded because of an error in Aside; please report it."
                    .into(),
            advice: None,
            retry_after: None,
        })
    }

    /// Joins the base URL and a path. The base URL may have a path of its own, with or without a slash at its end, and a
    /// query, which goes behind that of the path.
    fn url(&self, path: &str) -> Result<Url, Failure> {
        let base = self.options.base[..Position::AfterPath].trim_end_matches('/');
        let query = self.options.base.query().unwrap_or_default();
        let sign = match path.contains('?') {
            _ if query.is_empty() => "",
            true => "&",
            false => "?",
        };
        Url::parse(&format!("{base}{path}{sign}{query}")).map_err(|error| Failure {
            class: FailureClass::Other,
            text: format!(
                "base_url {base} of the provider {} is not a valid address ({error}); correct it",
                self.options.provider
            ),
            advice: None,
            retry_after: None,
        })
    }

    async fn headers(&self, ask: Option<&RequestContents<'_>>) -> Result<HeaderMap, Failure> {
        let failed = |text| Failure {
            class: FailureClass::Auth,
            text,
            advice: None,
            retry_after: None,
        };
        let mut headers = self.api.headers(ask);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if let Some(key) = (self.key)().await.map_err(failed)? {
            let (name, before) = if self.options.bearer {
                (header::AUTHORIZATION, "Bearer ")
            } else {
                self.api.key_header()
            };
            let value = key.header(before).ok_or_else(|| {
                failed(format!(
                    "the key in {} contains characters that a header cannot carry; set it again",
                    self.options.key_source
                ))
            })?;
            headers.insert(name, value);
            *lock(&self.sent) = Some(key);
        }
        for (name, value) in &self.options.headers {
            if let Some(value) = value.header("") {
                headers.insert(name.clone(), value);
            }
        }
        Ok(headers)
    }

    async fn post(
        &self,
        url: Url,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Result<Response, ApiError>, Failure> {
        let BuiltClient { client, begun } = self.built().await?;
        let send = || {
            let request = client.post(url.clone()).headers(headers.clone());
            request.body(reqwest::Body::wrap(body.clone())).send()
        };
        let loaded_until = Instant::now() + SILENCE_LIMIT;
        loop {
            let connections = begun.count();
            let sent = async {
                match send().await {
                    // The server had closed this idle connection, so it received nothing.
                    Err(error) if ended_early(&error) && begun.count() == connections => {
                        send().await
                    }
                    sent => sent,
                }
            };
            match self.answered(sent).await {
                Err(error) if error.is_loading() && Instant::now() < loaded_until => {
                    sleep(LOADING).await;
                }
                answered => return Ok(answered),
            }
        }
    }

    async fn client(&self) -> Result<&reqwest::Client, Failure> {
        Ok(&self.built().await?.client)
    }

    async fn built(&self) -> Result<&BuiltClient, Failure> {
        self.client
            .get(&self.options.base)
            .await
            .map_err(|why| Failure {
                class: FailureClass::Other,
                text: format!("cannot create an HTTP client: {why}"),
                advice: None,
                retry_after: None,
            })
    }

    /// Returns a successful response, or a failure for the user.
    async fn answer(
        &self,
        sent: impl Future<Output = reqwest::Result<Response>>,
    ) -> Result<Response, Failure> {
        let answered = self.answered(sent).await;
        answered.map_err(|error| self.failure(&error))
    }

    /// Returns a successful response, or the error as data.
    async fn answered(
        &self,
        sent: impl Future<Output = reqwest::Result<Response>>,
    ) -> Result<Response, ApiError> {
        let proxy = proxy_of(&self.options.base);
        if let Some(error) = proxy.as_ref().and_then(unusable) {
            return Err(error);
        }
        let response = match timeout(SILENCE_LIMIT, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(failed(&error, proxy.as_ref())),
            Err(_) => return Err(silence()),
        };
        let status = response.status();
        if status.is_success() {
            tracing::debug!(
                target: "aside::provider",
                model = self.options.id(),
                request_id = answer::request_id(response.headers()).map(|id| self.without_secrets(id)),
                "answered"
            );
            return Ok(response);
        }
        let headers = response.headers().clone();
        let mut response = response;
        let mut body = Vec::new();
        while body.len() < MAX_ERROR
            && let Ok(Ok(Some(chunk))) = timeout(SILENCE_LIMIT, response.chunk()).await
        {
            body.extend_from_slice(&chunk);
        }
        body.truncate(MAX_ERROR);
        match (status, &proxy) {
            (StatusCode::PROXY_AUTHENTICATION_REQUIRED, Some(proxy)) => {
                Err(ApiError::proxy_login(proxy))
            }
            _ => Err(self.api.error(status.as_u16(), &headers, &body)),
        }
    }

    /// Reads a page of the list of models.
    pub(super) async fn list(&self, page: Option<&str>) -> Result<serde_json::Value, Failure> {
        let url = self.url(&self.api.models_path(page))?;
        let headers = self.headers(None).await?;
        let sent = self.client().await?.get(url).headers(headers).send();
        self.json(sent).await
    }

    /// Asks the provider to describe a model; `None` if the API has no such request.
    pub(super) async fn describe(&self, model: &str) -> Option<Result<StatedAbilities, Failure>> {
        let (path, body) = self.api.description_of(model)?;
        let description = async {
            let url = self.url(path)?;
            let headers = self.headers(None).await?;
            let request = self.client().await?.post(url).headers(headers);
            let answer = self.json(request.body(body.to_string()).send()).await?;
            let garbled = |why| self.failure(&ApiError::garbled(why));
            self.api.description(&answer).map_err(garbled)
        };
        Some(description.await)
    }

    /// Receives a JSON document of limited size.
    async fn json(
        &self,
        sent: impl Future<Output = reqwest::Result<Response>>,
    ) -> Result<serde_json::Value, Failure> {
        let mut response = self.answer(sent).await?;
        let mut body = Vec::new();
        while let Some(chunk) = read(&mut response)
            .await
            .map_err(|error| self.failure(&error))?
        {
            if body.len() + chunk.len() > MAX_LIST {
                return Err(self.failure(&ApiError::garbled("the document is too long")));
            }
            body.extend_from_slice(&chunk);
        }
        if let Some(Err(page)) = ApiError::page(&body) {
            return Err(self.failure(&page));
        }
        serde_json::from_slice(&body).map_err(|error| {
            self.failure(&ApiError::garbled(format!(
                "the document is not valid JSON ({error})"
            )))
        })
    }

    /// Removes from a server's text all secrets that were sent to it.
    fn without_secrets(&self, text: &str) -> String {
        let secrets = self.secrets().into_iter();
        secrets.fold(text.to_owned(), |text, secret| secret.hide(&text))
    }

    fn secrets(&self) -> Vec<Key> {
        let sent = lock(&self.sent);
        let own = self.options.headers.iter().map(|(_, value)| value);
        sent.iter().chain(own).cloned().collect()
    }

    pub(super) fn failure(&self, error: &ApiError) -> Failure {
        self.described(error, None)
    }

    /// The failure of a request, with the parts that the server refused by their names.
    fn refusal(&self, error: &ApiError, request: &ModelRequest, body: &Body) -> Failure {
        let ask = ask(&self.options, request);
        let sent = || serde_json::from_slice(&body.concat()).unwrap_or_default();
        let refused = refused_parts(error, &ask, &request.transcript, sent);
        self.described(error, refused)
    }

    fn described(&self, error: &ApiError, refused: Option<RefusedParts>) -> Failure {
        let id = self.options.id();
        let base = &self.options.base;
        let mut shown = base.clone();
        // A query may hold a key.
        shown.set_query(None);
        // Without a login: only an address that cannot have one refuses.
        let _ = shown.set_username("").and(shown.set_password(None));
        let who = ErrorContext {
            model: &id,
            host: base.host_str().unwrap_or_default(),
            port: base.port_or_known_default(),
            base: shown.as_str(),
            key_source: &self.options.key_source,
        };
        let secrets = self.secrets().into_iter();
        let error = &secrets.fold(error.clone(), |error, secret| error.without(&secret));
        let failure = match refused {
            Some(refused) => refused.failure(error, &who),
            None => failure(error, &who),
        };
        tracing::warn!(
            target: "aside::provider",
            model = id,
            status = error.status,
            request_id = error.request_id,
            kind = error.kind,
            code = error.code,
            message = error.message,
            class = ?failure.class,
            "failed"
        );
        failure
    }

    fn pieces(&self, mut stream: Stream, first: Vec<Piece>) -> ResponseStream {
        let failing = Self {
            api: self.api.clone(),
            options: self.options.clone(),
            model: self.model.clone(),
            client: self.client.clone(),
            key: self.key.clone(),
            sent: self.sent.clone(),
        };
        let sent = lock(&self.sent);
        // What stands in other headers may be any word.
        let mut hiding = HidingFilter::of(sent.as_slice());
        drop(sent);
        Box::pin(async_stream::stream! {
            let mut pieces = hiding.pass(first);
            let mut says_usage = false;
            loop {
                let last = pieces.iter().any(|piece| matches!(piece, Piece::Finish(_)));
                if last {
                    stream.drain().await;
                }
                for piece in pieces {
                    says_usage |= matches!(&piece, Piece::Usage(usage) if !usage.is_nothing());
                    if matches!(piece, Piece::Finish(_)) && !says_usage {
                        // Something was used, and nobody says how much.
                        yield Ok(Piece::Usage(Usage { partial: true, ..Usage::default() }));
                    }
                    yield Ok(piece);
                }
                if last {
                    return;
                }
                pieces = match stream.next().await {
                    Ok(pieces) => hiding.pass(pieces),
                    Err(error) => {
                        yield Err(failing.failure(&error));
                        return;
                    }
                };
            }
        })
    }
}

/// A response being received.
struct Stream {
    response: Response,
    cutter: SseParser,
    decoder: Box<dyn Decoder>,
    /// Number of bytes received.
    read: usize,
    /// Whether any byte was not blank.
    begun: bool,
    /// Whether something came between the events that is none.
    has_stray: bool,
    /// An error to report after the pieces that preceded it.
    broken: Option<ApiError>,
}

impl Stream {
    /// Returns the pieces of the next bytes. Not called again after an error or a finish.
    async fn next(&mut self) -> Result<Vec<Piece>, ApiError> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        let mut pieces = Vec::new();
        let mut events = Vec::new();
        let chunk = match read(&mut self.response).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => {
                self.end(&mut pieces)?;
                return Ok(pieces);
            }
            // Some servers close the connection abruptly after a complete response.
            Err(error) => {
                return match self.end(&mut pieces) {
                    Ok(()) => Ok(pieces),
                    Err(_) => Err(error),
                };
            }
        };
        self.read += chunk.len();
        if self.read > MAX_RESPONSE {
            return Err(ApiError::garbled("the response is too long"));
        }
        if !self.begun
            && let Some(is_api) = ApiError::page(&chunk)
        {
            self.begun = true;
            is_api?;
        }
        let taken = self.cutter.take(&chunk, &mut events);
        let decoded = self.decode(events, &mut pieces).and_then(|()| {
            taken.map_err(|TooLong| ApiError::garbled("an event of the response is too long"))
        });
        match decoded {
            // Pieces before the error are returned first.
            Err(error) if !pieces.is_empty() => self.broken = Some(error),
            decoded => decoded?,
        }
        Ok(pieces)
    }

    fn decode(&mut self, events: Vec<SseEvent>, pieces: &mut Vec<Piece>) -> Result<(), ApiError> {
        for event in events {
            match event {
                SseEvent::KeepAlive => pieces.push(Piece::KeepAlive),
                SseEvent::Stray => self.has_stray = true,
                SseEvent::Data(data) => self.decoder.event(&data, pieces)?,
            }
            if matches!(pieces.last(), Some(Piece::Finish(_))) {
                if self.has_stray {
                    // What was lost may be a call.
                    pieces.pop();
                    return Err(ApiError::garbled("a part of the response is no event"));
                }
                break;
            }
        }
        Ok(())
    }

    fn end(&mut self, pieces: &mut Vec<Piece>) -> Result<(), ApiError> {
        let mut events = Vec::new();
        let stray = self.cutter.end(&mut events);
        match self.decode(events, pieces) {
            // The last event was truncated.
            Err(error) if error.is_garbled() => return Err(ApiError::cut()),
            done => done?,
        }
        if matches!(pieces.last(), Some(Piece::Finish(_))) {
            return Ok(());
        }
        self.decoder.end(&stray, pieces)
    }

    /// Reads the rest of the body, so that the connection can be reused.
    async fn drain(&mut self) {
        let all = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        let _ = timeout(LAST_LIMIT, all).await;
    }
}

async fn read(response: &mut Response) -> Result<Option<bytes::Bytes>, ApiError> {
    match timeout(SILENCE_LIMIT, response.chunk()).await {
        Ok(Ok(chunk)) => Ok(chunk),
        // An abrupt close of an incomplete response.
        Ok(Err(error)) => Err(failed(&error, None)),
        Err(_) => Err(silence()),
    }
}

fn silence() -> ApiError {
    ApiError::lost(format!("no data for {} s", SILENCE_LIMIT.as_secs()))
}
