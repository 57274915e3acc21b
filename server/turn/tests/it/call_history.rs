//! What is known of a call after its events, one rule a test.

use aside_turn::{
    Event,
    history::{CallState, OpenPrompt, PendingEnd, QuestionState, TurnHistory},
    input::ToolOutput,
    question::{AnswerType, Question, Source},
    record::{
        By, CallEnd, CallKey, Closed, DirectiveKind, InquiryResponse, Level, Outcome, Permission,
        PromptId, PromptSubject, Reason, Word,
    },
    response::{Finish, Usage},
};
use serde_json::json;

const CALL: CallKey = CallKey(0);

/// The history of one call that was made and not begun, and then of these events.
fn after(events: &[Event]) -> TurnHistory {
    let made = [
        Event::TurnStart,
        Event::RequestSent { step: 1 },
        Event::ToolCall {
            call: CALL,
            id: "a".into(),
            name: "edit".into(),
            arguments: "{}".into(),
            opaque: None,
        },
        Event::ResponseEnd {
            finish: Some(Finish::ToolUse),
            usage: Usage::default(),
        },
    ];
    TurnHistory::of(made.iter().chain(events))
}

fn started(title: &str) -> Event {
    Event::CallStarted {
        call: CALL,
        run: 1,
        title: title.into(),
    }
}

fn asked(pair: &str, live: bool) -> Event {
    Event::InquiryRequest {
        id: pair.into(),
        call: CALL,
        source: Source::Tool {
            name: "edit".into(),
        },
        question: Question::new("backup", "Keep a backup?", AnswerType::Boolean),
        live,
        label: None,
    }
}

fn response(pair: &str, response: InquiryResponse) -> Event {
    Event::InquiryResponse {
        id: pair.into(),
        call: CALL,
        response,
    }
}

fn answered(pair: &str) -> Event {
    let answered = InquiryResponse::Answered {
        answer: true.into(),
        by: By::User,
        remember: false,
        shown: None,
        effort: None,
    };
    response(pair, answered)
}

fn unanswered(pair: &str, reason: Reason) -> Event {
    let cancelled = InquiryResponse::Cancelled {
        reason,
        backend: None,
        note: None,
        why: None,
        shown: None,
        effort: None,
    };
    response(pair, cancelled)
}

#[track_caller]
fn check(events: &[Event], state: CallState) {
    let history = after(events);
    assert_eq!(*history.call(CALL).expect("it was made").state(), state);
}

fn live(pairs: &[&str]) -> CallState {
    CallState::Running {
        live: pairs.iter().copied().map(str::to_owned).collect(),
    }
}

#[test]
fn a_call_knows_its_place_and_the_last_title_that_says_something() {
    let title = |events: &[Event]| after(events).call(CALL).expect("a call").title().to_owned();
    let permission = Event::PromptOpened {
        prompt: PromptId("turn-1".into()),
        call: CALL,
        subject: PromptSubject::RunTool {
            hash: "h".into(),
            diff: false,
            title: "Change a.txt".into(),
        },
    };
    assert_eq!(title(&[]), "");
    assert_eq!(title(std::slice::from_ref(&permission)), "Change a.txt");
    assert_eq!(title(&[permission.clone(), started("")]), "Change a.txt");
    assert_eq!(
        title(&[permission, started("Change b.txt")]),
        "Change b.txt"
    );
    assert_eq!(after(&[]).call(CALL).expect("a call").first(), 2);
}

#[test]
fn questions_of_a_run_are_open_until_they_have_a_response() {
    let run = || started("it");
    check(&[run()], live(&[]));
    check(&[run(), asked("i1", true)], live(&["i1"]));
    check(
        &[run(), asked("i1", true), asked("i2", true), answered("i1")],
        live(&["i2"]),
    );
    check(
        &[run(), asked("i1", true), unanswered("i1", Reason::User)],
        live(&[]),
    );
    // Asked live by a call that does not run: of no consequence.
    check(&[asked("i1", true)], CallState::Made);
    check(
        &[asked("i1", true), unanswered("i1", Reason::User)],
        CallState::Made,
    );
}

#[test]
fn a_call_waits_for_the_question_that_it_asked_last() {
    let asking = |pair: &str| CallState::Asking(pair.to_owned());
    let first = [started("it"), asked("i1", false)];
    check(&first, asking("i1"));
    let both = [first.to_vec(), vec![asked("i2", false)]].concat();
    check(&both, asking("i2"));
    check(&[both.clone(), vec![answered("i1")]].concat(), asking("i2"));
    let late = [both.clone(), vec![unanswered("i1", Reason::User)]].concat();
    check(&late, asking("i2"));
    check(
        &[both.clone(), vec![answered("i2")]].concat(),
        CallState::Due,
    );
    let history = after(&both);
    let details = history.call(CALL).and_then(|call| call.details());
    assert_eq!(details.expect("its step is not over").asked, 2);
}

