//! The actions of a prompt's message: what a person can choose, and what each choice does. Pure.

use serde_json::Value;

use crate::{
    front::wire::{Prompt, PromptKind},
    turn::{
        question::AnswerType,
        record::{Permission, Vocabulary},
    },
    visible::one_line,
};

/// Characters of an action's title.
pub(super) const TITLE: usize = 60;
/// The title of the action that leaves an optional answer out.
const LEFT_OUT: &str = "Leave it out";
/// Actions of one message.
const ACTIONS: usize = 8;

/// An action of a message.
#[derive(Debug, PartialEq)]
pub(super) struct MessageAction {
    /// Unique in its message.
    pub(super) title: String,
    pub(super) does: ActionEffect,
}

impl MessageAction {
    /// It settles a prompt of this kind with a no, and nothing more.
    pub(super) fn refuses(&self, kind: PromptKind) -> bool {
        matches!(&self.does, ActionEffect::Answer { value, remember: false } if refuses(kind, value))
    }
}

/// Whether this answer to a prompt of this kind lets nothing happen.
pub(in crate::front::lsp) fn refuses(kind: PromptKind, answer: &Value) -> bool {
    match kind {
        PromptKind::RunTool => answer.as_str().and_then(Permission::of) == Some(Permission::No),
        PromptKind::DeliverResult | PromptKind::Question => *answer == Value::Bool(false),
    }
}

fn title(permission: Permission) -> &'static str {
    match permission {
        Permission::Once => "Run once",
        Permission::Turn => "Run in this turn",
        Permission::Always => "Always",
        Permission::No => "No",
    }
}

/// What an action does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ActionEffect {
    /// The action answers the prompt.
    Answer { value: Value, remember: bool },
    /// The answer will be written.
    Write,
    /// It dismisses the prompt.
    Dismiss,
}

/// A yes to it lets something happen, so it has to be seen whole.
pub(super) fn needs_approval(prompt: &Prompt) -> bool {
    prompt.kind != PromptKind::Question
}

/// An answer that has to be written: a text, a number, several options, or one of more or longer ones than actions
/// take.
pub(super) fn needs_writing(prompt: &Prompt) -> bool {
    match &prompt.answer_type {
        AnswerType::Boolean => false,
        AnswerType::Text { .. }
        | AnswerType::Secret
        | AnswerType::Number { .. }
        | AnswerType::MultiSelect { .. } => true,
        AnswerType::Select { .. } if prompt.kind == PromptKind::RunTool => false,
        AnswerType::Select { options } => {
            let is_title = |option: &String| {
                !option.is_empty()
                    && one_line(option) == *option
                    && option.chars().count() <= TITLE
                    && !(prompt.optional && option == LEFT_OUT)
            };
            options.len() + usize::from(prompt.optional) > ACTIONS || !options.iter().all(is_title)
        }
    }
}

/// What can be chosen. Where a yes lets something happen, `No` is the first: some clients open a message under
/// the hands of a person who types, with its first action chosen, so that an Enter meant for the text takes it.
pub(super) fn choices(prompt: &Prompt) -> Vec<MessageAction> {
    let mut actions = answers(prompt);
    actions.extend(leave_out(prompt));
    if needs_approval(prompt) {
        actions.sort_by_key(|action| !action.refuses(prompt.kind));
    }
    actions
}

/// The action that leaves an optional answer out.
fn leave_out(prompt: &Prompt) -> Option<MessageAction> {
    prompt.optional.then(|| MessageAction {
        title: LEFT_OUT.to_owned(),
        does: ActionEffect::Answer {
            value: Value::Null,
            remember: false,
        },
    })
}

fn answers(prompt: &Prompt) -> Vec<MessageAction> {
    let action = |title: &str, value: Value, remember| MessageAction {
        title: title.to_owned(),
        does: ActionEffect::Answer { value, remember },
    };
    match &prompt.answer_type {
        AnswerType::Boolean => {
            let mut actions = vec![
                action("Yes", true.into(), false),
                action("No", false.into(), false),
            ];
            if prompt.remember {
                actions.push(action("Yes, for this turn", true.into(), true));
                actions.push(action("No, for this turn", false.into(), true));
            }
            actions
        }
        AnswerType::Select { options } => {
            let title = |option: &str| match (prompt.kind, Permission::of(option)) {
                (PromptKind::RunTool, Some(permission)) => title(permission).to_owned(),
                _ => option.to_owned(),
            };
            let options = options.iter();
            options
                .map(|option| action(&title(option), option.as_str().into(), false))
                .collect()
        }
        AnswerType::Text { .. }
        | AnswerType::Secret
        | AnswerType::Number { .. }
        | AnswerType::MultiSelect { .. } => Vec::new(),
    }
}

/// What can be chosen beside an answer that is written.
pub(super) fn written_actions(prompt: &Prompt) -> Vec<MessageAction> {
    let default = prompt.default.as_ref().map(|value| MessageAction {
        title: match long_default(prompt) {
            None => format!("Use \"{}\"", as_text(value)),
            Some(_) => "Use the default".to_owned(),
        },
        does: ActionEffect::Answer {
            value: value.clone(),
            remember: false,
        },
    });
    let other = |title: &str, does| MessageAction {
        title: title.to_owned(),
        does,
    };
    let mut actions: Vec<MessageAction> = default.into_iter().collect();
    actions.push(other("Write an answer", ActionEffect::Write));
    actions.extend(leave_out(prompt));
    actions.push(other("Cancel", ActionEffect::Dismiss));
    actions
}

/// A value as a person would write it.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(chosen) if chosen.is_empty() => "none".to_owned(),
        Value::Array(chosen) => {
            let texts: Vec<String> = chosen.iter().map(as_text).collect();
            texts.join(", ")
        }
        other => other.to_string(),
    }
}

/// The default of an answer that is written, where it is too long for a title.
pub(super) fn long_default(prompt: &Prompt) -> Option<String> {
    let default = as_text(prompt.default.as_ref()?);
    let fits = default.chars().count() <= TITLE - 6 && one_line(&default) == default;
    (needs_writing(prompt) && !fits).then_some(default)
}
