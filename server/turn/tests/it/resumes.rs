//! Where a turn goes on whose process ended right behind the end of a response.

use aside_turn::{
    Event,
    history::TurnHistory,
    record::{DirectiveKind, Outcome},
    response::Usage,
};

use crate::play::Play;

/// The conversation, cut behind the end of its first response and gone on with: what is recorded then.
fn after_the_response(text: &str) -> Vec<Event> {
    let played = Play::of(text);
    let is_end = |event: &Event| matches!(event, Event::ResponseEnd { .. });
    let end = played.events.iter().position(is_end).expect("a response") + 1;
    let mut cut = Play::cut(&played, end);
    cut.resume(Vec::new());
    cut.events.split_off(end)
}

#[test]
fn a_paused_response_is_asked_for_again() {
    let events = after_the_response("text Half an answer.\nfinish pause");
    assert_eq!(events, [Event::RequestSent { step: 2 }]);
}

#[test]
fn a_response_that_was_cut_with_nothing_complete_is_answered_with_a_directive() {
    let events = after_the_response("cut a read {\"path\nfinish max_tokens");
    let [
        Event::Directive { kind, .. },
        Event::Notice { .. },
        Event::RequestSent { step: 2 },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(*kind, DirectiveKind::Cut);
}

#[test]
fn a_whole_answer_ends_the_turn() {
    let events = after_the_response("say Done.");
    let [
        Event::TurnEnd {
            outcome, answer, ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*outcome, answer.as_deref()),
        (Outcome::Completed, Some("Done."))
    );
}

#[test]
fn tokens_of_responses_and_inquiries_are_counted_from_the_record() {
    let played = Play::of(
        "tool edit\nusage input=10 output=3\ndo a edit {}\nasks a backup boolean: Keep a backup?\nbyte\n\
         usage input=20 output=2\nreply a true",
    );
    let usage = TurnHistory::of(&played.events).usage();
    let expected = Usage {
        input: 30,
        output: 5,
        ..Usage::default()
    };
    assert_eq!(usage, expected, "{}", played.out);
}
