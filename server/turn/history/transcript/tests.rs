use super::*;
use crate::model::response::Usage;

#[test]
fn a_summary_right_after_another_leaves_one_ledger() {
    let mut transcript = Transcript::default();
    let mut push = |event: Event| transcript.push(&event);
    push(Event::TurnStart);
    for number in 1..3 {
        push(Event::Compacted {
            number,
            asked: false,
            summary: format!("Summary {number}."),
            native: None,
            ledger: format!("Ledger {number}."),
            before: 0,
            usage: Usage::default(),
        });
        push(Event::TurnStart);
    }
    push(Event::Steer {
        text: "Go on.".into(),
    });
    push(Event::RequestSent { step: 1 });
    let fork = transcript.fork();
    let said: Vec<_> = fork
        .items()
        .into_iter()
        .map(|item| match item {
            Item::User { text, .. } => text.lines().next_back().unwrap_or_default(),
            Item::Steer(text) => text,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(said, ["Summary 2.", "Ledger 2.", "Go on."]);
}

#[test]
fn turns_are_counted_and_a_long_chain_is_taken_apart_without_recursion() {
    let mut transcript = Transcript::default();
    for _ in 0..200_000 {
        transcript.push(&Event::TurnStart);
        transcript.push(&Event::UserMessage {
            text: "Go.".into(),
            attachments: Vec::new(),
        });
        transcript.push(&Event::RequestSent { step: 1 });
        transcript.push(&Event::Text {
            text: "Done.".into(),
            opaque: None,
        });
        transcript.push(&Event::ResponseEnd {
            finish: None,
            usage: Usage::default(),
        });
    }
    assert_eq!(transcript.turn(), 200_000);
    let fork = transcript.fork();
    assert_eq!(
        fork.newest_first().next().map(|link| link.turn),
        Some(200_000)
    );
    assert_eq!(fork.items().len(), 400_000);
    drop(transcript);
    assert_eq!(
        fork.newest_first().count(),
        400_000,
        "a fork outlives what it was made of"
    );
}
