//! What a turn is said to have cost: the bill, or a lower bound that is called one, whatever befell its requests.
//!
//! A provider charges for a response that it began, whether or not it arrived. What it refuses at once is free.

use aside_model_server::{
    ServedApi,
    cache::{CachePrices, CachedTokens, dollars},
    play::{ModelReply, PlayedFault, PlayedFinish, PlayedTokens},
    server::{BodyPart, ReplyGate, ServedReply},
};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    column,
    live::LONG,
    stage::{AUTO, ModelStage, PlayedStep, http, place, row, sent},
};
use crate::{cost::scene::prices, world::ProgramResult};

/// Tokens of each request.
const TOKENS: PlayedTokens = PlayedTokens {
    input: 95_000,
    cache_read: 0,
    cache_write: 0,
    output: 20,
    reasoning: 0,
};
/// The prices of models that no table knows.
const OWN: CachePrices = CachePrices {
    input: 1.0,
    output: 2.0,
    read: 1.0,
    write: 1.0,
    write_long: 1.0,
};

/// What befalls a request, or the program while it waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    /// The connection breaks behind so many shares of the stream, of four; the last one is behind the last word.
    Cut(usize),
    /// The body ends there as if it were whole.
    Ends(usize),
    /// The stream is whole, but for its usage.
    NoUsage,
    /// The stream goes on with bytes that are none of the API's.
    Garbage,
    /// An error in the stream, behind the first words.
    Inside(PlayedFault),
    /// An error in place of the stream.
    Status(u16),
    /// A whole response that says nothing.
    Nothing,
    /// A response for which the bound of tokens was too low.
    TooLong,
    /// A whole response that the provider stopped.
    Filtered,
    /// The person cancels amid the words.
    Cancelled,
    /// The process is killed amid the words, and the turn is resumed.
    Killed,
}

const MISHAPS: [Mishap; 22] = [
    Mishap::Cut(0),
    Mishap::Cut(1),
    Mishap::Cut(2),
    Mishap::Cut(3),
    Mishap::Ends(0),
    Mishap::Ends(1),
    Mishap::Ends(2),
    Mishap::Ends(3),
    Mishap::NoUsage,
    Mishap::Garbage,
    Mishap::Inside(PlayedFault::Overloaded),
    Mishap::Inside(PlayedFault::RateLimited),
    Mishap::Inside(PlayedFault::Server),
    Mishap::Status(400),
    Mishap::Status(429),
    Mishap::Status(500),
    Mishap::Status(529),
    Mishap::Nothing,
    Mishap::TooLong,
    Mishap::Filtered,
    Mishap::Cancelled,
    Mishap::Killed,
];

fn speaks() -> ModelReply {
    ModelReply::new("words")
        .text(["I begin, ", "go on, ", "and end."])
        .tokens(TOKENS)
}

/// Where a share of the stream ends.
fn share(api: ServedApi, shares: usize) -> usize {
    match shares {
        0 => 0,
        1 => place(&speaks(), api, "go on, "),
        2 => place(&speaks(), api, "and end."),
        _ => place(&speaks(), api, "and end.") + 20,
    }
}

fn without_usage(mut reply: ServedReply) -> ServedReply {
    for part in &mut reply.body {
        if let BodyPart::Bytes(bytes) = part {
            let mut text = String::from_utf8_lossy(bytes).into_owned();
            for name in ["usage", "timings", "eval_count"] {
                text = text.replace(name, "unknown");
            }
            *bytes = text.into();
        }
    }
    reply
}

impl Mishap {
    fn step(self, api: ServedApi) -> PlayedStep {
        let hangs = move |reply: ServedReply| {
            let at = share(api, 2);
            reply.wait_at(at, &ReplyGate::new())
        };
        match self {
            Self::Cut(shares) => sent(speaks(), move |reply| reply.cut_at(share(api, shares))),
            Self::Ends(shares) => http(ServedReply::stream(
                api,
                column::dressed(speaks(), 1).stream(api)[..share(api, shares)].to_vec(),
            )),
            Self::NoUsage => sent(speaks(), without_usage),
            Self::Garbage => {
                let stream = column::dressed(speaks(), 1).stream(api);
                let bytes = [&stream[..share(api, 2)], b"data: {]\n\n"].concat();
                http(ServedReply::stream(api, bytes))
            }
            Self::Inside(fault) => sent(speaks().error_inside(1, fault), |reply| reply),
            Self::Status(status) => http(ServedReply::json(
                status,
                json!({"error": {"message": "No."}}),
            )),
            Self::Nothing => sent(ModelReply::new("nothing").tokens(TOKENS), |reply| reply),
            Self::TooLong => sent(speaks().finish(PlayedFinish::MaxTokens), |reply| reply),
            Self::Filtered => sent(speaks().finish(PlayedFinish::ContentFilter), |reply| reply),
            Self::Cancelled | Self::Killed => sent(speaks(), hangs),
        }
    }

