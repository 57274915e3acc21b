//! Passages of a conversation: whose words an event has, and which ones it has, for whoever searches the log.

use aside_turn::{Event, history::passage::PassageFold};
use serde_json::json;

use crate::events::{event, read};

/// The passage of the event as `TURN WHO (TOOL): TEXT`; empty where it is none.
fn passage(fold: &mut PassageFold, event: &Event) -> String {
    let Some(passage) = fold.push(event) else {
        return String::new();
    };
    let tool = passage.tool.map(|tool| format!(" ({tool})"));
    let (turn, who, text) = (passage.turn, passage.who, passage.text);
    format!("{turn} {who}{}: {text}", tool.unwrap_or_default())
}

#[test]
fn each_word_of_people_models_and_tools_is_a_passage_with_its_turn_and_author() {
    let response = |pair: &str, outcome: serde_json::Value| {
        let mut event = json!({"type": "inquiry_response", "id": pair, "call": 0});
        for (key, value) in outcome.as_object().into_iter().flatten() {
            event[key] = value.clone();
        }
        read(event)
    };
    let with_files = read(json!({
        "type": "user_message", "text": "Read these.", "attachments": [
            {"name": "a.txt", "text": "One."},
            {"name": "b.png", "media": {"media_type": "image/png", "blob": "abc", "size": 3}},
        ],
    }));
    let declined =
        json!({"type": "prompt_closed", "prompt": "p", "outcome": "declined", "note": "Not that."});
    let noted = json!({"outcome": "cancelled", "reason": "user", "note": "Later."});
    let model = json!({"outcome": "answered", "answer": "Yes.", "by": "assistant"});
    let mut fold = PassageFold::default();
    for (event, expected) in [
        (event("start"), ""),
        (event("user Go."), "1 the user: Go."),
        (
            with_files,
            "1 the user: Read these.\na.txt:\nOne.\nb.png: image/png, 3 bytes",
        ),
        (event("steer Wait."), "1 the user, meanwhile: Wait."),
        (event("reason Well."), ""),
        (event("text Yes."), "1 the model: Yes."),
        (event("text  "), ""),
        (event("call 0"), "1 the model, calling edit (edit): {}"),
        (event("begin it"), ""),
        (event("ask i1"), ""),
        (
            event("answer i1"),
            "1 answer of the user: Keep a backup?\ntrue",
        ),
        // It has one outcome.
        (event("answer i1"), ""),
        (event("ask i2"), ""),
        (
            event("fail i2 user"),
            "1 the user, to a question: Keep a backup?\nNo answer.",
        ),
        (event("ask i3"), ""),
        (
            response("i3", noted),
            "1 the user, to a question: Keep a backup?\nLater.",
        ),
        (event("ask i4"), ""),
        (
            response("i4", model),
            "1 answer of a model: Keep a backup?\nYes.",
        ),
        (event("ask i5"), ""),
        (response("i5", json!({"outcome": "redacted"})), ""),
        (event("ask i6"), ""),
        // The model may not see it yet.
        (event("hold Secret."), ""),
        (event("result One."), "1 result of edit {} (edit): One."),
        (read(declined), "1 the user, refusing: Not that."),
        (event("say p once"), ""),
        (event("summary 1 Goal."), "1 summary: Goal."),
        (event("notice Late."), ""),
        // Calls and questions are those of their turn.
        (event("start"), ""),
        (event("result One."), ""),
        (event("answer i6"), ""),
        (event("text No."), "2 the model: No."),
    ] {
        assert_eq!(passage(&mut fold, &event), expected, "{event:?}");
    }
}

#[test]
fn a_result_names_its_call_with_no_more_than_the_beginning_of_its_arguments() {
    let whole = "x".repeat(200);
    for (arguments, words) in [
        (whole.clone(), whole.clone()),
        (format!("{whole}y"), format!("{whole}…")),
        // A letter is not cut.
        (
            format!("{}ä", "x".repeat(199)),
            format!("{}…", "x".repeat(199)),
        ),
    ] {
        let mut fold = PassageFold::default();
        fold.push(&event("start"));
        let call = json!({"type": "tool_call", "call": 0, "id": "a", "name": "edit", "arguments": arguments});
        assert_eq!(
            passage(&mut fold, &read(call)),
            format!("1 the model, calling edit (edit): {arguments}"),
            "arguments are searched whole"
        );
        assert_eq!(
            passage(&mut fold, &event("result One.")),
            format!("1 result of edit {words} (edit): One.")
        );
    }
}
