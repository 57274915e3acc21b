//! Actions of a prompt's message and of its page, with their effects. Pure.

use aside_base::visible::one_line;
use aside_turn::{
    question::AnswerType,
    record::{Permission, Vocabulary},
};
use serde_json::{Value, json};

use crate::front::wire::{Prompt, PromptKind, TurnPermission};

/// Characters of an action's title.
pub(super) const TITLE: usize = 60;
/// The title of the action that leaves an optional answer out.
const LEFT_OUT: &str = "Leave it out";
/// The title of the action that dismisses a question.
const CANCEL: &str = "Cancel";
/// The title of the action that answers nothing.
const LATER: &str = "Later";
/// The title of the action that shows the whole of what a yes lets happen.
pub(super) const REVIEW: &str = "Review…";
/// The title of the action that opens the page on which a question is answered.
pub(super) const ANSWER_ON_PAGE: &str = "Answer…";
/// Title of the action on a page that dismisses a question.
const DISMISS: &str = "Dismiss the question";
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
    /// Whether the action only settles a prompt of this kind with a no.
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

fn title(permission: Permission, turn: Option<TurnPermission>) -> &'static str {
    match (permission, turn) {
        (Permission::Once, _) => "Run once",
        (Permission::Turn, Some(TurnPermission::Edits)) => "All edits of this turn",
        (Permission::Turn, _) => "Run in this turn",
        (Permission::Always, _) => "Always",
        (Permission::No, _) => "No",
    }
}

/// Place in which a client shows its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::front::lsp) enum MessagePlace {
    /// Beside the text, where they take a click and no key that was meant for the text.
    Beside,
    /// Over the text, or nobody knows: a key that was meant for the text may choose an action, or send the message
    /// away.
    Over,
}

/// Effect of an action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ActionEffect {
    /// The action answers the prompt.
    Answer { value: Value, remember: bool },
    /// The answer will be written.
    Write,
    /// The action dismisses the prompt.
    Dismiss,
    /// The action shows the whole prompt and the ways to answer it.
    Review,
    /// The action answers nothing, and the prompt stays open.
    Later,
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
                    && option != DISMISS
            };
            options.len() + usize::from(prompt.optional) > ACTIONS || !options.iter().all(is_title)
        }
    }
}

/// The actions of a prompt's message in a client that shows it over the text, where a stray key may choose any of them: none
/// lets anything happen, none answers a question, and the first does nothing that cannot be done later.
pub(super) fn careful_actions(prompt: &Prompt) -> Vec<MessageAction> {
    if needs_approval(prompt) {
        let mut actions = vec![action(REVIEW, ActionEffect::Review)];
        actions.extend(refusals(prompt));
        return actions;
    }
    let on_page = if needs_writing(prompt) {
        ActionEffect::Write
    } else {
        ActionEffect::Review
    };
    vec![
        action(LATER, ActionEffect::Later),
        action(ANSWER_ON_PAGE, on_page),
    ]
}

/// A way to settle a prompt on its page, or by the command `aside.server.answer`.
#[derive(Debug, PartialEq)]
pub(in crate::front::lsp) struct PageAnswer {
    pub(in crate::front::lsp) title: String,
    /// The arguments of the command.
    pub(in crate::front::lsp) arguments: Value,
    /// Whether this is the prompt's default.
    pub(super) is_default: bool,
}

/// All that settles a prompt on its page, but what is written there.
pub(in crate::front::lsp) fn page_answers(prompt: &Prompt) -> Vec<PageAnswer> {
    let id = &prompt.prompt_id;
    let offered = if needs_writing(prompt) {
        written_actions(prompt)
    } else {
        choices(prompt)
    };
    let answers = offered.into_iter().filter_map(|action| {
        let ActionEffect::Answer { value, remember } = action.does else {
            return None;
        };
        let is_default = prompt.default.as_ref() == Some(&value);
        // The command takes an empty text as what is left out: no answer shows what is open.
        let answer = if value.is_null() { "".into() } else { value };
        let mut arguments = json!({ "promptId": id, "answer": answer });
        if remember {
            arguments["remember"] = true.into();
        }
        Some(PageAnswer {
            title: action.title,
            arguments,
            is_default: is_default && !remember,
        })
    });
    let mut answers: Vec<PageAnswer> = answers.collect();
    if !needs_approval(prompt) {
        answers.push(PageAnswer {
            title: DISMISS.to_owned(),
            arguments: json!({ "promptId": id, "dismiss": true }),
            is_default: false,
        });
    }
    answers
}

/// The actions that settle a prompt with a no, and nothing more.
pub(super) fn refusals(prompt: &Prompt) -> impl Iterator<Item = MessageAction> {
    let kind = prompt.kind;
    choices(prompt)
        .into_iter()
        .filter(move |action| action.refuses(kind))
}

fn action(title: &str, does: ActionEffect) -> MessageAction {
    MessageAction {
        title: title.to_owned(),
        does,
    }
}

/// The choices of a prompt. Where a yes lets something happen, `No` is the first: some clients open a message under
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
    prompt.optional.then(|| answering(LEFT_OUT, Value::Null))
}

/// An action whose answer is not remembered.
fn answering(title: &str, value: Value) -> MessageAction {
    let remember = false;
    action(title, ActionEffect::Answer { value, remember })
}

fn answers(prompt: &Prompt) -> Vec<MessageAction> {
    match &prompt.answer_type {
        AnswerType::Boolean => {
            let mut actions = vec![answering("Yes", true.into()), answering("No", false.into())];
            if prompt.remember {
                let lasting = |title, value: bool| {
                    let (value, remember) = (value.into(), true);
                    action(title, ActionEffect::Answer { value, remember })
                };
                actions.push(lasting("Yes, for this turn", true));
                actions.push(lasting("No, for this turn", false));
            }
            actions
        }
        AnswerType::Select { options } => {
            let title = |option: &str| match (prompt.kind, Permission::of(option)) {
                (PromptKind::RunTool, Some(permission)) => {
                    title(permission, prompt.turn_permits).to_owned()
                }
                _ => option.to_owned(),
            };
            let options = options.iter();
            options
                .map(|option| answering(&title(option), option.as_str().into()))
                .collect()
        }
        AnswerType::Text { .. }
        | AnswerType::Secret
        | AnswerType::Number { .. }
        | AnswerType::MultiSelect { .. } => Vec::new(),
    }
}

/// Actions beside a written answer.
pub(super) fn written_actions(prompt: &Prompt) -> Vec<MessageAction> {
    let default = prompt.default.as_ref().map(|value| {
        let title = match long_default(prompt) {
            None => format!("Use \"{}\"", as_text(value)),
            Some(_) => "Use the default".to_owned(),
        };
        answering(&title, value.clone())
    });
    let mut actions: Vec<MessageAction> = default.into_iter().collect();
    actions.push(action("Write an answer", ActionEffect::Write));
    actions.extend(leave_out(prompt));
    actions.push(action(CANCEL, ActionEffect::Dismiss));
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
