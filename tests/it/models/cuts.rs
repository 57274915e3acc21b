//! Every sample stream, cut at every byte: what comes of it is an error, or all that the whole has.
//!
//! The provider is asked itself, over a loopback connection for each sample: a process for each of the 40,000 cuts
//! would take hours. The cuts are those at the ends of lines and at every fifth byte, unless somebody wants them all, as
//! `tests/run` does: `ASIDE_CUTS=all cargo test --test it -- models::cuts`.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use aside_base::api::ApiKind;
use aside_model_server::{
    ServedApi,
    server::{ModelServer, ServedReply},
};
use aside_provider::{
    Head, ModelRequest, Provider, SharedBody,
    client::HttpClient,
    models::built_in,
    open,
    options::{CacheRetention, ModelOptions},
};
use aside_turn::{
    record::Event,
    response::{Finish, Piece, Response},
    rules::ToolChoice,
    transcript::Transcript,
};
use futures_util::StreamExt;

use super::{column, stage::row};

fn kind(api: ServedApi) -> ApiKind {
    match api {
        ServedApi::Anthropic => ApiKind::Anthropic,
        ServedApi::OpenaiResponses => ApiKind::OpenaiResponses,
        ServedApi::OpenaiChat => ApiKind::OpenaiChat,
        ServedApi::Gemini => ApiKind::Google,
        ServedApi::Ollama => ApiKind::Ollama,
    }
}

/// The streams among the samples of an API, by name.
fn samples(api: ServedApi) -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model_server/wire");
    let files = fs::read_dir(root.join(api.name())).unwrap();
    let streams = files.map(|file| file.unwrap()).filter_map(|file| {
        let name = file.file_name().into_string().unwrap();
        name.contains("_stream_")
            .then(|| (name, fs::read(file.path()).unwrap()))
    });
    let mut streams: Vec<_> = streams.collect();
    streams.sort();
    streams
}

/// A provider whose server sends what was put down last.
struct CutProvider {
    provider: Arc<dyn Provider>,
    next: Arc<Mutex<ServedReply>>,
    request: ModelRequest,
    api: ServedApi,
    _server: ModelServer,
}

/// All that came, and how it ended.
type Came = (Response, Result<Finish, String>);

impl CutProvider {
    fn new(api: ServedApi, client: HttpClient) -> Self {
        let next = Arc::new(Mutex::new(ServedReply::stream(api, "")));
        let server = {
            let next = Arc::clone(&next);
            ModelServer::start(move |_| next.lock().unwrap().clone())
        };
        let (provider, model) = column::model(api).split_once('/').unwrap();
        let options = ModelOptions {
            provider: provider.into(),
            model: model.into(),
            base: server.url(api).parse().unwrap(),
            key_source: String::new(),
            bearer: false,
            abilities: built_in(kind(api), model),
            reasoning: None,
            max_output: None,
            cache: CacheRetention::Short,
            headers: Vec::new(),
        };
        let no_key = Arc::new(|| Box::pin(async { Ok(None) }) as std::pin::Pin<Box<_>>);
        let provider = open(kind(api), options, client, no_key).unwrap();
        let mut transcript = Transcript::default();
        transcript.push(&Event::TurnStart);
        transcript.push(&Event::UserMessage {
            text: "Go on.".into(),
            attachments: Vec::new(),
        });
        transcript.push(&Event::RequestSent { step: 1 });
        let request = ModelRequest {
            head: Arc::new(Head::default()),
            transcript: transcript.fork(),
            shared: Arc::new(SharedBody::new("c-1")),
            messages: Vec::new(),
            compacts: false,
            inquiry: None,
            tool_choice: ToolChoice::Auto,
            reasoning: true,
            schema: None,
            without: BTreeSet::new(),
            left_out: BTreeSet::new(),
        };
        Self {
            provider,
            next,
            request,
            api,
            _server: server,
        }
    }

    async fn ask(&self, reply: ServedReply) -> Came {
        *self.next.lock().unwrap() = reply;
        let mut response = Response::default();
        let mut pieces = match self.provider.send(self.request.clone()).await {
            Ok(pieces) => pieces,
            Err(failure) => return (response, Err(failure.sentence())),
        };
        while let Some(piece) = pieces.next().await {
            match piece {
                Ok(Piece::Finish(finish)) => return (response, Ok(finish)),
                Ok(piece) => response.add(piece),
                Err(failure) => return (response, Err(failure.sentence())),
            }
        }
        panic!("neither a finish nor a failure");
    }

    /// Ends a stream at every byte, and breaks it off at some of them.
    async fn check(&self, name: &str, body: &[u8]) {
        let whole = self.ask(ServedReply::stream(self.api, body.to_vec())).await;
        for at in cuts(body) {
            // A proxy that gives up ends the body as if it were whole; the connection lives on.
            let clean = ServedReply::stream(self.api, body[..at].to_vec());
            assert_part(&self.ask(clean).await, &whole, &format!("{name} at {at}"));
        }
        // A connection that breaks takes a new one for the next request: some places are enough.
        for at in (0..body.len()).step_by(97) {
            let abrupt = ServedReply::stream(self.api, body.to_vec()).cut_at(at);
            let place = format!("{name} cut off at {at}");
            assert_part(&self.ask(abrupt).await, &whole, &place);
        }
    }
}

/// The places at which a stream is cut.
fn cuts(body: &[u8]) -> impl Iterator<Item = usize> {
    let all = std::env::var_os("ASIDE_CUTS").is_some();
    let is_end = |at: usize| body[at] == b'\n' || at > 0 && body[at - 1] == b'\n';
    (0..body.len()).filter(move |at| all || at % 5 == 0 || is_end(*at))
}

/// An error, or the same as the whole. What was shown until then is what the whole begins with.
#[track_caller]
fn assert_part((part, end): &Came, (whole, whole_end): &Came, place: &str) {
    match (end, whole_end) {
        (Ok(end), Ok(whole_end)) => {
            assert_eq!(end, whole_end, "{place}");
            assert_eq!(part.items, whole.items, "{place}");
        }
        (Ok(end), Err(_)) => panic!("{place}: {end:?}, but the whole fails"),
        // What came together with an error is not shown.
        (Err(_), Err(_)) => {}
        (Err(_), Ok(_)) => {
            assert!(part.items.len() <= whole.items.len(), "{place}");
            for (part, whole) in part.items.iter().zip(&whole.items) {
                assert_eq!(part.kind, whole.kind, "{place}");
                assert!(whole.text.starts_with(&part.text), "{place}: {}", part.text);
            }
        }
    }
}

#[test]
fn every_sample_cut_is_an_error_or_whole() {
    let client = HttpClient::default();
    row(|api| {
        let all = samples(api);
        assert!(all.len() >= 3, "{api:?}");
        std::thread::scope(|scope| {
            for (name, body) in &all {
                let line = CutProvider::new(api, client.clone());
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .unwrap();
                    runtime.block_on(line.check(name, body));
                });
            }
        });
    });
}
