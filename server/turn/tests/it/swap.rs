//! What a model is told decides nothing: with every sentence in another's place, the same happens.

use aside_turn::{
    Effect, Event,
    effect::{RequestKind, Update},
    inquiry::Message,
    model_text::ModelText,
    record::{Backend, InquiryResponse, Refusal, Word},
};

use crate::{
    conversations::{names, sections},
    play::Play,
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
    let effects = |play: &Play| -> Vec<Effect> { play.effects.iter().map(untold).collect() };
    assert_eq!(effects(english), effects(swapped), "{what}");
    let events = |play: &Play| -> Vec<Event> { play.events.iter().map(untold_event).collect() };
    assert_eq!(events(english), events(swapped), "{what}");
}

/// An effect without what the model is told.
fn untold(effect: &Effect) -> Effect {
    let mut effect = effect.clone();
    match &mut effect {
        Effect::Record(event) => *event = untold_event(event),
        Effect::Send(request) => {
            if let RequestKind::Inquiry(ask) = &mut request.kind {
                ask.messages.iter_mut().for_each(untell_message);
            }
        }
        Effect::Tell(Update::ToolResult { summary, .. }) => summary.clear(),
        Effect::End(end) => end.refusals.iter_mut().for_each(untell_refusal),
        _ => {}
    }
    effect
}

fn untold_event(event: &Event) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::Directive { text, .. } => text.clear(),
        Event::ToolResult { content, .. } => content.clear(),
        Event::TurnEnd { refusals, .. } => refusals.iter_mut().for_each(untell_refusal),
        Event::InquiryResponse {
            response:
                InquiryResponse::Cancelled {
                    backend: Some(Word::Known(Backend::Inquiry)),
                    why,
                    ..
                },
            ..
        } => *why = None,
        _ => {}
    }
    event
}

fn untell_refusal(refusal: &mut Refusal) {
    refusal.text.clear();
}

fn untell_message(message: &mut Message) {
    if let Message::User { results, text } = message {
        text.clear();
        results.iter_mut().for_each(|result| result.content.clear());
    }
}
