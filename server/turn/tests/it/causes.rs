//! What failed, as it stands on record: a question without an answer says whose failure that was, and no one else's.

use aside_turn::{
    Event,
    record::{Backend, InquiryResponse, Reason, Word},
};

use crate::play::Play;

/// Why the only question has no answer, and what failed.
fn cause(text: &str) -> (Reason, Option<Word<Backend>>) {
    let play = Play::of(text);
    let found = play.events.iter().find_map(|event| match event {
        Event::InquiryResponse {
            response: InquiryResponse::Cancelled {
                reason, backend, ..
            },
            ..
        } => Some((reason.clone(), backend.clone())),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("it has an answer:\n{}", play.out))
}

#[test]
fn only_a_failure_says_what_failed() {
    let asked = "tool edit\ndo a edit {}\nasks a backup boolean: Keep a backup?";
    let client = Some(Backend::Client.into());
    let inquiry = Some(Backend::Inquiry.into());
    for (text, expected) in [
        (
            format!("client\n{asked}\nunshown a it cannot show booleans"),
            (Reason::BackendError, client),
        ),
        (format!("client\n{asked}\ndecline a"), (Reason::User, None)),
        (format!("client\n{asked}\nskip a"), (Reason::User, None)),
        (
            format!("{asked}\nfail auth the key is rejected"),
            (Reason::BackendError, inquiry),
        ),
    ] {
        assert_eq!(cause(&text), expected, "{text}");
    }
}
