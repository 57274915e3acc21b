//! A turn of 95,000 tokens whose last step asks questions: what its requests read from the provider's cache and wrote
//! to it, reckoned by the server from the bodies alone and held against what the log says.
//!
//! The real program reads large files in a loop, and then calls `edit_file` on texts that occur twice: each call asks
//! which one is meant, and a model answers.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use aside_base::api::ApiKind;
use aside_model_server::{
    ServedApi,
    cache::{CachePrices, CachedTokens, PromptCache, dollars},
    check::{CheckedRequest, EarlierReplies, check},
    play::{ModelReply, PlayedTokens, ReplyItem},
    server::{ModelServer, Received, ServedReply},
};
use aside_provider::models;
use serde_json::{Value, json};

use crate::world::{EventLog, ProgramResult, TestWorld, start};

/// What was said before the questions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prelude {
    /// Files that are read, one a step.
    pub(crate) steps: usize,
    /// Lines of each, of 100 bytes. A result of more than 327 is cut.
    pub(crate) lines: usize,
    /// Bytes of the user's instructions.
    pub(crate) instructions: usize,
}

/// 15,000 tokens of system text and tools, 80,000 tokens of messages.
pub(crate) const LONG: Prelude = Prelude {
    steps: 10,
    lines: 314,
    instructions: 52_000,
};

/// What is asked, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostCase<'a> {
    /// What was said before.
    pub(crate) before: Prelude,
    /// `provider/model` of the turn.
    pub(crate) model: &'a str,
    /// The value of `conversation.inquiry.strategy`.
    pub(crate) strategy: &'a str,
    /// `provider/model` of an assistant that answers in the turn's place.
    pub(crate) assistant: Option<&'a str>,
    /// Questions that are open at once.
    pub(crate) questions: usize,
    /// The reply to the inquiry, and that to the turn's last request, break off so often each, before they come whole.
    pub(crate) breaks: usize,
    /// Whether the model answers the questions at all.
    pub(crate) answers: bool,
}

/// One request, as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Paid {
    /// It asks a question of a tool's.
    pub(crate) inquiry: bool,
    /// Its reply broke off, and it was sent again.
    pub(crate) broken: bool,
    /// How much of the input came from the cache.
    pub(crate) cached: CachedTokens,
    /// Tokens of its answer.
    pub(crate) output: u64,
    /// US dollars at the prices of the table.
    pub(crate) dollars: f64,
}

/// All requests of a turn, in order.
#[derive(Debug)]
pub(crate) struct Bill {
    pub(crate) requests: Vec<Paid>,
    steps: usize,
    /// Connections that the server accepted.
    pub(crate) connections: usize,
}

impl Paid {
    /// All of its input.
    pub(crate) fn input(&self) -> u64 {
        self.cached.read + self.cached.written + self.cached.new
    }
}

impl Bill {
    /// The requests that were inquiries.
    pub(crate) fn inquiries(&self) -> Vec<&Paid> {
        self.requests.iter().filter(|paid| paid.inquiry).collect()
    }

    /// The turn's own requests.
    pub(crate) fn own(&self) -> Vec<&Paid> {
        self.requests.iter().filter(|paid| !paid.inquiry).collect()
    }

    /// US dollars of all of them.
    pub(crate) fn dollars(&self) -> f64 {
        self.requests.iter().map(|paid| paid.dollars).sum()
    }

    /// The turn's own last request before the questions: what the inquiries have in common with it is cached.
    pub(crate) fn before(&self) -> &Paid {
        self.own()[self.steps]
    }

    /// The turn's own first request after the answers.
    pub(crate) fn after(&self) -> &Paid {
        self.own()[self.steps + 1]
    }
}

/// Plays the turn by the program. What the server reckoned and what the log records are the same, token for token.
pub(crate) fn play(case: CostCase<'_>) -> Bill {
    play_by(case, |world, args, places| {
        start(world.command(args).envs(places)).end()
    })
}

