//! Clearing: outputs of old calls are left out of the requests once the provider's cache does not know the conversation
//! any more. The next request is paid in full whatever it holds, so it may as well hold less.
//!
//! Only outputs are left out: of calls that succeeded, and about which no person was asked anything that their results
//! may tell. The log keeps them, and the model can get each of them again.

use std::time::Duration;

use crate::{
    history::{outputs::LargeOutput, transcript::Transcript},
    model_text::{ModelText, Sentence},
    record::{ClearedOutput, Event},
    rules::{CompactionRule, Rules},
};

/// Responses with calls, the newest ones, whose outputs stay.
const KEPT_STEPS: u32 = 3;
/// Share of the conversation, in per cent, that has to be saved.
const LEAST_SHARE: u64 = 20;
/// US dollars that the next request has to cost less.
const LEAST_SAVED: f64 = 0.01;
/// Share of the conversation, in per cent, that is reckoned as saved at most: the tokens of a text are a guess.
const MOST_SHARE: u64 = 90;
/// Bytes of an output that count as one token. Most have fewer, so at least as much is saved as is said.
const BYTES_A_TOKEN: u64 = 4;
/// Bytes that the text in place of an output has at most, about.
const IN_PLACE: u64 = 256;
/// Time that a cache may keep a conversation longer than it has to.
const GRACE: Duration = Duration::from_secs(60);
/// The tool that searches the log.
pub const RECALL: &str = "recall";

/// Outputs that are left out from the next request on.
#[derive(Clone, Debug, PartialEq)]
pub struct Clearing {
    outputs: Vec<ClearedOutput>,
    /// Tokens that the conversation has without them.
    context: u64,
    /// Tokens that are saved.
    tokens: u64,
    /// US dollars that the next request costs less.
    saved: f64,
}

/// Whether outputs can be left out of a conversation at all, after so much time without a request. A model without a known
/// price is one of the user's own, as far as anybody knows: nobody pays for its tokens, and what it holds in memory does not
/// expire, so it would have to read everything anew.
#[must_use]
pub fn is_cold(rules: &Rules, idle: Duration) -> bool {
    let is_priced = rules.prices.contains_key(&rules.model.id);
    let life = rules.model.cache_life;
    // Where nothing is ever kept, there is nothing to wait for.
    let is_over = life.is_some_and(|life| life.is_zero() || idle > life.saturating_add(GRACE));
    rules.compaction != CompactionRule::Off && is_priced && is_over
}

/// The outputs that are left out of a conversation, after so much time without a request; none where that saves too
/// little.
#[must_use]
pub fn clearing(
    transcript: &Transcript,
    rules: &Rules,
    text: &ModelText,
    idle: Duration,
) -> Option<Clearing> {
    let before = transcript.fullness().tokens();
    if !is_cold(rules, idle) {
        return None;
    }
    let is_old = |output: &&LargeOutput| output.step + KEPT_STEPS <= transcript.steps();
    let old = transcript.outputs().iter().filter(is_old);
    let outputs: Vec<ClearedOutput> = old
        .filter_map(|output| cleared(output, rules, text))
        .collect();
    let bytes = |one: &ClearedOutput| one.bytes.saturating_sub(IN_PLACE);
    let tokens = outputs.iter().map(bytes).sum::<u64>() / BYTES_A_TOKEN;
    let tokens = tokens.min(share(before, MOST_SHARE));
    let price = rules.prices.get(&rules.model.id)?;
    let saved = tokens as f64 * *price as f64 / 1e12;
    let is_worth_it = tokens >= share(before, LEAST_SHARE).max(1) && saved >= LEAST_SAVED;
    is_worth_it.then(|| Clearing {
        outputs,
        context: before - tokens,
        tokens,
        saved,
    })
}

fn share(tokens: u64, per_cent: u64) -> u64 {
    tokens.saturating_mul(per_cent) / 100
}

/// The output with the text in its place; none where the model could not get it again.
fn cleared(output: &LargeOutput, rules: &Rules, text: &ModelText) -> Option<ClearedOutput> {
    let can_repeat = rules.changes_nothing(&output.tool);
    let can_recall = rules.tools.contains_key(RECALL);
    let is_hidden = rules
        .tools
        .get(&output.tool)
        .is_some_and(|tool| tool.hidden);
    if is_hidden || !can_repeat && !can_recall {
        return None;
    }
    let (bytes, turn) = (output.bytes.to_string(), output.turn.to_string());
    let values = [
        ("bytes", bytes.as_str()),
        ("tool", &output.tool),
        ("turn", &turn),
    ];
    let mut said = text.render(Sentence::Cleared, &values);
    for (is_said, sentence) in [
        (can_repeat, Sentence::ClearedCallAgain),
        (can_recall, Sentence::ClearedRecall),
    ] {
        if is_said {
            said += &text.render(sentence, &[]);
        }
    }
    Some(ClearedOutput {
        turn: output.turn,
        call: output.call,
        bytes: output.bytes,
        text: said,
    })
}

impl Clearing {
    /// The event that puts it on record, and what the user is told.
    pub(crate) fn recorded(self) -> (Event, String) {
        let Self {
            outputs,
            context,
            tokens,
            saved,
        } = self;
        let what = match outputs.len() {
            1 => "one old output of a tool is".to_owned(),
            count => format!("{count} old outputs of tools are"),
        };
        let text = format!(
            "The provider's cache of this conversation has expired, so {what} not sent any more: about {tokens} tokens \
             less, which saves ${saved:.4} now. The log keeps them, and the model can read them again."
        );
        (Event::OutputsCleared { outputs, context }, text)
    }
}
