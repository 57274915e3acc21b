use super::*;

#[test]
fn why_calls_were_denied() {
    let declined = |noted| ResultReason::Declined { noted };
    let unknown = ResultReason::Unknown {
        status: Status::Denied,
        word: String::new(),
    };
    for (content, expected) in [
        (
            "The user did not allow sh to run. Do not retry it in this turn; ask or continue without it.",
            declined(false),
        ),
        (
            "The user did not allow sh to run. Do not retry it in this turn; ask or continue without it.\nThe user \
             said: later",
            declined(true),
        ),
        (
            "sh is not allowed here (conversation.tools.sh.run). Do not retry it in this turn.",
            ResultReason::DeniedByConfiguration,
        ),
        (
            "edit_file is not allowed here (plan mode). Do not retry it in this turn.",
            ResultReason::DeniedByMode(Some(Mode::Plan)),
        ),
        (
            "edit_file is not allowed here (dream mode). Do not retry it in this turn.",
            ResultReason::DeniedByMode(None),
        ),
        (
            "sh is not allowed here (workspace not trusted). Do not retry it in this turn.",
            ResultReason::NotTrusted,
        ),
        (
            "sh needs approval and no interactive client is attached. Do not retry it in this turn.",
            ResultReason::NeedsApproval,
        ),
        (
            "sh: the prompt could not be shown: gone. Do not retry this tool call in this turn.",
            ResultReason::PromptFailed,
        ),
        (
            "The user withheld the result of sh.",
            ResultReason::Withheld,
        ),
        (
            "The user withheld the result of sh.\nThe user said: no",
            ResultReason::Withheld,
        ),
        (
            "The result of sh needs approval and no interactive client is attached.",
            ResultReason::WithheldUnattended,
        ),
        ("No.", unknown.clone()),
        ("", unknown.clone()),
        ("sh is not allowed here (for reasons).", unknown),
    ] {
        assert_eq!(
            call_end(Status::Denied, content),
            CallEnd::Aside(expected),
            "{content}"
        );
    }
}

#[test]
fn how_other_calls_ended() {
    for (status, content, expected) in [
        (Status::Ok, "x", CallEnd::Success),
        (Status::Error, "There is no tool x.", CallEnd::Failure),
        (
            Status::Cancelled,
            "Cancelled by the user.",
            ResultReason::Cancelled.into(),
        ),
        (
            Status::Cancelled,
            "Stopped: the turn's time limit was reached.",
            ResultReason::TimeOver.into(),
        ),
    ] {
        assert_eq!(call_end(status, content), expected, "{content}");
    }
}

#[test]
fn what_directives_were_for() {
    let tool = || Some("run_command".to_owned());
    let lost = |line, fault: FaultKind| DirectiveKind::Lost {
        line,
        fault: fault.into(),
    };
    let line = |what: &str| {
        format!(
            "Part of this conversation was lost: line 12 of the conversation's log {what}; it was left out."
        )
    };
    for (text, expected) in [
        (
            "Your last response was cut off before anything in it was complete. Go on from there, in smaller steps.".to_owned(),
            DirectiveKind::Cut,
        ),
        (
            "Your answer does not fit the schema that was asked for: 1. Answer again with JSON that fits it, and \
             nothing else."
                .into(),
            DirectiveKind::SchemaRepair,
        ),
        (
            "Call the tool `run_command` before you answer.".into(),
            DirectiveKind::Force { tool: tool() },
        ),
        (
            "Call one of your tools before you answer.".into(),
            DirectiveKind::Force { tool: None },
        ),
        (
            "You answered without calling `run_command`. Call `run_command` now; do not reply with text alone.".into(),
            DirectiveKind::ForceAgain { tool: tool() },
        ),
        (
            "You answered without calling a tool. Call one now; do not reply with text alone.".into(),
            DirectiveKind::ForceAgain { tool: None },
        ),
        (
            "The user took back the changes that the last turn made to: a.rs. These files are as they were before it."
                .into(),
            DirectiveKind::Undone { turn: String::new() },
        ),
        (line("does not match its checksum"), lost(12, FaultKind::Checksum)),
        (line("is not JSON: expected value"), lost(12, FaultKind::NotJson)),
        (line("has number 9, which should follow 7"), lost(12, FaultKind::Gap)),
        (line("has no version"), lost(12, FaultKind::Incomplete)),
        (
            line("is cut off; its event was never complete"),
            lost(12, FaultKind::Torn),
        ),
        (
            line("is not an event that this version reads: x"),
            lost(12, FaultKind::Unreadable),
        ),
        (line("closes a prompt as \"x\""), lost(12, FaultKind::Unreadable)),
        (
            line("dreams"),
            DirectiveKind::Lost {
                line: 12,
                fault: Word::default(),
            },
        ),
        ("Hurry.".into(), DirectiveKind::Other(String::new())),
    ] {
        assert_eq!(directive_kind(&text), expected, "{text}");
    }
}

#[test]
fn what_failed_to_answer() {
    let error = Reason::BackendError;
    assert_eq!(backend(&error, true), Some(Backend::Inquiry));
    assert_eq!(backend(&error, false), Some(Backend::Client));
    assert_eq!(backend(&Reason::User, false), None);
}