/// The same by whatever is started with these arguments and variables.
pub(crate) fn play_by(
    case: CostCase<'_>,
    run: impl FnOnce(&TestWorld, &[&str], Vec<(&'static str, String)>) -> ProgramResult,
) -> Bill {
    let book = Arc::new(Mutex::new(Book::new(case)));
    let served = book.clone();
    let server = ModelServer::start(move |received| {
        let mut book = served.lock().unwrap_or_else(PoisonError::into_inner);
        book.answer(received)
    });
    let world = TestWorld::new();
    prepare(&world, case);
    let strategy = format!("conversation.inquiry.strategy={}", case.strategy);
    let mut args = vec!["run", "-m", case.model, "--trust", "--mode", "edits"];
    args.extend(["--max-steps", "100", "--output", "json"]);
    args.extend(["--set", &strategy]);
    let assistant = case
        .assistant
        .map(|model| format!("conversation.inquiry.assistant.model={model}"));
    if let Some(assistant) = &assistant {
        args.extend(["--set", assistant]);
    }
    args.push("Go");
    let done = run(&world, &args, places(&server));
    let end = done.exits(0).json();
    assert_eq!(end["answer"], "Done.");
    let x = if case.answers { 2 } else { 1 };
    for file in 0..case.questions {
        assert_eq!(
            world.read(&format!("f{file}.txt")),
            format!("x = {x}\ny\nx = {x}\n")
        );
    }
    let requests = book
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .paid
        .clone();
    let bill = Bill {
        requests,
        steps: case.before.steps,
        connections: server.connections(),
    };
    agrees(&bill, &world.log());
    // What is said of the turn is what the server reckoned, too.
    let said = end["usage"]["costUsd"].as_f64().expect("a cost");
    assert!((said - bill.dollars()).abs() < 1e-9, "{said}: {bill:?}");
    bill
}

/// Where the providers are, and keys for them.
pub(crate) fn places(server: &ModelServer) -> Vec<(&'static str, String)> {
    vec![
        ("ANTHROPIC_BASE_URL", server.url(ServedApi::Anthropic)),
        ("ANTHROPIC_API_KEY", "key".into()),
        ("OPENAI_BASE_URL", server.url(ServedApi::OpenaiResponses)),
        ("OPENAI_API_KEY", "key".into()),
        ("GOOGLE_GEMINI_BASE_URL", server.url(ServedApi::Gemini)),
        ("GEMINI_API_KEY", "key".into()),
    ]
}

fn prepare(world: &TestWorld, case: CostCase<'_>) {
    let Prelude {
        steps,
        lines: count,
        instructions,
    } = case.before;
    for file in 0..steps {
        world.write(&format!("large{file}.txt"), &lines(file, count));
    }
    for file in 0..case.questions {
        world.write(&format!("f{file}.txt"), "x = 1\ny\nx = 1\n");
    }
    let instructions = "Keep to the habits of the code. ".repeat(instructions / 32);
    world.user_config(&format!("assistant.instructions = \"{instructions}\"\n"));
}

/// A hundred bytes a line.
pub(crate) fn lines(file: usize, count: usize) -> String {
    (0..count)
        .map(|line| {
            format!(
                "{file:03} {line:05} {}\n",
                "abcdefghi ".repeat(9).trim_end()
            )
        })
        .collect()
}

/// The log has of the questions and of the answers what the server reckoned.
fn agrees(bill: &Bill, log: &EventLog) {
    let recorded = |kinds: &[&str]| {
        let all = || kinds.iter().flat_map(|kind| log.all(kind));
        let usage = |event: &Value| match &event["effort"] {
            Value::Null => event["usage"].clone(),
            effort => effort["usage"].clone(),
        };
        let sum =
            |name: &str| -> u64 { all().filter_map(|event| usage(event)[name].as_u64()).sum() };
        let tokens = ["cache_read", "cache_write", "input", "output"].map(sum);
        let cost: f64 = all()
            .filter_map(|event| usage(event)["cost"].as_f64())
            .sum();
        (tokens, (cost * 1e9).round())
    };
    let reckoned = |of: Vec<&Paid>| {
        let sum = |tokens: fn(&Paid) -> u64| of.iter().copied().map(tokens).sum();
        let tokens = [
            sum(|paid| paid.cached.read),
            sum(|paid| paid.cached.written),
            sum(|paid| paid.cached.new),
            sum(|paid| paid.output),
        ];
        let cost: f64 = of.iter().map(|paid| paid.dollars).sum();
        (tokens, (cost * 1e9).round())
    };
    assert_eq!(recorded(&["inquiry_response"]), reckoned(bill.inquiries()));
    assert_eq!(recorded(&["response_end", "spent"]), reckoned(bill.own()));
}

/// The tokens of output that Anthropic tells of when a message begins: all that is known of one that breaks off.
const BEGUN: u64 = 2;

/// What the server keeps between requests.
struct Book {
    cache: PromptCache,
    began: Instant,
    steps: usize,
    questions: usize,
    /// Replies to the turn and to inquiries that are still to break off.
    breaks: [usize; 2],
    answers: bool,
    paid: Vec<Paid>,
}

impl Book {
    fn new(case: CostCase<'_>) -> Self {
        Self {
            cache: PromptCache::default(),
            began: Instant::now(),
            steps: case.before.steps,
            questions: case.questions,
            breaks: [case.breaks; 2],
            answers: case.answers,
            paid: Vec::new(),
        }
    }

    fn answer(&mut self, received: &Received) -> ServedReply {
        let api = received.api.expect("the path of an API");
        let model = model(received);
        let body = &received.json;
        let broken = check(
            &CheckedRequest::to(api, &model, body),
            &EarlierReplies::default(),
        );
        assert!(broken.is_empty(), "{broken:#?}");
        let now = received.at.duration_since(self.began);
        let (ticket, cached) = self.cache.request(api, &model, body, now);
        self.cache.started(ticket);

        let asked = RequestedQuestions::read(body);
        let counts = |paid: &&Paid| !paid.inquiry && !paid.broken;
        let own = self.paid.iter().filter(counts).count();
        let said = match &asked {
            Some(_) if !self.answers => vec![ReplyItem::text("Perhaps.")],
            Some(asked) => asked.answers(),
            None => self.step(own),
        };
        let breaks = &mut self.breaks[usize::from(asked.is_some())];
        let broken = own > self.steps && *breaks > 0;
        let output = if broken {
            *breaks -= 1;
            BEGUN
        } else {
            said.iter().map(length).sum::<u64>().div_ceil(4)
        };
        self.paid.push(Paid {
            inquiry: asked.is_some(),
            broken,
            cached,
            output,
            dollars: dollars(&cached, output, prices(api, &model, cached)),
        });
        let play = ModelReply::new("")
            .number(self.paid.len())
            .tokens(PlayedTokens {
                input: cached.new,
                cache_read: cached.read,
                cache_write: cached.written,
                output,
                reasoning: 0,
            });
        let reply = said.into_iter().fold(play, ModelReply::say);
        if !broken {
            return reply.reply(api);
        }
        let stream = String::from_utf8_lossy(&reply.stream(api)).into_owned();
        let begins = stream.find("content_block_delta");
        let at = begins.expect("the first words in the stream");
        reply.reply(api).cut_at(at)
    }

    /// What the turn's own request of this number is told.
    fn step(&self, number: usize) -> Vec<ReplyItem> {
        let call = |at: usize, tool: &str, arguments: Value| {
            ReplyItem::call(&format!("call_{number}_{at}"), tool, arguments.to_string())
        };
        let files = 0..self.questions;
        if number < self.steps {
            let large = call(
                0,
                "read_file",
                json!({"path": format!("large{number}.txt")}),
            );
            // An edit wants the file to be known.
            let small = files.filter(|_| number == 0).map(|file| {
                call(
                    file + 1,
                    "read_file",
                    json!({"path": format!("f{file}.txt")}),
                )
            });
            std::iter::once(large).chain(small).collect()
        } else if number == self.steps && self.questions > 0 {
            let edit = |file| {
                let path = format!("f{file}.txt");
                call(
                    file,
                    "edit_file",
                    json!({"path": path, "old_text": "x = 1", "new_text": "x = 2"}),
                )
            };
            files.map(edit).collect()
        } else {
            vec![ReplyItem::text("Done.")]
        }
    }
}

/// Questions that a request asks.
struct RequestedQuestions {
    ids: Vec<String>,
    structured: bool,
}

impl RequestedQuestions {
    /// The questions in the last message of a body.
    fn read(body: &Value) -> Option<Self> {
        let messages = ["messages", "input", "contents"].map(|member| &body[member]);
        let messages = messages.into_iter().find_map(Value::as_array)?;
        let mut texts = Vec::new();
        strings(messages.last()?, &mut texts);
        let text = texts.join("\n");
        let ids = text
            .lines()
            .filter_map(|line| line.strip_prefix("Inquiry "))
            .filter(|id| id.starts_with("tool_call."));
        let ids: Vec<String> = ids.map(str::to_owned).collect();
        (!ids.is_empty()).then(|| Self {
            ids,
            structured: text.contains("Reply with the JSON object"),
        })
    }

    fn answers(&self) -> Vec<ReplyItem> {
        if self.structured {
            return vec![ReplyItem::text(json!({"answer": "all"}).to_string())];
        }
        let answer = |(at, id): (usize, &String)| {
            let arguments = json!({"inquiry_id": id, "answer": "all"});
            ReplyItem::call(
                &format!("answer_{at}"),
                "answer_inquiry",
                arguments.to_string(),
            )
        };
        self.ids.iter().enumerate().map(answer).collect()
    }
}

fn strings<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(members) => members.values().for_each(|member| strings(member, out)),
        _ => {}
    }
}

