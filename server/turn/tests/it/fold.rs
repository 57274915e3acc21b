//! What became of a turn is folded once from its events. Tested on every prefix of every conversation: what must
//! hold of it, and that a resumed turn decides as one that was never interrupted.

use aside_turn::{
    Event,
    history::{CallHistory, CallState, DeliveryState, Progress, TurnHistory},
    record::{CallKey, ResultReason},
    response::Finish,
};

use crate::{
    conversations,
    events::{event, events},
    invariants,
    play::Play,
};

/// The events of every conversation.
fn all() -> impl Iterator<Item = (String, Vec<Event>)> {
    let all = conversations::all();
    all.map(|(name, input)| (name, Play::of(&input).events))
}

#[test]
fn what_must_hold_of_a_history_holds_after_each_event() {
    let mut prompts = 0;
    for (name, events) in all() {
        prompts += invariants::check(&name, &events);
    }
    assert!(prompts > 100, "only {prompts} open prompts were looked at");
}

#[test]
fn a_call_whose_step_is_over_keeps_little() {
    let (_, events) = all()
        .find(|(name, _)| name == "resume, all results there: the next request")
        .expect("the conversation is there");
    let mut history = TurnHistory::of(&events);
    assert!(history.calls().count() > 0);
    history.apply(&Event::RequestSent { step: 9 });
    assert!(history.calls().all(|call| call.details().is_none()));
    assert!(history.open_calls().next().is_none());
    let size = size_of::<CallHistory>();
    assert!(size <= 160, "{size} bytes");
}

#[test]
fn keys_go_on_from_the_greatest_also_where_calls_were_lost() {
    let played = Play::of("tool read\ndo a read {} & b read {}\ndone a one\ndone b two");
    let first = |event: &Event| matches!(event, Event::ToolCall { call, .. } if call.0 == 0);
    let is_lost = |event: &&Event| !first(event);
    let log: Vec<Event> = played.events.iter().filter(is_lost).cloned().collect();
    assert_eq!(log.len() + 1, played.events.len());
    assert_eq!(TurnHistory::of(&log).next_call(), CallKey(2));
    let mut play = Play::cut(&played, 0);
    play.events = log;
    play.resume(Vec::new());
    play.line("do c read {}");
    let keys: Vec<u32> = play
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ToolCall { call, .. } => Some(call.0),
            _ => None,
        })
        .collect();
    assert_eq!(keys, [1, 2]);
}

#[test]
fn an_inquiry_that_is_not_made_again_fails_for_the_same_reason_also_after_a_crash() {
    let played = Play::of(
        "tool edit\ndo a edit {\"n\":1}\nasks a backup boolean: Keep a backup?\nfail auth the key is rejected\n\
         do b edit {\"n\":2}\nasks b backup boolean: Keep a backup?",
    );
    let told = Some(("error", "Inquiry failed: the key is rejected"));
    assert_eq!(played.result("b"), told);
    let is_response = |event: &Event| matches!(event, Event::InquiryResponse { .. });
    let last = played.events.iter().rposition(is_response);
    let mut cut = Play::cut(&played, last.expect("it has a response") + 1);
    assert_eq!(cut.result("b"), None);
    cut.resume(Vec::new());
    assert_eq!(cut.result("b"), told);
}

#[test]
fn a_response_that_was_never_whole_does_not_count() {
    let mut history = TurnHistory::of(&events("sent 1, call 0"));
    assert_eq!(history.step_calls().count(), 0);
    assert_eq!(history.next_call(), CallKey(0));
    history.apply(&event("respond tool_use"));
    assert_eq!(history.open_calls().count(), 1);
    assert_eq!(history.next_call(), CallKey(1));
    history.apply(&event("result one"));
    // The line of the next request was lost: there is no response without one.
    history.apply(&event("call 1"));
    assert_eq!(history.open_calls().count(), 0);
    assert_eq!(history.step(), 2);
}

#[test]
fn a_turn_owes_a_response_to_what_came_after_its_last_one() {
    for (more, is_owing) in [
        ("", false),
        (", steer Wait.", true),
        (", directive empty Go on.", true),
        (", notice Late.", false),
    ] {
        let history = TurnHistory::of(&events(&format!("sent 1, text One., respond stop{more}")));
        let progress = Progress::Answered {
            finish: Some(Finish::Stop),
            owing: is_owing,
        };
        assert_eq!(*history.progress(), progress, "{more}");
    }
}

#[test]
fn an_answer_that_nobody_knows_permits_and_delivers_nothing() {
    let played = Play::of("client\ntool run class=more\ndo a run {}");
    let mut history = TurnHistory::of(&played.events);
    history.apply(&event("say turn-1 perhaps"));
    let call = history.call(CallKey(0)).expect("it was made");
    assert_eq!(*call.state(), CallState::Due);
    let details = call.details().expect("its step is not over");
    assert_eq!(details.permitted, None);
    assert!(!history.memory().is_permitted("hash of run"));

    let played = Play::of("client\ntool read result=ask\ndo a read {}\ndone a secret plan");
    let mut history = TurnHistory::of(&played.events);
    history.apply(&event("say turn-1 perhaps"));
    let call = history.call(CallKey(0)).expect("it was made");
    let CallState::Held { delivery, .. } = call.state() else {
        panic!("{call:?}");
    };
    assert_eq!(*delivery, DeliveryState::Unasked);
}

#[test]
fn a_directive_of_an_unknown_kind_counts_for_nothing() {
    let history = TurnHistory::of(&events(
        "sent 1, directive shout Your last response was cut off.",
    ));
    assert_eq!((history.cuts(), history.schema_repair()), (0, false));
}

#[test]
fn a_refusal_of_an_unknown_reason_is_not_repeated() {
    let played = Play::of("tool read\ndo a read {}");
    let mut history = TurnHistory::of(&played.events);
    history.apply(&Event::ToolResult {
        call: CallKey(0),
        end: ResultReason::Unknown {
            status: aside_turn::record::Status::Denied,
            word: "full_moon".into(),
        }
        .into(),
        content: "read needs approval".into(),
        held: false,
        details: None,
        media: Vec::new(),
        summary: None,
    });
    let memory = history.memory();
    assert_eq!(memory.refused("read", &serde_json::json!({})), None);
    assert!(memory.refusals().is_empty());
}
