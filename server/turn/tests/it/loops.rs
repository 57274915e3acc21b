//! No loop of summaries: whatever the window, the outputs and the summaries, a turn asks for none in vain again and again.
//!
//! A sample of them, unless somebody wants more: `ASIDE_LOOPS=100000 cargo test -p aside-turn --test it -- loops`.

use aside_turn::{effect::RequestKind, record::Event};
use fastrand::Rng;

use crate::play::Play;

/// Turns that are played, unless it is told otherwise.
const LOOPS: u64 = 1_000;
/// Summaries in vain, in a row, after which no more are made.
const IN_VAIN: usize = 3;
/// Requests that one summary may take: one for the provider's own, the first ordinary one and its repair, each of them sent
/// twice.
const REQUESTS: usize = 6;
/// Bytes that count as a token where no provider has counted them.
const BYTES_A_TOKEN: u64 = 3;
/// Share of the conversation, in per cent, that a summary may leave.
const MOST_LEFT: u64 = 70;

/// A turn whose conversation grows, and a model that counts and summarises as it likes.
struct GrowingTurn {
    play: Play,
    random: Rng,
    /// Tokens beyond which a summary is due.
    compacts: u64,
    /// Tokens of instructions and tools, of which a summary saves nothing.
    fixed: u64,
    /// Bytes a token, as the provider counts them.
    bytes_a_token: u64,
    /// Bytes of the conversation.
    bytes: u64,
    /// Bytes of the last result.
    result: u64,
    /// Bytes of results that were sent, and that no response has counted.
    uncounted: u64,
    /// Steps after which the model has said all.
    steps: usize,
    told: usize,
    /// What the last response said of the conversation.
    counted: Option<u64>,
    /// Tokens before the last summary, until a response shows how many are left.
    before: Option<u64>,
    /// Requests of this summary.
    requests: usize,
    in_vain: usize,
    /// Summaries in a row that the network prevented.
    put_off: usize,
    summaries: usize,
}

