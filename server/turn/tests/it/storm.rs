//! Storms: whatever happens in whatever order, the turn keeps to what is watched, and it ends.

use std::collections::BTreeMap;

use aside_turn::{
    effect::RequestKind,
    question::AnswerType,
    record::{Event, Outcome},
};
use fastrand::Rng;

use crate::play::Play;

/// How many of them.
const STORMS: u64 = 3_000;
const TOOLS: [&str; 5] = [
    "tool read",
    "tool edit class=edits diff result=ask",
    "tool run class=more sandboxed",
    "tool make outside detached.tool=defaults",
    "tool plan class=edits manual",
];
const QUESTIONS: [&str; 7] = [
    "go boolean default=true: Go on?",
    "go boolean persist=none: Go on?",
    "go boolean exclusive: Go on?",
    "size select=short|long: How long?",
    "name text default=\"x\" context=\"one\\ntwo\": Which name?",
    "pin secret: Your PIN?",
    "broken select: Which?",
];
const VALUES: [&str; 7] = [
    "true",
    "false",
    "\"short\"",
    "\"long\"",
    "\"once\"",
    "\"turn\"",
    "\"a name\"",
];

#[test]
fn whatever_happens_the_turn_ends_and_everything_is_settled() {
    let mut failures: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for seed in 0..STORMS {
        if let Err(why) = std::panic::catch_unwind(|| storm(seed)) {
            let why = why
                .downcast_ref::<String>()
                .map_or("a panic", String::as_str);
            let why: String = why.chars().take(60).collect();
            failures.entry(why).or_default().push(seed);
        }
    }
    assert!(
        failures.is_empty(),
        "these storms do not end well: {failures:#?}"
    );
}

fn storm(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut play = Play::of(&world(&mut rng));
    play.start("go");
    for _ in 0..rng.usize(5..80) {
        let over = play.end.as_ref().map(|end| end.outcome);
        let line = match over {
            None => next(&mut rng, &play),
            Some(Outcome::Interrupted) if rng.u8(..4) > 0 => {
                play.line(rng.choice(["client", "no-client"]).unwrap_or("client"));
                "resume".into()
            }
            Some(_) => break,
        };
        play.line(&line);
    }
    if play.end.is_none() {
        play.wind_down();
    }
    // And it may have been cut short anywhere, and gone on.
    let turn = play
        .events
        .iter()
        .take_while(|event| !matches!(event, Event::TurnEnd { .. }));
    let cut = rng.usize(2..=turn.count());
    Play::cut(&play, cut).cancelled();
    Play::cut(&play, cut).closed();
}

fn world(rng: &mut Rng) -> String {
    let mut text = TOOLS.join("\n");
    if rng.bool() {
        text += "\nclient";
    }
    for tool in ["read", "edit", "run", "make", "plan"] {
        let modes = ["auto", "defaults", "deny", "stop"];
        if rng.bool() {
            text += &format!(
                "\ntool {tool} detached={}",
                rng.choice(modes).unwrap_or("auto")
            );
        }
        if rng.u8(..8) == 0 {
            text += &format!("\nquestion {tool}.go answer=true");
        }
        if rng.u8(..8) == 0 {
            text += &format!("\nquestion {tool}.size target=assistant");
        }
    }
    text += &format!(
        "\nmode {}",
        rng.choice(["ask", "edits", "plan", "auto"])
            .unwrap_or("ask")
    );
    text += &format!("\nlimit at_once={}", rng.u8(1..4));
    if rng.u8(..4) == 0 {
        text += "\nchoice edit\nmodel forces=no";
    }
    if rng.u8(..4) == 0 {
        text += "\ninquiry strategy=structured";
    }
    if rng.u8(..4) == 0 {
        text += "\nschema";
    }
    if rng.u8(..4) == 0 {
        text += "\nlimit tool_time=1s turn_time=4s steps=4 calls=3";
    }
    text
}

