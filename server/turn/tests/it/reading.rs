//! The part of a conversation that a model is sent, and in which form.

use aside_turn::{
    Event,
    transcript::{Fork, Item},
};
use serde_json::{Value, json};

use crate::{
    events::{event, events, read},
    transcript::transcript,
};

/// Text in place of a summary that one model alone can read.
const UNREADABLE: &str = "The conversation so far was too long and was summarised for another model, in a form that only that one \
                          can read. What was said is in the log, which the tool `recall` searches if it is on.";

/// The last line of each item.
fn said(fork: &Fork) -> Vec<String> {
    let items = fork.items();
    let texts = items.into_iter().map(|item| match item {
        Item::User { text, .. } | Item::Text { text, .. } | Item::Reasoning { text, .. } => text,
        Item::Directive(text) | Item::Steer(text) => text,
        Item::ToolCall { arguments, .. } => arguments,
        Item::ToolResult { content, .. } => content,
    });
    let lines = texts.map(|text| text.lines().last().unwrap_or_default().to_owned());
    lines.collect()
}

/// A message with an attached text of eight bytes, and also with an image or not.
fn message(text: &str, has_image: bool) -> Event {
    let mut attachments = vec![json!({"name": "a.txt", "text": "12345678"})];
    if has_image {
        attachments.push(image());
    }
    read(json!({"type": "user_message", "text": text, "attachments": attachments}))
}

fn image() -> Value {
    json!({"name": "a.png", "media": {"media_type": "image/png", "blob": "abc", "size": 3}})
}

fn result(call: u32, content: &str, media: &[Value]) -> Event {
    read(
        json!({"type": "tool_result", "call": call, "status": "ok", "content": content, "media": media}),
    )
}

#[test]
fn a_summary_that_one_model_reads_stands_for_what_was_before_it_for_that_model_alone() {
    let fork = transcript(&events(
        "start, user One., sent 1, native 1 house/model, user Two., sent 2",
    ))
    .fork();
    for (model, reads, is_native) in [
        ("house/model", true, true),
        ("house/model", false, false),
        ("house/other", true, false),
        ("house/other", false, false),
    ] {
        let fork = fork.clone().read_by(model, reads, None);
        let first = if is_native { UNREADABLE } else { "One." };
        assert_eq!(said(&fork), [first, "Two."], "{model} {reads}");
        let native = fork.newest_first().find_map(|link| fork.native(link));
        let made_by = native.map(|native| native.model.as_str());
        assert_eq!(made_by, is_native.then_some(model), "{model} {reads}");
        assert_eq!(fork.is_native, is_native, "{model} {reads}");
    }
}

#[test]
fn another_model_is_sent_what_such_a_summary_stands_for_as_far_as_a_quarter_of_its_window_holds_it()
{
    // Twelve bytes, three of which are a token, before each summary and after the last one.
    let mut transcript = transcript(&events("start"));
    for (text, number) in [("One.", 1), ("Two.", 2), ("Six.", 3)] {
        transcript.push(&message(text, false));
        transcript.push(&event("sent 1"));
        if number < 3 {
            transcript.push(&event(&format!("native {number} house/model")));
        }
    }
    let fork = transcript.fork();
    let whole = vec!["One.", "Two.", "Six."];
    for (window, expected) in [
        (None, whole.clone()),
        (Some(32), whole),
        (Some(31), vec![UNREADABLE, "Two.", "Six."]),
        (Some(16), vec![UNREADABLE, "Two.", "Six."]),
        (Some(15), vec![UNREADABLE, "Six."]),
        (Some(1), vec![UNREADABLE, "Six."]),
    ] {
        let fork = fork.clone().read_by("house/other", true, window);
        assert_eq!(said(&fork), expected, "{window:?}");
    }
}

#[test]
fn a_summary_that_everybody_can_read_counts_as_any_text_does() {
    let long = "x".repeat(100);
    let native = json!({"model": "house/model", "opaque": "{}"});
    let mut transcript = transcript(&events("start, user One., sent 1"));
    transcript.push(&read(json!({
        "type": "compacted", "number": 1, "summary": long, "native": native, "before": 1000,
    })));
    for event in events("user Two., sent 1, native 2 house/model, user Six., sent 1") {
        transcript.push(&event);
    }
    let read_by = |window| said(&transcript.fork().read_by("house/other", true, window));
    assert_eq!(read_by(None), [long.as_str(), "Two.", "Six."]);
    assert_eq!(read_by(Some(16)), [UNREADABLE, "Six."]);
}

#[test]
fn results_are_shortened_alike_to_half_of_the_window_and_half_of_what_they_have() {
    let lengths = |bytes: usize, window: Option<u64>| {
        let mut transcript = transcript(&events(
            "start, user Go., sent 1, call 0, call 1, respond tool_use",
        ));
        let text = "x".repeat(bytes);
        transcript.push(&result(0, &text, &[]));
        transcript.push(&result(1, &text, &[]));
        transcript.push(&event("sent 2"));
        let fork = transcript.fork().with_short_results(window);
        let kept = |text: &String| text.matches('x').count();
        let said = said(&fork);
        assert_eq!(said[..3], ["Go.", "{}", "{}"]);
        said[3..].iter().map(kept).collect::<Vec<usize>>()
    };
    // Half of what they have.
    assert_eq!(lengths(1_000, Some(1_000_000)), [500, 500]);
    assert_eq!(lengths(1_000, None), [500, 500]);
    // Half of the window, of three bytes a token.
    assert_eq!(lengths(1_000, Some(400)), [300, 300]);
    // A window of which nobody knows how large it is counts as a small one.
    assert_eq!(lengths(100_000, None), [24_576, 24_576]);
    // A little stays in any case.
    assert_eq!(lengths(1_000, Some(1)), [200, 200]);
    assert_eq!(lengths(150, Some(1)), [150, 150]);
}

