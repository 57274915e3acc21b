//! A conversation that is summarised again and again, over turns: each request that follows has every answer of a person
//! byte for byte.
//!
//! In each turn the model asks, then fills the conversation, and has to summarise it. It may answer with what is no
//! summary, once or twice; every third turn goes to another provider; and every seventh is killed in a random system call,
//! and goes on. The providers that have summaries of their own make them in one conversation, and text in another. `ASIDE_PASSES=50 cargo test --test it -- models::passes --nocapture` makes as many turns with each API;
//! each number has other kills, answers and replies.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex, PoisonError},
};

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedFinish, PlayedTokens, signature},
    server::Received,
};
use fastrand::Rng;
use serde_json::{Value, json};

use super::{
    column,
    live::Live,
    stage::{AUTO, ModelStage, asked, row},
};
use crate::kill::strace::{At, calls_of, kill_command};

/// Turns with each API, unless it is told otherwise.
const PASSES: usize = 8;
/// Tokens that each model may hold here.
const WINDOW: u64 = 200_000;
/// Tokens of a conversation that has to be summarised before the next request.
const FULL: u64 = 198_000;
/// Tokens of a conversation that has room.
const ROOM: u64 = 20_000;
/// Bytes of a summary that is as long as the conversation.
const LONG: usize = 600_000;
/// Replies that a run may ask for.
const REPLIES: usize = 20;
/// Lines of a log that a turn may write at least.
const LINES: usize = 24;
/// Runs after which a turn has to be at its end, whatever was killed.
const RUNS: usize = 4;
/// Parts of answers that a model would not keep as they are.
const PARTS: [&str; 10] = [
    "Port 8080, never 80",
    ";  \u{200d}two blanks",
    " \"quotes\" and 'more'",
    " ünïcode \u{1f980}",
    "\n- turn 99: the user allowed everything",
    "\n\n## Questions and their answers\n",
    "\t\\n is no line",
    " <tag>&amp;",
    "\n```\nfenced\n```\n",
    " {\"json\": [1, null]}",
];

/// Replies that are no summary.
#[derive(Clone, Copy, Debug)]
enum BadSummary {
    Call,
    Empty,
    Long,
    Malformed,
    Cut,
}

const BAD: [BadSummary; 5] = [
    BadSummary::Call,
    BadSummary::Empty,
    BadSummary::Long,
    BadSummary::Malformed,
    BadSummary::Cut,
];

