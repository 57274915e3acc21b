//! What is on record, and what single events and values say of themselves.

use aside_turn::{
    Event,
    input::ToolOutput,
    limits::Limits,
    model::attachment::{self, Attachment, MediaType},
    record::{CallKey, Refusal, RefusalReason},
    response::Usage,
    rules::{Client, Model},
};
use serde_json::{Value, json};

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

/// A value in so many arrays.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |value, _| json!([value]))
}

#[test]
fn a_value_that_is_nested_too_deep_for_its_line_to_be_read_is_its_text() {
    let in_object = |value: Value| json!({ "of": value });
    for (arguments, stays) in [
        (nested(99), true),
        (nested(100), false),
        (in_object(nested(98)), true),
        (in_object(nested(99)), false),
        (json!([1, nested(99)]), false),
    ] {
        let reason = RefusalReason::NotTrusted;
        let refusal = Refusal::new("edit".into(), arguments.clone(), reason, None, None);
        let line = serde_json::to_string(&refusal).expect("a line");
        let read: Value = serde_json::from_str(&line).expect("it can be read");
        let text = arguments.to_string();
        let expected = if stays { arguments } else { text.into() };
        assert_eq!(read["arguments"], expected);
    }
}

#[test]
fn tokens_of_a_models_answer_are_on_record_with_it() {
    let effort = json!({
        "model": "m", "strategy": "in_band", "tries": 1, "milliseconds": 5,
        "usage": {"input": 20, "output": 2},
    });
    let answered = json!({
        "type": "inquiry_response", "id": "i1", "call": 0, "outcome": "answered", "by": "assistant", "answer": true,
        "effort": effort,
    });
    let event: Event = serde_json::from_value(answered).expect("an event");
    let expected = Usage {
        input: 20,
        output: 2,
        ..Usage::default()
    };
    assert_eq!(event.usage(), Some(&expected));
    assert_eq!(events("answer i1")[0].usage(), None);
}

#[test]
fn no_count_of_tokens_is_written_that_is_zero() {
    let usage = Usage {
        output: 2,
        ..Usage::default()
    };
    assert_eq!(
        serde_json::to_value(usage).expect("JSON"),
        json!({"output": 2})
    );
    let merged = |old: bool, new: bool| {
        let of = |partial| Usage { partial, ..usage };
        let mut merged = of(old);
        merged.merge(&of(new));
        merged.partial
    };
    assert!(merged(true, false) && merged(false, true) && !merged(false, false));
}

#[test]
fn a_sum_has_a_cost_only_where_all_that_used_tokens_has_one() {
    let usage = |input, cost| Usage {
        input,
        cost,
        ..Usage::default()
    };
    for (one, other, cost) in [
        (usage(1, Some(0.5)), usage(1, Some(0.25)), Some(0.75)),
        (usage(1, None), usage(1, Some(0.25)), None),
        (usage(1, Some(0.5)), usage(1, None), None),
        (usage(0, None), usage(1, Some(0.25)), Some(0.25)),
        (usage(1, Some(0.5)), usage(0, None), Some(0.5)),
    ] {
        let mut sum = one;
        sum.count(&other);
        assert_eq!(sum.cost, cost, "{one:?} {other:?}");
    }
}

#[test]
fn limits_are_read_as_they_are_written() {
    let given = json!({"tool_seconds": 7, "retry_seconds": 8, "turn_seconds": 9});
    let limits: Limits = serde_json::from_value(given.clone()).expect("limits");
    assert_eq!(limits.tool_time.as_secs(), 7);
    assert_eq!(limits.turn_time.map(|time| time.as_secs()), Some(9));
    let written = serde_json::to_value(&limits).expect("JSON");
    for key in ["tool_seconds", "retry_seconds", "turn_seconds"] {
        assert_eq!(written[key], given[key], "{key}");
    }
}

#[test]
fn an_image_is_too_large_by_its_size_in_base64() {
    let model = Model {
        id: "house/model".into(),
        images: true,
        image_bytes: Some(400),
        ..Model::default()
    };
    let said = |media_type, bytes, model: &Model| {
        attachment::too_large("a.png", &media_type, bytes, model)
    };
    assert_eq!(said(MediaType::Png, 300, &model), None);
    assert_eq!(
        said(MediaType::Png, 301, &model).as_deref(),
        Some(
            "a.png is an image of 301 bytes, and house/model takes none of more than 300 bytes; attach a smaller one"
        )
    );
    assert_eq!(said(MediaType::Pdf, 301, &model), None);
    let blind = Model {
        images: false,
        ..model
    };
    assert_eq!(said(MediaType::Png, 301, &blind), None);
}

#[test]
fn a_terminal_shows_questions_and_hides_what_is_typed() {
    let terminal = Client::terminal();
    assert!(terminal.questions && terminal.secret);
    assert_eq!(terminal.name, "terminal");
}

#[test]
fn what_is_as_usual_is_not_written() {
    let written = |words: &str| serde_json::to_value(event(words)).expect("JSON");
    assert_eq!(
        written("user One."),
        json!({"type": "user_message", "text": "One."})
    );
    assert_eq!(
        written("result One."),
        json!({"type": "tool_result", "call": 0, "status": "ok", "content": "One."})
    );
    assert_eq!(
        written("respond stop"),
        json!({"type": "response_end", "finish": "stop"})
    );
    assert_eq!(
        serde_json::to_value(MediaType::Png).expect("JSON"),
        "image/png"
    );
}
