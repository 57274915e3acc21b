//! Matches requests against the conditions of replies.
//!
//! Nothing here looks back beyond the current turn, or at anything that no reply asks for. A request therefore costs
//! the same however long the conversation is.

use aside_turn::{
    attachment::{self, Attachment},
    inquiry::Message,
    rules::ToolChoice,
    transcript::{Item, Link},
};

use super::{
    pattern::Pattern,
    script::{ReplyCondition, ReplyContent, ResultCondition},
};
use crate::ModelRequest;

/// A request, as conditions see it.
pub(super) struct RehearsedRequest<'a>(pub(super) &'a ModelRequest);

/// One question of an inquiry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AskedQuestion<'a> {
    pub(super) id: &'a str,
    /// Context, text and format of the question.
    pub(super) text: &'a str,
}

impl<'a> RehearsedRequest<'a> {
    /// Number of the turn, counted from 1; 0 before the first message.
    pub(super) fn turn(&self) -> u32 {
        self.0
            .transcript
            .newest_first()
            .next()
            .map_or(0, |link| link.turn)
    }

    /// Position of the request in its turn, counted from 1. An inquiry counts as the turn's next request.
    pub(super) fn step(&self) -> u32 {
        let responses = self.links().filter(|link| is_response(link)).count();
        u32::try_from(responses)
            .unwrap_or(u32::MAX)
            .saturating_add(1)
    }

