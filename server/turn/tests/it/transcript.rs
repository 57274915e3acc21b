//! What providers are sent: to which stretch it belongs, whose it is, and what stands for a cancelled response.

use aside_turn::{
    Event,
    attachment::{Attachment, Content, Media, MediaType},
    record::Word,
    response::{Feature, Finish, Usage},
    transcript::{INTERRUPTED, Item, Transcript},
};

fn message(attachments: Vec<Attachment>) -> Event {
    Event::UserMessage {
        text: "Go.".into(),
        attachments,
    }
}

fn said(text: &str) -> Event {
    Event::Text {
        text: text.into(),
        opaque: None,
    }
}

fn thought() -> Event {
    Event::Reasoning {
        text: "Well.".into(),
        opaque: None,
    }
}

fn end(finish: Option<Finish>) -> Event {
    Event::ResponseEnd {
        finish,
        usage: Usage::default(),
    }
}

fn transcript(events: &[Event]) -> Transcript {
    let mut transcript = Transcript::default();
    events.iter().for_each(|event| transcript.push(event));
    transcript
}

/// A turn with one response.
fn turn(response: &[Event]) -> Vec<Event> {
    let before = [
        Event::TurnStart,
        message(Vec::new()),
        Event::RequestSent { step: 1 },
    ];
    [&before[..], response].concat()
}

#[test]
fn a_stretch_ends_where_something_changes_or_earlier_reasoning_is_refused() {
    let learned = |refuses: Word<Feature>| Event::Learned {
        model: "house/model".into(),
        refuses,
    };
    for (event, epoch) in [
        (learned(Feature::History.into()), 1),
        (learned(Feature::Reasoning.into()), 0),
        (learned(Word::Unknown("rhymes".into())), 0),
        (
            Event::LateAnswer {
                prompt: aside_turn::record::PromptId("turn-1".into()),
            },
            0,
        ),
    ] {
        let transcript = transcript(std::slice::from_ref(&event));
        assert_eq!(transcript.fork().epoch, epoch, "{event:?}");
    }
    let mut transcript = transcript(&turn(&[said("One."), end(Some(Finish::Stop))]));
    for epoch in 1..=3 {
        transcript.change();
        assert_eq!(transcript.fork().epoch, epoch);
    }
    for event in turn(&[said("Two."), end(Some(Finish::Stop))]) {
        transcript.push(&event);
    }
    let fork = transcript.fork();
    let epochs: Vec<u32> = fork.newest_first().map(|link| link.epoch).collect();
    assert_eq!(epochs, [3, 3, 0, 0]);
}

#[test]
fn a_fork_knows_whether_an_image_was_ever_attached() {
    let text = || message(vec![Attachment::text("a.txt", "One.")]);
    let image = || {
        let media = Media {
            media_type: MediaType::Png,
            blob: "abc".into(),
            size: 3,
        };
        message(vec![Attachment {
            name: "a.png".into(),
            content: Content::Media(media),
        }])
    };
    for (events, has_media) in [
        (vec![text()], false),
        (vec![image()], true),
        (vec![image(), text()], true),
        (vec![text(), image()], true),
    ] {
        assert_eq!(
            transcript(&events).fork().has_media,
            has_media,
            "{events:?}"
        );
    }
}

#[test]
fn links_are_the_users_or_the_models() {
    let call = Event::ToolCall {
        call: aside_turn::record::CallKey(0),
        id: "a".into(),
        name: "read".into(),
        arguments: "{}".into(),
        opaque: None,
    };
    for response in [said("One."), thought(), call] {
        let fork = transcript(&turn(&[response, end(Some(Finish::Stop))])).fork();
        let sides: Vec<bool> = fork.newest_first().map(|link| link.is_of_model()).collect();
        assert_eq!(sides, [true, false]);
        let sides: Vec<bool> = fork.items().iter().map(|item| item.is_of_model()).collect();
        assert_eq!(sides, [false, true]);
    }
}

#[test]
fn a_response_that_was_cancelled_before_it_said_anything_has_a_text_that_says_so() {
    let interrupted = Item::Text {
        text: INTERRUPTED.into(),
        opaque: None,
    };
    for (response, stands_in) in [
        (vec![], true),
        (vec![thought()], true),
        (vec![said("")], true),
        (vec![said("One.")], false),
    ] {
        let events = turn(&[&response[..], &[end(None)]].concat());
        let fork = transcript(&events).fork();
        let last = fork.items().pop().cloned();
        assert_eq!(
            last.as_ref() == Some(&interrupted),
            stands_in,
            "{response:?}"
        );
    }
    let whole = transcript(&turn(&[thought(), end(Some(Finish::Stop))])).fork();
    assert!(!whole.items().contains(&&interrupted));
}