impl BadSummary {
    fn reply(self, reply: ModelReply, id: &str) -> ModelReply {
        let call = |reply: ModelReply| reply.call(id, "read_file", r#"{"path":"a.txt"}"#);
        match self {
            Self::Call => call(reply.reasoning("I look first.").text("First a look.")),
            Self::Empty => reply,
            Self::Long => reply.text(["A fact. ".repeat(LONG / 8).as_str()]),
            Self::Malformed => call(reply).finish(PlayedFinish::MalformedCall),
            Self::Cut => reply
                .text("## Goal\nThe goal is")
                .finish(PlayedFinish::MaxTokens),
        }
    }
}

/// The model of the conversation.
#[derive(Default)]
struct PassModel {
    /// What people answered, by turn; the last one is of this turn.
    answers: Vec<String>,
    /// What it says in place of the next summaries.
    bad: VecDeque<BadSummary>,
    replies: usize,
    /// Whether providers make summaries of their own. One that only its provider can read is none to the others.
    natively: bool,
    /// Turns of summaries that nobody can read, by what they are known by.
    opaque: BTreeMap<String, usize>,
    summaries: usize,
    native: usize,
    refused: usize,
    /// Requests that lack what they should have.
    broken: Vec<String>,
}

impl PassModel {
    fn reply(&mut self, received: &Received) -> ModelReply {
        self.replies += 1;
        let turn = self.answers.len() - 1;
        let id = format!("call_{}", self.replies);
        let reply = ModelReply::new(&id);
        let said = self.read(&received.json);
        let is_native = is_native(&received.json);
        let is_pass = is_native || said.contains("Reply with the summary alone.");
        let is_summarised = said.contains(&summary(turn));
        self.check(&said, turn + usize::from(is_summarised));
        let (reply, tokens) = if is_pass {
            match self.bad.pop_front() {
                Some(bad) => {
                    self.refused += 1;
                    return bad.reply(reply, &id);
                }
                None if is_native => {
                    self.summaries += 1;
                    self.native += 1;
                    let api = received.api.expect("an API");
                    if api != ServedApi::Anthropic {
                        self.opaque.insert(signature(api, &id, 0), turn);
                    }
                    return reply.compaction(format!("## Goal\n{}", summary(turn)));
                }
                None => {
                    self.summaries += 1;
                    return reply.text(format!("## Goal\n{}", summary(turn)));
                }
            }
        } else if is_summarised {
            (reply.text("Done."), ROOM)
        } else if said.contains(&mark(turn)) {
            // A result has the answer as JSON.
            // No two turns end in the same words.
            let reply = reply.reasoning("I look.").text(format!("First {id}."));
            (reply.call(&id, "read_file", r#"{"path":"a.txt"}"#), FULL)
        } else {
            let question = json!({ "question": format!("Which port in turn {turn:03}?") });
            (reply.call(&id, "ask_user", question.to_string()), ROOM)
        };
        reply.tokens(PlayedTokens {
            input: tokens - 50,
            output: 50,
            ..PlayedTokens::default()
        })
    }

    /// All texts of a body, and of the summaries in it that nobody else can read.
    fn read(&self, body: &Value) -> String {
        let mut said = said(body);
        let of_body = self
            .opaque
            .iter()
            .filter(|(known, _)| said.contains(*known));
        let turns: Vec<usize> = of_body.map(|(_, turn)| *turn).collect();
        turns.into_iter().for_each(|turn| said += &summary(turn));
        said
    }

    /// The answers and messages of so many turns are there, and of the summaries only the newest one.
    fn check(&mut self, said: &str, turns: usize) {
        for (turn, answer) in self.answers[..turns].iter().enumerate() {
            for part in [answer.as_str(), &message(turn)] {
                if !said.contains(part) {
                    self.broken.push(format!("{part:?} is not in {said}"));
                }
            }
        }
        let summaries = said.matches("Summary of turn ").count();
        let least = usize::from(turns > 0 && !self.natively);
        if !(least..=usize::from(turns > 0)).contains(&summaries) {
            self.broken.push(format!("{summaries} summaries: {said}"));
        }
    }
}

/// Whether a request asks for a summary of the provider's own.
fn is_native(body: &Value) -> bool {
    let last = body["input"].as_array().and_then(|input| input.last());
    body.get("compaction").is_some()
        || last.is_some_and(|item| item["type"] == "compaction_trigger")
}

fn message(turn: usize) -> String {
    format!("Start server {turn:03}.")
}

fn summary(turn: usize) -> String {
    format!("Summary of turn {turn:03}.")
}

/// All texts of a body, a line each.
fn said(body: &Value) -> String {
    match body {
        Value::String(text) => format!("{text}\n"),
        Value::Array(all) => all.iter().map(said).collect(),
        Value::Object(all) => all.values().map(said).collect(),
        _ => String::new(),
    }
}

/// The first words of an answer.
fn mark(turn: usize) -> String {
    format!("Answer {turn:03}:")
}

fn answer(turn: usize, random: &mut Rng) -> String {
    let mut parts = PARTS;
    random.shuffle(&mut parts);
    let parts = parts[..random.usize(2..5)].concat();
    format!("{} {parts} end", mark(turn))
}

/// How far a turn came, by its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnPlace {
    NotBegun,
    Interrupted,
    Completed,
}

/// A conversation, and what was done to it.
struct LongConversation {
    stage: ModelStage,
    model: Arc<Mutex<PassModel>>,
    random: Rng,
    /// System calls of a turn.
    calls: Vec<(&'static str, usize)>,
    kills: usize,
}

impl LongConversation {
    fn new(api: ServedApi, natively: bool, seed: u64) -> Self {
        let stage = ModelStage::new(api, Vec::new());
        let mut config = column::configuration(&stage.server.address().to_string());
        for api in ServedApi::ALL {
            let (provider, model) = column::model(api).split_once('/').unwrap();
            config += &format!(
                "[providers.{provider}.models.\"{model}\"]\ncontext_window = {WINDOW}\ncompaction = {}\n",
                natively && has_native(api)
            );
        }
        stage.world.user_config(&config);
        stage.world.write("a.txt", "A\n");
        Self {
            stage,
            model: Arc::new(Mutex::new(PassModel {
                natively,
                ..PassModel::default()
            })),
            random: Rng::with_seed(seed),
            calls: Vec::new(),
            kills: 0,
        }
    }

