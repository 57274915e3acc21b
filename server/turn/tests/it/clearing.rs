//! Outputs that are left out: which ones, and that every later request has the same bytes, whoever reads the log.
//!
//! A sample of conversations, unless somebody wants more: `ASIDE_CLEARED=100000 cargo test -p aside-turn --test it -- clearing`.

use std::time::Duration;

use aside_turn::{
    Event, Setup, Turn,
    attachment::{Attachment, Content, Media, MediaType},
    clearing::{Clearing, RECALL, clearing},
    effect::Effect,
    history::outputs::LARGE,
    model_text::ModelText,
    record::{CallEnd, CallKey, ClearedOutput, NativeSummary, ResultReason},
    response::{Finish, Usage},
    rules::{Class, CompactionRule, Rules, ToolRules},
    transcript::{Item, Transcript},
};
use fastrand::Rng;
use serde_json::json;

use crate::transcript::transcript;

/// Conversations that are played, unless it is told otherwise.
const CONVERSATIONS: u64 = 2_000;
/// Time after which the cache of the model has expired.
const COLD: Duration = Duration::from_secs(3_600);

/// Rules of a model with a price and a cache of five minutes.
fn rules() -> Rules {
    let mut rules = Rules::default();
    rules.model.id = "house/model".into();
    rules.model.cache_life = Some(Duration::from_secs(300));
    rules.prices.insert("house/model".into(), 10_000_000);
    for (name, class) in [
        ("read", Class::Reads),
        ("run", Class::More),
        ("ask", Class::Reads),
        (RECALL, Class::Reads),
    ] {
        let tool = ToolRules {
            class,
            hidden: name == "ask",
            ..ToolRules::default()
        };
        rules.tools.insert(name.into(), tool);
    }
    rules
}

/// A conversation that grows, as its log has it.
#[derive(Default)]
struct GrowingLog {
    events: Vec<Event>,
    calls: u32,
    step: u32,
}

impl GrowingLog {
    fn turn(&mut self) {
        (self.calls, self.step) = (0, 0);
        self.events.push(Event::TurnStart);
        self.events.push(Event::UserMessage {
            text: "Go.".into(),
            attachments: Vec::new(),
        });
    }

    /// A response with calls of these tools, and of so many tokens.
    fn step(&mut self, tools: &[&str], tokens: u64) -> Vec<CallKey> {
        self.step += 1;
        self.events.push(Event::RequestSent { step: self.step });
        self.events.push(Event::Reasoning {
            text: "Well.".into(),
            opaque: Some("{}".into()),
        });
        let first = self.calls;
        for tool in tools {
            self.events.push(Event::ToolCall {
                call: CallKey(self.calls),
                id: format!("c{}", self.events.len()),
                name: (*tool).to_owned(),
                arguments: "{}".into(),
                opaque: None,
            });
            self.calls += 1;
        }
        self.events.push(Event::ResponseEnd {
            finish: Some(Finish::Stop),
            usage: Usage {
                input: tokens,
                ..Usage::default()
            },
        });
        (first..self.calls).map(CallKey).collect()
    }

    fn result(&mut self, call: CallKey, end: CallEnd, bytes: usize, has_image: bool) {
        let media = Media {
            media_type: MediaType::Png,
            blob: "abc".into(),
            size: 3,
        };
        let image = Attachment {
            name: "a.png".into(),
            content: Content::Media(media),
        };
        self.events.push(Event::ToolResult {
            call,
            end,
            content: "x".repeat(bytes),
            summary: None,
            held: false,
            details: None,
            media: has_image.then_some(image).into_iter().collect(),
        });
    }

    /// A step with one call, and its result of so many bytes.
    fn reads(&mut self, tool: &str, bytes: usize, tokens: u64) {
        for call in self.step(&[tool], tokens) {
            self.result(call, CallEnd::Success, bytes, false);
        }
    }