pub(crate) fn length(said: &ReplyItem) -> u64 {
    let length = match said {
        ReplyItem::Text(text) | ReplyItem::Reasoning(text) => text.whole().len(),
        ReplyItem::HiddenReasoning => 0,
        ReplyItem::Compaction(text) => text.len(),
        ReplyItem::Call {
            name, arguments, ..
        } => name.len() + arguments.whole().len(),
    };
    length as u64
}

/// The model asked: in the body, except with Gemini, where it is in the path.
pub(crate) fn model(received: &Received) -> String {
    let in_path = || {
        let last = Path::new(&received.path).file_name()?.to_str()?;
        Some(last.split(':').next()?.to_owned())
    };
    let in_body = received.json["model"].as_str().map(str::to_owned);
    in_body.or_else(in_path).expect("a request names its model")
}

pub(crate) fn prices(api: ServedApi, model: &str, cached: CachedTokens) -> CachePrices {
    let kind = match api {
        ServedApi::Anthropic => ApiKind::Anthropic,
        ServedApi::OpenaiResponses => ApiKind::OpenaiResponses,
        ServedApi::OpenaiChat => ApiKind::OpenaiChat,
        ServedApi::Gemini => ApiKind::Google,
        ServedApi::Ollama => ApiKind::Ollama,
    };
    let prices = models::built_in(kind, model).prices;
    let mut prices = prices.expect("a model whose prices are known");
    let input = cached.read + cached.written + cached.new;
    if prices.up_to.is_some_and(|up_to| input > up_to) {
        prices.rates = prices.beyond.expect("prices beyond a bound");
    }
    CachePrices {
        input: prices.rates.input,
        output: prices.rates.output,
        read: prices.rates.cache_read(),
        write: prices.rates.cache_write(),
        write_long: prices.rates.cache_write_long(),
    }
}
