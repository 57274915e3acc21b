use serde_json::{Value, json};

use super::*;

fn update(value: Value) -> Update {
    serde_json::from_value(value).unwrap()
}

fn text(step: u32, text: &str) -> Value {
    json!({"kind": "text", "step": step, "text": text})
}

fn reasoning(step: u32, text: &str) -> Value {
    json!({"kind": "reasoning", "step": step, "text": text})
}

fn output(call: &str, text: &str) -> Value {
    json!({"kind": "toolOutput", "callId": call, "text": text})
}

fn notice(text: &str) -> Value {
    json!({"kind": "notice", "level": "info", "text": text})
}

fn all(pending: &mut JoinedUpdates) -> Vec<Value> {
    let now = Instant::now();
    std::iter::from_fn(|| pending.pop(now))
        .map(|update| serde_json::to_value(update).unwrap())
        .collect()
}

#[test]
fn adjacent_pieces_of_a_text_are_joined() {
    let call = json!({"kind": "toolCall", "step": 1, "callId": "c", "name": "n", "title": "t",
        "arguments": {"a": [1, 2]}, "status": "waiting"});
    let retry =
        json!({"kind": "retry", "attempt": 1, "afterMs": 5, "reason": "r", "discardStep": 1});
    let usage = json!({"kind": "usage", "inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3,
        "cacheWriteTokens": 4});
    let table = [
        (vec![], vec![]),
        (vec![text(1, "a")], vec![text(1, "a")]),
        (
            vec![text(1, "a"), text(1, ""), text(1, "é")],
            vec![text(1, "aé")],
        ),
        (
            vec![text(1, "a"), text(2, "b")],
            vec![text(1, "a"), text(2, "b")],
        ),
        (
            vec![reasoning(1, "a"), reasoning(1, "b"), reasoning(2, "c")],
            vec![reasoning(1, "ab"), reasoning(2, "c")],
        ),
        (
            vec![reasoning(1, "a"), text(1, "b"), reasoning(1, "c")],
            vec![reasoning(1, "a"), text(1, "b"), reasoning(1, "c")],
        ),
        (
            vec![
                output("c", "1"),
                output("c", "2"),
                output("d", "3"),
                output("c", "4"),
            ],
            vec![output("c", "124"), output("d", "3")],
        ),
        (
            vec![output("c", "1"), text(1, "a"), output("c", "2")],
            vec![output("c", "1"), text(1, "a"), output("c", "2")],
        ),
        (
            vec![text(1, "a"), notice("n"), text(1, "b"), text(1, "c")],
            vec![text(1, "a"), notice("n"), text(1, "bc")],
        ),
        (
            vec![notice("n"), notice("n")],
            vec![notice("n"), notice("n")],
        ),
        (
            vec![
                call.clone(),
                call.clone(),
                retry.clone(),
                retry.clone(),
                usage.clone(),
                usage.clone(),
            ],
            vec![
                call.clone(),
                call,
                retry.clone(),
                retry,
                usage.clone(),
                usage,
            ],
        ),
    ];
    for (pushed, popped) in table {
        let mut pending = JoinedUpdates::default();
        for value in &pushed {
            pending.push(update(value.clone()));
        }
        assert_eq!(all(&mut pending), popped, "{pushed:?}");
        assert_eq!(
            (pending.bytes(), pending.is_empty()),
            (0, true),
            "{pushed:?}"
        );
    }
}

#[test]
fn pieces_are_available_at_once_and_final_once_taken() {
    let mut pending = JoinedUpdates::default();
    pending.push(update(text(1, "a")));
    assert_eq!(all(&mut pending), [text(1, "a")]);
    pending.push(update(text(1, "b")));
    assert_eq!(all(&mut pending), [text(1, "b")]);
}

#[test]
fn bytes_measures_pending_updates() {
    let mut pending = JoinedUpdates::default();
    let mut weights = vec![pending.bytes()];
    for value in [
        text(1, "four"),
        text(1, "more"),
        notice("x"),
        output("c", "four"),
    ] {
        pending.push(update(value));
        weights.push(pending.bytes());
    }
    let grown: Vec<_> = weights.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let notice = ENVELOPE_SIZE + notice("x").to_string().len();
    assert_eq!(grown, [ENVELOPE_SIZE + 4, 4, notice, ENVELOPE_SIZE + 4]);
    pending.pop(Instant::now());
    assert_eq!(pending.bytes(), weights[4] - (ENVELOPE_SIZE + 8));
}

