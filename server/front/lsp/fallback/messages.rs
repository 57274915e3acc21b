//! A prompt as a message, and what a reply to it means. Pure.
//!
//! Clients cut a message near 1,000 characters, show it on one line, and some make links of its text. What a
//! person says yes to is therefore either in the message whole and unmistakable, or on a page; where neither is to be
//! had, there is nothing but `No`. Most clients show a message over the text, under the hands of a person who types:
//! there no action of a message says yes to what would run or answers a question.

use aside_base::{
    diff::by_lines,
    visible::{capitalised, in_sight, one_line, visible, without_links},
};
use aside_turn::{
    input::{PromptAnswer, SecretValue},
    question::AnswerType,
};
use serde_json::Value;
use tower_lsp::lsp_types::MessageActionItem;

use super::actions::{
    ANSWER_ON_PAGE, ActionEffect, MessageAction, MessagePlace, REVIEW, TITLE, careful_actions,
    choices, long_default, needs_approval, needs_writing, page_answers, refusals, written_actions,
};
use crate::front::wire::{Preview, Prompt, PromptKind, methods::commands::ANSWER};

#[cfg(test)]
mod tests;

/// UTF-16 units of a message that clients show.
const SHOWN: usize = 1000;
/// UTF-16 units of a label.
pub(super) const LABEL: usize = 2 * TITLE;
/// UTF-16 units of a question that say which one is meant.
const ASKED: usize = 60;
/// Characters of a page's line, where it is not text that was written in lines.
const WIDTH: usize = 90;
/// UTF-16 units of a prompt's context, in the message of a prompt that is whole on a page.
const CONTEXT: usize = 200;
/// A message for `window/showMessageRequest`.
#[derive(Debug, PartialEq)]
pub(super) struct PromptMessage {
    pub(super) text: String,
    pub(super) actions: Vec<MessageAction>,
}

/// Place of the whole prompt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FullPrompt {
    /// In the message.
    Inline,
    /// In a page of this name, which the client shows.
    Page(String),
    /// In a page that the client shows when the person wants to see it.
    OnReview,
    /// Nowhere: the client can show no page.
    Nowhere,
}

/// Content of a page for a prompt that does not fit into a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PromptPage {
    /// The ending of the file's name, by which editors know how to show it.
    pub(super) ending: &'static str,
    pub(super) text: String,
}

/// Whether a message has the whole of a prompt. A diff is never in a message.
pub(super) fn fits_inline(prompt: &Prompt) -> bool {
    let is_diff = matches!(prompt.preview, Some(Preview::Diff { .. }));
    let becomes_a_link = needs_approval(prompt) && one_line_preview(prompt).contains("](");
    !is_diff && !becomes_a_link && units(&inline(prompt)) <= room(prompt)
}

/// The page that has the whole of a prompt.
pub(super) fn page(prompt: &Prompt) -> PromptPage {
    let mut text = format!("{}\n\n", one_line(&prompt.label));
    if let Some(context) = &prompt.context {
        text.push_str(&format!("{}\n\n", in_sight(context.trim_end())));
    }
    match whole_preview(prompt) {
        Some(Preview::Command { text: command, cwd }) => {
            text.push_str(&format!(
                "in {}:\n\n{}\n\n",
                one_line(&cwd),
                folded(&in_sight(&command))
            ));
        }
        Some(Preview::Text { text: shown }) => {
            text.push_str(&format!("{}\n\n", folded(&in_sight(&shown))));
        }
        Some(Preview::Diff { uri, old, new, .. }) => {
            let name = one_line(&uri);
            let diff = by_lines(&old, &new);
            let diff = diff.unified_diff().header(&name, &name).to_string();
            text.push_str(&format!("{}\n", visible(&diff)));
        }
        None => {}
    }
    text.push_str(&format!("{}\n", one_line(&prompt.text)));
    let is_diff = matches!(prompt.preview, Some(Preview::Diff { .. }));
    let ending = if is_diff { ".diff" } else { ".txt" };
    PromptPage { ending, text }
}

/// The page on which a prompt is answered: the whole of it, and how to answer.
pub(super) fn review_page(prompt: &Prompt) -> PromptPage {
    let mut page = page(prompt);
    let how = "\nAnswer with a code action on this page, or with one of these commands:\n\n";
    page.text.push_str(how);
    for (title, command) in answering_commands(prompt) {
        page.text.push_str(&format!("  {title}: {command}\n"));
    }
    page
}

/// The titles of the answers of a prompt, each with the command that gives it.
fn answering_commands(prompt: &Prompt) -> Vec<(String, String)> {
    let written = needs_writing(prompt).then(|| ("Your answer".to_owned(), by_command(prompt)));
    let others = page_answers(prompt).into_iter().map(|answer| {
        let default = if answer.is_default { " (default)" } else { "" };
        let command = format!("{ANSWER} {}", answer.arguments);
        (format!("{}{default}", answer.title), command)
    });
    written.into_iter().chain(others).collect()
}

