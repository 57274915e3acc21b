//! Bounds of summaries, to the token: when one is due, how long it may be, and when the conversation has no room for it.

use crate::play::Play;

fn out(text: &str) -> String {
    Play::of(text).out
}

/// The requests for summaries that were sent.
fn asked(text: &str) -> Vec<String> {
    let out = out(text);
    let sent = out.lines().filter_map(|line| {
        let (_, request) = line.strip_prefix("send ")?.split_once(' ')?;
        request.contains("compaction").then(|| request.to_owned())
    });
    sent.collect()
}

#[test]
fn a_conversation_of_more_tokens_than_that_is_summarised_before_its_next_request() {
    let due = |tokens: u32| {
        asked(&format!(
            "model compacts=800\nbefore tokens={tokens}\nuser go"
        ))
    };
    assert_eq!(due(800), [""; 0]);
    assert_eq!(due(801), ["compaction"]);
}

#[test]
fn where_nothing_is_summarised_the_user_is_warned_behind_the_response_that_fills_the_conversation()
{
    let is_warned = |tokens: u32| {
        let text = "model window=1000 compacts=800 compaction=off\nbefore tokens=700";
        out(&format!("{text}\nusage input={tokens}\nsay Done.")).contains("tell warning")
    };
    assert!(!is_warned(800));
    assert!(is_warned(801));
}

/// What was sent in vain counts with three bytes a token.
#[test]
fn results_are_shortened_where_the_window_has_no_room_for_what_was_sent() {
    let asked = |bytes: u32| {
        asked(&format!(
            "model window=20\nbefore tokens=10 unanswered={bytes} sent=1\nsummarise"
        ))
    };
    assert_eq!(asked(30), ["compaction"]);
    assert_eq!(asked(33), ["compaction shortened"]);
}

#[test]
fn a_summary_may_have_half_of_the_window() {
    for (natively, words) in [("no", "say"), ("yes", "summary")] {
        let asked = |bytes: usize| {
            let summary = "x".repeat(bytes);
            asked(&format!(
                "model natively={natively} window=20\nsummarise\n{words} {summary}"
            ))
        };
        assert_eq!(asked(32).len(), 1, "{words}");
        assert_eq!(asked(33)[1..], ["compaction"], "{words}");
    }
}

#[test]
fn a_long_reply_that_is_no_summary_is_not_sent_along() {
    let calls = |bytes: usize| {
        let arguments = format!(r#"{{"x":"{}"}}"#, "x".repeat(bytes - r#"{"x":""}"#.len()));
        let out = out(&format!("tool read\nsummarise\ndo a read {arguments}"));
        out.matches("\n  < call a read").count()
    };
    assert_eq!(calls(4 * 1024), 1);
    assert_eq!(calls(4 * 1024 + 1), 0);
}