#[test]
fn a_withdrawn_question_cancels_its_call_and_any_other_end_leaves_it_unanswered() {
    let asked = asked("i1", false);
    for (reason, end) in [
        (Reason::Withdrawn, PendingEnd::Cancelled),
        (Reason::User, PendingEnd::Unanswered("i1".into())),
        (Reason::BackendError, PendingEnd::Unanswered("i1".into())),
    ] {
        check(
            &[started("it"), asked.clone(), unanswered("i1", reason)],
            CallState::Ending(end),
        );
    }
}

#[test]
fn a_prompt_knows_its_first_and_its_last_event() {
    let prompt = PromptId("turn-1".into());
    let opened = Event::PromptOpened {
        prompt: prompt.clone(),
        call: CALL,
        subject: PromptSubject::Question {
            inquiry: "i1".into(),
        },
    };
    let places = |events: &[Event]| {
        let history = after(events);
        let prompt = history.prompt(&prompt).expect("it was opened");
        (prompt.first(), prompt.last())
    };
    let run = [started("it"), asked("i1", false), opened.clone()];
    assert_eq!(places(&run), (6, 6));
    // Older programs open the same prompt again on a resume.
    let again = [&run[..], &[opened]].concat();
    assert_eq!(places(&again), (6, 7));
    let answered = [&again[..], &[answered("i1")]].concat();
    assert_eq!(places(&answered), (6, 8));
}

#[test]
fn a_question_knows_whether_it_was_live_and_how_the_same_one_failed_before() {
    let question = |events: &[Event], pair: &str| {
        let history = after(events);
        let asked = history.question(pair).expect("it was asked");
        let before = asked.before().map(|failed| failed.reason.clone());
        (asked.is_live(), before)
    };
    let live = [started("it"), asked("i1", true)];
    assert_eq!(question(&live, "i1"), (true, None));
    for (reason, before) in [
        (Reason::BackendError, Some(Reason::BackendError)),
        (Reason::User, Some(Reason::User)),
        // Nobody answered it, and nobody failed to.
        (Reason::Withdrawn, None),
    ] {
        let again = [
            started("it"),
            asked("i1", true),
            unanswered("i1", reason),
            asked("i2", false),
        ];
        assert_eq!(question(&again, "i2"), (false, before));
    }
}

#[test]
fn a_retry_of_a_forced_tool_is_one_until_it_has_its_response() {
    let directive = Event::Directive {
        kind: DirectiveKind::ForceAgain { tool: None },
        text: String::new(),
    };
    let response = Event::ResponseEnd {
        finish: Some(Finish::Stop),
        usage: Usage::default(),
    };
    let sent = Event::RequestSent { step: 2 };
    let is_retrying = |events: &[Event]| after(events).force().is_retrying();
    assert!(!is_retrying(&[]));
    assert!(is_retrying(&[directive.clone(), sent.clone()]));
    assert!(!is_retrying(&[directive, sent, response]));
}

#[test]
fn a_prompt_is_open_until_anything_settles_it() {
    let prompt = PromptId("turn-1".into());
    let opened = |subject: PromptSubject| Event::PromptOpened {
        prompt: prompt.clone(),
        call: CALL,
        subject,
    };
    let question = || {
        opened(PromptSubject::Question {
            inquiry: "i1".into(),
        })
    };
    let result = |held: bool| Event::ToolResult {
        call: CALL,
        end: CallEnd::Success,
        content: "ok".into(),
        held,
        details: None,
        summary: None,
    };
    let closed = Event::PromptClosed {
        prompt: prompt.clone(),
        closed: Closed::Withdrawn,
    };
    let run = [started("it"), asked("i1", false), question()];
    let deliver = [
        started("it"),
        result(true),
        opened(PromptSubject::DeliverResult),
    ];
    for (before, event, inquiry, is_open) in [
        (&run, started("it"), Some("i1"), true),
        (&run, answered("i2"), Some("i1"), true),
        (&run, answered("i1"), Some("i1"), false),
        (&run, result(false), Some("i1"), false),
        (&run, result(true), Some("i1"), true),
        (&deliver, answered("i1"), None, true),
        (&deliver, result(false), None, false),
        (&deliver, closed, None, false),
    ] {
        let open = OpenPrompt {
            prompt: prompt.clone(),
            call: CALL,
            inquiry: inquiry.map(str::to_owned),
        };
        assert_eq!(after(before).standing().open, std::slice::from_ref(&open));
        let history = after(&[&before[..], std::slice::from_ref(&event)].concat());
        let expected = if is_open { vec![open] } else { Vec::new() };
        assert_eq!(history.standing().open, expected, "{event:?}");
    }
}

