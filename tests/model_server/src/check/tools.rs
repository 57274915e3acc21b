//! Names, duplicates and choices of tools, and the order of calls and results: alike in several APIs.

use std::collections::HashSet;

use serde_json::Value;

use super::{CheckFindings, text};

/// Says which names are malformed or used twice. `further` are the characters allowed beside letters, digits and
/// the underscore; `longest` is in characters.
pub(super) fn names<'a>(
    found: &mut CheckFindings,
    tools: impl Iterator<Item = (String, &'a str)>,
    further: &str,
    longest: usize,
) {
    let mut known = HashSet::new();
    for (place, name) in tools {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || further.contains(c);
        if name.is_empty() || name.len() > longest || !name.chars().all(fits) {
            found.say(&place, format_args!("`{name}` is no name for a tool"));
        }
        if !known.insert(name) {
            found.say(&place, format_args!("the tool {name} is given twice"));
        }
    }
}

/// Says that a tool which a choice names is not among the tools.
pub(super) fn chosen(
    found: &mut CheckFindings,
    place: &str,
    name: &str,
    mut known: impl Iterator<Item = String>,
) {
    if !known.any(|tool| tool == name) {
        found.say(place, format_args!("there is no tool {name}"));
    }
}

/// Checks a dialogue in which the results of a message's calls follow as messages of role `tool`, each naming its
/// call, before anything else (Chat Completions, Ollama). `any_order` tells whether they may change places.
pub(super) fn tool_messages(found: &mut CheckFindings, messages: &Value, any_order: bool) {
    let mut open: Vec<&str> = Vec::new();
    let mut answered = HashSet::new();
    for (place, message) in super::elements("/messages", messages) {
        if message["role"] == "tool" {
            let id = text(message, "tool_call_id");
            match open.iter().position(|call| *call == id) {
                Some(at) => {
                    if at > 0 && !any_order {
                        found.say(
                            &place,
                            format_args!("the result of {id} comes before that of {}", open[0]),
                        );
                    }
                    open.remove(at);
                    answered.insert(id);
                }
                None if answered.contains(id) => {
                    found.say(&place, format_args!("the call {id} has a second result"));
                }
                // The shape of the message says that the id is missing.
                None if id.is_empty() => {}
                None => found.say(
                    &place,
                    format_args!("no call {id} stands directly before this result"),
                ),
            }
            continue;
        }
        unanswered(found, &place, &mut open);
        open = super::elements("", &message["tool_calls"])
            .map(|(_, call)| text(call, "id"))
            .collect();
    }
    unanswered(found, "", &mut open);
}

/// Says which calls have no result before a place.
pub(super) fn unanswered(found: &mut CheckFindings, place: &str, open: &mut Vec<&str>) {
    for id in open.drain(..) {
        found.say(place, format_args!("the call {id} has no result"));
    }
}