    fn exists_in(self, api: ServedApi) -> bool {
        self != Self::Filtered || PlayedFinish::ContentFilter.exists_in(api)
    }

    /// Plays the turn, and says how it ended.
    fn play(self, stage: &ModelStage) -> ProgramResult {
        let ended = |signal| {
            let mut run = stage.start("Speak.", &AUTO);
            run.update("text");
            run.signal(signal);
            run.end()
        };
        match self {
            Self::Cancelled => ended(Signal::INT),
            Self::Killed => {
                ended(Signal::KILL);
                assert!(stage.server.wait_for_dropped(1, LONG));
                let model = column::model(stage.api);
                let args = [
                    "run", "--output", "jsonl", "--trust", "-m", model, "--resume",
                ];
                crate::world::start(&mut stage.command(&args)).end()
            }
            _ => stage.run("Speak.", &AUTO),
        }
    }
}

fn price(api: ServedApi) -> f64 {
    let cached = CachedTokens {
        new: TOKENS.input,
        ..CachedTokens::default()
    };
    let (_, model) = column::model(api).split_once('/').unwrap();
    let prices = match api {
        ServedApi::OpenaiChat | ServedApi::Ollama => OWN,
        _ => prices(api, model, cached),
    };
    dollars(&cached, TOKENS.output, prices)
}

/// A stage whose models all have a price.
fn stage(api: ServedApi, script: Vec<PlayedStep>) -> ModelStage {
    let stage = ModelStage::new(api, script);
    let mut config = column::configuration(&stage.server.address().to_string());
    for model in [ServedApi::OpenaiChat, ServedApi::Ollama].map(column::model) {
        let (provider, model) = model.split_once('/').unwrap();
        config += &format!(
            "[providers.{provider}.models.'{model}']\nprices = {{ input = 1, output = 2 }}\n"
        );
    }
    stage.world.user_config(&config);
    stage
}

/// Whether what is said of the cost is true of this bill; `Err` says why not.
fn verdict(usage: &Value, bill: f64) -> Result<&'static str, String> {
    let wrong = || Err(format!("{usage} for a bill of {bill}"));
    let at_least = usage["atLeast"] == true;
    match usage["costUsd"].as_f64() {
        None => Ok("not known"),
        Some(said) if (said - bill).abs() < 1e-9 && !at_least => Ok("the bill"),
        Some(said) if at_least && said <= bill + 1e-9 => Ok("a lower bound"),
        Some(_) => wrong(),
    }
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "the table is what a person wants to see of this test"
)]
fn the_cost_of_a_turn_is_the_bill_or_called_a_lower_bound_after_every_mishap() {
    row(|api| {
        let mut wrong = Vec::new();
        for mishap in MISHAPS.into_iter().filter(|it| it.exists_in(api)) {
            let whole = || sent(speaks(), |reply| reply);
            let stage = stage(api, vec![mishap.step(api), whole(), whole()]);
            let done = mishap.play(&stage);
            let free = u32::from(matches!(mishap, Mishap::Status(_)));
            let asked = u32::try_from(stage.requests().len()).unwrap();
            let bill = f64::from(asked - free) * price(api);
            let lines = done.lines();
            let end = &lines.last().expect("an end")["params"];
            let found = verdict(&end["usage"], bill);
            eprintln!("{} {mishap:?}, {asked} requests: {found:?}", api.name());
            wrong.extend(found.err().map(|why| format!("{mishap:?}: {why}")));
        }
        assert!(wrong.is_empty(), "{api:?}: {wrong:#?}");
    });
}