/// Ways to answer a prompt in a client without pages, a line each.
pub(super) fn how_to_answer(prompt: &Prompt) -> String {
    let ways = answering_commands(prompt).into_iter();
    let ways: Vec<String> = ways.map(|(title, way)| format!("{title}: {way}")).collect();
    format!(
        "Answer “{}” with one of these commands.\n{}",
        asked(&prompt.text),
        ways.join("\n")
    )
}

/// The text with its long lines broken, each part after the first behind a mark: some clients show of a line only
/// what fits on the screen.
fn folded(text: &str) -> String {
    let mut folded = String::new();
    for (at, letter) in text
        .split('\n')
        .flat_map(|line| line.chars().chain(['\n']).enumerate())
    {
        if at > 0 && at % WIDTH == 0 && letter != '\n' {
            folded.push_str("\n↪ ");
        }
        folded.push(letter);
    }
    folded.pop();
    folded
}

/// The message of a prompt: the label, the context, the text last. `pages`: the client can show pages, so an
/// answer can be written in one.
pub(super) fn message(
    prompt: &Prompt,
    whole: &FullPrompt,
    place: MessagePlace,
    pages: bool,
) -> PromptMessage {
    let mut text = match whole {
        FullPrompt::Inline => inline(prompt),
        FullPrompt::Page(name) => beside_page(prompt, name),
        FullPrompt::OnReview if fits_inline(prompt) => inline(prompt),
        FullPrompt::OnReview => {
            cut_short(prompt, &format!("({} shows all of it.)", opener(prompt)))
        }
        FullPrompt::Nowhere if needs_approval(prompt) => cut_short(
            prompt,
            "(It cannot be shown whole here, so it can only be refused; `conversation.mode = \"edits\"` in aside.toml lets \
             edits run.)",
        ),
        FullPrompt::Nowhere => cut_short(prompt, "(It was cut: it cannot be shown whole here.)"),
    };
    let written = needs_writing(prompt);
    if written && !pages && place == MessagePlace::Beside {
        text.push_str(&how_by_command(prompt));
    }
    let actions = match whole {
        FullPrompt::Nowhere if needs_approval(prompt) => refusals(prompt).collect(),
        FullPrompt::OnReview => careful_actions(prompt),
        _ if place == MessagePlace::Over => careful_actions(prompt),
        _ if written => written_actions(prompt),
        _ => choices(prompt),
    };
    PromptMessage { text, actions }
}

/// The title of the action that opens the page of a prompt.
fn opener(prompt: &Prompt) -> &'static str {
    if needs_approval(prompt) {
        REVIEW
    } else {
        ANSWER_ON_PAGE
    }
}

/// The command that gives a written answer.
fn by_command(prompt: &Prompt) -> String {
    let id = &prompt.prompt_id;
    format!("{ANSWER} {{\"promptId\":\"{id}\",\"answer\":\"…\"}}")
}

fn how_by_command(prompt: &Prompt) -> String {
    format!("\nAnswer it with the command {}.", by_command(prompt))
}

/// UTF-16 units that a prompt itself may take in its message.
fn room(prompt: &Prompt) -> usize {
    let how = if needs_writing(prompt) {
        units(&how_by_command(prompt))
    } else {
        0
    };
    SHOWN.saturating_sub(how)
}

/// Meaning of a client's reply to a message.
pub(super) enum ReplyMeaning {
    Settles(PromptAnswer),
    /// The person wants to write the answer.
    Write,
    /// The person wants to see the whole of it.
    Review,
    /// Nothing was answered: the prompt stays open.
    Later,
}

/// Interprets a reply: a title that was offered does what it says, an error is the client's failure, and a message that
/// was sent away dismisses the prompt, unless it offered a way to answer nothing. No reply is a yes but a title that
/// says so.
pub(super) fn meaning(
    message: &PromptMessage,
    reply: Result<Option<MessageActionItem>, String>,
) -> ReplyMeaning {
    let chosen = match reply {
        Err(why) => return ReplyMeaning::Settles(PromptAnswer::Failed(why)),
        Ok(chosen) => chosen,
    };
    let Some(chosen) = chosen else {
        let leaves_open = |action: &MessageAction| {
            matches!(action.does, ActionEffect::Review | ActionEffect::Later)
        };
        return if message.actions.iter().any(leaves_open) {
            ReplyMeaning::Later
        } else {
            ReplyMeaning::Settles(PromptAnswer::Cancel)
        };
    };
    let mut actions = message.actions.iter();
    let action = actions.find(|action| action.title == chosen.title);
    match action.map(|action| action.does.clone()) {
        Some(ActionEffect::Answer { value, remember }) => {
            ReplyMeaning::Settles(PromptAnswer::Answer {
                value: SecretValue(value),
                remember,
                new_text: None,
            })
        }
        Some(ActionEffect::Write) => ReplyMeaning::Write,
        Some(ActionEffect::Review) => ReplyMeaning::Review,
        Some(ActionEffect::Later) => ReplyMeaning::Later,
        Some(ActionEffect::Dismiss) => ReplyMeaning::Settles(PromptAnswer::Cancel),
        // Nobody was offered this: it fits no question, and is refused as an answer that does not.
        None => ReplyMeaning::Settles(PromptAnswer::Answer {
            value: SecretValue(Value::Null),
            remember: false,
            new_text: None,
        }),
    }
}

