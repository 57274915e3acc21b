use aside_test_table::rows;
use aside_turn::record::{ErrorCode, Refusal, RefusalReason, TurnError};
use serde_json::{Value, json};

use super::*;

/// Output for a sequence of updates.
fn shown(attached: bool, updates: &[Value]) -> String {
    let mut show = Show::new(Paint::OFF, attached, false, AboutTurn::default());
    let shown = updates.iter().flat_map(|update| show.update(&read(update)));
    notes(shown.collect())
}

/// Text for standard error. Fails if there is any other.
fn notes(shown: Vec<ShownText>) -> String {
    let shown = shown.into_iter().map(|shown| match shown {
        ShownText::Note(text) => text,
        ShownText::Answer(text) => panic!("{text:?} would go to standard output"),
    });
    shown.collect()
}

/// Streamed output, with standard output between angle brackets, and whether the answer is complete.
fn streamed(updates: &[Value], answer: &str) -> (String, bool) {
    let mut show = Show::new(Paint::ON, true, true, AboutTurn::default());
    let mut shown: Vec<ShownText> = updates
        .iter()
        .flat_map(|update| show.update(&read(update)))
        .collect();
    let end = TurnCompleted {
        conversation_id: "c".into(),
        turn_id: "t".into(),
        outcome: Outcome::Completed,
        answer: Some(answer.into()),
        structured: None,
        error: None,
        usage: TurnUsage::default(),
        refusals: vec![],
        prompts: vec![],
    };
    let (rest, is_shown) = show.answer(&end);
    shown.extend(rest);
    let shown = shown.into_iter().map(|shown| match shown {
        ShownText::Note(text) => text,
        ShownText::Answer(text) => format!("<{text}>"),
    });
    let shown: String = shown.collect();
    (shown.replace('\x1b', "␛"), is_shown)
}

fn read(update: &Value) -> Update {
    serde_json::from_value(update.clone()).unwrap_or_else(|error| panic!("{update}: {error}"))
}

#[track_caller]
fn check(updates: &[Value], expected: &str) {
    assert_eq!(shown(false, updates), expected);
}

fn text(step: u32, text: &str) -> Value {
    json!({"kind": "text", "step": step, "text": text})
}

fn call(status: &str) -> Value {
    json!({"kind": "toolCall", "step": 1, "callId": "c1", "name": "read_file", "title": "Read src/main.rs",
           "arguments": {}, "status": status})
}

fn result(status: &str, summary: &str) -> Value {
    json!({"kind": "toolResult", "callId": "c1", "status": status, "summary": summary})
}

fn opened() -> Value {
    json!({"kind": "question", "promptId": "p1", "callId": "c1", "promptKind": "question", "label": "tidy",
           "text": "Keep a backup?"})
}

#[test]
fn calls_are_shown_at_start_and_end() {
    check(&[call("waiting")], "");
    check(
        &[call("waiting"), call("running")],
        "▸ read_file: Read src/main.rs\n",
    );
    let ends = "
        ok        | 12 lines
        error     | no such file
        denied    | needs approval
        cancelled | by the user";
    for [status, summary] in rows(ends) {
        check(
            &[call("waiting"), result(status, summary)],
            &format!("  {status} read_file: {summary}\n"),
        );
    }
}

#[test]
fn text_is_shown_once_it_cannot_be_the_answer() {
    check(&[text(1, "I will "), text(1, "look.\n")], "");
    check(
        &[text(1, "I will "), text(1, "look.\n"), call("waiting")],
        "I will look.\n",
    );
    check(&[text(1, "First."), text(2, "Second.")], "First.\n");
    check(
        &[text(1, "Which one?"), opened()],
        "Which one?\n  ? tidy: Keep a backup?\n",
    );
    let retry = |step: u32| json!({"kind": "retry", "attempt": 2, "afterMs": 1500, "reason": "it broke", "discardStep": step});
    check(
        &[text(1, "half an ans"), retry(1), call("waiting")],
        "retry 2 in 1.5 s: it broke\n",
    );
    check(
        &[text(1, "I look."), retry(2), call("waiting")],
        "retry 2 in 1.5 s: it broke\nI look.\n",
    );
}

