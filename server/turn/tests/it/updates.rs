//! Updates that a client is sent of an event on record.

use aside_turn::{
    Event,
    effect::{
        CallStatus, QuestionUpdate, Update,
        updates::{UpdateContext, updates},
    },
    history::TurnHistory,
    record::{By, Level, Reason, Status},
};
use serde_json::{Value, json};

use crate::events::{event, events, read};

/// A call that runs.
const MADE: &str = "start, sent 1, call 0, respond tool_use, begin it";

/// A turn whose tool `edit` is hidden or not.
struct Hides(bool);

impl UpdateContext for Hides {
    fn hides(&self, tool: &str) -> bool {
        self.0 && tool == "edit"
    }

    fn context_window(&self) -> Option<u64> {
        Some(200_000)
    }
}

/// The updates of an event after these.
fn of(before: &str, event: &Event, of: &impl UpdateContext) -> Vec<Update> {
    let mut history = TurnHistory::of(&events(before));
    history.apply(event);
    updates(event, &history, of)
}

#[test]
fn text_and_reasoning_are_shown_where_there_is_any() {
    let shown = |words: &str| of("start, sent 1", &event(words), &Hides(false));
    let text = "One.".to_owned();
    assert_eq!(
        shown("text One."),
        [Update::Text {
            step: 1,
            text: text.clone()
        }]
    );
    assert_eq!(shown("reason One."), [Update::Reasoning { step: 1, text }]);
    assert_eq!(shown("text"), []);
    assert_eq!(shown("reason"), []);
}

#[test]
fn the_end_of_a_response_tells_how_full_the_window_is() {
    let shown = of("start, sent 1", &event("counted 900 100"), &Hides(false));
    let [Update::Usage(usage)] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    assert_eq!(usage.context_tokens, Some(1_000));
    assert_eq!(usage.context_window, Some(200_000));
    assert_eq!((usage.input_tokens, usage.output_tokens), (900, 100));
}

#[test]
fn a_call_is_shown_with_its_arguments_unless_its_tool_is_hidden() {
    let call = event("call 0");
    let shown = Update::ToolCall {
        step: 1,
        call_id: "a".into(),
        name: "edit".into(),
        title: "edit".into(),
        arguments: json!({}),
        status: CallStatus::Waiting,
    };
    assert_eq!(of("start, sent 1", &call, &Hides(false)), [shown]);
    assert_eq!(of("start, sent 1", &call, &Hides(true)), []);
}

#[test]
fn a_result_is_shown_whole_where_its_first_line_is_not_all_of_it() {
    for (content, goes_on) in [("One.", false), ("One.\n\n  ", false), ("One.\nTwo.", true)] {
        let shown = Update::ToolResult {
            call_id: "a".into(),
            status: Status::Ok,
            summary: "One.".into(),
            content: goes_on.then(|| content.to_owned()),
            exit_status: None,
        };
        let result = event(&format!("result {content}"));
        assert_eq!(of(MADE, &result, &Hides(false)), [shown], "{content:?}");
    }
}

#[test]
fn a_result_with_a_summary_of_its_own_is_not_shown_whole() {
    let mut result =
        json!({"type": "tool_result", "call": 0, "content": "One.\nTwo.", "status": "ok"});
    result["summary"] = "Both.".into();
    let shown = |result: Value| match of(MADE, &read(result), &Hides(false)).as_slice() {
        [
            Update::ToolResult {
                summary, content, ..
            },
        ] => (summary.clone(), content.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(result.clone()), ("Both.".to_owned(), None));
    // People are told the reason of a failure, and the model the rest.
    result["status"] = "error".into();
    result["reason"] = "interrupted".into();
    let reason = "interrupted; its effects are unknown".to_owned();
    assert_eq!(shown(result), (reason, None));
}

#[test]
fn a_hidden_call_that_fails_is_noticed_unless_its_question_was_shown() {
    let result = |end: &[(&str, &str)]| {
        let mut result = json!({"type": "tool_result", "call": 0, "content": "x"});
        for (key, value) in end {
            result[*key] = (*value).into();
        }
        read(result)
    };
    let failed = result(&[("status", "error")]);
    let slow = result(&[("status", "error"), ("reason", "too_slow")]);
    let notice = |text: &str| {
        vec![Update::Notice {
            level: Level::Warning,
            text: text.into(),
        }]
    };
    let asked = format!("{MADE}, ask i1, answer i1");
    let without_reason = notice("edit failed, and the model was told why.");
    for (before, result, expected) in [
        (MADE, &failed, without_reason),
        (
            MADE,
            &slow,
            notice("edit failed: stopped after its time limit; its effects are unknown."),
        ),
        (MADE, &event("result One."), Vec::new()),
        (&asked, &failed, Vec::new()),
    ] {
        assert_eq!(of(before, result, &Hides(true)), expected, "{before}");
    }
}

#[test]
fn an_answer_that_was_left_out_is_not_a_missing_one_on_the_wire() {
    let prompt = || "turn-1".to_owned();
    for update in [
        QuestionUpdate::answered(prompt(), By::User, Some(Value::Null)),
        QuestionUpdate::answered(prompt(), By::User, Some(json!("blue"))),
        QuestionUpdate::answered(prompt(), By::User, None),
        QuestionUpdate::cancelled(prompt(), &Reason::User, None),
    ] {
        let text = serde_json::to_string(&update).expect("it can be written");
        let read: QuestionUpdate = serde_json::from_str(&text).expect("it can be read");
        assert_eq!(read, update, "{text}");
    }
}