/// All of a prompt, in one message.
fn inline(prompt: &Prompt) -> String {
    let mut parts = Vec::new();
    if let Some(context) = &prompt.context {
        parts.push(without_links(in_sight(context.trim_end()).as_ref()));
    }
    let preview = one_line_preview(prompt);
    if !preview.is_empty() {
        parts.push(preview);
    }
    if let Some(default) = long_default(prompt) {
        parts.push(format!("Default: {}", without_links(&one_line(&default))));
    }
    parts.push(without_links(&one_line(&prompt.text)));
    said(prompt, parts)
}

/// The message about a prompt that is shown whole on the page of this name: the reason, as far as that fits into a line,
/// and the question.
fn beside_page(prompt: &Prompt, name: &str) -> String {
    let mut parts = Vec::new();
    if let Some(context) = &prompt.context {
        let words = visible(context);
        let words: Vec<&str> = words.split_whitespace().collect();
        parts.push(cut(&without_links(&words.join(" ")), CONTEXT));
    }
    parts.push(format!("{name} is open and has all of it."));
    parts.push(cut(&without_links(&one_line(&prompt.text)), SHOWN / 2));
    said(prompt, parts)
}

/// The label and these parts, the text last, with what may be written before that where all of it fits.
fn said(prompt: &Prompt, mut parts: Vec<String>) -> String {
    let label = label(prompt);
    if let Some(options) = what_to_write(prompt) {
        let rest: usize = parts.iter().map(|part| units(part) + 1).sum();
        if units(&label) + 2 + rest + units(&options) <= room(prompt) {
            parts.insert(parts.len().saturating_sub(1), options);
        }
    }
    format!("{label}: {}", parts.join("\n"))
}

/// One line that describes a written answer.
fn what_to_write(prompt: &Prompt) -> Option<String> {
    if !needs_writing(prompt) {
        return None;
    }
    let (how_many, options) = match &prompt.answer_type {
        AnswerType::Select { options } => ("One".to_owned(), options),
        AnswerType::MultiSelect { options, .. } => {
            let how_many = prompt.answer_type.how_many();
            (
                how_many.map_or_else(|| "Any".to_owned(), |count| capitalised(&count)),
                options,
            )
        }
        other => return other.phrase().map(|phrase| format!("Write {phrase}.")),
    };
    let options: Vec<String> = options.iter().map(|option| one_line(option)).collect();
    Some(format!(
        "{how_many} of: {}",
        without_links(&options.join(" | "))
    ))
}

/// The start of a prompt, why that is all, and its text.
fn cut_short(prompt: &Prompt, why: &str) -> String {
    let text = cut(&without_links(&one_line(&prompt.text)), SHOWN / 2);
    let room = room(prompt).saturating_sub(units(&text) + units(why) + 2);
    let mut start = without_links(&inline(prompt));
    if let Some(before) = start.strip_suffix(&text).map(str::len) {
        start.truncate(before);
    }
    format!("{}\n{why}\n{text}", cut(start.trim_end(), room))
}

fn label(prompt: &Prompt) -> String {
    cut(&without_links(&one_line(&prompt.label)), LABEL)
}

/// A prompt's text where it is spoken of.
pub(in crate::front::lsp) fn asked(text: &str) -> String {
    cut(&one_line(text), ASKED)
}

/// The preview that a person sees before allowing something. A call without a preview of its own shows its arguments:
/// nothing is allowed unseen.
fn whole_preview(prompt: &Prompt) -> Option<Preview> {
    match (&prompt.preview, prompt.kind) {
        (Some(preview), _) => Some(preview.clone()),
        (None, PromptKind::RunTool) => Some(Preview::Text {
            text: serde_json::to_string_pretty(&prompt.tool.arguments).unwrap_or_default(),
        }),
        (None, _) => None,
    }
}

/// The preview on one line that says where its lines end, since clients drop that.
fn one_line_preview(prompt: &Prompt) -> String {
    match (&prompt.preview, prompt.kind) {
        (Some(Preview::Command { text, cwd }), _) => {
            format!("in {}: {}", one_line(cwd), one_line(&in_sight(text)))
        }
        (Some(Preview::Text { text }), _) => one_line(&in_sight(text)),
        (Some(Preview::Diff { uri, .. }), _) => one_line(uri),
        (None, PromptKind::RunTool) => one_line(&in_sight(&prompt.tool.arguments.to_string())),
        (None, _) => String::new(),
    }
}

pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The text, or its start with an ellipsis, in this many UTF-16 units.
pub(in crate::front::lsp) fn cut(text: &str, most: usize) -> String {
    if units(text) <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let fits = |letter: &char| {
        let room = left.checked_sub(letter.len_utf16());
        left = room.unwrap_or(0);
        room.is_some()
    };
    let mut start: String = text.chars().take_while(fits).collect();
    start.push('…');
    start
}
