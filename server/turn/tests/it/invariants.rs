//! What must hold of a turn's history after each of its events, whatever they are.

use aside_turn::{
    Event,
    history::{CallHistory, CallState, DeliveryState, QuestionState, TurnHistory},
    record::{CallEnd, CallKey, Closed, PromptId, PromptSubject},
};

/// Checks the events of one turn and each of their prefixes. Returns how many open prompts of calls it met.
#[track_caller]
pub(crate) fn check(name: &str, events: &[Event]) -> usize {
    a_prefix_and_then_the_rest_is_what_all_is(name, events);
    what_is_about_nothing_known_changes_no_call(name, events);
    what_a_call_waits_on_is_open_and_its_end_is_final(name, events)
}

#[track_caller]
fn what_a_call_waits_on_is_open_and_its_end_is_final(name: &str, events: &[Event]) -> usize {
    let mut prompts = 0;
    let mut history = TurnHistory::default();
    let mut done: Vec<(CallKey, u32, CallEnd)> = Vec::new();
    for event in events {
        history.apply(event);
        for call in history.open_calls() {
            let Some(prompt) = prompt_of(&history, call) else {
                continue;
            };
            prompts += 1;
            let open = &history.standing().open;
            let is_open = open.iter().any(|open| open.prompt == *prompt);
            assert!(
                is_open || history.standing().is_over(),
                "{name}: {prompt:?} after {event:?}"
            );
            assert_eq!(history.waits_on(call), Some(prompt), "{name}");
        }
        for (key, first, end) in &done {
            let call = history.call(*key).expect("it was made");
            let same = *call.state() == CallState::Done(end.clone());
            assert!(same || call.first() != *first, "{name}: {call:?}");
        }
        done.extend(history.calls().filter_map(|call| match call.state() {
            CallState::Done(end) => Some((call.key(), call.first(), end.clone())),
            _ => None,
        }));
    }
    prompts
}

/// The prompt that a call's state names.
fn prompt_of<'a>(history: &'a TurnHistory, call: &'a CallHistory) -> Option<&'a PromptId> {
    match call.state() {
        CallState::Permission(prompt)
        | CallState::Held {
            delivery: DeliveryState::Asked(prompt),
            ..
        } => Some(prompt),
        CallState::Asking(pair) => match history.question(pair).expect("it was asked").state() {
            QuestionState::Prompted(prompt) => Some(prompt),
            QuestionState::Open => None,
            settled => panic!("a call waits for a question that is {settled:?}"),
        },
        _ => None,
    }
}

#[track_caller]
fn a_prefix_and_then_the_rest_is_what_all_is(name: &str, events: &[Event]) {
    let states = |history: &TurnHistory| {
        let calls = history.calls().map(|call| format!("{call:?}"));
        (calls.collect::<Vec<_>>(), history.standing().clone())
    };
    let whole = TurnHistory::of(events);
    for at in 0..=events.len() {
        let mut history = TurnHistory::of(&events[..at]).clone();
        events[at..].iter().for_each(|event| history.apply(event));
        assert_eq!(states(&history), states(&whole), "{name}, from {at} on");
        assert_eq!(history.applied() as usize, events.len(), "{name}");
    }
}

#[track_caller]
fn what_is_about_nothing_known_changes_no_call(name: &str, events: &[Event]) {
    let unknown = CallKey(1_000);
    let prompt = PromptId("other-1000".into());
    let strange = [
        Event::CallStarted {
            call: unknown,
            run: 1,
            title: "odd".into(),
        },
        Event::PromptOpened {
            prompt: prompt.clone(),
            call: unknown,
            subject: PromptSubject::DeliverResult,
        },
        Event::PromptClosed {
            prompt,
            closed: Closed::Withdrawn,
        },
        Event::ToolResult {
            call: unknown,
            end: CallEnd::Success,
            content: "odd".into(),
            held: false,
            details: None,
            media: Vec::new(),
            summary: None,
        },
    ];
    let calls = |history: &TurnHistory| format!("{:?}", history.calls().collect::<Vec<_>>());
    for at in 0..=events.len() {
        let mut history = TurnHistory::of(&events[..at]);
        let before = calls(&history);
        strange.iter().for_each(|event| history.apply(event));
        assert_eq!(calls(&history), before, "{name}, after {at} events");
    }
}
