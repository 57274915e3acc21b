//! The program with a model on loopback: what it sends, and what it does with the replies.

use std::sync::{Arc, Mutex};

use aside_model_server::{
    ServedApi,
    check::{CheckedRequest, EarlierReplies, check},
    server::{BodyPart, ModelServer, Received, ServedReply},
};
use serde_json::Value;

use super::{
    body::{RequestPurpose, SentBody, grown},
    side::{inquiries, items, providers},
};
use crate::world::{EventLog, ProgramResult, RunningProgram, TestWorld, start};

/// A workspace of files with three places that an edit could mean, and a model.
pub(super) struct GrownRun {
    pub(super) world: TestWorld,
    pub(super) server: ModelServer,
    model: &'static str,
    replies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl GrownRun {
    /// `reply` is asked with the request and how many of its kind — the turn's own, or inquiries — came before it.
    pub(super) fn new<F>(model: &'static str, settings: &str, mut reply: F) -> Self
    where
        F: FnMut(&Received, usize) -> ServedReply + Send + 'static,
    {
        let replies = Arc::new(Mutex::new(Vec::new()));
        let kept = replies.clone();
        let state = Mutex::new((0, 0, move |received: &Received, number| {
            reply(received, number)
        }));
        let server = ModelServer::start(move |received| {
            let mut state = state.lock().unwrap();
            let (turns, asked, reply) = &mut *state;
            let count = if inquiries(received).is_empty() {
                turns
            } else {
                asked
            };
            let reply = reply(received, std::mem::replace(count, *count + 1));
            kept.lock().unwrap().push(bytes(&reply));
            reply
        });
        let world = TestWorld::new();
        for number in 0..10 {
            world.write(&format!("asks{number}.txt"), "mark\nmark\nmark\n");
        }
        world.user_config(&format!("{settings}\n{}", providers(server.address())));
        world.listed(model, &format!("http://{}/v1", server.address()));
        Self {
            world,
            server,
            model,
            replies,
        }
    }

    /// Starts a turn on the message `Go`.
    pub(super) fn start(&self, args: &[&str]) -> RunningProgram {
        let fixed = ["run", "-m", self.model, "--trust", "--mode", "edits", "Go"];
        let mut command = self.world.command(&[&fixed, args].concat());
        start(command.env("THE_KEY", "secret-key"))
    }

    /// A turn on the message `Go`.
    pub(super) fn go(&self, args: &[&str]) -> ProgramResult {
        self.start(args).end()
    }

    pub(super) fn log(&self) -> EventLog {
        self.world.log()
    }

    /// The bodies of all requests.
    pub(super) fn bodies(&self) -> Vec<Value> {
        let received = self.server.received();
        received.iter().map(|one| one.json.clone()).collect()
    }

    /// The inquiries among the requests.
    pub(super) fn asked(&self) -> Vec<Arc<Received>> {
        let received = self.server.received().into_iter();
        received.filter(|one| !inquiries(one).is_empty()).collect()
    }

    /// Every request keeps the rules of its API; those that were refused count, too.
    #[track_caller]
    pub(super) fn is_clean(&self) {
        let mut seen = EarlierReplies::default();
        let replies = self.replies.lock().unwrap();
        for (received, reply) in self.server.received().iter().zip(replies.iter()) {
            let api = received.api.unwrap();
            let model = match api {
                ServedApi::Gemini => received.path.split(['/', ':']).nth(3).unwrap(),
                _ => received.json["model"].as_str().unwrap(),
            };
            let mut request = CheckedRequest::to(api, model, &received.json);
            request.version = received.header("anthropic-version").unwrap_or_default();
            let wrong = check(&request, &seen);
            assert!(wrong.is_empty(), "{}: {wrong:#?}", received.json);
            seen.response(&request, &items(api, reply));
        }
    }

    /// These requests, by their numbers, go on from each other.
    #[track_caller]
    pub(super) fn grows(&self, row: &[(usize, RequestPurpose)]) {
        let received = self.server.received();
        let sent = |(number, kind): &(usize, RequestPurpose)| SentBody {
            kind: *kind,
            body: String::from_utf8(received[*number].body.to_vec()).unwrap(),
        };
        let row: Vec<SentBody> = row.iter().map(sent).collect();
        assert_eq!(grown(&row), Ok(()), "{}", self.model);
    }
}

fn bytes(reply: &ServedReply) -> Vec<u8> {
    let parts = reply.body.iter().filter_map(|part| match part {
        BodyPart::Bytes(bytes) => Some(bytes.to_vec()),
        _ => None,
    });
    parts.collect::<Vec<_>>().concat()
}
