//! Why results and directives are there.

use super::*;

#[test]
fn how_calls_end() {
    let result = |end: CallEnd| Event::ToolResult {
        call: CallKey(1),
        end,
        content: "c".into(),
        held: false,
        details: None,
        media: Vec::new(),
        summary: None,
    };
    let check_end = |end: CallEnd, fields: &str| {
        let text = format!(r#"{{"type":"tool_result","call":1,{fields},"content":"c"}}"#);
        check(result(end), &text);
    };
    check_end(CallEnd::Success, r#""status":"ok""#);
    check_end(CallEnd::Failure, r#""status":"error""#);
    let denied = |word: &str| format!(r#""status":"denied","reason":"{word}""#);
    let error = |word: &str| format!(r#""status":"error","reason":"{word}""#);
    let unknown = |status, word: &str| ResultReason::Unknown {
        status,
        word: word.into(),
    };
    for (reason, fields) in [
        (ResultReason::Declined { noted: false }, denied("declined")),
        (
            ResultReason::Declined { noted: true },
            denied("declined") + r#","noted":true"#,
        ),
        (ResultReason::DeniedByConfiguration, denied("configuration")),
        (ResultReason::DeniedByRule, denied("command_rule")),
        (
            ResultReason::DeniedByMode(Some(Mode::Plan)),
            denied("mode") + r#","mode":"plan""#,
        ),
        (ResultReason::DeniedByMode(None), denied("mode")),
        (ResultReason::NotTrusted, denied("not_trusted")),
        (
            ResultReason::NeedsApproval {
                cause: String::new(),
            },
            denied("needs_approval"),
        ),
        (
            ResultReason::NeedsApproval {
                cause: "a.txt is read-only".into(),
            },
            denied("needs_approval") + r#","why":"a.txt is read-only""#,
        ),
        (
            ResultReason::PromptFailed { why: "gone".into() },
            denied("prompt_failed") + r#","why":"gone""#,
        ),
        (ResultReason::Withheld, denied("withheld")),
        (
            ResultReason::WithheldUnattended,
            denied("withheld_unattended"),
        ),
        (
            ResultReason::Unanswered { why: "x".into() },
            error("unanswered") + r#","why":"x""#,
        ),
        (
            ResultReason::InvalidArguments { why: String::new() },
            error("invalid_arguments"),
        ),
        (ResultReason::UnknownTool, error("unknown_tool")),
        (ResultReason::TooManyCalls, error("too_many_calls")),
        (ResultReason::TooSlow, error("too_slow")),
        (ResultReason::Interrupted, error("interrupted")),
        (ResultReason::LogFailed, error("log_failed")),
        (
            ResultReason::Cancelled,
            r#""status":"cancelled","reason":"cancelled""#.into(),
        ),
        (
            ResultReason::TimeOver,
            r#""status":"cancelled","reason":"time_over""#.into(),
        ),
        (unknown(Status::Denied, "dreamt"), denied("dreamt")),
        // A known word that belongs to another status says nothing either.
        (unknown(Status::Error, "declined"), error("declined")),
    ] {
        check_end(reason.into(), &fields);
    }
    // A mode that this version does not know denies all the same.
    check_read(
        r#"{"type":"tool_result","call":1,"status":"denied","reason":"mode","mode":"dream","content":"c"}"#,
        result(ResultReason::DeniedByMode(None).into()),
    );
}

#[test]
fn what_directives_are_for() {
    let check_kind = |kind, fields: &str| {
        let text = "t".to_owned();
        check(
            Event::Directive { kind, text },
            &format!(r#"{{"type":"directive",{fields}"text":"t"}}"#),
        );
    };
    let tool = || Some("sh".to_owned());
    check_kind(DirectiveKind::Cut, r#""kind":"cut","#);
    check_kind(DirectiveKind::Empty, r#""kind":"empty","#);
    check_kind(
        DirectiveKind::Repeats { tool: "sh".into() },
        r#""kind":"repeats","tool":"sh","#,
    );
    check_kind(
        DirectiveKind::LeftOut { tool: "sh".into() },
        r#""kind":"left_out","tool":"sh","#,
    );
    check_kind(DirectiveKind::SchemaRepair, r#""kind":"schema_repair","#);
    check_kind(
        DirectiveKind::Force { tool: tool() },
        r#""kind":"force","tool":"sh","#,
    );
    check_kind(DirectiveKind::Force { tool: None }, r#""kind":"force","#);
    check_kind(
        DirectiveKind::ForceAgain { tool: tool() },
        r#""kind":"force_again","tool":"sh","#,
    );
    for (fault, word) in [
        (FaultKind::Checksum.into(), "checksum"),
        (FaultKind::NotJson.into(), "not_json"),
        (FaultKind::Incomplete.into(), "incomplete"),
        (FaultKind::Unreadable.into(), "unreadable"),
        (FaultKind::Gap.into(), "gap"),
        (FaultKind::Torn.into(), "torn"),
        (Word::Unknown("dreamt".into()), "dreamt"),
    ] {
        check_kind(
            DirectiveKind::Lost { line: 7, fault },
            &format!(r#""kind":"lost","line":7,"fault":"{word}","#),
        );
    }
    let turn = "t0".to_owned();
    check_kind(
        DirectiveKind::Undone { turn },
        r#""kind":"undone","undone":"t0","#,
    );
    check_kind(DirectiveKind::Moved, r#""kind":"moved","#);
    let kind = "dream".to_owned();
    check_kind(DirectiveKind::Other { kind }, r#""kind":"dream","#);
}

#[test]
fn words_that_nobody_knows_are_kept() {
    check(
        Event::Learned {
            model: "a/b".into(),
            refuses: Refused::Feature(Word::Unknown("dreams".into())),
        },
        r#"{"type":"learned","model":"a/b","refuses":"dreams"}"#,
    );
    let options = TurnOptions {
        mode: Some(Word::Unknown("dream".into())),
        ..TurnOptions::default()
    };
    assert_eq!(options.resumed_mode(), Some(Mode::Ask));
    assert!(options.mode_notice().is_some());
    check(
        Entry::TurnStart { options },
        r#"{"type":"turn_start","options":{"mode":"dream"}}"#,
    );
    check(
        Event::InquiryResponse {
            id: "i".into(),
            call: CallKey(0),
            response: InquiryResponse::Cancelled {
                reason: Reason::BackendError,
                backend: Some(Word::Unknown("oracle".into())),
                note: None,
                why: None,
                shown: None,
                effort: None,
            },
        },
        r#"{"type":"inquiry_response","id":"i","call":0,"outcome":"cancelled","reason":"backend_error","backend":"oracle"}"#,
    );
    check(
        Event::PromptClosed {
            prompt: PromptId("p".into()),
            closed: Closed::Permitted {
                permission: Word::Unknown("maybe".into()),
                new_text: None,
                shown: None,
            },
        },
        r#"{"type":"prompt_closed","prompt":"p","outcome":"permitted","permission":"maybe"}"#,
    );
}

#[test]
fn a_kept_line_keeps_its_version() {
    let body = json!({"type": "dream"});
    let entry = Entry::Unknown { version: 3, body };
    let line = encode(1, TIME, None, &entry).unwrap();
    assert!(line.starts_with(br#"{"v":3,"#));
    assert_eq!(decode(&line[..line.len() - 1]).unwrap().entry, entry);
}
