//! Words of closed lists: each value has one, and each word its value. Logs on people's disks have them, so they stay.

use std::fmt::Debug;

use aside_turn::{
    effect::DismissReason,
    model_text::ModelText,
    record::{
        Backend, DirectiveKind, FaultKind, Permission, PromptSubject, Reason, ResultReason, Status,
        Vocabulary, Word,
    },
    rules::{DetachedMode, Feature, Mode, Strategy},
};

/// The list has these words, in this order, and no others.
#[track_caller]
fn check<T: Vocabulary + PartialEq + Debug>(words: &[(&str, T)]) {
    let listed: Vec<(&str, T)> = T::ALL.iter().map(|value| (value.word(), *value)).collect();
    assert_eq!(listed, words);
    for (word, value) in words {
        assert_eq!(T::of(word), Some(*value), "{word}");
        assert_eq!(Word::of(word), Word::Known(*value), "{word}");
    }
    for word in words.iter().map(|(word, _)| *word).chain(["xyzzy"]) {
        let read: Word<T> = serde_json::from_value(word.into()).expect("a word");
        assert_eq!((read.as_str(), &read), (word, &Word::of(word)));
        assert_eq!(serde_json::to_value(&read).expect("JSON"), word);
    }
    assert_eq!(T::of("xyzzy"), None);
    assert_eq!(Word::<T>::of("").known(), None);
}

#[test]
fn words_of_closed_lists_stay() {
    check(&[
        ("ask", Mode::Ask),
        ("edits", Mode::Edits),
        ("plan", Mode::Plan),
        ("auto", Mode::Auto),
    ]);
    check(&[
        ("once", Permission::Once),
        ("turn", Permission::Turn),
        ("always", Permission::Always),
        ("no", Permission::No),
    ]);
    check(&[
        ("auto", DetachedMode::Auto),
        ("defaults", DetachedMode::Defaults),
        ("deny", DetachedMode::Deny),
        ("stop", DetachedMode::Stop),
    ]);
    check(&[("client", Backend::Client), ("inquiry", Backend::Inquiry)]);
    check(&[
        ("in_band", Strategy::InBand),
        ("forced_tool", Strategy::ForcedTool),
        ("structured", Strategy::Structured),
    ]);
    check(&[
        ("checksum", FaultKind::Checksum),
        ("not_json", FaultKind::NotJson),
        ("incomplete", FaultKind::Incomplete),
        ("unreadable", FaultKind::Unreadable),
        ("gap", FaultKind::Gap),
        ("torn", FaultKind::Torn),
    ]);
    check(&[
        ("withdrawn", DismissReason::Withdrawn),
        ("remembered", DismissReason::Remembered),
        ("permitted", DismissReason::Permitted),
        ("answered_elsewhere", DismissReason::AnsweredElsewhere),
    ]);
    check(&[
        ("forced_tool", Feature::ForcedTool),
        ("forced_while_reasoning", Feature::ForcedWhileReasoning),
        ("reasoning", Feature::Reasoning),
        ("reasoning_off", Feature::ReasoningOff),
        ("earlier_reasoning", Feature::History),
        ("reasoning_text", Feature::ReasoningText),
        ("response_without_reasoning", Feature::Unreasoned),
        ("system_message", Feature::SystemMessage),
        ("strict", Feature::Strict),
        ("schema", Feature::Schema),
        ("stream_usage", Feature::StreamUsage),
        ("parallel_calls", Feature::ParallelCalls),
        ("max_completion_tokens", Feature::MaxCompletionTokens),
        ("cache_hint", Feature::CacheHint),
        ("compaction", Feature::Compaction),
    ]);
}

#[test]
fn a_reason_of_a_result_has_its_word_and_its_status() {
    let mode = Some(Mode::Plan);
    let unnoted = ResultReason::Declined { noted: false };
    let unanswered = ResultReason::Unanswered { why: String::new() };
    let prompt_failed = ResultReason::PromptFailed { why: String::new() };
    let needs_approval = ResultReason::NeedsApproval {
        cause: String::new(),
    };
    let invalid_arguments = ResultReason::InvalidArguments { why: String::new() };
    let (denied, error, cancelled) = (Status::Denied, Status::Error, Status::Cancelled);
    for (word, status, reason) in [
        ("declined", denied, ResultReason::Declined { noted: true }),
        ("configuration", denied, ResultReason::DeniedByConfiguration),
        ("command_rule", denied, ResultReason::DeniedByRule),
        ("mode", denied, ResultReason::DeniedByMode(mode)),
        ("not_trusted", denied, ResultReason::NotTrusted),
        ("needs_approval", denied, needs_approval),
        ("prompt_failed", denied, prompt_failed),
        ("withheld", denied, ResultReason::Withheld),
        (
            "withheld_unattended",
            denied,
            ResultReason::WithheldUnattended,
        ),
        ("unanswered", error, unanswered),
        ("invalid_arguments", error, invalid_arguments),
        ("unknown_tool", error, ResultReason::UnknownTool),
        ("too_many_calls", error, ResultReason::TooManyCalls),
        ("too_slow", error, ResultReason::TooSlow),
        ("interrupted", error, ResultReason::Interrupted),
        ("log_failed", error, ResultReason::LogFailed),
        ("cancelled", cancelled, ResultReason::Cancelled),
        ("time_over", cancelled, ResultReason::TimeOver),
    ] {
        assert_eq!((reason.word(), reason.status()), (word, status));
        assert_eq!(ResultReason::of(word, status, true, mode), reason);
        let other = if status == error { denied } else { error };
        let unknown = ResultReason::Unknown {
            status: other,
            word: word.into(),
        };
        assert_eq!(ResultReason::of(word, other, true, mode), unknown);
    }
    assert_eq!(ResultReason::of("declined", denied, false, None), unnoted);
    let unknown = ResultReason::of("full_moon", denied, true, mode);
    assert_eq!((unknown.word(), unknown.status()), ("full_moon", denied));
}

