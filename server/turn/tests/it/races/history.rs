//! Whether what a provider is sent is a history that it takes: every call has its result in the next message of
//! the user's, in order, and nothing else does.

use aside_turn::{
    inquiry::{CallResult, Message, SideRequest},
    record::CallKey,
    response::{self, Kind},
    transcript::{Fork, Item, Link},
};

/// The turn's own request. `paused`: the provider wants the same again.
pub(crate) fn of_turn(sent: &Fork, paused: bool) -> Result<(), String> {
    let mut links: Vec<&Link> = sent.newest_first().collect();
    links.reverse();
    let mut owed: Vec<(CallKey, &str)> = Vec::new();
    for link in &links {
        owed = of_link(link, &owed)?;
    }
    if !owed.is_empty() {
        return Err(format!("calls without a result: {owed:?}"));
    }
    match links.last() {
        None => Err("an empty request".into()),
        Some(last) if is_model(last) && !paused => {
            Err(format!("nothing to answer after {:?}", last.items))
        }
        Some(_) => Ok(()),
    }
}

/// The calls of this link, which must first answer those of the one before it.
fn of_link<'a>(
    link: &'a Link,
    owed: &[(CallKey, &str)],
) -> Result<Vec<(CallKey, &'a str)>, String> {
    let results: Vec<(CallKey, &str)> = link
        .items
        .iter()
        .take_while(|item| matches!(item, Item::ToolResult { .. }))
        .filter_map(|item| match item {
            Item::ToolResult { call, id, .. } => Some((*call, id.as_str())),
            _ => None,
        })
        .collect();
    if results != owed {
        return Err(format!("open calls {owed:?} were given {results:?}"));
    }
    let rest = &link.items[results.len()..];
    if rest
        .iter()
        .any(|item| matches!(item, Item::ToolResult { .. }))
    {
        return Err(format!("a result after something else: {:?}", link.items));
    }
    let calls = calls(link);
    if is_model(link) != link.items.iter().all(is_of_model) {
        return Err(format!("a link of both sides: {:?}", link.items));
    }
    Ok(calls)
}

fn calls(link: &Link) -> Vec<(CallKey, &str)> {
    link.items
        .iter()
        .filter_map(|item| match item {
            Item::ToolCall { call, id, .. } => Some((*call, id.as_str())),
            _ => None,
        })
        .collect()
}

fn is_model(link: &Link) -> bool {
    link.items.iter().any(is_of_model)
}

fn is_of_model(item: &Item) -> bool {
    matches!(
        item,
        Item::Text { .. } | Item::Reasoning { .. } | Item::ToolCall { .. }
    )
}

/// A side request. `again`: it was sent before. `delivered` is what the model may see of a call.
pub(crate) fn of_ask(
    sent: &Fork,
    ask: &SideRequest,
    again: bool,
    delivered: impl Fn(CallKey) -> Option<(String, bool)>,
) -> Result<(), String> {
    let open = sent.newest_first().next().map(calls).unwrap_or_default();
    let Some(Message::User { results, .. }) = ask.messages.first() else {
        return Err("an inquiry begins with a message of the user's".into());
    };
    if open.is_empty() || results.len() != open.len() {
        return Err(format!("open calls {open:?} were given {results:?}"));
    }
    for (result, (call, id)) in results.iter().zip(&open) {
        let asks = ask.calls.contains(call);
        let known = delivered(*call);
        // What was sent once is not changed when it is sent again or repaired.
        let right = match &known {
            Some((content, is_error)) if !asks => {
                (result.content == *content && result.is_error == *is_error)
                    || (again && is_waiting(result))
            }
            _ => is_waiting(result),
        };
        if result.id != *id || !right {
            return Err(format!("{id} was given {result:?}, known is {known:?}"));
        }
    }
    alternates(&ask.messages)
}

fn is_waiting(result: &CallResult) -> bool {
    let told =
        result.content == "Tool still running." || result.content.starts_with("Tool paused: ");
    told && !result.is_error
}

/// User and model by turns, the user first and last, and each reply's calls answered in order.
fn alternates(messages: &[Message]) -> Result<(), String> {
    if messages.len().is_multiple_of(2) {
        return Err("an inquiry ends with a message of the user's".into());
    }
    for pair in messages.chunks(2) {
        if !matches!(pair[0], Message::User { .. }) {
            return Err("two messages of the model's in a row".into());
        }
        if pair.len() == 2 && !matches!(pair[1], Message::Assistant(_)) {
            return Err("two messages of the user's in a row".into());
        }
    }
    for two in messages.windows(2) {
        if let [Message::Assistant(items), Message::User { results, .. }] = two {
            answered(items, results)?;
        }
    }
    Ok(())
}

fn answered(items: &[response::Item], results: &[CallResult]) -> Result<(), String> {
    let calls: Vec<&str> = items
        .iter()
        .filter_map(|item| match &item.kind {
            Kind::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    let given: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
    if calls == given && items.iter().all(|item| item.complete) {
        Ok(())
    } else {
        Err(format!("the reply's calls {calls:?} were given {given:?}"))
    }
}