    /// Something that a person is asked about a call.
    fn asks(&mut self, call: CallKey, is_diff: bool) {
        let event = match is_diff {
            true => json!({
                "type": "prompt_opened", "prompt": "p", "call": call.0, "kind": "runTool", "hash": "h", "diff": true,
            }),
            false => json!({
                "type": "inquiry_request", "id": "i", "call": call.0, "source": {"type": "assistant"},
                "question": {"id": "q", "text": "?", "answer_type": {"type": "boolean"}},
            }),
        };
        let event = serde_json::from_value(event).expect("an event");
        self.events.push(event);
    }

    fn compacts(&mut self, is_readable: bool) {
        let native = NativeSummary {
            model: "house/model".into(),
            opaque: "{}".into(),
        };
        self.events.push(Event::Compacted {
            number: 0,
            asked: false,
            summary: if is_readable {
                "S".into()
            } else {
                String::new()
            },
            native: (!is_readable).then_some(native),
            ledger: "L".into(),
            before: 0,
            usage: Usage::default(),
        });
    }

    /// What may be left out now.
    fn clearing(&self, rules: &Rules, idle: Duration) -> Option<Clearing> {
        clearing(&self.transcript(), rules, &ModelText::default(), idle)
    }

    /// The transcript, from the log as it is written and read back.
    fn transcript(&self) -> Transcript {
        let text = serde_json::to_string(&self.events).expect("it can be written");
        let events: Vec<Event> = serde_json::from_str(&text).expect("it can be read");
        transcript(&events)
    }
}

/// What a turn puts on record of it before its first request.
fn recorded(clearing: Clearing, rules: &Rules) -> (Event, String) {
    let setup = Setup {
        rules: rules.clone(),
        clearing: Some(clearing),
        ..Setup::default()
    };
    let mut turn = Turn::start(setup, "Go.".into(), Vec::new(), Duration::ZERO);
    let effects: Vec<Effect> = std::iter::from_fn(|| turn.poll_effect()).collect();
    let place = |is_it: fn(&Event) -> bool| {
        let mut effects = effects.iter();
        effects.position(|effect| matches!(effect, Effect::Record(event) if is_it(event)))
    };
    let cleared = place(|event| matches!(event, Event::OutputsCleared { .. }));
    let sent = place(|event| matches!(event, Event::RequestSent { .. }));
    assert!(cleared.is_some() && cleared < sent, "{effects:?}");
    let mut records = effects.into_iter().filter_map(|effect| match effect {
        Effect::Record(event @ (Event::OutputsCleared { .. } | Event::Notice { .. })) => {
            Some(event)
        }
        _ => None,
    });
    match (records.next(), records.next()) {
        (Some(cleared), Some(Event::Notice { text, .. })) => (cleared, text),
        other => panic!("{other:?}"),
    }
}

/// A conversation of six steps and 100,000 tokens, whose first output has so many bytes.
fn six_steps(tool: &str, bytes: usize) -> GrowingLog {
    let mut log = GrowingLog::default();
    log.turn();
    log.reads(tool, bytes, 1_000);
    for _ in 0..5 {
        log.reads("read", 10, 100_000);
    }
    log
}

#[test]
fn something_is_left_out_only_of_a_cold_conversation_where_that_is_worth_it() {
    // Of 100,000 tokens, 80,000 bytes are a fifth.
    let large = 81_000;
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let check = |bytes: usize, idle: Duration, set: &dyn Fn(&mut Rules), is_left_out: bool| {
        let mut rules = rules();
        set(&mut rules);
        let found = six_steps("read", bytes).clearing(&rules, idle);
        assert_eq!(found.is_some(), is_left_out, "{bytes} {idle:?}: {found:?}");
    };
    let as_is = |_: &mut Rules| {};
    check(large, COLD, &as_is, true);
    // The cache may keep it a little longer than it has to.
    check(large, minutes(6), &as_is, false);
    check(large, minutes(7), &as_is, true);
    check(large, minutes(1), &as_is, false);
    check(80_000, COLD, &as_is, false);
    // Four million tokens for a dollar: a fifth of 100,000 saves less than a cent.
    let price = |micros: u64| {
        move |rules: &mut Rules| {
            rules.prices.insert("house/model".into(), micros);
        }
    };
    check(large, COLD, &price(250_000), false);
    check(large, COLD, &price(500_000), true);
    check(large, COLD, &|rules| rules.prices.clear(), false);
    check(large, COLD, &|rules| rules.model.cache_life = None, false);
    let nothing_kept = |rules: &mut Rules| rules.model.cache_life = Some(Duration::ZERO);
    check(large, Duration::ZERO, &nothing_kept, true);
    let off = |rules: &mut Rules| rules.compaction = CompactionRule::Off;
    check(large, COLD, &off, false);
}