    /// The user's last message in this turn.
    pub(super) fn user(&self) -> Option<&'a str> {
        self.newest(|item| match item {
            Item::User { text, .. } | Item::Steer(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Number of the turn's last call, counted from 1; 0 without one.
    pub(super) fn calls(&self) -> u32 {
        self.newest(|item| match item {
            Item::ToolCall { call, .. } => Some(call.0.saturating_add(1)),
            _ => None,
        })
        .unwrap_or(0)
    }

    /// Questions of the newest message that contains any.
    pub(super) fn asked(&self) -> Vec<AskedQuestion<'a>> {
        self.0
            .messages
            .iter()
            .rev()
            .filter_map(|message| match message {
                Message::User { text, .. } => Some(asked(text)),
                Message::Assistant(_) => None,
            })
            .find(|asked| !asked.is_empty())
            .unwrap_or_default()
    }

    /// Number of characters that this request adds to the previous one.
    pub(super) fn new_characters(&self) -> usize {
        let link = self.0.transcript.newest_first().next();
        let items = link.map_or(0, |link| link.items.iter().map(characters).sum());
        let messages: usize = self
            .0
            .messages
            .iter()
            .map(|message| match message {
                Message::User { text, results } => {
                    let results = results.iter().map(|result| result.content.chars().count());
                    text.chars().count() + results.sum::<usize>()
                }
                Message::Assistant(items) => {
                    items.iter().map(|item| item.text.chars().count()).sum()
                }
            })
            .sum();
        items + messages
    }

    /// Whether a reply matches this request.
    pub(super) fn fits(&self, when: &ReplyCondition, content: &ReplyContent) -> bool {
        when.inquiry == self.is_inquiry()
            && when.forced.is_none_or(|forced| forced == self.forced())
            && when.turn.is_none_or(|turn| turn == self.turn())
            && fits(when.directive.as_ref(), || self.directive())
            && when
                .result
                .as_ref()
                .is_none_or(|wanted| self.has_result(wanted))
            && fits(when.user.as_ref(), || self.user())
            && when
                .attached
                .as_ref()
                .is_none_or(|wanted| self.has_attached(wanted))
            && when.step.is_none_or(|step| step == self.step())
            && self.is_asked(when, content)
    }

    pub(super) fn is_inquiry(&self) -> bool {
        self.0.inquiry.is_some()
    }

    fn forced(&self) -> bool {
        matches!(
            self.0.tool_choice,
            ToolChoice::Required | ToolChoice::Name(_)
        )
    }

    fn directive(&self) -> Option<&'a str> {
        self.newest(|item| match item {
            Item::Directive(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether an attachment of the user's message in this turn matches.
    fn has_attached(&self, wanted: &Pattern) -> bool {
        let fits = |attachment: &Attachment| match &attachment.content {
            attachment::Content::Text(text) => wanted.fits(&format!("{}\n{text}", attachment.name)),
            attachment::Content::Media(media) => {
                wanted.fits(&format!("{} ({media})", attachment.name))
            }
        };
        let attachments = self.newest(|item| match item {
            Item::User { attachments, .. } => Some(attachments),
            _ => None,
        });
        attachments.is_some_and(|all| all.iter().any(fits))
    }

    fn has_result(&self, wanted: &ResultCondition) -> bool {
        let result = |item: &Item| match item {
            Item::ToolResult { name, content, .. } => Some(
                wanted.tool.as_ref().is_none_or(|tool| tool == name)
                    && wanted
                        .contains
                        .as_ref()
                        .is_none_or(|pattern| pattern.fits(content)),
            ),
            _ => None,
        };
        self.links()
            .map(|link| link.items.iter().filter_map(result).collect::<Vec<_>>())
            .find(|results| !results.is_empty())
            .is_some_and(|results| results.contains(&true))
    }

    fn is_asked(&self, when: &ReplyCondition, content: &ReplyContent) -> bool {
        if !when.inquiry {
            return true;
        }
        let asked = self.asked();
        when.question
            .as_ref()
            .is_none_or(|pattern| asked.iter().any(|one| pattern.fits(one.text)))
            && match content {
                ReplyContent::Say(_) => true,
                ReplyContent::Answer(_) => !asked.is_empty(),
                ReplyContent::Answers(_) => {
                    asked.iter().any(|one| answer_to(one, content).is_some())
                }
            }
    }

    fn links(&self) -> impl Iterator<Item = &'a Link> {
        let turn = self.turn();
        self.0
            .transcript
            .newest_first()
            .take_while(move |link| link.turn == turn)
    }

    fn newest<T>(&self, pick: impl Fn(&'a Item) -> Option<T>) -> Option<T> {
        self.links()
            .flat_map(|link| link.items.iter().rev())
            .find_map(pick)
    }
}

/// The script's answer to a question. If several match, the one with the longest key.
pub(super) fn answer_to<'a>(
    asked: &AskedQuestion<'_>,
    content: &'a ReplyContent,
) -> Option<&'a str> {
    match content {
        ReplyContent::Say(_) => None,
        ReplyContent::Answer(answer) => Some(answer),
        ReplyContent::Answers(answers) => answers
            .iter()
            .filter(|(key, _)| asked.text.contains(key.as_str()) || asked.id.contains(key.as_str()))
            .max_by_key(|(key, _)| key.len())
            .map(|(_, answer)| answer.as_str()),
    }
}

/// Extracts the questions from the text of an inquiry: each begins with a line that names the tool and one with its id.
fn asked(text: &str) -> Vec<AskedQuestion<'_>> {
    const BEGINS: &str = "` needs an answer before it can go on.\nInquiry ";
    let mut rest = text;
    let mut asked = Vec::new();
    while let Some((_, after)) = rest.split_once(BEGINS) {
        let (id, after) = after.split_once('\n').unwrap_or((after, ""));
        let end = after.find(BEGINS).unwrap_or(after.len());
        asked.push(AskedQuestion {
            id: id.trim(),
            text: &after[..end],
        });
        rest = &after[end..];
    }
    asked
}

fn fits<'a>(pattern: Option<&Pattern>, text: impl Fn() -> Option<&'a str>) -> bool {
    pattern.is_none_or(|pattern| text().is_some_and(|text| pattern.fits(text)))
}

fn is_response(link: &Link) -> bool {
    matches!(
        link.items.first(),
        Some(Item::Text { .. } | Item::Reasoning { .. } | Item::ToolCall { .. })
    )
}

fn characters(item: &Item) -> usize {
    let text = match item {
        Item::User { text, attachments } => {
            let attached = attachments.iter().map(|one| match &one.content {
                attachment::Content::Text(text) => text.chars().count(),
                attachment::Content::Media(_) => one.name.chars().count(),
            });
            return text.chars().count() + attached.sum::<usize>();
        }
        Item::Directive(text) | Item::Steer(text) => text,
        Item::Text { text, .. } | Item::Reasoning { text, .. } => text,
        Item::ToolCall { arguments, .. } => arguments,
        Item::ToolResult { content, .. } => content,
    };
    text.chars().count()
}
