//! Fullness of a conversation: bytes that wait, summaries that stand, and who takes them back in a provider's own form.

use aside_turn::history::fullness::Fullness;

use crate::events::events;

fn after(words: &str) -> Fullness {
    let mut fullness = Fullness::default();
    let all = events(words);
    all.iter().for_each(|event| fullness.apply(event));
    fullness
}

#[test]
fn bytes_wait_until_a_response_has_counted_them_or_a_summary_stands_for_them() {
    for (words, bytes) in [
        ("", 0),
        ("user four", 4),
        ("user four, sent 1", 4),
        ("user four, sent 1, steer Both.", 9),
        ("user four, sent 1, steer Both., counted 10", 5),
        ("user four, sent 1, steer Both., summary 1 Goal.", 5),
        ("user four, summary 1 Goal.", 4),
    ] {
        assert_eq!(after(words).waiting(), bytes, "{words}");
    }
}

#[test]
fn the_first_response_that_counts_shows_what_a_summary_left() {
    for (words, awaits) in [
        ("", false),
        ("counted 1000", false),
        ("counted 1000, summary 1 Goal.", true),
        ("counted 1000, summary 1 Goal., sent 1, respond stop", true),
        ("counted 1000, summary 1 Goal., sent 1, counted 300", false),
        ("counted 1000, summary 1 Goal., undo 1", false),
    ] {
        assert_eq!(after(words).awaits_response(), awaits, "{words}");
    }
}

#[test]
fn without_its_last_summary_that_stands_a_conversation_has_what_it_had_before_and_what_is_new() {
    for (words, tokens) in [
        ("counted 1000", None),
        ("summary 1 Goal.", Some(1_000)),
        ("summary 1 Goal., counted 300", Some(1_000)),
        ("summary 1 Goal., counted 300, counted 450", Some(1_150)),
        ("summary 1 Goal., undo 1", None),
        ("summary 1 Goal., summary 2 Less., undo 2", Some(1_000)),
        ("summary 1 Goal., summary 2 Less., undo 1", Some(1_000)),
    ] {
        assert_eq!(after(words).without_summary(), tokens, "{words}");
    }
}

#[test]
fn a_model_that_refuses_a_conversation_with_its_own_summary_is_not_sent_one_again() {
    let refuses = "learned earlier_reasoning";
    for (words, reads) in [
        ("native 1 house/model".to_owned(), true),
        (format!("native 1 house/model, {refuses}"), false),
        (format!("native 1 house/model, sent 1, {refuses}"), false),
        ("native 1 house/model, learned reasoning".to_owned(), true),
        // It was refused for something else.
        (refuses.to_owned(), true),
        (format!("summary 1 Goal., {refuses}"), true),
        (
            format!("native 1 house/model, summary 2 Goal., {refuses}"),
            true,
        ),
    ] {
        let fullness = after(&words);
        assert_eq!(fullness.reads_native("house/model"), reads, "{words}");
        assert!(fullness.reads_native("house/other"), "{words}");
    }
}
