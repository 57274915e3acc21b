//! What a provider would be sent, and whether it would take it.

use aside_turn::{
    record::{CallKey, Event},
    transcript::{Item, Transcript},
};

/// What is sent after these events, a line an item.
pub(super) fn lines(events: &[Event]) -> String {
    let transcript = read(events);
    let fork = transcript.fork();
    let lines: Vec<_> = fork
        .items()
        .into_iter()
        .map(|item| format!("  {}", line(item)))
        .collect();
    lines.join("\n")
}

/// Every call is answered in the very next message, in call order, before anything else in it.
pub(super) fn check(events: &[Event]) {
    let transcript = read(events);
    let fork = transcript.fork();
    let mut links: Vec<_> = fork.newest_first().collect();
    links.reverse();
    let mut owed: Vec<CallKey> = Vec::new();
    for link in links {
        let results: Vec<_> = link
            .items
            .iter()
            .map_while(|item| match item {
                Item::ToolResult { call, .. } => Some(*call),
                _ => None,
            })
            .collect();
        let rest = &link.items[results.len()..];
        assert_eq!(
            owed,
            results,
            "calls and their results differ:\n{}",
            lines(events)
        );
        let astray = rest
            .iter()
            .any(|item| matches!(item, Item::ToolResult { .. }));
        assert!(!astray, "a result after other words:\n{}", lines(events));
        owed = calls(rest);
        assert!(
            owed.is_empty() || results.is_empty(),
            "calls beside results:\n{}",
            lines(events)
        );
    }
    assert!(
        owed.is_empty(),
        "calls without a result:\n{}",
        lines(events)
    );
}

fn calls(items: &[Item]) -> Vec<CallKey> {
    let calls = items.iter().filter_map(|item| match item {
        Item::ToolCall { call, .. } => Some(*call),
        _ => None,
    });
    calls.collect()
}

fn read(events: &[Event]) -> Transcript {
    let mut transcript = Transcript::default();
    for event in events {
        transcript.push(event);
    }
    transcript
}

fn line(item: &Item) -> String {
    match item {
        Item::User { text, .. } => format!("user {text:?}"),
        Item::Directive(text) => format!("directive {text:?}"),
        Item::Steer(text) => format!("steer {text:?}"),
        Item::Text { text, .. } => format!("text {text:?}"),
        Item::Reasoning { text, .. } => format!("reasoning {text:?}"),
        Item::ToolCall {
            id,
            name,
            arguments,
            ..
        } => format!("call {id} {name} {arguments}"),
        Item::ToolResult {
            id,
            content,
            is_error,
            ..
        } => {
            format!(
                "result {id}{} {content:?}",
                if *is_error { " error" } else { "" }
            )
        }
    }
}
