//! What providers are sent: to which stretch it belongs, whose it is, and what stands for a cancelled response.

use aside_turn::{
    Event,
    attachment::{Attachment, Content, Media, MediaType},
    transcript::{INTERRUPTED, Item, Transcript},
};

use crate::events::events;

fn message(attachments: Vec<Attachment>) -> Event {
    Event::UserMessage {
        text: "Go.".into(),
        attachments,
    }
}

/// The transcript that these events build.
pub(crate) fn transcript(events: &[Event]) -> Transcript {
    let mut transcript = Transcript::default();
    events.iter().for_each(|event| transcript.push(event));
    transcript
}

/// A turn with one response.
fn turn(response: &str) -> Vec<Event> {
    events(&format!("start, user Go., sent 1, {response}"))
}

#[test]
fn a_stretch_ends_where_something_changes_or_earlier_reasoning_is_refused() {
    for (words, epoch) in [
        ("learned earlier_reasoning", 1),
        ("learned reasoning", 0),
        ("learned rhymes", 0),
        ("late turn-1", 0),
    ] {
        let transcript = transcript(&events(words));
        assert_eq!(transcript.fork().epoch, epoch, "{words}");
    }
    let mut transcript = transcript(&turn("text One., respond stop"));
    for epoch in 1..=3 {
        transcript.change();
        assert_eq!(transcript.fork().epoch, epoch);
    }
    for event in turn("text Two., respond stop") {
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
    for response in ["text One.", "reason Well.", "call"] {
        let fork = transcript(&turn(&format!("{response}, respond stop"))).fork();
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
        ("", true),
        ("reason Well., ", true),
        ("text, ", true),
        ("text One., ", false),
    ] {
        let fork = transcript(&turn(&format!("{response}cancelled"))).fork();
        let last = fork.items().pop().cloned();
        assert_eq!(
            last.as_ref() == Some(&interrupted),
            stands_in,
            "{response:?}"
        );
    }
    let whole = transcript(&turn("reason Well., respond stop")).fork();
    assert!(!whole.items().contains(&&interrupted));
}