#[test]
fn the_text_in_its_place_says_how_the_model_gets_an_output_again() {
    let text = |tool: &str, has_recall: bool| {
        let mut rules = rules();
        if !has_recall {
            rules.tools.remove(RECALL);
        }
        let found = six_steps(tool, 90_000).clearing(&rules, COLD)?;
        match recorded(found, &rules).0 {
            Event::OutputsCleared { mut outputs, .. } => outputs.pop().map(|output| output.text),
            other => panic!("{other:?}"),
        }
    };
    let left_out = |tool: &str, then: &str| {
        let text =
            format!("Left out to save tokens: 90000 bytes that `{tool}` gave in turn 1.{then}");
        Some(text)
    };
    let again = " Make the call again if you need them.";
    let recall = " The tool `recall` finds them in the log of this conversation.";
    assert_eq!(
        text("read", true),
        left_out("read", &format!("{again}{recall}"))
    );
    assert_eq!(text("read", false), left_out("read", again));
    assert_eq!(text("run", true), left_out("run", recall));
    assert_eq!(text("run", false), None);
    assert_eq!(text("gone", true), left_out("gone", recall));
    assert_eq!(text("ask", true), None);
}

#[test]
fn the_user_is_told_what_is_left_out_and_what_that_saves() {
    let rules = rules();
    let mut log = six_steps("read", 90_000);
    let found = log.clearing(&rules, COLD).expect("it is worth it");
    let (event, told) = recorded(found, &rules);
    assert_eq!(
        told,
        "The provider's cache of this conversation has expired, so one old output of a tool is not sent any more: about 22436 \
         tokens less, which saves $0.2244 now. The log keeps them, and the model can read them again."
    );
    log.events.push(event);
    assert_eq!(log.transcript().fullness().tokens(), 77_564);
}

#[test]
fn an_output_of_another_size_than_on_record_stays() {
    let mut log = six_steps("read", 90_000);
    let cleared = |bytes: u64| Event::OutputsCleared {
        outputs: vec![ClearedOutput {
            turn: 1,
            call: CallKey(0),
            bytes,
            text: "Gone.".into(),
        }],
        context: 1,
    };
    let whole = log.transcript();
    log.events.push(cleared(89_999));
    assert_eq!(log.transcript().fork().items(), whole.fork().items());
    log.events.push(cleared(90_000));
    assert_ne!(log.transcript().fork().items(), whole.fork().items());
}

/// A random conversation.
fn grown(random: &mut Rng) -> GrowingLog {
    let mut log = GrowingLog::default();
    let mut tokens = 1_000;
    for _ in 0..random.u32(1..5) {
        log.turn();
        for _ in 0..random.u32(1..7) {
            let count = random.usize(..4);
            let tools: Vec<&str> =
                std::iter::repeat_with(|| ["read", "run", "ask", "gone"][random.usize(..4)])
                    .take(count)
                    .collect();
            tokens += random.u64(100..3_000);
            let calls = log.step(&tools, tokens);
            for call in calls {
                match random.u8(..12) {
                    0 => log.asks(call, false),
                    1 => log.asks(call, true),
                    _ => {}
                }
                let bytes = random.usize(..3 * LARGE);
                let end = match random.u8(..8) {
                    0 => CallEnd::Failure,
                    1 => CallEnd::Aside(ResultReason::Cancelled),
                    _ => CallEnd::Success,
                };
                log.result(call, end, bytes, random.u8(..10) == 0);
            }
            if random.u8(..12) == 0 {
                log.events.push(Event::RequestSent { step: 99 });
                log.compacts(random.bool());
                tokens = 1_000;
            }
        }
    }
    log
}