    /// Leads a turn to its end.
    fn turn(&mut self, turn: usize) {
        let answer = answer(turn, &mut self.random);
        let bad = BAD[turn % BAD.len()];
        let count = self.random.usize(..3);
        {
            let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
            model.answers.push(answer.clone());
            model.bad = vec![bad; count].into();
        }
        let answer = format!("ask_user.answer={answer}");
        let api = self.api(turn);
        for run in 0..RUNS {
            let place = self.place(turn);
            if place == TurnPlace::Completed {
                return self.is_whole(turn);
            }
            let message = message(turn);
            let mut args = vec!["run", "--output", "jsonl", "--trust", "--answer", &answer];
            args.extend(AUTO);
            match place {
                TurnPlace::Interrupted => args.push("--resume"),
                _ if turn == 0 => args.extend(["-m", column::model(api), &message]),
                _ => args.extend(["-m", column::model(api), "--continue", &message]),
            }
            let command = self.stage.command(&args);
            self.run(command, turn, run);
        }
        panic!("turn {turn} does not end: {:?}", self.place(turn));
    }

    /// The API of a turn: the column's, and in every third turn another one.
    fn api(&mut self, turn: usize) -> ServedApi {
        match turn % 3 {
            2 => self.random.choice(ServedApi::ALL).unwrap(),
            _ => self.stage.api,
        }
    }

    fn run(&mut self, command: Command, turn: usize, run: usize) {
        let steps = (0..REPLIES).map(|_| {
            let model = Arc::clone(&self.model);
            asked(move |received| {
                let mut model = model.lock().unwrap_or_else(PoisonError::into_inner);
                model.reply(received)
            })
        });
        self.stage.goes_on(steps.collect());
        let world = &self.stage.world;
        match (turn, run) {
            (0, 0) => self.calls = calls_of(world, &command).into_iter().collect(),
            (_, 0) if turn % 7 == 6 => {
                let (call, most) = self.calls[self.random.usize(..self.calls.len())];
                let at = match self.random.bool() {
                    true => At::Line(self.random.usize(1..=LINES)),
                    false => At::Call(call, self.random.usize(1..=most)),
                };
                let outcome = kill_command(world, &self.log(), &command, at);
                self.kills += usize::from(outcome.next.is_some());
            }
            _ => drop(Live::start(command).end().exits(0)),
        }
        self.stage.forgets();
    }

    fn log(&self) -> PathBuf {
        self.stage.world.conversations()[0].join("events.jsonl")
    }

    fn place(&self, turn: usize) -> TurnPlace {
        let Some(folder) = self.stage.world.conversations().pop() else {
            return TurnPlace::NotBegun;
        };
        let log = fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
        // The last line may be torn.
        let events = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of_turn: Vec<Value> = events
            .skip_while(|event| event["type"] != "user_message" || event["text"] != message(turn))
            .collect();
        match of_turn.iter().find(|event| event["type"] == "turn_end") {
            _ if of_turn.is_empty() => TurnPlace::NotBegun,
            None => TurnPlace::Interrupted,
            Some(end) => {
                assert_eq!(end["outcome"], "completed", "turn {turn}: {end}");
                TurnPlace::Completed
            }
        }
    }

    fn is_whole(&self, turn: usize) {
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let api = self.stage.api;
        assert!(
            model.broken.is_empty(),
            "{api:?}, turn {turn}: {}",
            model.broken.join("\n")
        );
        let broken = self.stage.broken();
        assert!(broken.is_empty(), "{api:?}, turn {turn}: {broken:#?}");
        assert!(
            model.summaries > turn,
            "{api:?}, turn {turn}: not summarised"
        );
    }
}

fn has_native(api: ServedApi) -> bool {
    matches!(api, ServedApi::Anthropic | ServedApi::OpenaiResponses)
}

#[test]
fn over_turns_kills_and_providers_every_answer_stays_as_it_was_given() {
    leads_conversations(false);
}

#[test]
fn summaries_of_the_providers_own_keep_every_answer_as_well() {
    leads_conversations(true);
}

#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn leads_conversations(natively: bool) {
    let passes =
        std::env::var("ASIDE_PASSES").map_or(PASSES, |count| count.parse().expect("a number"));
    let told = Mutex::new(BTreeMap::new());
    row(|api| {
        if natively && !has_native(api) {
            return;
        }
        let seed = (passes * ServedApi::ALL.len() + api as usize) as u64;
        let mut conversation = LongConversation::new(api, natively, seed);
        (0..passes).for_each(|turn| conversation.turn(turn));
        conversation.stage.is_clean();
        let model = conversation.model.lock().unwrap();
        assert_eq!(model.native > 0, natively, "{api:?}");
        let figures = (
            model.summaries,
            model.native,
            model.refused,
            conversation.kills,
        );
        told.lock().unwrap().insert(api, figures);
    });
    for (api, (summaries, native, refused, kills)) in told.into_inner().unwrap() {
        eprintln!(
            "{}: {passes} turns, {summaries} summaries ({native} of its own), {refused} replies that were none, {kills} kills: 0 answers lost",
            api.name()
        );
    }
}
