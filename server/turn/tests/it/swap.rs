//! What a model is told decides nothing: with every sentence in another's place, the same happens.

use aside_turn::{Effect, Event, model_text::ModelText};

use crate::{
    conversations::{names, sections},
    play::Play,
    untold,
};

/// How far each sentence moves; no two of them leave the same neighbours.
const ROTATIONS: [usize; 3] = [1, 7, 23];

#[test]
fn conversations_are_the_same_whatever_the_sentences_say() {
    let mut swapped_texts = 0;
    for file in names() {
        for (name, input) in sections(&file) {
            let english = Play::of(&input);
            for by in ROTATIONS {
                let swapped = Play::told(&input, ModelText::default().rotated(by));
                check(&english, &swapped, &format!("{file}, {name}, by {by}"));
                swapped_texts += usize::from(english.effects != swapped.effects);
            }
        }
    }
    assert!(swapped_texts > 100, "few texts changed: {swapped_texts}");
}

#[test]
fn interrupted_turns_go_on_the_same_whatever_the_sentences_say() {
    for file in names() {
        for (name, input) in sections(&file) {
            let english = Play::of(&input);
            let swapped = Play::told(&input, ModelText::default().rotated(ROTATIONS[1]));
            let events = english.events.iter();
            let turn = events.take_while(|event| !matches!(event, Event::TurnEnd { .. }));
            for count in 2..=turn.count() {
                let what = format!("{file}, {name}, cut after {count} events");
                let cut = |of| Play::cut(of, count);
                let (mut one, mut other) = (cut(&english), cut(&swapped));
                one.resume(Vec::new());
                other.resume(Vec::new());
                check(&one, &other, &format!("{what}, resumed"));
                let (one, other) = (cut(&english).cancelled(), cut(&swapped).cancelled());
                check(&one, &other, &format!("{what}, cancelled"));
                let (one, other) = (cut(&english).closed(), cut(&swapped).closed());
                check(&one, &other, &format!("{what}, closed"));
            }
        }
    }
}

/// Both did the same and have the same on record, but for what the model is told.
#[track_caller]
fn check(english: &Play, swapped: &Play, what: &str) {
    let effects =
        |play: &Play| -> Vec<Effect> { play.effects.iter().map(untold::effect).collect() };
    assert_eq!(effects(english), effects(swapped), "{what}");
    let events = |play: &Play| -> Vec<Event> { play.events.iter().map(untold::event).collect() };
    assert_eq!(events(english), events(swapped), "{what}");
}
