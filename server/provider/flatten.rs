//! A conversation as text, for a model that did not lead it: no tool blocks and no reasoning.

use std::sync::Arc;

use aside_turn::{
    attachment::{Attachment, Content},
    inquiry::Message,
    transcript::{Fork, Item, Link},
};

/// Characters that are reckoned as a token. A little less than is usual, so that a text fits.
const CHARACTERS: u64 = 3;
/// The share of a window that a conversation may fill, in tenths. The rest is for the question and its answer.
const SHARE: u64 = 8;
/// What stands before the conversation.
const BEGIN: &str = "This is a conversation between a user and an assistant that uses tools.\n\n";
/// What follows where it is not all there.
const LEFT_OUT: &str = "[Its beginning was left out.]\n\n";

/// The conversation, then what an inquiry adds, for a model with a window of so many tokens. Where it is too long,
/// whole older turns are left out, in steps of a tenth of what there is room for, so that the cut stays where it is
/// for many inquiries; the current turn is never cut.
///
/// Each request's and each response's share is a text of its own: what providers cache are whole texts.
#[must_use]
pub fn flatten(
    transcript: &Fork,
    messages: &[Message],
    window: Option<u64>,
) -> (Fork, Vec<Message>) {
    let turns = by_turn(transcript);
    let length = |texts: &Vec<String>| texts.iter().map(|text| text.len() as u64).sum();
    let lengths: Vec<u64> = turns.iter().map(length).collect();
    let cut = window.map_or(0, |window| cut(&lengths, budget(window)));
    let mut begin = BEGIN.to_owned();
    if cut > 0 {
        begin += LEFT_OUT;
    }
    let texts = turns.into_iter().skip(cut).flatten();
    let link = Link {
        previous: None,
        items: std::iter::once(begin).chain(texts).map(user).collect(),
        turn: 1,
        epoch: 0,
    };
    let fork = Fork {
        newest: Some(Arc::new(link)),
        ..Fork::default()
    };
    (fork, messages.iter().map(without_results).collect())
}

fn user(text: String) -> Item {
    Item::User {
        text,
        attachments: Vec::new(),
    }
}

/// The texts of each turn, oldest first.
fn by_turn(transcript: &Fork) -> Vec<Vec<String>> {
    let mut links: Vec<&Link> = transcript.newest_first().collect();
    links.reverse();
    let turns = links.chunk_by(|one, next| one.turn == next.turn);
    let texts = |links: &[&Link]| -> Vec<String> {
        let texts = links.iter().map(|link| link_text(link));
        texts.filter(|text| !text.is_empty()).collect()
    };
    turns.map(texts).collect()
}

/// Characters that there is room for.
fn budget(window: u64) -> u64 {
    window.saturating_mul(CHARACTERS) / 10 * SHARE
}

/// How many turns of these lengths are left out, oldest first; never the last.
///
/// Where the cut may be is told by the older turns alone: each place is at least a tenth of the budget after the one
/// before it. So it does not move while turns grow, until the first place that leaves few enough is a later one.
/// Where none does it is the last: less than a tenth is still there of what is old.
fn cut(turns: &[u64], budget: u64) -> usize {
    let mut left: u64 = turns.iter().sum();
    let (mut place, mut since) = (0, 0);
    for (at, turn) in turns.iter().enumerate() {
        if since >= (budget / 10).max(1) {
            (place, since) = (at, 0);
        }
        if since == 0 && left <= budget {
            break;
        }
        left -= turn;
        since += turn;
    }
    place
}

fn link_text(link: &Link) -> String {
    link.items.iter().map(item_text).collect()
}

fn item_text(item: &Item) -> String {
    match item {
        Item::User { text, attachments } => {
            let attached = attachments
                .iter()
                .map(|Attachment { name, content }| match content {
                    Content::Text(text) => format!("[attached: {name}]\n{text}\n"),
                    Content::Media(media) => format!("[attached: {name} ({media})]\n"),
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
    let mut results_text: String = results
        .iter()
        .map(|result| format!("[{}: {}]\n", result.name, result.content))
        .collect();
    if !results_text.is_empty() {
        results_text.push('\n');
    }
    Message::User {
        results: Vec::new(),
        text: results_text + text,
    }
}

#[cfg(test)]
mod tests;
