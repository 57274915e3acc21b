//! Events of a turn as words: `begin it, ask i1, answer i1`. What they do not say has one value in all of them.

use aside_turn::Event;
use serde_json::{Value, json};

/// The events that these words stand for.
pub(crate) fn events(words: &str) -> Vec<Event> {
    let words = words.split(", ").filter(|words| !words.is_empty());
    words.map(event).collect()
}

/// The event that these words stand for.
pub(crate) fn event(words: &str) -> Event {
    let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
    let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let call = |number: &str| number.parse::<u32>().unwrap_or(0);
    let event = match word {
        "start" => json!({"type": "turn_start"}),
        "user" => json!({"type": "user_message", "text": rest}),
        "steer" => json!({"type": "steer", "text": rest}),
        "sent" => json!({"type": "request_sent", "step": call(rest)}),
        "text" => json!({"type": "text", "text": rest}),
        "reason" => json!({"type": "reasoning", "text": rest}),
        "call" => {
            json!({"type": "tool_call", "call": call(rest), "id": "a", "name": "edit", "arguments": "{}"})
        }
        "respond" => json!({"type": "response_end", "finish": rest}),
        "counted" => {
            json!({"type": "response_end", "finish": "stop", "usage": {"input": call(first), "output": call(more)}})
        }
        "cancelled" => json!({"type": "response_end"}),
        "directive" => json!({"type": "directive", "kind": first, "text": more}),
        "notice" => json!({"type": "notice", "level": "info", "text": rest}),
        "begin" => json!({"type": "call_started", "call": 0, "run": 1, "title": rest}),
        "result" => json!({"type": "tool_result", "call": 0, "status": "ok", "content": rest}),
        "hold" => {
            json!({"type": "tool_result", "call": 0, "status": "ok", "content": rest, "held": true})
        }
        "learned" => json!({"type": "learned", "model": "house/model", "refuses": rest}),
        "late" => json!({"type": "late_answer", "prompt": rest}),
        "end" => json!({"type": "turn_end", "outcome": rest}),
        "summary" | "native" | "undo" => compacting(word, first, more),
        _ => asking(word, first, more),
    };
    read(event)
}

/// The event that is on record as this.
pub(crate) fn read(event: Value) -> Event {
    let words = event.to_string();
    serde_json::from_value(event).unwrap_or_else(|error| panic!("{words}: {error}"))
}

/// Summaries of a conversation of 1000 tokens, by their number, in words or in one model's own form, and taken back.
fn compacting(word: &str, first: &str, more: &str) -> Value {
    let number: u32 = first.parse().unwrap_or(0);
    match word {
        "summary" => {
            let ledger = format!("Ledger {number}.");
            json!({"type": "compacted", "number": number, "summary": more, "ledger": ledger, "before": 1000})
        }
        "native" => {
            let native = json!({"model": more, "opaque": "{}"});
            json!({"type": "compacted", "number": number, "native": native, "before": 1000})
        }
        _ => json!({"type": "compaction_undone", "number": number, "context": 1000}),
    }
}

/// Questions, prompts and their ends.
fn asking(word: &str, id: &str, more: &str) -> Value {
    let question = |is_live: bool| {
        json!({
            "type": "inquiry_request", "id": id, "call": 0, "source": {"type": "tool", "name": "edit"}, "live": is_live,
            "question": {"id": "backup", "text": "Keep a backup?", "answer_type": {"type": "boolean"}},
        })
    };
    let response = |outcome: Value| {
        let mut event = json!({"type": "inquiry_response", "id": id, "call": 0});
        let (Value::Object(members), Value::Object(outcome)) = (&mut event, outcome) else {
            unreachable!("both are objects");
        };
        members.extend(outcome);
        event
    };
    match word {
        "ask" => question(false),
        "live" => question(true),
        "answer" => response(json!({"outcome": "answered", "answer": true, "by": "user"})),
        "fail" => response(json!({"outcome": "cancelled", "reason": more})),
        "put" => {
            json!({"type": "prompt_opened", "prompt": id, "call": 0, "kind": "question", "inquiry": more})
        }
        "permit" => {
            json!({"type": "prompt_opened", "prompt": id, "call": 0, "kind": "runTool", "hash": "h", "title": more})
        }
        "deliver" => {
            json!({"type": "prompt_opened", "prompt": id, "call": 0, "kind": "deliverResult"})
        }
        "withdraw" => json!({"type": "prompt_closed", "prompt": id, "outcome": "withdrawn"}),
        "say" => {
            json!({"type": "prompt_closed", "prompt": id, "outcome": "permitted", "permission": more})
        }
        _ => panic!("{word} is no event"),
    }
}