impl GrowingTurn {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let window = random.u64(200..3_000);
        let compacts = window * random.u64(10..95) / 100;
        let natively = ["no", "yes"][random.usize(..2)];
        let world = format!(
            "tool read\nmodel window={window} compacts={compacts} natively={natively}\nlimit steps=100 retries=1"
        );
        Self {
            play: Play::of(&world),
            compacts,
            fixed: window * random.u64(..110) / 100 * random.u64(..2),
            bytes_a_token: random.u64(2..6),
            bytes: 0,
            result: 0,
            uncounted: 0,
            steps: random.usize(4..30),
            told: 0,
            counted: None,
            before: None,
            requests: 0,
            in_vain: 0,
            put_off: 0,
            summaries: 0,
            random,
        }
    }

    /// Plays the turn to its end.
    fn play(mut self) -> usize {
        self.play.start("go");
        while self.play.end.is_none() {
            let running = self.play.running().next();
            if let Some(call) = running {
                self.result = self.random.u64(1..self.compacts * 4);
                self.bytes += self.result;
                let text = "x".repeat(self.result as usize);
                self.play.line(&format!("done {call} {text}"));
                continue;
            }
            match self.play.any_request(&mut self.random) {
                None => self.play.line("tick"),
                Some((_, RequestKind::Compaction { .. })) => self.summary(),
                Some((_, RequestKind::NativeCompaction)) => self.native_summary(),
                Some(_) => self.step(),
            }
        }
        self.summaries
    }

    /// What the model says to the conversation.
    fn step(&mut self) {
        if self.requests > 0 {
            self.summary_ended();
        }
        if self.random.u8(..20) == 0 && self.told < self.steps {
            return self.play.line("fail transient reset");
        }
        let output = self.random.u64(1..self.compacts / 4 + 2);
        let input = self.fixed + self.bytes / self.bytes_a_token;
        self.bytes += output * self.bytes_a_token;
        // Some providers count nothing.
        if self.random.u8(..10) > 0 {
            self.play
                .line(&format!("usage input={} output={output}", input + 1));
            let now = input + 1 + output;
            self.counted = Some(now);
            self.uncounted = 0;
            if let Some(before) = self.before.take() {
                // The last result and this response are new.
                let new = self.result / BYTES_A_TOKEN + output;
                let is_vain = before > 0 && now.saturating_sub(new) > before * MOST_LEFT / 100;
                self.in_vain = if is_vain { self.in_vain + 1 } else { 0 };
            }
        } else {
            self.uncounted += self.result;
        }
        self.told += 1;
        match self.told < self.steps {
            true => self
                .play
                .line(&format!("do c{0} read {{\"n\":{0}}}", self.told)),
            false => self.play.line("say Done."),
        }
    }

    /// What the provider gives where it should make a summary of its own.
    fn native_summary(&mut self) {
        self.summary_asked();
        match self.random.u8(..8) {
            0 => self.play.line("fail transient reset"),
            1 => self.play.line("fail other no"),
            2 => self.play.line("fail compaction no"),
            3 => self.play.line("say Short."),
            4 => self.play.line("summary Short."),
            _ => self.play.line("summary"),
        }
    }

    /// What the model says where it should summarise.
    fn summary(&mut self) {
        self.summary_asked();
        let length = self.random.u64(1..self.compacts * 4);
        let text = "s".repeat(length as usize);
        match self.random.u8(..16) {
            0 => self.play.line("fail transient reset"),
            1 => self.play.line("fail other no"),
            2 => self.play.line("do s read {}"),
            3 => self.play.line("finish stop"),
            4 => self.play.line("say  "),
            5 => self.play.line(&format!("say-cut {text}")),
            6 => self.play.line("finish refusal"),
            7..11 => self.play.line("say Short."),
            _ => self.play.line(&format!("say {text}")),
        }
    }

    /// Notes a request for a summary, which there must be a reason for.
    fn summary_asked(&mut self) {
        if self.requests == 0 {
            assert!(self.put_off < IN_VAIN, "again put off:\n{}", self.play.out);
            assert!(self.in_vain < IN_VAIN, "again in vain:\n{}", self.play.out);
            let known = self.counted.unwrap_or_default();
            assert!(
                known + (self.result + self.uncounted) / 2 > self.compacts,
                "there is room:\n{}",
                self.play.out
            );
        }
        self.requests += 1;
        assert!(self.requests <= REQUESTS, "{}", self.play.out);
    }

    /// Notes what became of a summary; the next request is one of the turn, not one for another summary.
    fn summary_ended(&mut self) {
        self.requests = 0;
        self.summaries += 1;
        let since = self.play.events.iter().rev();
        let mut since = since.take_while(|event| !matches!(event, Event::ResponseEnd { .. }));
        let is_failure = |event: &Event| matches!(event, Event::CompactionFailed { .. });
        let has_failed = since.clone().any(is_failure);
        let made = since.find_map(|event| match event {
            Event::Compacted {
                summary, before, ..
            } => Some((summary.len() as u64, *before)),
            _ => None,
        });
        match made {
            Some((summary, before)) => {
                self.before = Some(before);
                self.counted = None;
                self.uncounted = 0;
                self.bytes = summary + self.result + 300;
                self.put_off = 0;
            }
            None if has_failed => {
                self.in_vain += 1;
                // That of the one before is not counted besides, where no response has shown what it saved.
                self.before = None;
            }
            None => self.put_off += 1,
        }
    }
}

#[test]
fn no_turn_asks_for_summaries_in_vain_again_and_again() {
    let loops =
        std::env::var("ASIDE_LOOPS").map_or(LOOPS, |count| count.parse().expect("a number"));
    let summaries: usize = (0..loops).map(|seed| GrowingTurn::new(seed).play()).sum();
    // A generator that never fills a conversation finds nothing.
    assert!(
        summaries as u64 > loops,
        "{summaries} summaries in {loops} turns"
    );
}
