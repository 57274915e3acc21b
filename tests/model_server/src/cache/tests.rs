//! Sequences of requests, and what each reads and writes.
//!
//! A line of a table is `time | blocks | settings | read written new`. The time is minutes and seconds. A block is
//! `kind.name=tokens`; `*` after it is a breakpoint, `*1h` one with this ttl, `x30` means thirty different blocks.
//! Settings are members of the body; `model` is the model asked, and `fails` tells that no response starts. The
//! last column ends in `long` and a number when something is written for the longer lifetime. A line that starts
//! with `then` arrives before the responses to those above it have started.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CachePrices, CachedTokens, PromptCache, dollars};
use crate::ServedApi;

mod anthropic;
mod others;

/// A body of blocks: the name makes each different, padding brings it to its tokens.
fn body(api: ServedApi, words: &str, settings: &str) -> Value {
    let mut body = json!({});
    for word in words.split_whitespace() {
        let (kind, rest) = word.split_once('.').unwrap();
        let (name, rest) = rest.split_once('=').unwrap();
        let (rest, ttl) = rest
            .split_once('*')
            .map_or((rest, None), |(rest, ttl)| (rest, Some(ttl)));
        let (size, times) = rest.split_once('x').unwrap_or((rest, "1"));
        for index in 0..times.parse::<usize>().unwrap() {
            let (block, inside) = block(api, kind, &format!("{name}{index}"));
            let block = filled(block, inside, size.parse().unwrap());
            put(&mut body, api, kind, marked(block, api, ttl));
        }
    }
    for setting in settings.split_whitespace().filter(|word| *word != "fails") {
        let (name, value) = setting.split_once('=').unwrap();
        body[name] = serde_json::from_str(value).unwrap();
    }
    body
}

/// A block, and the pointer of the text in it that is filled.
fn block(api: ServedApi, kind: &str, name: &str) -> (Value, &'static str) {
    match (api, kind) {
        (_, "tool") => (json!({"name": name, "description": ""}), "/description"),
        (ServedApi::Gemini, _) => (json!({"text": name}), "/text"),
        (ServedApi::OpenaiChat | ServedApi::Ollama, _) => {
            (json!({"role": kind, "content": name}), "/content")
        }
        (_, "thinking") => (json!({"type": "thinking", "thinking": name}), "/thinking"),
        (ServedApi::Anthropic, "image") => (json!({"type": "image", "source": name}), "/source"),
        _ => (json!({"type": "text", "text": name}), "/text"),
    }
}

fn filled(mut block: Value, inside: &str, tokens: usize) -> Value {
    let missing = (tokens * 4)
        .checked_sub(block.to_string().len())
        .expect("too few tokens for a block");
    let text = block.pointer_mut(inside).unwrap();
    *text = json!(text.as_str().unwrap().to_owned() + &"-".repeat(missing));
    block
}

fn marked(mut block: Value, api: ServedApi, ttl: Option<&str>) -> Value {
    let (member, kind) = match api {
        ServedApi::Anthropic => ("cache_control", json!({"type": "ephemeral"})),
        _ => ("prompt_cache_breakpoint", json!({"mode": "explicit"})),
    };
    if let Some(ttl) = ttl {
        block[member] = kind;
        if !ttl.is_empty() {
            block[member]["ttl"] = json!(ttl);
        }
    }
    block
}

fn put(body: &mut Value, api: ServedApi, kind: &str, block: Value) {
    let role = match kind {
        "image" => "user",
        "thinking" => "assistant",
        kind => kind,
    };
    let (place, value) = match (api, kind) {
        (_, "tool") => ("tools", block),
        (ServedApi::Anthropic, "system") => ("system", block),
        (ServedApi::OpenaiResponses, "system") => {
            body["instructions"] = block["text"].clone();
            return;
        }
        (ServedApi::Gemini, "system") => {
            body["systemInstruction"] = json!({"parts": [block]});
            return;
        }
        (ServedApi::Gemini, _) => ("contents", json!({"role": role, "parts": [block]})),
        (ServedApi::OpenaiChat | ServedApi::Ollama, _) => ("messages", block),
        (ServedApi::OpenaiResponses, _) => ("input", json!({"role": role, "content": [block]})),
        (ServedApi::Anthropic, _) => ("messages", json!({"role": role, "content": [block]})),
    };
    match body[place].as_array_mut() {
        Some(items) => items.push(value),
        None => body[place] = json!([value]),
    }
}

fn shown(cached: CachedTokens) -> String {
    let CachedTokens {
        read,
        written,
        long,
        new,
    } = cached;
    let long = if long > 0 {
        format!(" long {long}")
    } else {
        String::new()
    };
    format!("{read} {written} {new}{long}")
}

fn time(text: &str) -> Duration {
    let (minutes, seconds) = text.split_once(':').unwrap();
    Duration::from_secs(minutes.parse::<u64>().unwrap() * 60 + seconds.parse::<u64>().unwrap())
}

/// Plays a table from an empty cache. All lines that differ are shown at once.
fn plays(api: ServedApi, model: &str, table: &str) {
    let mut cache = PromptCache::default();
    let mut tickets = Vec::new();
    let mut different = String::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        let [when, words, settings, expected] = columns[..] else {
            panic!("four columns: {line}")
        };
        let (at, together) = when
            .strip_prefix("then ")
            .map_or((when, false), |at| (at, true));
        if !together {
            tickets.drain(..).for_each(|ticket| cache.started(ticket));
        }
        let body = body(api, words, settings);
        let model = body["model"].as_str().unwrap_or(model);
        let (ticket, cached) = cache.request(api, model, &body, time(at));
        if !settings.contains("fails") {
            tickets.push(ticket);
        }
        if shown(cached) != expected {
            different += &format!("\n{line}\n  found {}", shown(cached));
        }
    }
    assert!(different.is_empty(), "{different}");
}

#[test]
fn a_price_for_each_kind_of_token() {
    // Prices of claude-opus-5-5.
    let prices = CachePrices {
        input: 4.0,
        output: 20.0,
        read: 0.2,
        write: 5.0,
        write_long: 8.0,
    };
    let cents = |cached, output| (dollars(&cached, output, prices) * 1e4).round() / 1e2;
    let asked = CachedTokens {
        read: 95_000,
        new: 300,
        ..CachedTokens::default()
    };
    assert_eq!(cents(asked, 100), 2.22);
    let missed = CachedTokens {
        new: 95_300,
        ..CachedTokens::default()
    };
    assert_eq!(cents(missed, 100), 38.32);
    let written = CachedTokens {
        written: 95_300,
        ..CachedTokens::default()
    };
    assert_eq!(cents(written, 100), 47.85);
    let hourly = CachedTokens {
        written: 95_300,
        long: 15_300,
        ..CachedTokens::default()
    };
    assert_eq!(cents(hourly, 100), 52.44);
}
