//! A job that reads file after file until the conversation has to be summarised: what each request read from the
//! provider's cache, and what the whole job costs.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use aside_model_server::{
    cache::{CachedTokens, PromptCache, dollars},
    check::{CheckedRequest, EarlierReplies, check},
    play::{ModelReply, PlayedTokens, ReplyItem},
    server::{ModelServer, Received, ServedReply},
};
use serde_json::json;

use super::scene::{length, lines, model, places, prices};
use crate::world::{LONG, TestWorld, start};

/// What is done, and whether it is summarised meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    /// `provider/model`.
    pub(crate) model: &'a str,
    /// Files that are read, one a step.
    pub(crate) steps: usize,
    /// Lines of each, of 100 bytes.
    pub(crate) lines: usize,
    /// Bytes of the user's instructions.
    pub(crate) instructions: usize,
    /// Tokens that the model takes.
    pub(crate) window: u64,
    /// The value of `conversation.compaction`.
    pub(crate) compaction: &'a str,
}

/// A request of the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobRequest {
    /// Whether it asks for a summary.
    pub(crate) summary: bool,
    /// How much of its input came from the cache.
    pub(crate) cached: CachedTokens,
    /// US dollars at the prices of the table.
    pub(crate) dollars: f64,
}

impl JobRequest {
    /// All of its input.
    pub(crate) fn input(&self) -> u64 {
        self.cached.read + self.cached.written + self.cached.new
    }
}

/// The words that ask for a summary.
const ASKS: &str = "Reply with the summary alone.";
/// Bytes of a summary: about 4,000 tokens.
const SUMMARY: usize = 16_000;

/// Plays the job to its end. What is said of its cost is what the server reckoned.
pub(crate) fn play(job: Job<'_>) -> Vec<JobRequest> {
    let stage = JobStage::new(job);
    stage.run(&[]);
    stage.requests()
}

/// Plays the job to its end, and a turn of `more` steps a day later, when no cache knows the conversation any more. Returns
/// the requests of that turn. `clears` says whether the program may leave old outputs out of them.
pub(crate) fn go_on(job: Job<'_>, more: usize, clears: bool) -> Vec<JobRequest> {
    let stage = JobStage::new(job);
    stage.run(&[]);
    let before = stage.requests().len();
    stage.passes_a_day(more);
    // For the program no time has passed.
    stage.configure(if clears { "cache_seconds = 0\n" } else { "" });
    stage.run(&["--continue"]);
    stage.requests().split_off(before)
}

/// A world with the files of a job, and a server with its model.
struct JobStage<'a> {
    job: Job<'a>,
    world: TestWorld,
    server: ModelServer,
    book: Arc<Mutex<JobBook>>,
}

impl<'a> JobStage<'a> {
    fn new(job: Job<'a>) -> Self {
        let book = Arc::new(Mutex::new(JobBook::new(job.steps, job.window)));
        let served = book.clone();
        let server = ModelServer::start(move |received| {
            let mut book = served.lock().unwrap_or_else(PoisonError::into_inner);
            book.answer(received)
        });
        let world = TestWorld::new();
        let stage = Self {
            job,
            world,
            server,
            book,
        };
        stage.writes(0, job.steps);
        stage.configure("");
        stage
    }

    fn writes(&self, from: usize, to: usize) {
        for file in from..to {
            let text = lines(file, self.job.lines);
            self.world.write(&format!("large{file}.txt"), &text);
        }
    }

    /// Writes the user's configuration, with this about the model.
    fn configure(&self, facts: &str) {
        let job = &self.job;
        let (provider, name) = job.model.split_once('/').expect("a provider and a model");
        let instructions = "Keep to the habits of the code. ".repeat(job.instructions / 32);
        self.world.user_config(&format!(
            "assistant.instructions = \"{instructions}\"\n[conversation]\ncompaction = '{}'\n[providers.{provider}.models.\"{name}\"]\ncontext_window = {}\ncompaction = false\n{facts}",
            job.compaction, job.window
        ));
    }

    /// A turn to its end, whose cost is what the server reckoned.
    fn run(&self, more: &[&str]) {
        let before = cost(&self.requests());
        let args = [
            "run",
            "-m",
            self.job.model,
            "--trust",
            "--max-steps",
            "1000",
            "--output",
            "json",
        ];
        let args = [&args, more, &["Go"]].concat();
        let program = start(self.world.command(&args).envs(places(&self.server)));
        // Five hundred steps take as long as many other programs together.
        let done = program.end_within(LONG * 5);
        let end = done.exits(0).json();
        assert_eq!(end["answer"], "Done.");
        let said = end["usage"]["costUsd"].as_f64().expect("a cost");
        let reckoned = cost(&self.requests()) - before;
        assert!((said - reckoned).abs() < 1e-9, "{said} for {reckoned}");
    }

    /// A day passes for the server, and the model reads so many files then.
    fn passes_a_day(&self, more: usize) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let read = book.steps + 1;
        book.steps = read + more;
        book.later = Duration::from_secs(86_400);
        drop(book);
        self.writes(read, read + more);
    }

    fn requests(&self) -> Vec<JobRequest> {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.requests.clone()
    }
}

/// US dollars of all of them.
pub(crate) fn cost(requests: &[JobRequest]) -> f64 {
    requests.iter().map(|request| request.dollars).sum()
}

struct JobBook {
    cache: PromptCache,
    began: Instant,
    /// Time that has passed besides.
    later: Duration,
    /// Steps that read a file, and the answers before.
    steps: usize,
    window: u64,
    requests: Vec<JobRequest>,
}

impl JobBook {
    fn new(steps: usize, window: u64) -> Self {
        Self {
            cache: PromptCache::default(),
            began: Instant::now(),
            later: Duration::ZERO,
            steps,
            window,
            requests: Vec::new(),
        }
    }

    fn answer(&mut self, received: &Received) -> ServedReply {
        let api = received.api.expect("the path of an API");
        let (model, body) = (model(received), &received.json);
        let broken = check(
            &CheckedRequest::to(api, &model, body),
            &EarlierReplies::default(),
        );
        assert!(broken.is_empty(), "{broken:#?}");
        let now = received.at.duration_since(self.began) + self.later;
        let (ticket, cached) = self.cache.request(api, &model, body, now);
        self.cache.started(ticket);

        let summary = body.to_string().contains(ASKS);
        let steps = self.requests.iter().filter(|it| !it.summary).count();
        let said = if summary {
            ReplyItem::text("A fact of the work. ".repeat(SUMMARY / 20))
        } else if steps < self.steps {
            let path = json!({"path": format!("large{steps}.txt")});
            ReplyItem::call(&format!("call_{steps}"), "read_file", path.to_string())
        } else {
            ReplyItem::text("Done.")
        };
        let output = length(&said).div_ceil(4);
        let all = cached.read + cached.written + cached.new + output;
        assert!(all <= self.window, "{all} tokens in {}", self.window);
        self.requests.push(JobRequest {
            summary,
            cached,
            dollars: dollars(&cached, output, prices(api, &model, cached)),
        });
        ModelReply::new("")
            .number(self.requests.len())
            .tokens(PlayedTokens {
                input: cached.new,
                cache_read: cached.read,
                cache_write: cached.written,
                output,
                reasoning: 0,
            })
            .say(said)
            .reply(api)
    }
}