/// The outputs that may be left out, by what the events say: old, large, of a call that succeeded and about which nobody was
/// asked.
fn old_outputs(log: &GrowingLog) -> Vec<(u32, CallKey)> {
    let (mut turn, mut step, mut found) = (0, 0, Vec::new());
    let (mut tools, mut asked) = (std::collections::BTreeMap::new(), Vec::new());
    let (mut has_calls, mut response) = (false, Vec::new());
    for event in &log.events {
        match event {
            Event::TurnStart => {
                turn += 1;
                tools.clear();
                asked.clear();
            }
            Event::ToolCall { call, name, .. } => {
                has_calls = true;
                response.push((*call, name.clone()));
            }
            Event::ResponseEnd { .. } => {
                step += u32::from(std::mem::take(&mut has_calls));
                tools.extend(response.drain(..));
            }
            Event::InquiryRequest { call, .. } | Event::PromptOpened { call, .. } => {
                asked.push(*call)
            }
            Event::Compacted { .. } => found.clear(),
            Event::ToolResult {
                call,
                end: CallEnd::Success,
                content,
                media,
                ..
            } if content.len() >= LARGE
                && media.is_empty()
                && !asked.contains(call)
                && tools[call] != "ask" =>
            {
                found.push((step, (turn, *call)));
            }
            _ => {}
        }
    }
    found.retain(|(of, _)| of + 3 <= step);
    found.into_iter().map(|(_, place)| place).collect()
}

#[test]
fn only_old_outputs_are_left_out_once_and_every_later_request_goes_on_from_there() {
    let count = std::env::var("ASIDE_CLEARED");
    let count = count.map_or(CONVERSATIONS, |count| count.parse().expect("a number"));
    let rules = rules();
    let (mut cleared_ones, mut texts) = (0, 0);
    for seed in 0..count {
        let mut random = Rng::with_seed(seed);
        let mut log = grown(&mut random);
        let mut live = transcript(&log.events);
        let before = live.fork();
        let Some(found) = clearing(&live, &rules, &ModelText::default(), COLD) else {
            continue;
        };
        cleared_ones += 1;
        let (event, _) = recorded(found, &rules);
        let Event::OutputsCleared { outputs, context } = &event else {
            unreachable!("it is one");
        };
        let places: Vec<_> = outputs.iter().map(|one| (one.turn, one.call)).collect();
        assert_eq!(places, old_outputs(&log), "{seed}");
        assert!(*context < live.fullness().tokens(), "{seed}");
        log.events.push(event.clone());
        live.push(&event);
        let after = live.fork();
        assert!(
            after.newest_first().all(|link| link.epoch < after.epoch),
            "{seed}"
        );
        // Nothing but these texts is another one.
        let (old, new) = (before.items(), after.items());
        assert_eq!(old.len(), new.len(), "{seed}");
        for (old, new) in old.into_iter().zip(new) {
            match (old, new) {
                (
                    Item::ToolResult { content: old, .. },
                    Item::ToolResult {
                        content: new,
                        is_error: false,
                        ..
                    },
                ) if old != new => {
                    texts += 1;
                    assert!(
                        new.len() < old.len() && new.starts_with("Left out"),
                        "{seed}"
                    );
                }
                _ => assert_eq!(old, new, "{seed}"),
            }
        }
        assert_eq!(log.clearing(&rules, COLD), None, "{seed}");
        // Whoever reads the log has the same, and later turns only add to it.
        assert_eq!(log.transcript().fork().items(), after.items(), "{seed}");
        log.turn();
        log.reads("read", 10, 1_000);
        let later = log.transcript().fork();
        let later = later.items();
        assert_eq!(later[..after.items().len()], after.items()[..], "{seed}");
    }
    assert!(cleared_ones > count / 10, "{cleared_ones} of {count}");
    assert!(texts > cleared_ones, "{texts} texts");
}