#[test]
fn shorter_results_leave_a_fork_where_it_began() {
    let words = "start, user One., sent 1, native 1 house/model, user Two., sent 2";
    let fork = transcript(&events(words))
        .fork()
        .read_by("house/model", true, None);
    let short = fork.with_short_results(None);
    assert_eq!(said(&short), said(&fork));
    let native = short.newest_first().find_map(|link| short.native(link));
    assert!(native.is_some(), "it is still in the model's own form");
}

#[test]
fn messages_and_results_have_attachments() {
    let mut transcript = transcript(&events("start"));
    transcript.push(&message("Go.", true));
    for event in events("sent 1, text Yes., call 0, respond tool_use") {
        transcript.push(&event);
    }
    transcript.push(&result(0, "One.", &[image()]));
    transcript.push(&event("sent 2"));
    let fork = transcript.fork();
    let names = fork.items().into_iter().map(|item| {
        let names = item.attachments().iter().map(|one| one.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    });
    let names: Vec<String> = names.collect();
    assert_eq!(names, ["a.txt a.png", "", "", "a.png"]);
}

#[test]
fn a_fork_has_media_as_long_as_an_image_is_sent_or_waits() {
    let with_image = || message("Go.", true);
    let without = || message("Go.", false);
    let calls = || events("start, user Go., sent 1, call 0, respond tool_use");
    for (all, has_media) in [
        // Nobody is sent again what a summary stands for, unless it is one that a single model reads.
        (
            vec![vec![with_image()], events("sent 1, summary 1 Goal.")],
            false,
        ),
        (
            vec![vec![with_image()], events("sent 1, native 1 house/model")],
            true,
        ),
        (
            vec![vec![without()], events("sent 1, native 1 house/model")],
            false,
        ),
        (vec![vec![with_image()], events("summary 1 Goal.")], true),
        (vec![vec![without()], events("summary 1 Goal.")], false),
        (vec![calls(), vec![result(0, "One.", &[image()])]], true),
        (vec![calls(), vec![result(0, "One.", &[])]], false),
    ] {
        let all = all.concat();
        let fork = transcript(&all).fork();
        assert_eq!(fork.has_media, has_media, "{all:?}");
    }
}

#[test]
fn the_last_calls_go_out_after_a_summary_each_with_its_own_result_in_a_fence_that_is_not_in_it() {
    let mut transcript = transcript(&events(
        "start, user Go., sent 1, text Let me see., call 0, call 1, respond tool_use",
    ));
    transcript.push(&result(0, "````", &[]));
    transcript.push(&result(1, "Two.", &[]));
    for event in events("summary 1 Goal., summary 2 Less., sent 2") {
        transcript.push(&event);
    }
    let fork = transcript.fork();
    let items = fork.items();
    let last = Item::User {
        text: "After that you made these calls. Their results come from tools, not from the user:\n\nYou said: Let \
               me see.\n\ncall edit {}\n`````\n````\n`````\n\ncall edit {}\n```\nTwo.\n```"
            .into(),
        attachments: Vec::new(),
    };
    assert_eq!(items[1], &last);
    // Of two summaries that no request came between, the later one has the ledger.
    assert_eq!(said(&fork)[2..], ["Ledger 2."]);
}

#[test]
fn results_belong_to_the_turn_of_their_calls_also_where_they_go_out_in_the_next_one() {
    let words =
        "start, user One., sent 1, call 0, respond tool_use, result Two., start, user Six., sent 1";
    let fork = transcript(&events(words)).fork();
    let turns: Vec<u32> = fork.newest_first().map(|link| link.turn).collect();
    assert_eq!(turns, [2, 1, 1, 1]);
    assert_eq!(said(&fork), ["One.", "{}", "Two.", "Six."]);
}

#[test]
fn a_summary_that_is_taken_back_later_counts_and_changes_nothing_that_is_sent() {
    let mut transcript = transcript(&events("start, user One., sent 1, counted 900"));
    let before = said(&transcript.fork());
    transcript.push_undone(&event("summary 1 Goal."));
    assert_eq!(said(&transcript.fork()), before);
    assert_eq!(transcript.fullness().without_summary(), Some(1_000));
    transcript.push(&event("undo 1"));
    assert_eq!(transcript.fullness().without_summary(), None);
}

#[test]
fn files_that_changed_are_noted_in_the_ledger_of_the_transcript() {
    let mut transcript = transcript(&events("start, user Go."));
    transcript.ledger_mut().changed("a.txt", None);
    transcript.ledger_mut().undone("b.txt");
    let ledger = transcript.ledger().text();
    assert!(ledger.contains("- turn 1: Go.\n"), "{ledger}");
    assert!(ledger.contains("- turn 1: a.txt: deleted\n"), "{ledger}");
    let undone = "- turn 1: b.txt: the user took the changes back\n";
    assert!(ledger.contains(undone), "{ledger}");
}
