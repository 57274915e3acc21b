//! Calls mixed at random from the forms in which servers send them: none runs twice, none is lost, none is merged.

use aside_base::api::ApiKind;
use fastrand::Rng;
use serde_json::{Value, json};

use super::{
    ALL,
    forms::{body, calls},
    talk,
};

/// Streams for each API; a multiple of it where `ASIDE_FUZZ` says so.
const STREAMS: usize = 1_000;

/// A call that a model makes.
#[derive(Clone, Debug)]
struct MixedCall {
    index: u64,
    id: String,
    name: &'static str,
    text: String,
}

type Fragment = (Option<u64>, String, &'static str, String);

fn value(random: &mut Rng, depth: u8) -> Value {
    match random.u8(..if depth == 0 { 4 } else { 6 }) {
        0 => json!(random.u16(..)),
        1 => json!(null),
        2 => json!(["}", "{\"p\":1}", "\\", "ha ha", "ä\n"][random.usize(..5)]),
        3 => json!({}),
        4 => json!([value(random, depth - 1), value(random, depth - 1)]),
        _ => json!({"p": value(random, depth - 1)}),
    }
}

fn model_calls(random: &mut Rng, named: bool) -> Vec<MixedCall> {
    let count = random.u64(1..5);
    let call = |index| {
        let names = ["x", "y", "fs_grep"];
        let mut arguments = json!({"p": value(random, 2)});
        if random.bool() {
            arguments["q"] = value(random, 1);
        }
        MixedCall {
            index,
            id: if named {
                format!("id{index}")
            } else {
                String::new()
            },
            name: names[random.usize(..3)],
            text: arguments.to_string(),
        }
    };
    (0..count).map(call).collect()
}

fn cut(random: &mut Rng, text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in text.chars() {
        if random.u8(..6) == 0 {
            parts.push(String::new());
        }
        parts.last_mut().unwrap().push(letter);
    }
    parts
}

/// A call as fragments: whole, or a start and what follows it.
fn said(random: &mut Rng, call: &MixedCall, pieces: bool, index: u64) -> Vec<Fragment> {
    let (index, id) = (Some(index), call.id.clone());
    if !pieces || random.bool() {
        return vec![(index, id, call.name, call.text.clone())];
    }
    let mut all = vec![(index, id, call.name, String::new())];
    for part in cut(random, &call.text) {
        all.push((index, String::new(), "", part));
    }
    all
}

/// The streams of some calls one after another, in turn or with repetitions, as far as the ids allow it.
fn stream(random: &mut Rng, calls: &[MixedCall], pieces: bool) -> Vec<Fragment> {
    let named = !calls[0].id.is_empty();
    let one_index = named && random.bool();
    let place = |call: &MixedCall| if one_index { 0 } else { call.index };
    let mut each: Vec<Vec<Fragment>> = calls
        .iter()
        .map(|call| said(random, call, pieces, place(call)))
        .collect();
    let mut all = Vec::new();
    if one_index || !pieces || random.bool() {
        all.extend(each.into_iter().flatten());
    } else {
        each.iter_mut().for_each(|it| it.reverse());
        while each.iter().any(|it| !it.is_empty()) {
            let at = random.usize(..each.len());
            all.extend(each[at].pop());
        }
    }
    for _ in 0..if named { random.u8(..3) } else { 0 } {
        let again = &calls[random.usize(..calls.len())];
        let at = match (random.bool(), one_index) {
            (true, false) => again.index,
            _ => 100 + again.index,
        };
        all.extend(said(random, again, pieces, at));
    }
    all
}

#[test]
fn fuzzed_streams_of_calls_amount_to_their_calls() {
    let times: Option<usize> = std::env::var("ASIDE_FUZZ")
        .ok()
        .map(|times| times.parse().unwrap());
    let mut random = times.map_or_else(|| Rng::with_seed(25), |_| Rng::new());
    for (kind, _) in ALL {
        let (api, trial) = talk(kind);
        let pieces = !matches!(kind, ApiKind::Google | ApiKind::Ollama);
        for _ in 0..STREAMS * times.unwrap_or(1) {
            let named = random.u8(..4) > 0;
            let made = model_calls(&mut random, named);
            let said = stream(&mut random, &made, pieces);
            let fragments: Vec<_> = said
                .iter()
                .map(|(index, id, name, text)| (*index, id.as_str(), *name, text.as_str()))
                .collect();
            let found = calls(api.as_ref(), &trial, &body(kind, &fragments));
            let expected: Vec<(String, Value)> = made
                .iter()
                .map(|call| {
                    (
                        call.name.to_owned(),
                        serde_json::from_str(&call.text).unwrap(),
                    )
                })
                .collect();
            // Calls in turn come in the order of their first pieces.
            let sorted = |mut calls: Vec<(String, Value)>| {
                calls.sort_by_key(|call| format!("{call:?}"));
                calls
            };
            assert_eq!(sorted(found), sorted(expected), "{kind:?}: {said:#?}");
        }
    }
}
