//! What is known of a call after its events, one rule a test.

use aside_turn::{
    history::{
        CallState, DeliveryState, OpenPrompt, PendingEnd, QuestionState, RecordedAnswer,
        TurnHistory,
    },
    input::ToolOutput,
    record::{CallEnd, CallKey, Outcome, PromptId, Reason, ResultReason},
};
use serde_json::json;

use crate::events::events;

const CALL: CallKey = CallKey(0);

/// The history of one call that was made and not begun, and then of these events.
fn after(more: &str) -> TurnHistory {
    TurnHistory::of(&events(&format!(
        "start, sent 1, call, respond tool_use, {more}"
    )))
}

#[track_caller]
fn check(more: &str, state: CallState) {
    let history = after(more);
    assert_eq!(*history.call(CALL).expect("it was made").state(), state);
}

fn live(pairs: &[&str]) -> CallState {
    CallState::Running {
        live: pairs.iter().copied().map(str::to_owned).collect(),
    }
}

#[test]
fn a_call_knows_its_place_and_the_last_title_that_says_something() {
    let title = |more: &str| after(more).call(CALL).expect("a call").title().to_owned();
    let permit = "permit turn-1 Change a.txt";
    assert_eq!(title(""), "");
    assert_eq!(title(permit), "Change a.txt");
    assert_eq!(title(&format!("{permit}, begin")), "Change a.txt");
    assert_eq!(
        title(&format!("{permit}, begin Change b.txt")),
        "Change b.txt"
    );
    assert_eq!(after("").call(CALL).expect("a call").first(), 2);
}

#[test]
fn questions_of_a_run_are_open_until_they_have_a_response() {
    check("begin it", live(&[]));
    check("begin it, live i1", live(&["i1"]));
    check("begin it, live i1, live i2, answer i1", live(&["i2"]));
    check("begin it, live i1, fail i1 user", live(&[]));
    // Asked live by a call that does not run: of no consequence.
    check("live i1", CallState::Made);
    check("live i1, fail i1 user", CallState::Made);
}

#[test]
fn a_call_waits_for_the_question_that_it_asked_last() {
    let asking = |pair: &str| CallState::Asking(pair.to_owned());
    check("begin it, ask i1", asking("i1"));
    check("begin it, ask i1, ask i2", asking("i2"));
    check("begin it, ask i1, ask i2, answer i1", asking("i2"));
    check("begin it, ask i1, ask i2, fail i1 user", asking("i2"));
    check("begin it, ask i1, ask i2, answer i2", CallState::Due);
    // A call that has a result or an end does not wait any more.
    check(
        "begin it, ask i1, fail i1 user, ask i2",
        CallState::Ending(PendingEnd::Unanswered("i1".into())),
    );
    let held = CallState::Held {
        end: CallEnd::Success,
        delivery: DeliveryState::Unasked,
    };
    check("begin it, hold ok, ask i1", held);
    let history = after("begin it, ask i1, ask i2");
    let details = history.call(CALL).and_then(|call| call.details());
    assert_eq!(details.expect("its step is not over").asked, 2);
}

#[test]
fn a_withdrawn_question_cancels_its_call_and_any_other_end_leaves_it_unanswered() {
    let check = |reason: &str, end| {
        let events = format!("begin it, ask i1, fail i1 {reason}");
        check(&events, CallState::Ending(end));
    };
    check("withdrawn", PendingEnd::Cancelled);
    check("user", PendingEnd::Unanswered("i1".into()));
    check("backend_error", PendingEnd::Unanswered("i1".into()));
}

#[test]
fn a_call_has_the_last_answer_to_each_of_its_questions() {
    let answers = |more: &str| {
        let history = after(&format!("begin it, ask i1, answer i1{more}"));
        let call = history.call(CALL).expect("it was made");
        call.details()
            .expect("its step is not over")
            .answers
            .clone()
    };
    let given = [("backup".to_owned(), RecordedAnswer::Value(json!(true)))];
    assert_eq!(answers(""), given);
    assert_eq!(answers(", begin it, ask i2, answer i2"), given);
}

#[test]
fn a_note_of_blanks_says_nothing_to_the_model() {
    for (note, noted) in [
        (None, false),
        (Some(""), false),
        (Some(" \n"), false),
        (Some("Not that."), true),
    ] {
        let end = PendingEnd::Declined {
            note: note.map(Into::into),
        };
        assert_eq!(end.reason(), ResultReason::Declined { noted }, "{note:?}");
    }
}