#[test]
fn a_prompt_asks_in_one_line() {
    let run = |title: &str| PromptSubject::RunTool {
        hash: "h".into(),
        diff: false,
        title: title.into(),
    };
    for (subject, text) in [
        (run(""), Some("Run edit?")),
        (run("Change a.txt"), Some("Change a.txt?")),
        (
            PromptSubject::DeliverResult,
            Some("Let the model see the result of edit?"),
        ),
        (
            PromptSubject::Question {
                inquiry: "i".into(),
            },
            None,
        ),
    ] {
        assert_eq!(subject.text("edit").as_deref(), text, "{subject:?}");
    }
}

#[test]
fn people_read_why_a_call_was_refused_or_failed() {
    let status = Status::Error;
    let word = "full_moon".to_owned();
    let why = || "no model".to_owned();
    for (reason, words) in [
        (
            ResultReason::Declined { noted: true },
            "you did not allow it",
        ),
        (
            ResultReason::DeniedByConfiguration,
            "the configuration does not allow it (conversation.tools.ask_user.run)",
        ),
        (
            ResultReason::DeniedByRule,
            "the configuration does not allow it (commands.deny)",
        ),
        (
            ResultReason::DeniedByMode(Some(Mode::Plan)),
            "the mode does not allow it",
        ),
        (ResultReason::NotTrusted, "the workspace is not trusted"),
        (
            ResultReason::NeedsApproval { cause: why() },
            "nobody was there to approve it: no model",
        ),
        (
            ResultReason::PromptFailed { why: why() },
            "the prompt could not be shown: no model",
        ),
        (ResultReason::Withheld, "you withheld the result"),
        (
            ResultReason::WithheldUnattended,
            "nobody was there to release its result",
        ),
        (
            ResultReason::Unanswered { why: why() },
            "its question was not answered: no model",
        ),
        (
            ResultReason::Unanswered { why: String::new() },
            "its question was not answered",
        ),
        (
            ResultReason::InvalidArguments { why: why() },
            "the arguments are invalid: no model",
        ),
        (ResultReason::UnknownTool, "there is no tool of this name"),
        (
            ResultReason::TooManyCalls,
            "the message made too many calls; not run",
        ),
        (
            ResultReason::TooSlow,
            "stopped after its time limit; its effects are unknown",
        ),
        (
            ResultReason::Interrupted,
            "interrupted; its effects are unknown",
        ),
        (
            ResultReason::LogFailed,
            "stopped: the conversation could not be written to disk",
        ),
        (ResultReason::Cancelled, "cancelled by the user"),
        (
            ResultReason::TimeOver,
            "stopped: the turn's time limit was reached",
        ),
        (ResultReason::Unknown { status, word }, "full_moon"),
    ] {
        assert_eq!(reason.in_words("ask_user"), words);
    }
}

#[test]
fn people_read_why_a_question_has_no_answer() {
    for (reason, words) in [
        (Reason::User, "you"),
        (Reason::Withdrawn, "withdrawn"),
        (Reason::BackendError, "it could not be asked"),
        (Reason::NoPromptBackend, "nobody was there to answer"),
        (Reason::AssistantRoutingDenied, "only a person may answer"),
        (
            Reason::InvalidStaticAnswer,
            "the configured answer does not fit",
        ),
        (Reason::DetachedPolicy, "the policy did not allow an answer"),
        (Reason::InvalidQuestion, "the question is broken"),
        (Reason::LimitReached, "too many questions"),
        (Reason::Other("full_moon".into()), "full_moon"),
    ] {
        assert_eq!(reason.in_words(), words);
    }
    let client = Word::Known(Backend::Client);
    let inquiry = Word::Known(Backend::Inquiry);
    let said = |reason: Reason, by, why| reason.of_no_answer(Some(by), why);
    assert_eq!(said(Reason::User, &client, None), "the user declined");
    let why = Some("it shows no texts");
    assert_eq!(
        said(Reason::BackendError, &client, why),
        "it could not be asked: it shows no texts"
    );
    // That is for the model.
    assert_eq!(
        said(Reason::BackendError, &inquiry, why),
        "it could not be asked"
    );
}

#[test]
fn a_model_reads_what_refused_its_call() {
    let text = ModelText::default();
    let refused = |reason: ResultReason| text.refused("run", &reason, Mode::Ask);
    let by_rule = refused(ResultReason::DeniedByRule);
    let by_mode = refused(ResultReason::DeniedByMode(Some(Mode::Plan)));
    assert_ne!(by_rule, refused(ResultReason::DeniedByConfiguration));
    assert_ne!(by_rule, refused(ResultReason::Withheld));
    // The mode on record, whatever the mode is by now.
    assert!(by_mode.contains("plan"), "{by_mode}");
    assert!(!by_mode.contains("ask"), "{by_mode}");
}

#[test]
fn a_directive_tells_of_a_lost_part_of_the_log_or_not() {
    let fault = Word::Known(FaultKind::Torn);
    assert!(DirectiveKind::Lost { line: 1, fault }.is_lost());
    assert!(!DirectiveKind::Moved.is_lost());
}
