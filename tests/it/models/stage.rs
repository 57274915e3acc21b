//! A world, a model server with a script, and the rules of the requests.

use std::{
    collections::VecDeque,
    fs,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aside_model_server::{
    ServedApi,
    check::{CheckedRequest, EarlierReplies, check},
    play::ModelReply,
    server::{BodyPart, ModelServer, Received, ReplyGate, ServedReply},
};
use serde_json::{Value, json};

use super::{column, heard::heard, live::Live, replied, without_time};
use crate::world::{ProgramResult, TestWorld, until};

/// Everything runs unasked, outside of a sandbox.
pub(super) const AUTO: [&str; 3] = ["--mode", "auto", "--unsandboxed"];

/// What the server does with one request.
pub(super) type PlayedStep = Box<dyn FnOnce(&Received, ServedApi) -> PlayedReply + Send>;

/// One reply of the model that is played.
pub(super) enum PlayedReply {
    /// What the model says.
    Says(ModelReply),
    /// The same, sent in another way.
    Sent(
        ModelReply,
        Box<dyn FnOnce(ServedReply) -> ServedReply + Send>,
    ),
    /// A response that is none of a model.
    Http(ServedReply),
}

/// The model says this.
pub(super) fn says(play: ModelReply) -> PlayedStep {
    Box::new(move |_, _| PlayedReply::Says(play))
}

/// The model would say this, but nothing of it comes.
pub(super) fn stalls() -> PlayedStep {
    Box::new(|_, api| {
        PlayedReply::Http(ServedReply::stream(api, "never").wait_at(0, &ReplyGate::new()))
    })
}

/// The model says this, and it is sent in another way.
pub(super) fn sent(
    play: ModelReply,
    how: impl FnOnce(ServedReply) -> ServedReply + Send + 'static,
) -> PlayedStep {
    Box::new(move |_, _| PlayedReply::Sent(play, Box::new(how)))
}

/// The server answers with this.
pub(super) fn http(reply: ServedReply) -> PlayedStep {
    Box::new(move |_, _| PlayedReply::Http(reply))
}

/// What the model says depends on what it is asked.
pub(super) fn asked(say: impl FnOnce(&Received) -> ModelReply + Send + 'static) -> PlayedStep {
    Box::new(move |received, _| PlayedReply::Says(say(received)))
}

/// A world with a model server.
pub(super) struct ModelStage {
    pub(super) world: TestWorld,
    pub(super) server: ModelServer,
    pub(super) api: ServedApi,
    books: Arc<Mutex<StageState>>,
}

#[derive(Default)]
struct StageState {
    script: VecDeque<PlayedStep>,
    seen: EarlierReplies,
    /// Replies of a model so far.
    replies: usize,
    /// Requests to a model.
    requests: Vec<Arc<Received>>,
    /// Requests of any kind that were answered.
    answered: usize,
    broken: Vec<String>,
    /// The list of models of the server that speaks Chat Completions, where it has one.
    list: Option<Value>,
}

fn lock(books: &Mutex<StageState>) -> MutexGuard<'_, StageState> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ModelStage {
    /// The server plays the script, a step for each request to a model.
    pub(super) fn new(api: ServedApi, script: Vec<PlayedStep>) -> Self {
        let books = Arc::new(Mutex::new(StageState {
            script: script.into(),
            ..StageState::default()
        }));
        let server = {
            let books = Arc::clone(&books);
            ModelServer::start(move |received| {
                let mut books = lock(&books);
                books.answered += 1;
                books.answer(received)
            })
        };
        let world = TestWorld::new();
        world.user_config(&column::configuration(&server.address().to_string()));
        world.listed(
            column::model(ServedApi::OpenaiChat),
            &server.url(ServedApi::OpenaiChat),
        );
        Self {
            world,
            server,
            api,
            books,
        }
    }

    /// The server that speaks Chat Completions lists these models, and nobody asked it yet.
    pub(super) fn lists(&self, models: Value) {
        fs::remove_file(self.world.models()).unwrap();
        lock(&self.books).list = Some(models);
    }

    /// More of the script.
    pub(super) fn goes_on(&self, script: Vec<PlayedStep>) {
        lock(&self.books).script.extend(script);
    }

    /// What is left of the script is not played any more.
    pub(super) fn forgets(&self) {
        lock(&self.books).script.clear();
    }

    /// The program with these arguments, in the world and with all providers at the server.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        let address = self.server.address().to_string();
        command.envs(column::environment(&address));
        command
    }

    /// Starts a turn on this message, with the column's model where the arguments name none.
    pub(super) fn start(&self, message: &str, args: &[&str]) -> Live {
        Live::start(self.command(&self.args(message, args)))
    }

    fn args<'a>(&self, message: &'a str, args: &[&'a str]) -> Vec<&'a str> {
        let model = column::model(self.api);
        let of_column: &[&str] = if args.contains(&"-m") {
            &[]
        } else {
            &["-m", model]
        };
        let all = ["run", "--output", "jsonl", "--trust"];
        [&all, of_column, args, &[message]].concat()
    }

    /// The same, to its end, and no time passes meanwhile. `test` is the name of the test that calls this; it has to
    /// begin with [`without_time::become_program`].
    #[track_caller]
    pub(super) fn run_without_time(
        &self,
        test: &str,
        message: &str,
        args: &[&str],
    ) -> ProgramResult {
        let mut command = without_time::command(&self.world, test, &self.args(message, args));
        let address = self.server.address().to_string();
        command.envs(column::environment(&address));
        without_time::result(Live::start(command).end())
    }

    /// A turn on this message, to its end.
    #[track_caller]
    pub(super) fn run(&self, message: &str, args: &[&str]) -> ProgramResult {
        self.start(message, args).end()
    }

    /// The requests to a model so far.
    pub(super) fn requests(&self) -> Vec<Arc<Received>> {
        lock(&self.books).requests.clone()
    }

    /// What the model heard in its last request.
    #[track_caller]
    pub(super) fn heard(&self) -> String {
        heard(self.requests().last().expect("a request"))
    }

    /// The rules that requests broke since this was asked last.
    pub(super) fn broken(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.books).broken)
    }

    /// Every request kept the rules, and the script was played to its end.
    #[track_caller]
    pub(super) fn is_clean(&self) {
        // A request is told of before it is answered.
        until("every request was answered", || {
            lock(&self.books).answered >= self.server.received().len()
        });
        let books = lock(&self.books);
        assert!(
            books.broken.is_empty(),
            "{:?}: {:#?}",
            self.api,
            books.broken
        );
        assert_eq!(books.script.len(), 0, "{:?}: steps left", self.api);
    }
}

