//! A conversation as text, for a model that did not lead it: no tool blocks and no reasoning.

use std::sync::Arc;

use crate::turn::{
    inquiry::Message,
    transcript::{Fork, Item, Link},
};

/// Characters that are reckoned as a token. A little less than is usual, so that a text fits.
const CHARACTERS: u64 = 3;
/// The share of a window that a conversation may fill, in tenths. The rest is for the question and its answer.
const SHARE: u64 = 8;

/// The conversation, then what an inquiry adds, for a model with a window of so many tokens. Where it is too long,
/// whole older turns are left out, in steps of a tenth of the window, so that the cut stays where it is for many
/// inquiries; the current turn is never cut.
#[must_use]
pub fn flatten(
    transcript: &Fork,
    messages: &[Message],
    window: Option<u64>,
) -> (Fork, Vec<Message>) {
    let mut turns: Vec<(u32, String)> = Vec::new();
    let mut links: Vec<&Link> = transcript.newest_first().collect();
    links.reverse();
    for link in links {
        let text = link_text(link);
        match turns.last_mut() {
            Some((turn, said)) if *turn == link.turn => *said += &text,
            _ => turns.push((link.turn, text)),
        }
    }
    let kept = keep(&turns, window);
    let mut text =
        String::from("This is a conversation between a user and an assistant that uses tools.\n\n");
    if kept > 0 {
        text += "[Its beginning was left out.]\n\n";
    }
    text.extend(turns[kept..].iter().map(|(_, said)| said.as_str()));
    let item = Item::User {
        text,
        attachments: Vec::new(),
    };
    let link = Link {
        previous: None,
        items: vec![item],
        turn: 1,
        epoch: 0,
    };
    let fork = Fork {
        newest: Some(Arc::new(link)),
        epoch: 0,
    };
    (fork, messages.iter().map(without_results).collect())
}

/// How many turns are left out.
fn keep(turns: &[(u32, String)], window: Option<u64>) -> usize {
    let Some(window) = window else { return 0 };
    let budget = window.saturating_mul(CHARACTERS) / 10 * SHARE;
    let step = (budget / 10).max(1);
    let length = |text: &String| text.len() as u64;
    let all: u64 = turns.iter().map(|(_, text)| length(text)).sum();
    if all <= budget {
        return 0;
    }
    // What is over the budget, in whole steps.
    let over = (all - budget).div_ceil(step) * step;
    let mut left_out = 0;
    let cut = turns.iter().take_while(|(_, text)| {
        let more = left_out < over;
        left_out += length(text);
        more
    });
    cut.count().min(turns.len().saturating_sub(1))
}

fn link_text(link: &Link) -> String {
    link.items.iter().map(item_text).collect()
}

fn item_text(item: &Item) -> String {
    match item {
        Item::User { text, attachments } => {
            let attached = attachments.iter().map(|attachment| {
                format!("[attached: {}]\n{}\n", attachment.name, attachment.text)
            });
            format!("User: {text}\n{}\n", attached.collect::<String>())
        }
        Item::Steer(text) => format!("User: {text}\n\n"),
        Item::Directive(text) => format!("[note: {text}]\n\n"),
        Item::Text { text, .. } => format!("Assistant: {text}\n\n"),
        Item::Reasoning { .. } => String::new(),
        Item::ToolCall {
            name, arguments, ..
        } => format!("[the assistant called {name} with {arguments}]\n\n"),
        Item::ToolResult {
            name,
            content,
            is_error,
            ..
        } => {
            let what = if *is_error { "error" } else { "result" };
            format!("[{what} of {name}]\n{content}\n\n")
        }
    }
}

/// The results of open calls as text, before what is asked.
fn without_results(message: &Message) -> Message {
    let Message::User { results, text } = message else {
        return message.clone();
    };
    let mut told: String = results
        .iter()
        .map(|result| format!("[{}: {}]\n", result.name, result.content))
        .collect();
    if !told.is_empty() {
        told.push('\n');
    }
    Message::User {
        results: Vec::new(),
        text: told + text,
    }
}
