//! A world, a model server with a script, and the rules of the requests.

use std::{
    collections::VecDeque,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aside_model_server::{
    Api,
    check::{Request, Seen, check},
    play::Play,
    server::{Gate, ModelServer, Part, Received, Reply},
};
use serde_json::json;

use super::{column, heard::heard, live::Live, replied};
use crate::world::{Done, World};

/// Everything runs unasked, outside of a sandbox.
pub(super) const AUTO: [&str; 3] = ["--mode", "auto", "--unsandboxed"];

/// What the server does with one request.
pub(super) type Step = Box<dyn FnOnce(&Received, Api) -> Turn + Send>;

/// One reply.
pub(super) enum Turn {
    /// What the model says.
    Says(Play),
    /// The same, sent in another way.
    Sent(Play, Box<dyn FnOnce(Reply) -> Reply + Send>),
    /// A response that is none of a model.
    Http(Reply),
}

/// The model says this.
pub(super) fn says(play: Play) -> Step {
    Box::new(move |_, _| Turn::Says(play))
}

/// The model would say this, but nothing of it comes.
pub(super) fn stalls() -> Step {
    Box::new(|_, api| Turn::Http(Reply::stream(api, "never").wait_at(0, &Gate::new())))
}

/// The model says this, and it is sent in another way.
pub(super) fn sent(play: Play, how: impl FnOnce(Reply) -> Reply + Send + 'static) -> Step {
    Box::new(move |_, _| Turn::Sent(play, Box::new(how)))
}

/// The server answers with this.
pub(super) fn http(reply: Reply) -> Step {
    Box::new(move |_, _| Turn::Http(reply))
}

/// What the model says depends on what it is asked.
pub(super) fn asked(say: impl FnOnce(&Received) -> Play + Send + 'static) -> Step {
    Box::new(move |received, _| Turn::Says(say(received)))
}

/// A world with a model server.
pub(super) struct Stage {
    pub(super) world: World,
    pub(super) server: ModelServer,
    pub(super) api: Api,
    books: Arc<Mutex<Books>>,
}

#[derive(Default)]
struct Books {
    script: VecDeque<Step>,
    seen: Seen,
    /// Replies of a model so far.
    replies: usize,
    /// Requests to a model.
    requests: Vec<Arc<Received>>,
    broken: Vec<String>,
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// The server plays the script, a step for each request to a model.
    pub(super) fn new(api: Api, script: Vec<Step>) -> Self {
        let books = Arc::new(Mutex::new(Books {
            script: script.into(),
            ..Books::default()
        }));
        let server = {
            let books = Arc::clone(&books);
            ModelServer::start(move |received| lock(&books).answer(received))
        };
        let world = World::new();
        world.user_config(&column::configuration(&server.address().to_string()));
        Self {
            world,
            server,
            api,
            books,
        }
    }

    /// More of the script.
    pub(super) fn goes_on(&self, script: Vec<Step>) {
        lock(&self.books).script.extend(script);
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
        let model = column::model(self.api);
        let of_column: &[&str] = if args.contains(&"-m") {
            &[]
        } else {
            &["-m", model]
        };
        let all = ["run", "--output", "jsonl", "--trust"];
        Live::start(self.command(&[&all, of_column, args, &[message]].concat()))
    }

    /// A turn on this message, to its end.
    #[track_caller]
    pub(super) fn run(&self, message: &str, args: &[&str]) -> Done {
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

    /// Every request kept the rules, and the script was played to its end.
    #[track_caller]
    pub(super) fn is_clean(&self) {
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

impl Books {
    fn answer(&mut self, received: &Received) -> Reply {
        match received.path.as_str() {
            "/api/tags" => {
                return sample(include_str!("../../model_server/wire/ollama/08_tags.json"));
            }
            "/api/show" => {
                return sample(include_str!("../../model_server/wire/ollama/09_show.json"));
            }
            _ => {}
        }
        let Some(api) = received.api else {
            return self.breaks(received, "no API is at this path");
        };
        let number = self.requests.len() + 1;
        self.requests.push(Arc::new(received.clone()));
        let model = model(api, received);
        let request = Request {
            version: received.header("anthropic-version").unwrap_or_default(),
            beta: received.header("anthropic-beta").unwrap_or_default(),
            ..Request::to(api, &model, &received.json)
        };
        let found = check(&request, &self.seen);
        let found = found.iter().map(|what| format!("request {number}: {what}"));
        self.broken.extend(found);
        let Some(step) = self.script.pop_front() else {
            return self.breaks(received, "the script has no more steps");
        };
        let (play, how): (Play, Box<dyn FnOnce(Reply) -> Reply>) = match step(received, api) {
            Turn::Http(reply) => return reply,
            Turn::Says(play) => (play, Box::new(|reply| reply)),
            Turn::Sent(play, how) => (play, how),
        };
        self.replies += 1;
        let reply = how(column::dressed(play, self.replies).reply(api));
        self.seen
            .response(&request, &replied::items(api, &text(&reply)));
        reply
    }

    fn breaks(&mut self, received: &Received, what: &str) -> Reply {
        self.broken
            .push(format!("{} {}: {what}", received.method, received.path));
        Reply::json(400, json!({"error": {"message": what}}))
    }
}

/// The model that is asked: in the body, with Gemini in the path.
fn model(api: Api, received: &Received) -> String {
    let of_path = || {
        let name = received.path.rsplit_once("/models/")?.1;
        Some(name.split_once(':')?.0.to_owned())
    };
    match api {
        Api::Gemini => of_path().unwrap_or_default(),
        _ => received.json["model"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

fn sample(text: &str) -> Reply {
    Reply::new(200, "application/json", text.as_bytes().to_vec())
}

/// All that is sent of a reply.
fn text(reply: &Reply) -> String {
    let bytes = reply.body.iter().filter_map(|part| match part {
        Part::Bytes(bytes) => Some(bytes.as_ref()),
        _ => None,
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>().concat()).into_owned()
}

/// Where a text begins in the stream of a play: at the start of its event.
pub(super) fn place(play: &Play, api: Api, text: &str) -> usize {
    let (stream, at) = found(play, api, text);
    let gap = gap(api);
    stream[..at]
        .rfind(gap)
        .map_or(0, |before| before + gap.len())
}

/// Where the event with a text ends in the stream of a play.
pub(super) fn after(play: &Play, api: Api, text: &str) -> usize {
    let (stream, at) = found(play, api, text);
    let gap = gap(api);
    at + stream[at..].find(gap).expect("the end of its event") + gap.len()
}

fn found(play: &Play, api: Api, text: &str) -> (String, usize) {
    let stream = column::dressed(play.clone(), 1).stream(api);
    let stream = String::from_utf8_lossy(&stream).into_owned();
    let at = stream.find(text).expect("the text in the stream");
    (stream, at)
}

/// What stands between two events.
fn gap(api: Api) -> &'static str {
    if api == Api::Ollama { "\n" } else { "\n\n" }
}

/// A row: the scenario with each API, side by side.
pub(super) fn row(scenario: impl Fn(Api) + Sync) {
    std::thread::scope(|scope| {
        let scenario = &scenario;
        let columns = Api::ALL.map(|api| (api, scope.spawn(move || scenario(api))));
        let failed: Vec<&str> = columns
            .into_iter()
            .filter_map(|(api, column)| column.join().is_err().then_some(api.name()))
            .collect();
        assert!(failed.is_empty(), "failed with {failed:?}");
    });
}