#[test]
fn a_result_says_with_which_status_its_command_exited() {
    let status = |details| ToolOutput::exit_status(Some(&details));
    assert_eq!(status(json!({"exit_status": 0})), Some(0));
    assert_eq!(status(json!({"exit_status": 137})), Some(137));
    assert_eq!(status(json!({"exit_status": "0"})), None);
    assert_eq!(status(json!({"lines": 3})), None);
    assert_eq!(ToolOutput::exit_status(None), None);
}

#[test]
fn a_permission_is_waited_for_or_given_until_the_call_runs() {
    let prompt = PromptId("turn-1".into());
    let opened = Event::PromptOpened {
        prompt: prompt.clone(),
        call: CALL,
        subject: PromptSubject::RunTool {
            hash: "h".into(),
            diff: false,
            title: "Run it".into(),
        },
    };
    let closed = |permission| Event::PromptClosed {
        prompt: prompt.clone(),
        closed: Closed::Permitted {
            permission: Word::Known(permission),
            new_text: None,
            shown: None,
        },
    };
    let check = |events: &[&Event], calls: usize| {
        let events: Vec<Event> = events.iter().copied().cloned().collect();
        assert_eq!(
            after(&events).permission_calls().count(),
            calls,
            "{events:?}"
        );
    };
    let (once, no) = (closed(Permission::Once), closed(Permission::No));
    check(&[], 0);
    check(&[&opened], 1);
    check(&[&opened, &once], 1);
    check(&[&opened, &once, &started("it")], 0);
    check(&[&opened, &no], 0);
}

#[test]
fn a_turn_is_over_from_its_end_on_until_it_goes_on() {
    let end = |outcome| Event::TurnEnd {
        outcome,
        answer: None,
        structured: None,
        error: None,
        usage: Usage::default(),
        refusals: Vec::new(),
    };
    let notice = Event::Notice {
        level: Level::Info,
        text: "late".into(),
    };
    let completed = end(Outcome::Completed);
    for (events, outcome, is_over) in [
        (vec![], None, false),
        (vec![completed.clone()], Some(Outcome::Completed), true),
        // What comes after the end does not go on with the turn.
        (
            vec![completed.clone(), notice],
            Some(Outcome::Completed),
            true,
        ),
        (
            vec![end(Outcome::Interrupted)],
            Some(Outcome::Interrupted),
            false,
        ),
        (vec![end(Outcome::Interrupted), started("it")], None, false),
        // Without its message there is nothing to go on with.
        (
            vec![completed, started("it"), Event::TurnStart],
            Some(Outcome::Cancelled),
            true,
        ),
    ] {
        let history = after(&events);
        let standing = history.standing();
        assert_eq!((standing.outcome, standing.is_over()), (outcome, is_over));
    }
}

#[test]
fn a_question_has_one_response_and_the_prompt_that_asked_it_last() {
    let opened = |number: u32| Event::PromptOpened {
        prompt: PromptId::numbered("turn", number),
        call: CALL,
        subject: PromptSubject::Question {
            inquiry: "i1".into(),
        },
    };
    let run = [started("it"), asked("i1", false)];
    let prompt = |more: &[Event]| {
        let history = after(&[&run[..], more].concat());
        let asked = history.question("i1").expect("it was asked");
        (asked.prompt().cloned(), asked.is_open())
    };
    let numbered = |number| Some(PromptId::numbered("turn", number));
    assert_eq!(prompt(&[]), (None, true));
    assert_eq!(prompt(&[opened(1)]), (numbered(1), true));
    assert_eq!(prompt(&[opened(1), opened(2)]), (numbered(2), true));
    assert_eq!(prompt(&[opened(1), answered("i1")]), (numbered(1), false));
    let twice = [&run[..], &[answered("i1"), unanswered("i1", Reason::User)]].concat();
    let history = after(&twice);
    let state = history.question("i1").expect("it was asked").state();
    assert!(matches!(state, QuestionState::Answered { .. }), "{state:?}");
}