fn next(rng: &mut Rng, play: &Play) -> String {
    let pick = |rng: &mut Rng, from: &[&str]| from[rng.usize(..from.len())].to_owned();
    let question = |rng: &mut Rng| pick(rng, &QUESTIONS);
    let running: Vec<_> = play.running().collect();
    let open: Vec<_> = play
        .open_prompts()
        .map(|prompt| {
            (
                play.prompt_name(&prompt.id),
                prompt.answer_type == AnswerType::Secret,
            )
        })
        .collect();
    match rng.u8(..100) {
        0 => "cancel".into(),
        1 => "left".into(),
        2 => "came".into(),
        3 => "steer hurry".into(),
        4 if play.deadline().is_some() => "tick".into(),
        // Straight after a crash.
        5 => "resume".into(),
        6 => rng
            .choice(["checked ok {}", "checked wrong it is not JSON"])
            .unwrap_or("")
            .into(),
        7 if rng.u8(..8) == 0 => "append-failed the disk is full".into(),
        8..11 => format!("answer p{} {}", rng.u8(1..4), pick(rng, &VALUES)),
        11..40 if !open.is_empty() => {
            let (prompt, secret) = &open[rng.usize(..open.len())];
            match rng.u8(..10) {
                0 => format!("decline {prompt}"),
                1 => format!("decline {prompt} a note"),
                2 => format!("unshown {prompt} no window"),
                3 => format!("answer {prompt} {} remember", pick(rng, &VALUES)),
                4..8 if *secret => format!("answer {prompt} \"hunter22\""),
                _ => format!("answer {prompt} {}", pick(rng, &VALUES)),
            }
        }
        40..55 if play.preparing().next().is_some() => {
            let call = play.preparing().next().unwrap_or_default();
            match rng.u8(..8) {
                0 => format!("broken {call} Invalid arguments for plan: no."),
                1..4 => format!("asks-first {call} {}", question(rng)),
                4 => format!("ready {call} must=\"it says so\""),
                _ => format!("ready {call} hash=h{}", rng.u8(..2)),
            }
        }
        55..90 if !running.is_empty() => {
            let call = &running[rng.usize(..running.len())];
            match rng.u8(..10) {
                0 => format!("live {call} {} {}", rng.u16(..), question(rng)),
                1 => format!("error {call} it broke"),
                2..6 => format!("asks {call} {}", question(rng)),
                _ => format!("done {call} fine"),
            }
        }
        _ => response(rng, play),
    }
}

fn response(rng: &mut Rng, play: &Play) -> String {
    let Some((number, kind)) = play.any_request(rng) else {
        return "wait 60ms".into();
    };
    let asked = match &kind {
        RequestKind::Inquiry(ask) => ask.calls.iter().map(|call| play.call_name(*call)).collect(),
        RequestKind::Turn { .. }
        | RequestKind::Compaction { .. }
        | RequestKind::NativeCompaction => Vec::new(),
    };
    let line = match (rng.u8(..12), asked.as_slice()) {
        (0, _) => "fail transient reset".into(),
        (1, _) => "fail other no".into(),
        (2, _) => "finish max_tokens".into(),
        (3, _) => "finish stop".into(),
        (4, _) => "part Half a".into(),
        (_, []) => calls(rng),
        (5, _) => "say Hm.".into(),
        (_, asked) => {
            let call = &asked[rng.usize(..asked.len())];
            format!(
                "reply {call} {}",
                rng.choice(["true", "short", "maybe"]).unwrap_or("true")
            )
        }
    };
    format!("@{number} {line}")
}

fn calls(rng: &mut Rng) -> String {
    let calls: Vec<_> = (0..rng.u8(1..4))
        .map(|_| {
            let tool = rng
                .choice(["read", "edit", "run", "make", "plan", "other"])
                .unwrap_or("read");
            format!("c{} {tool} {{\"n\":{}}}", rng.u8(..4), rng.u8(..3))
        })
        .collect();
    format!("do {}", calls.join(" & "))
}