#[test]
fn questions_are_shown_with_the_source_of_the_answer() {
    let closed = |rest: Value| {
        let mut closed = json!({"kind": "question", "promptId": "p1"});
        for (key, value) in rest.as_object().expect("members") {
            closed[key] = value.clone();
        }
        closed
    };
    let check = |attached, rest: Value, expected: &str| {
        assert_eq!(shown(attached, &[opened(), closed(rest)]), expected);
    };
    let yes = json!({"outcome": "answered", "by": "user", "answer": true, "text": "yes (you)"});
    check(true, yes.clone(), "  ? tidy: Keep a backup? yes (you)\n");
    check(
        false,
        yes,
        "  ? tidy: Keep a backup?\n  ? tidy: Keep a backup? yes (you)\n",
    );
    let gone =
        json!({"outcome": "cancelled", "reason": "withdrawn", "text": "no answer (with\ndrawn)"});
    check(
        true,
        gone,
        "  ? tidy: Keep a backup? no answer (with␊drawn)\n",
    );
}

#[test]
fn other_events_are_shown_on_one_line() {
    let again = |attempt: u32, reason: &str| json!({"kind": "retry", "attempt": attempt, "afterMs": 500, "reason": reason});
    check(
        &[
            again(1, "gone"),
            again(2, "gone"),
            again(3, "busy"),
            again(1, "busy"),
        ],
        "retry 1 in 0.5 s: gone\nretry 2 in 0.5 s: for the same reason\nretry 3 in 0.5 s: busy\nretry 1 in 0.5 s: busy\n",
    );
    let updates = r#"
        {"kind": "inquiry", "callIds": ["c1"], "status": "asked"}    | ··? read_file: the model is asked⏎
        {"kind": "inquiry", "callIds": ["c1"], "status": "answered"} |
        {"kind": "inquiry", "callIds": ["c1"], "status": "failed"}   | ··? read_file: the model did not answer⏎
        {"kind": "steered", "text": "No tests."}                     | » No tests.⏎
        {"kind": "notice", "level": "info", "text": "Soft."}         | note: Soft.⏎
        {"kind": "notice", "level": "warning", "text": "Cut."}       | warning: Cut.⏎
        {"kind": "reasoning", "step": 1, "text": "Hm."}              |
        {"kind": "toolOutput", "callId": "c1", "text": "noise"}      |
        {"kind": "edit", "callId": "c1", "changes": [{"uri": "file:///a"}]} |
        {"kind": "title", "title": "Tidy"}                           |
    "#;
    for [update, expected] in rows(updates) {
        check(
            &[call("waiting"), update.parse().unwrap()],
            &expected.replace('·', " ").replace('⏎', "\n"),
        );
    }
}

#[test]
fn control_characters_are_removed() {
    let evil = "\x1b[2J\rgone";
    let shown = shown(
        false,
        &[
            text(1, evil),
            json!({"kind": "toolCall", "step": 1, "callId": "c1", "name": evil, "title": evil, "arguments": {},
               "status": "running"}),
            result("ok", evil),
            json!({"kind": "notice", "level": "info", "text": evil}),
            json!({"kind": "steered", "text": evil}),
        ],
    );
    assert!(!shown.contains(['\x1b', '\r']), "{shown:?}");
    assert_eq!(shown.matches("␛[2J␍gone").count(), 7, "{shown:?}");
}

fn completed(outcome: Outcome) -> TurnCompleted {
    let usage = TurnUsage {
        input_tokens: 1200,
        output_tokens: 340,
        cache_read_tokens: 8000,
        cache_write_tokens: 600,
        cost_usd: Some(0.0125),
        at_least: false,
        context_tokens: None,
        context_window: None,
    };
    TurnCompleted {
        conversation_id: "c-1".into(),
        turn_id: "t-1".into(),
        outcome,
        answer: Some("All done.".into()),
        structured: None,
        error: None,
        usage,
        refusals: vec![],
        prompts: vec![],
    }
}

#[track_caller]
fn check_end(end: &TurnCompleted, expected: &[&str]) {
    let about = AboutTurn {
        model: "a/b".into(),
        root: "/w".into(),
        hints: Some(Hints::default()),
        columns: None,
    };
    let mut show = Show::new(Paint::OFF, false, false, about);
    show.update(&read(&text(1, "All done.")));
    assert_eq!(notes(show.end(end)).lines().collect::<Vec<_>>(), expected);
}

const TOKENS: &str = "tokens: 9800 in (8000 from the cache), 340 out; 0.0125 US dollars; model a/b; conversation c-1";