impl StageState {
    fn answer(&mut self, received: &Received) -> ServedReply {
        match received.path.split('?').next().unwrap_or_default() {
            "/api/tags" => {
                return sample(include_str!("../../model_server/wire/ollama/08_tags.json"));
            }
            "/api/show" => {
                return sample(include_str!("../../model_server/wire/ollama/09_show.json"));
            }
            "/v1/models" if received.api.is_none() => {
                let list = self.list.clone();
                return list.map_or_else(
                    || ServedReply::json(404, json!({"error": {"message": "there is no list"}})),
                    |list| ServedReply::json(200, list),
                );
            }
            _ => {}
        }
        let Some(api) = received.api else {
            return self.breaks(received, "no API is at this path");
        };
        let number = self.requests.len() + 1;
        self.requests.push(Arc::new(received.clone()));
        let model = model(api, received);
        let request = CheckedRequest {
            version: received.header("anthropic-version").unwrap_or_default(),
            beta: received.header("anthropic-beta").unwrap_or_default(),
            ..CheckedRequest::to(api, &model, &received.json)
        };
        let found = check(&request, &self.seen);
        let found = found.iter().map(|what| format!("request {number}: {what}"));
        self.broken.extend(found);
        let Some(step) = self.script.pop_front() else {
            return self.breaks(received, "the script has no more steps");
        };
        let (play, how): (ModelReply, Box<dyn FnOnce(ServedReply) -> ServedReply>) =
            match step(received, api) {
                PlayedReply::Http(reply) => return reply,
                PlayedReply::Says(play) => (play, Box::new(|reply| reply)),
                PlayedReply::Sent(play, how) => (play, how),
            };
        self.replies += 1;
        let reply = how(column::dressed(play, self.replies).reply(api));
        self.seen
            .response(&request, &replied::items(api, &text(&reply)));
        reply
    }

    fn breaks(&mut self, received: &Received, what: &str) -> ServedReply {
        self.broken
            .push(format!("{} {}: {what}", received.method, received.path));
        ServedReply::json(400, json!({"error": {"message": what}}))
    }
}

/// The model that is asked: in the body, with Gemini in the path.
fn model(api: ServedApi, received: &Received) -> String {
    let of_path = || {
        let name = received.path.rsplit_once("/models/")?.1;
        Some(name.split_once(':')?.0.to_owned())
    };
    match api {
        ServedApi::Gemini => of_path().unwrap_or_default(),
        _ => received.json["model"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

fn sample(text: &str) -> ServedReply {
    ServedReply::new(200, "application/json", text.as_bytes().to_vec())
}

/// All that is sent of a reply.
fn text(reply: &ServedReply) -> String {
    let bytes = reply.body.iter().filter_map(|part| match part {
        BodyPart::Bytes(bytes) => Some(bytes.as_ref()),
        _ => None,
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>().concat()).into_owned()
}

/// Where a text begins in the stream of a play: at the start of its event.
pub(super) fn place(play: &ModelReply, api: ServedApi, text: &str) -> usize {
    let (stream, at) = found(play, api, text);
    let gap = gap(api);
    stream[..at]
        .rfind(gap)
        .map_or(0, |before| before + gap.len())
}

/// Where the event with a text ends in the stream of a play.
pub(super) fn after(play: &ModelReply, api: ServedApi, text: &str) -> usize {
    let (stream, at) = found(play, api, text);
    let gap = gap(api);
    at + stream[at..].find(gap).expect("the end of its event") + gap.len()
}

fn found(play: &ModelReply, api: ServedApi, text: &str) -> (String, usize) {
    let stream = column::dressed(play.clone(), 1).stream(api);
    let stream = String::from_utf8_lossy(&stream).into_owned();
    let at = stream.find(text).expect("the text in the stream");
    (stream, at)
}

/// What stands between two events.
fn gap(api: ServedApi) -> &'static str {
    if api == ServedApi::Ollama {
        "\n"
    } else {
        "\n\n"
    }
}

/// A row: the scenario with each API, side by side.
pub(super) fn row(scenario: impl Fn(ServedApi) + Sync) {
    std::thread::scope(|scope| {
        let scenario = &scenario;
        let columns = ServedApi::ALL.map(|api| (api, scope.spawn(move || scenario(api))));
        let failed: Vec<&str> = columns
            .into_iter()
            .filter_map(|(api, column)| column.join().is_err().then_some(api.name()))
            .collect();
        assert!(failed.is_empty(), "failed with {failed:?}");
    });
}