#[test]
fn a_prompt_knows_its_first_and_its_last_event() {
    let places = |more: &str| {
        let history = after(&format!("begin it, ask i1, put turn-1 i1{more}"));
        let prompt = history.prompt(&PromptId("turn-1".into()));
        let prompt = prompt.expect("it was opened");
        (prompt.first(), prompt.last())
    };
    assert_eq!(places(""), (6, 6));
    assert_eq!(places(", answer i1"), (6, 7));
}

#[test]
fn a_question_knows_whether_it_was_live_and_how_the_same_one_failed_before() {
    let question = |more: &str, pair: &str| {
        let history = after(more);
        let asked = history.question(pair).expect("it was asked");
        let before = asked.before().map(|failed| failed.reason.clone());
        (asked.is_live(), before)
    };
    assert_eq!(question("begin it, live i1", "i1"), (true, None));
    for (reason, before) in [
        ("backend_error", Some(Reason::BackendError)),
        ("user", Some(Reason::User)),
        // Nobody answered it, and nobody failed to.
        ("withdrawn", None),
    ] {
        let again = format!("begin it, live i1, fail i1 {reason}, ask i2");
        assert_eq!(question(&again, "i2"), (false, before));
    }
}

#[test]
fn a_retry_of_a_forced_tool_is_one_until_it_has_its_response() {
    let is_retrying = |more: &str| after(more).force().is_retrying();
    assert!(!is_retrying(""));
    assert!(is_retrying("directive force_again, sent 2"));
    assert!(!is_retrying("directive force_again, sent 2, respond stop"));
}

#[test]
fn a_prompt_is_open_until_anything_settles_it() {
    let run = "begin it, ask i1, put turn-1 i1";
    let deliver = "begin it, hold ok, deliver turn-1";
    for (before, event, inquiry, is_open) in [
        (run, "begin it", Some("i1"), true),
        (run, "answer i2", Some("i1"), true),
        (run, "answer i1", Some("i1"), false),
        (run, "result ok", Some("i1"), false),
        (run, "hold ok", Some("i1"), true),
        (deliver, "answer i1", None, true),
        (deliver, "result ok", None, false),
        (deliver, "withdraw turn-1", None, false),
    ] {
        let open = OpenPrompt {
            prompt: PromptId("turn-1".into()),
            call: CALL,
            inquiry: inquiry.map(str::to_owned),
        };
        assert_eq!(after(before).standing().open, std::slice::from_ref(&open));
        let history = after(&format!("{before}, {event}"));
        let expected = if is_open { vec![open] } else { Vec::new() };
        assert_eq!(history.standing().open, expected, "{event}");
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
    let check = |more: &str, calls: usize| {
        assert_eq!(after(more).permission_calls().count(), calls, "{more}");
    };
    check("", 0);
    check("permit turn-1 Run it", 1);
    check("permit turn-1 Run it, say turn-1 once", 1);
    check("permit turn-1 Run it, say turn-1 once, begin it", 0);
    check("permit turn-1 Run it, say turn-1 no", 0);
}

#[test]
fn a_turn_is_over_from_its_end_on_until_it_goes_on() {
    let completed = Some(Outcome::Completed);
    for (events, outcome, is_over) in [
        ("", None, false),
        ("end completed", completed, true),
        // What comes after the end does not go on with the turn.
        ("end completed, notice late", completed, true),
        ("end interrupted", Some(Outcome::Interrupted), false),
        ("end interrupted, begin it", None, false),
        // Without its message there is nothing to go on with.
        (
            "end completed, begin it, start",
            Some(Outcome::Cancelled),
            true,
        ),
    ] {
        let history = after(events);
        let standing = history.standing();
        assert_eq!((standing.outcome, standing.is_over()), (outcome, is_over));
    }
}

#[test]
fn a_question_has_one_response_and_the_prompt_that_asked_it_last() {
    let prompt = |more: &str| {
        let history = after(&format!("begin it, ask i1{more}"));
        let asked = history.question("i1").expect("it was asked");
        (asked.prompt().cloned(), asked.is_open())
    };
    let numbered = |number| Some(PromptId::numbered("turn", number));
    assert_eq!(prompt(""), (None, true));
    assert_eq!(prompt(", put turn-1 i1"), (numbered(1), true));
    let again = ", put turn-1 i1, put turn-2 i1";
    assert_eq!(prompt(again), (numbered(2), true));
    assert_eq!(prompt(", put turn-1 i1, answer i1"), (numbered(1), false));
    let history = after("begin it, ask i1, answer i1, fail i1 user");
    let state = history.question("i1").expect("it was asked").state();
    assert!(matches!(state, QuestionState::Answered { .. }), "{state:?}");
}