#[test]
fn summary_states_usage_and_open_prompts() {
    check_end(&completed(Outcome::Completed), &[TOKENS]);
    let refusals = vec![Refusal::new(
        "run_command".into(),
        json!({"command": "cargo test\n"}),
        RefusalReason::NeedsApproval,
        None,
        Some("it is read-only".into()),
    )];
    check_end(
        &TurnCompleted {
            refusals,
            ..completed(Outcome::Completed)
        },
        &[
            "refused: run_command `cargo test`: nobody was there to approve it: it is read-only",
            TOKENS,
        ],
    );
    let error = Some(TurnError::new(
        ErrorCode::Provider,
        "The provider answered 500.",
    ));
    check_end(
        &TurnCompleted {
            error,
            ..completed(Outcome::Failed)
        },
        &["All done.", "error: The provider answered 500.", TOKENS],
    );
    check_end(
        &completed(Outcome::Cancelled),
        &[
            "All done.",
            "cancelled; continue with: aside run -c c-1 'Go on.'",
            TOKENS,
        ],
    );
    check_end(
        &completed(Outcome::Interrupted),
        &[
            "All done.",
            "interrupted; continue with: aside run -c c-1 --resume",
            TOKENS,
        ],
    );
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/wire/completed-interrupted.json"
    );
    let file: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON");
    let parked: TurnCompleted = serde_json::from_value(file["params"].clone()).expect("an end");
    check_end(
        &TurnCompleted {
            conversation_id: "c-1".into(),
            usage: completed(Outcome::Failed).usage,
            ..parked
        },
        &[
            "All done.",
            "waits: Assistant: Ship it?",
            "  answer with: aside run -c c-1 --resume --answer p-26=VALUE",
            "  VALUE: true or false",
            TOKENS,
        ],
    );
}

#[test]
fn summary_names_each_changed_file_once() {
    let about = AboutTurn {
        model: "a/b".into(),
        root: "/w".into(),
        hints: None,
        columns: None,
    };
    let mut show = Show::new(Paint::OFF, false, false, about);
    for uris in [
        ["file:///w/src/%C3%BCber%20x.rs", "file:///w/a.rs"],
        ["file:///w/a.rs", "file:///elsewhere/b.rs"],
    ] {
        let changes = uris.map(|uri| json!({"uri": uri}));
        let edit = json!({"kind": "edit", "callId": "c1", "changes": changes});
        assert_eq!(show.update(&read(&edit)), []);
    }
    let end = TurnCompleted {
        usage: TurnUsage::default(),
        ..completed(Outcome::Completed)
    };
    let lines = notes(show.end(&end));
    assert_eq!(
        lines.lines().collect::<Vec<_>>(),
        [
            "changed: src/über x.rs, a.rs, /elsewhere/b.rs",
            "tokens: 0 in, 0 out; model a/b; conversation c-1",
        ]
    );
}

#[test]
fn terminals_receive_text_as_it_arrives() {
    let reasoning = |text: &str| json!({"kind": "reasoning", "step": 1, "text": text});
    let whole = |updates: &[Value], answer: &str| streamed(updates, answer);
    assert_eq!(
        whole(&[text(1, "It is "), text(1, "**so**.")], "It is **so**."),
        ("<It is ><␛[1mso␛[0m.><\n>".into(), true)
    );
    assert_eq!(
        whole(
            &[
                reasoning("Hm,\n"),
                reasoning("well."),
                text(1, "I look."),
                call("running"),
                text(2, "Done."),
            ],
            "Done."
        ),
        (
            "␛[2mHm,␛[0m␛[2m\nwell.␛[0m␛[2m\n␛[0m<I look.><\n>▸ read_file: Read src/main.rs\n<Done.><\n>"
                .into(),
            true
        )
    );
    let retry = json!({"kind": "retry", "attempt": 2, "afterMs": 1500, "reason": "it broke", "discardStep": 1});
    assert_eq!(
        whole(
            &[text(1, "half an ans"), retry, text(1, "Whole.")],
            "Whole."
        ),
        (
            "<half an ans><\n>␛[33mretry 2 in 1.5 s: it broke␛[0m\n<Whole.><\n>".into(),
            true
        )
    );
    // Text that was not an update of this run is written at the end.
    assert_eq!(whole(&[], "Said before."), (String::new(), false));
}

#[test]
fn failed_commands_are_red() {
    let mut failed = result("ok", "Exit status 1");
    for (status, expected) in [
        (0, "  ␛[32mok␛[0m read_file: Exit status 1\n"),
        (1, "  ␛[31mfailed␛[0m read_file: Exit status 1\n"),
    ] {
        failed["exitStatus"] = json!(status);
        let (shown, _) = streamed(&[call("waiting"), failed.clone()], "");
        assert_eq!(shown, expected);
    }
}