/// A client that reads at once: the updates it receives, with times in milliseconds.
fn heard(updates: &[(u64, Value)]) -> Vec<(u64, Value)> {
    let (begin, mut pending, mut heard) = (Instant::now(), JoinedUpdates::default(), Vec::new());
    let at = |time: u64| begin + Duration::from_millis(time);
    let mut updates = updates.iter().peekable();
    for time in 0..1000 {
        while let Some((_, value)) = updates.next_if(|(came, _)| *came == time) {
            pending.push(update(value.clone()));
        }
        while !pending.is_empty() && pending.due().is_none_or(|due| due <= at(time)) {
            let update = pending.pop(at(time));
            heard.extend(update.map(|update| (time, serde_json::to_value(update).unwrap())));
        }
    }
    assert!(pending.is_empty());
    heard
}

#[test]
fn bursts_are_sent_at_once_then_joined_every_8_ms() {
    let burst: Vec<_> = (0..20).map(|time| (time, text(1, "."))).collect();
    let table = [
        (
            burst,
            vec![
                (0, text(1, ".")),
                (8, text(1, "........")),
                (16, text(1, "........")),
                (24, text(1, "...")),
            ],
        ),
        // Pieces that arrive further apart are not joined.
        (
            vec![(0, text(1, "a")), (8, text(1, "b")), (100, text(1, "c"))],
            vec![(0, text(1, "a")), (8, text(1, "b")), (100, text(1, "c"))],
        ),
        // Other updates are not delayed, and nothing overtakes them.
        (
            vec![
                (0, text(1, "a")),
                (1, text(1, "b")),
                (2, notice("n")),
                (3, text(1, "c")),
                (4, notice("n")),
                (5, notice("n")),
                (6, text(1, "d")),
            ],
            vec![
                (0, text(1, "a")),
                (2, text(1, "b")),
                (2, notice("n")),
                (4, text(1, "c")),
                (4, notice("n")),
                (5, notice("n")),
                (8, text(1, "d")),
            ],
        ),
        // Several texts that grow at once are pending together.
        (
            vec![
                (0, output("c", "1")),
                (1, output("c", "2")),
                (2, output("d", "a")),
                (3, output("c", "3")),
                (4, output("d", "b")),
                (9, reasoning(1, "r")),
                (10, text(1, "t")),
            ],
            vec![
                (0, output("c", "1")),
                (8, output("c", "23")),
                (8, output("d", "ab")),
                (16, reasoning(1, "r")),
                (16, text(1, "t")),
            ],
        ),
    ];
    for (updates, expected) in table {
        assert_eq!(heard(&updates), expected, "{updates:?}");
    }
}

/// For any alternation of pushes and pops, each text arrives complete and in order.
#[test]
fn updates_are_neither_lost_nor_reordered() {
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..500 {
        let mut pending = JoinedUpdates::default();
        let (mut told, mut heard) = (Vec::new(), Vec::new());
        for n in 0..random.usize(1..60) {
            let piece = format!("{n} ");
            let value = match random.u8(..5) {
                0 => text(random.u32(1..3), &piece),
                1 => reasoning(1, &piece),
                2 | 3 => output("c", &piece),
                _ => notice(&piece),
            };
            told.push(value.clone());
            pending.push(update(value));
            for _ in 0..random.usize(..3) {
                heard.extend(
                    pending
                        .pop(Instant::now())
                        .map(|update| serde_json::to_value(update).unwrap()),
                );
            }
        }
        heard.extend(all(&mut pending));
        assert_eq!(apart(&heard), apart(&told));
    }
}

/// Splits joined pieces: the key of each piece and its number.
fn apart(updates: &[Value]) -> Vec<(Value, String)> {
    let mut pieces = Vec::new();
    for update in updates {
        let mut of = update.clone();
        let text = of.as_object_mut().unwrap().remove("text").unwrap();
        let numbers = text.as_str().unwrap().split_whitespace();
        pieces.extend(numbers.map(|number| (of.clone(), number.to_string())));
    }
    pieces
}

#[test]
fn unread_updates_are_dropped_with_one_notice() {
    let mut waiting = JoinedUpdates::default();
    let piece = |step| Update::Text {
        step,
        text: "x".repeat(100_000),
    };
    let result = |number: u32| Update::ToolOutput {
        call_id: number.to_string(),
        text: "y".repeat(100_000),
    };
    for number in 0..1_000 {
        waiting.push(piece(number));
        waiting.push(result(number));
        assert!(waiting.bytes() <= MAX_PENDING);
    }
    waiting.push(Update::Text {
        step: 1_000,
        text: "The last.".into(),
    });
    let now = Instant::now();
    let first = waiting.pop(now);
    assert!(
        matches!(&first, Some(Update::Notice { level: Level::Warning, text }) if text == DROPPED_NOTICE),
        "{first:?}"
    );
    let mut last = None;
    while let Some(update) = waiting.pop(now) {
        assert!(!matches!(update, Update::Notice { .. }));
        last = Some(update);
    }
    assert!(matches!(last, Some(Update::Text { text, .. }) if text == "The last."));
    assert_eq!(waiting.bytes(), 0);
}
