//! What single events say of themselves.

use aside_turn::{Event, input::ToolOutput, model::attachment::Attachment, record::CallKey};

use crate::events::{event, events};

#[test]
fn an_event_adds_its_text_to_the_next_request_unless_the_model_wrote_it_or_may_not_see_it() {
    for (words, bytes) in [
        ("user four", 4),
        ("directive hurry Now.", 4),
        ("result seven77", 7),
        ("hold seven77", 0),
        ("text One.", 0),
        ("notice One.", 0),
        ("respond stop", 0),
    ] {
        assert_eq!(event(words).waits_for_request(), bytes, "{words}");
    }
    let steer = Event::Steer {
        text: "Both.".into(),
    };
    assert_eq!(steer.waits_for_request(), 5);
    let Event::UserMessage { text, .. } = event("user four") else {
        panic!("it is a message");
    };
    let attachments = vec![
        Attachment::text("a.txt", "One."),
        Attachment::text("b", "12"),
    ];
    let message = Event::UserMessage { text, attachments };
    assert_eq!(message.waits_for_request(), 4 + 4 + 2);
}

#[test]
fn a_summary_is_recorded_where_it_is_not_the_first_line() {
    let listed = ToolOutput::text("a.txt\nb.txt");
    assert_eq!(listed.own_summary(), None);
    let counted = ToolOutput {
        summary: "2 files".to_owned(),
        ..listed
    };
    assert_eq!(counted.own_summary().as_deref(), Some("2 files"));
}

#[test]
fn a_success_is_that_of_a_call_also_where_its_result_is_held_back() {
    let failed = r#"{"type": "tool_result", "call": 0, "status": "error", "content": "x"}"#;
    let failed: Event = serde_json::from_str(failed).unwrap();
    let all = events("result x, hold x, begin x, answer i1");
    let found: Vec<Option<CallKey>> = all.iter().chain([&failed]).map(Event::success).collect();
    let Event::CallStarted { call, .. } = all[2] else {
        panic!("it is the start of a call");
    };
    assert_eq!(found, [Some(call), Some(call), None, None, None]);
}

#[test]
fn a_request_is_under_way_from_its_start_to_the_count_of_its_tokens() {
    let all = events("user One., sent 1, text One., respond stop, end completed");
    let found: Vec<bool> = all.iter().map(Event::is_of_request).collect();
    assert_eq!(found, [false, true, false, true, false]);
}
