//! Renders a conversation as plain text, without tool blocks and reasoning, for a model that did not take part in it.

use std::sync::Arc;

use aside_turn::{
    attachment::{Attachment, Content},
    inquiry::Message,
    transcript::{Fork, Item, Link},
};

/// Assumed number of characters per token. Slightly less than usual, to be on the safe side.
const CHARACTERS_PER_TOKEN: u64 = 3;
/// Share of the context window that a conversation may fill, in tenths. The rest is for the question and its answer.
const CONVERSATION_TENTHS: u64 = 8;
/// Text before the conversation.
const BEGIN: &str = "This is a conversation between a user and an assistant that uses tools.\n\n";
/// Text after [`BEGIN`] if older turns were left out.
const LEFT_OUT: &str = "[Its beginning was left out.]\n\n";

/// Renders the conversation and the messages of an inquiry for a model with a context window of `window` tokens. If the
/// conversation is too long, whole older turns are left out, in steps of a tenth of the available space. The cut then
/// stays the same for many inquiries. The current turn is never cut.
///
/// Each request and each response becomes a text of its own, because providers cache whole texts.
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
        native: None,
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

/// Texts of each turn, oldest first.
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

/// Number of characters that fit.
fn budget(window: u64) -> u64 {
    window.saturating_mul(CHARACTERS_PER_TOKEN) / 10 * CONVERSATION_TENTHS
}

/// Number of turns to leave out, oldest first; never the last. `turns` are their lengths.
///
/// A cut is possible only at places that lie at least a tenth of the budget apart, and these depend only on older
/// turns. The cut therefore does not move while turns grow, until the next place is needed. If no place leaves few
/// enough, the last place is used: less than a tenth of the older text remains then.
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

/// Turns the results of open calls into text before the question.
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
