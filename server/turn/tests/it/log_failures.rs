//! A log that cannot be appended to, at a moment when effects wait to be performed.

use aside_turn::{
    Effect, Event, Input, Setup, Turn,
    effect::{DismissReason, Update},
    input::{Preparation, Prepared, RequestId, Time},
    record::{ErrorCode, Outcome, PromptId},
    response::{Finish, Kind, Piece},
    rules::{Class, Client, Rules, ToolRules},
};

use crate::{conversations, play::Play};

/// A turn whose only call waits for a person's permission.
fn waiting() -> (Turn, PromptId) {
    let setup = Setup {
        id: "turn".into(),
        rules: Rules {
            trusted: true,
            tools: [("edit".to_owned(), ToolRules::default())].into(),
            ..Rules::default()
        },
        client: Some(Client::terminal()),
        ..Setup::default()
    };
    let mut turn = Turn::start(setup, "go".into(), Vec::new(), Time::ZERO);
    let kind = Kind::ToolCall {
        id: "a".into(),
        name: "edit".into(),
    };
    let close = Piece::Close {
        slot: 0,
        opaque: None,
        complete: true,
    };
    let finish = Piece::Finish(Finish::ToolUse);
    for piece in [Piece::Open { slot: 0, kind }, close, finish] {
        turn.handle(Time::ZERO, Input::Piece(RequestId(1), piece));
    }
    let call = effects(&mut turn)
        .into_iter()
        .find_map(|effect| match effect {
            Effect::Prepare(work) => Some(work.call),
            _ => None,
        });
    let prepared = Prepared {
        class: Class::More,
        hash: "h".into(),
        ..Prepared::default()
    };
    let call = call.expect("it is prepared");
    turn.handle(
        Time::ZERO,
        Input::Prepared(call, Preparation::Ready(prepared)),
    );
    let prompt = effects(&mut turn)
        .into_iter()
        .find_map(|effect| match effect {
            Effect::OpenPrompt(prompt) => Some(prompt.id),
            _ => None,
        });
    (turn, prompt.expect("a person is asked"))
}

fn effects(turn: &mut Turn) -> Vec<Effect> {
    std::iter::from_fn(|| turn.poll_effect()).collect()
}

#[test]
fn a_prompt_that_was_to_be_closed_is_closed_all_the_same() {
    let (mut turn, prompt) = waiting();
    turn.handle(Time::ZERO, Input::Cancel);
    let first = turn.poll_effect();
    assert!(matches!(first, Some(Effect::Record(_))), "{first:?}");
    turn.handle(Time::ZERO, Input::AppendFailed("the disk is full".into()));
    let effects = effects(&mut turn);
    let closing = Effect::ClosePrompt(prompt, DismissReason::Withdrawn);
    let count = effects.iter().filter(|effect| **effect == closing).count();
    assert_eq!(count, 1, "{effects:?}");
    let recorded = effects.iter().any(|it| matches!(it, Effect::Record(_)));
    assert!(!recorded, "{effects:?}");
}

#[test]
fn a_turn_that_was_being_cancelled_fails() {
    let (mut turn, _) = waiting();
    turn.handle(Time::ZERO, Input::Cancel);
    turn.poll_effect();
    turn.handle(Time::ZERO, Input::AppendFailed("the disk is full".into()));
    let Some(Effect::End(end)) = effects(&mut turn).pop() else {
        panic!("it does not end");
    };
    let code = end.error.map(|error| error.code);
    assert_eq!(
        (end.outcome, code),
        (Outcome::Failed, Some(ErrorCode::Internal))
    );
}

#[test]
fn what_ended_a_call_is_said_and_not_that_somebody_cancelled_it() {
    let (mut turn, _) = waiting();
    turn.handle(Time::ZERO, Input::AppendFailed("the disk is full".into()));
    let told = effects(&mut turn)
        .into_iter()
        .find_map(|effect| match effect {
            Effect::Tell(Update::ToolResult { summary, .. }) => Some(summary),
            _ => None,
        });
    assert_eq!(
        told.as_deref(),
        Some("stopped: the conversation could not be written to disk")
    );
}

#[test]
fn whichever_record_the_disk_does_not_take_what_was_begun_is_ended_once() {
    for (name, input) in conversations::all() {
        // What a resume finds on disk is another matter.
        if input.contains("append-failed") || input.contains("resume") || input.contains("new") {
            continue;
        }
        let events = Play::of(&input).events;
        let is_end = |event: &Event| matches!(event, Event::TurnEnd { .. });
        let end = events.iter().position(is_end).unwrap_or(events.len() - 1);
        for taken in 1..=end {
            let play = Play::with_full_disk(&input, taken);
            let end = play.end.unwrap_or_else(|| panic!("{name}: {taken}"));
            assert_eq!(end.outcome, Outcome::Failed, "{name}: {taken}");
        }
    }
}
