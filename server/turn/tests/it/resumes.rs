//! Where a turn goes on whose process ended, and what it still knows.

use aside_turn::{
    Effect, Event,
    attachment::Attachment,
    effect::Update,
    history::TurnHistory,
    record::{DirectiveKind, Outcome},
    response::Usage,
};
use serde_json::json;

use crate::play::Play;

/// The conversation, cut behind the end of its first response and gone on with: what is recorded then.
fn after_the_response(text: &str) -> Vec<Event> {
    after(text, |event| matches!(event, Event::ResponseEnd { .. }))
}

/// The conversation, cut behind its first event of this kind and gone on with: what is recorded then.
fn after(text: &str, is_last: impl Fn(&Event) -> bool) -> Vec<Event> {
    let (mut play, recorded) = cut_behind(text, is_last);
    play.events.split_off(recorded)
}

/// The conversation, cut behind its first event of this kind and gone on with, and how many events it had then.
fn cut_behind(text: &str, is_last: impl Fn(&Event) -> bool) -> (Play, usize) {
    let played = Play::of(text);
    let recorded = played.events.iter().position(is_last).expect("an event") + 1;
    let mut cut = Play::cut(&played, recorded);
    cut.resume(Vec::new());
    (cut, recorded)
}

#[test]
fn a_paused_response_is_asked_for_again() {
    let events = after_the_response("text Half an answer.\nfinish pause");
    assert_eq!(events, [Event::RequestSent { step: 2 }]);
}

#[test]
fn a_response_that_was_cut_with_nothing_complete_is_answered_with_a_directive() {
    let events = after_the_response("cut a read {\"path\nfinish max_tokens");
    let [
        Event::Directive { kind, .. },
        Event::Notice { .. },
        Event::RequestSent { step: 2 },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(*kind, DirectiveKind::Cut);
}

#[test]
fn a_whole_answer_ends_the_turn() {
    let events = after_the_response("say Done.");
    let [
        Event::TurnEnd {
            outcome, answer, ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*outcome, answer.as_deref()),
        (Outcome::Completed, Some("Done."))
    );
}

#[test]
fn tokens_of_responses_and_inquiries_are_counted_from_the_record() {
    let played = Play::of(
        "tool edit\nusage input=10 output=3\ndo a edit {}\nasks a backup boolean: Keep a backup?\nbyte\n\
         usage input=20 output=2\nreply a true",
    );
    let usage = TurnHistory::of(&played.events).usage();
    let expected = Usage {
        input: 30,
        output: 5,
        ..Usage::default()
    };
    assert_eq!(usage, expected, "{}", played.out);
}

/// The process ended between the outcome of the question and that of its call.
#[test]
fn a_call_whose_question_has_no_answer_ends_for_that_reason() {
    let text =
        "updates\nclient\ntool edit\ndo a edit {}\nasks a backup boolean: Keep it?\ndecline a";
    let is_outcome = |event: &Event| matches!(event, Event::InquiryResponse { .. });
    let (cut, _) = cut_behind(text, is_outcome);
    let summary = cut.effects.iter().find_map(|effect| match effect {
        Effect::Tell(Update::ToolResult { summary, .. }) => Some(summary.as_str()),
        _ => None,
    });
    assert_eq!(
        summary,
        Some("its question was not answered: the user declined")
    );
}

#[test]
fn a_result_that_was_held_back_is_let_through_as_it_was() {
    let mut held = Play::of("client\ntool run result=ask\ndo a run {}\ndone a one\\ntwo");
    let is_held = |event: &&mut Event| matches!(event, Event::ToolResult { held: true, .. });
    let result = held.events.iter_mut().find(is_held);
    let Some(Event::ToolResult {
        summary,
        details,
        media,
        ..
    }) = result
    else {
        panic!("{}", held.out);
    };
    *summary = Some("2 lines".into());
    *details = Some(json!({"exit_status": 0}));
    *media = vec![Attachment::text("a.txt", "One.")];
    let mut expected = result.cloned().expect("a result");
    if let Event::ToolResult { held, .. } = &mut expected {
        *held = false;
    }
    held.line("crash");
    held.line("resume p1=yes");
    let let_through = held.events.iter().rev().nth(1);
    assert_eq!(let_through, Some(&expected), "{}", held.out);
}

#[test]
fn a_message_that_came_meanwhile_is_answered() {
    let events = after_the_response("text One.\nsteer Test it, too.\nfinish stop");
    assert_eq!(events, [Event::RequestSent { step: 2 }]);
}

#[test]
fn a_model_that_was_told_to_call_a_tool_is_asked_again() {
    let missed = "tool edit\nchoice edit\nmodel forces=no\nsay Words.";
    let is_told = |event: &Event| matches!(event, Event::Directive { kind, .. } if matches!(kind, DirectiveKind::ForceAgain { .. }));
    assert_eq!(after(missed, is_told), [Event::RequestSent { step: 2 }]);
}

/// A command that waits for a person's word, in a turn that was left; what is recorded of a resume with this answer, in a
/// world that is other by these lines.
fn left_and_resumed(other: &str, answer: &str) -> (Play, Vec<Event>) {
    let mut play = Play::of("client\ntool run class=more manual\ndo a run {}\nready a hash=walled");
    let recorded = play.events.len();
    play.line("crash");
    play.line("no-client");
    for line in other.lines() {
        play.line(line);
    }
    play.line(&format!("resume {answer}"));
    let more = play.events[recorded..].to_vec();
    (play, more)
}

#[test]
fn without_the_trust_that_its_answer_needs_a_resume_uses_nothing_up() {
    for answer in ["p1=once", ""] {
        let (mut play, more) = left_and_resumed("untrusted", answer);
        assert_eq!(more, [], "{}", play.out);
        let why = "cannot resume: the turn was left as it is, for run waits for an answer that would be in vain: the \
                   workspace is not trusted";
        assert!(play.out.contains(why), "{}", play.out);
        // The prompt is open still.
        play.world.rules.trusted = true;
        play.line("tool run detached.run=deny");
        play.line("resume");
        play.line("ready a hash=walled");
        assert!(play.is_parked(), "{}", play.out);
    }
    let (play, more) = left_and_resumed("mode plan", "p1=once");
    assert_eq!(more, [], "{}", play.out);
}

/// A command that would run outside the sandbox now is not the one that was asked about.
#[test]
fn an_answer_to_what_has_changed_since_is_not_used_and_the_call_waits_on() {
    for detached in ["deny", "auto", "defaults", "stop"] {
        let other = format!("tool run detached.run={detached}");
        let (mut play, _) = left_and_resumed(&other, "p1=once");
        play.line("ready a hash=bare");
        assert!(play.is_parked(), "{}", play.out);
        assert_eq!(play.result("a"), None, "{}", play.out);
        assert!(play.out.contains("The answer was not used"), "{}", play.out);
        play.line("resume p2=once");
        play.line("ready a hash=bare");
        play.line("done a ok");
        assert_eq!(play.result("a"), Some(("ok", "ok")), "{}", play.out);
    }
}

#[test]
fn what_was_permitted_and_has_changed_before_it_ran_waits_for_a_person_again() {
    let begin = "client\ntool run class=more manual\nlimit at_once=1\ndo a run {} & b run {}\n\
                 ready a hash=h1\nready b hash=h2\nanswer a \"once\"\nanswer b \"once\"\n";
    let left = "crash\nno-client\nresume\nready b hash=h3\n";
    let play = Play::of(&(begin.to_owned() + left));
    assert!(play.is_parked(), "{}", play.out);
    assert_eq!(play.result("b"), None, "{}", play.out);
}
